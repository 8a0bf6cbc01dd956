"""Hides reasoning in a graph's own data: state, results, interrupts and custom events may hold
messages too.

Any value enters, JSON data leave, without the reasoning that the client must not see. Messages and
reasoning blocks are recognised by their shape in JSON, wherever user code has put them and however
it has dumped them.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.blocks import SERVER_FIELDS, is_reasoning
from langgraph_agui.messages.providers import is_whole, shows_reasoning
from langgraph_agui.messages.think_tags import TagSplitter
from langgraph_agui.options import ReasoningOptions
from langgraph_agui.protocol.json import JsonValue, to_jsonable

logger = run_logger(__name__)

# `additional_kwargs` in which packages keep reasoning as they got it.
_KWARGS = frozenset({"reasoning_content", "reasoning_details", "thinking", "thinking_blocks"})

# Those of them that mean nothing else, wherever they stand.
_ANYWHERE = _KWARGS - {"thinking"}

# Keys of which a provider's reasoning block has at least one.
_MEMBERS = frozenset(
    {
        "content",
        "data",
        "encrypted_content",
        "extras",
        "reasoning",
        "reasoning_content",
        "signature",
        "summary",
        "text",
    }
    | {"thinking"}
)

# One of these is in the JSON of any reasoning.
_WORDS = ("reasoning", "thinking", SERVER_FIELDS)

# The keyword argument in which langchain-openai keeps a reasoning item (`output_version="v0"`).
_ITEM = "reasoning"


def redact(value: object, options: ReasoningOptions) -> JsonValue:
    """Return `value` as JSON data, with as much of the reasoning in it as `options` show to a
    client.
    """
    plain = to_jsonable(value)
    if options.visibility == "full":
        return plain
    try:
        return _Redactor(options).value(plain, None)
    except RecursionError:
        return {"__type__": "truncated"}


def redactor_for(options: ReasoningOptions) -> Callable[[object], JsonValue]:
    """Return `redact` for `options`; if nothing is hidden, that is `to_jsonable`."""
    return to_jsonable if options.visibility == "full" else partial(redact, options=options)


def redact_content(content: object, options: ReasoningOptions) -> JsonValue:
    """Redact the content of a message. Its strings are texts like any other."""
    message = redact({"content": content, "additional_kwargs": {}}, options)
    return message.get("content") if isinstance(message, dict) else None


def hides_reasoning(value: object, options: ReasoningOptions) -> bool:
    """Whether the client must not see all of the reasoning in `value`."""
    return options.visibility != "full" and redact(value, options) != to_jsonable(value)


@cache
def warn_reasoning_dropped() -> None:
    """Warn once that reasoning does not come back."""
    logger.warning(
        "Hidden reasoning is not sent back to the provider: ReasoningOptions has no `seal`."
    )


class _Redactor:
    """Redacts JSON data. `provider` is that of the message that a value is in."""

    def __init__(self, options: ReasoningOptions) -> None:
        self._options = options
        self._tags = TagSplitter(options.tags) if options.tags is not None else None

    def value(self, value: JsonValue, provider: str | None) -> JsonValue:
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
            # A summary is shown; beside it some servers return the reasoning word for word.
            value = {key: inner for key, inner in value.items() if key != "content"}
        return {
            key: self.value(inner, provider)
            for key, inner in value.items()
            if not (
                self._hides(inner, provider)
                or key == SERVER_FIELDS
                or (key in _ANYWHERE and isinstance(inner, str | list))
            )
        }

    def _hides(self, value: JsonValue, provider: str | None) -> bool:
        if not (isinstance(value, dict) and is_reasoning(value)) or shows_reasoning(
            self._options, provider
        ):
            return False
        return not _MEMBERS.isdisjoint(value)  # else it is data of the application with such a type

    def _message(self, message: dict[str, JsonValue], kwargs: dict[str, JsonValue]) -> JsonValue:
        metadata = message.get("response_metadata")
        name = metadata.get("model_provider") if isinstance(metadata, Mapping) else None
        provider = name if isinstance(name, str) else None
        whole = is_whole(metadata if isinstance(metadata, Mapping) else {}, self._options)
        hidden = _KWARGS if shows_reasoning(self._options, provider) else _KWARGS | {_ITEM}
        others = {
            **message,
            "additional_kwargs": {key: kwargs[key] for key in kwargs if key not in hidden},
        }
        by_model = message.get("type") in ("ai", "AIMessageChunk")
        content = others.pop("content", None)
        if isinstance(content, list):
            content = self._list(
                content, provider, is_content=True, by_model=by_model, is_whole=whole
            )
        elif isinstance(content, str) and by_model:
            content = self._without_tags(content, by_model=True, is_whole=whole)
        else:
            content = self.value(content, provider)
        return {
            "content": content,
            **{key: self.value(inner, provider) for key, inner in others.items()},
        }

    def _string(self, text: str, provider: str | None) -> str:
        """Redact a text, or JSON in one: LangGraph dumps what a tool returns into its result,
        message contents too.
        """
        if text[:1] in ("[", "{") and any(word in text for word in _WORDS):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return self._without_tags(text)
            if (redacted := self.value(value, provider)) != value:
                return json.dumps(redacted, ensure_ascii=False)
        return self._without_tags(text)

    def _without_tags(self, text: str, *, by_model: bool = False, is_whole: bool = False) -> str:
        """Return `text` without reasoning between tags. A text that is not by a model is split only
        if it has tags. `is_whole` as for `TagSplitter.end`.
        """
        if self._tags is None or not (by_model or self._tags.in_text(text)):
            return text
        return self._tags.answer_in(text, is_whole=is_whole)

    def _list(
        self,
        values: list[JsonValue],
        provider: str | None,
        *,
        is_content: bool = False,
        by_model: bool = False,
        is_whole: bool = False,
    ) -> list[JsonValue]:
        """Redact a list. A tag may open in one text block and close in another, so they are split
        as one text.
        """
        kept = [value for value in values if not self._hides(value, provider)]
        texts = [
            value if is_content and isinstance(value, str) else _block_text(value) for value in kept
        ]
        joined = "".join(text for text in texts if text is not None)
        answer = self._without_tags(joined, by_model=by_model, is_whole=is_whole)
        if answer == joined:
            return [self.value(value, provider) for value in kept]
        # The answer takes the place of the first text.
        result: list[JsonValue] = []
        for value, text in zip(kept, texts, strict=True):
            if text is None:
                result.append(self.value(value, provider))
            elif answer:
                result.append({"type": "text", "text": answer})
                answer = ""
        return result


def _block_text(block: JsonValue) -> str | None:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None
