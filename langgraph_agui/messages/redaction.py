"""What a graph's own data show of reasoning: state, results, interrupts and custom events may hold messages too.

Any value enters, JSON data leave, without the reasoning that the client is not to see. Messages and reasoning blocks
are known by their shape in JSON, so it does not matter where user code has put them or how it has dumped them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import cache, partial

from langgraph_agui.messages.blocks import is_reasoning
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.protocol.jsonable import JsonValue, to_jsonable

logger = logging.getLogger(__name__)

_BESIDE = frozenset({"reasoning_content", "reasoning_details", "thinking", "thinking_blocks"})
"""`additional_kwargs` in which packages keep reasoning as they got it."""

_NAMED = _BESIDE - {"thinking"}
"""Those of them that mean nothing else, wherever they stand."""

_PROVIDERS = frozenset(
    {"content", "data", "encrypted_content", "extras", "reasoning", "reasoning_content", "signature", "summary", "text"}
    | {"thinking"}
)
"""Keys of which a provider's reasoning block has at least one."""

_NAMES = ("reasoning", "thinking")
"""What is in the JSON of any reasoning."""

_ITEM = "reasoning"
"""The keyword argument in which langchain-openai keeps a reasoning item (`output_version="v0"`)."""


def redact(value: object, options: ReasoningOptions) -> JsonValue:
    """Return `value` as JSON data, with as much of the reasoning in it as `options` show to a client."""
    plain = to_jsonable(value)
    if options.visibility == "full":
        return plain
    try:
        return _Redactor(options).over(plain, None)
    except RecursionError:
        return {"__type__": "truncated"}


def redactor_for(options: ReasoningOptions) -> Callable[[object], JsonValue]:
    """Return `visible` for `options`; where nothing is hidden, that is `to_jsonable`."""
    return to_jsonable if options.visibility == "full" else partial(redact, options=options)


def redact_content(content: object, options: ReasoningOptions) -> JsonValue:
    """`visible` for the content of a message, where strings are texts like any other."""
    shown = redact({"content": content, "additional_kwargs": {}}, options)
    return shown.get("content") if isinstance(shown, dict) else None


def hides_reasoning(value: object, options: ReasoningOptions) -> bool:
    """Whether a client is not to see all of the reasoning in `value`."""
    return options.visibility != "full" and redact(value, options) != to_jsonable(value)


@cache
def warn_reasoning_dropped() -> None:
    """Say once that reasoning does not come back."""
    logger.warning("Hidden reasoning is not sent back to the provider: ReasoningOptions has no `seal`.")


class _Redactor:
    def __init__(self, options: ReasoningOptions) -> None:
        self._options = options
        self._tags = options.think_tags

    def over(self, value: JsonValue, provider: str | None) -> JsonValue:
        """`value` as it is shown; `provider` made the message that it is in."""
        if isinstance(value, str):
            return self._string(value, provider)
        if isinstance(value, list):
            return self._list(value, provider)
        if not isinstance(value, dict):
            return value
        if self._hides(value, provider):
            return {"type": value["type"]}
        if isinstance(kwargs := value.get("additional_kwargs"), dict):
            return self._message(value, kwargs)
        if is_reasoning(value):
            # A summary is shown; beside it some servers give out what the model thought word for word.
            value = {key: inner for key, inner in value.items() if key != "content"}
        return {
            key: self.over(inner, provider)
            for key, inner in value.items()
            if not (self._hides(inner, provider) or (key in _NAMED and isinstance(inner, str | list)))
        }

    def _string(self, text: str, provider: str | None) -> str:
        """A text, or JSON in one: LangGraph dumps what a tool returns, message contents too, into its result."""
        if text[:1] in ("[", "{") and any(name in text for name in _NAMES):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return self._answer(text)
            if (shown := self.over(value, provider)) != value:
                return json.dumps(shown, ensure_ascii=False)
        return self._answer(text)

    def _hides(self, value: JsonValue, provider: str | None) -> bool:
        if not (isinstance(value, dict) and is_reasoning(value)) or self._options.shows(provider):
            return False
        return not _PROVIDERS.isdisjoint(value)  # else it is data of the application that only calls itself so

    def _answer(self, text: str, *, said: bool = False) -> str:
        """`text` without what stands between tags. What no model has `said` is the application's, unless it has any."""
        tags = self._tags
        return text if tags is None or not (said or tags.in_text(text)) else tags.answer_in(text)

    def _list(self, values: list[JsonValue], provider: str | None) -> list[JsonValue]:
        return self._blocks([value for value in values if not self._hides(value, provider)], provider, _text_of_block)

    def _content(self, value: JsonValue, provider: str | None, *, said: bool) -> JsonValue:
        if isinstance(value, str):
            return self._answer(value, said=True) if said else self._string(value, provider)
        if not isinstance(value, list):
            return self.over(value, provider)
        return self._blocks([block for block in value if not self._hides(block, provider)], provider, _text_of, said)

    def _blocks(
        self,
        blocks: list[JsonValue],
        provider: str | None,
        text_of: Callable[[JsonValue], str | None],
        said: bool = False,
    ) -> list[JsonValue]:
        texts = [text for block in blocks if (text := text_of(block)) is not None]
        answer = self._answer("".join(texts), said=said)
        if answer == "".join(texts):
            return [self.over(block, provider) for block in blocks]
        # A tag may open in one block and close in another: the answer takes the place of the first one.
        shown: list[JsonValue] = []
        for block in blocks:
            if text_of(block) is None:
                shown.append(self.over(block, provider))
            elif answer:
                shown.append({"type": "text", "text": answer})
                answer = ""
        return shown

    def _message(self, message: dict[str, JsonValue], kwargs: dict[str, JsonValue]) -> JsonValue:
        told = message.get("response_metadata")
        provider = told.get("model_provider") if isinstance(told, Mapping) else None
        provider = provider if isinstance(provider, str) else None
        hidden = _BESIDE if self._options.shows(provider) else _BESIDE | {_ITEM}
        own = {**message, "additional_kwargs": {key: kwargs[key] for key in kwargs if key not in hidden}}
        said = message.get("type") in ("ai", "AIMessageChunk")
        content = self._content(own.pop("content", None), provider, said=said)
        return {"content": content, **{key: self.over(inner, provider) for key, inner in own.items()}}


def _text_of(block: JsonValue) -> str | None:
    """The text of a block of a message's content."""
    return block if isinstance(block, str) else _text_of_block(block)


def _text_of_block(block: JsonValue) -> str | None:
    if not isinstance(block, dict) or block.get("type") != "text":
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None
