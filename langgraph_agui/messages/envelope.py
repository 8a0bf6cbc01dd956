"""What a LangChain assistant message is besides what the client sees of it, as envelopes.

A message and what the client sees of it enter `wrap`; envelopes leave: one for each reasoning block, one for each
signed call, one for the assistant message with what belongs to neither. `unwrap` makes the LangChain message again,
the same for its provider in every byte: content and its shape, kwargs, calls, and the metadata that packages read when
they send a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from logging import getLogger
from typing import NamedTuple, cast

from langchain_core.messages import AIMessage

from langgraph_agui.messages.blocks import REASONING_BLOCKS, Block
from langgraph_agui.messages.calls import Call, Calls, calls_of, same_calls
from langgraph_agui.messages.template import Damaged, Seen, listed
from langgraph_agui.messages.values import VERSION, Envelope

logger = getLogger(__name__)

GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where langchain-google-genai keeps the signature of each call: in `additional_kwargs`, by call id."""

_SENT = ("output_version", "container")
"""`response_metadata` that packages read when they send a message, besides the provider (Anthropic: `container`)."""

_LOCAL = frozenset({"parsed"})
"""`additional_kwargs` that are results for the program and are not sent to a provider."""


class Envelopes(NamedTuple):
    """The envelopes of one message: of reasoning messages and of calls, by number, and of the assistant message."""

    reasoning: dict[int, Envelope]
    calls: dict[int, Envelope]
    message: Envelope | None


class Shown(NamedTuple):
    """What a client sees of an assistant message, and under which ids."""

    message_id: str
    words: Seen
    reasoning_ids: Sequence[str]
    calls: Sequence[Call]


def wrap(message: AIMessage, shown: Shown) -> Envelopes:
    """Return what is to be kept of `message` (of a streamed one: the sum of its chunks) besides what is shown."""
    return _Wrapping(message, shown).envelopes()


class _Wrapping:
    def __init__(self, message: AIMessage, shown: Shown) -> None:
        self._message = message
        self._shown = shown
        self._words = shown.words
        self._provider = message.response_metadata.get("model_provider")
        self._head: Envelope = {"v": VERSION, "p": self._provider} if self._provider else {"v": VERSION}
        self._blocks: dict[int, Envelope] = {}
        self._calls: dict[int, Envelope] = {}

    def envelopes(self) -> Envelopes:
        kwargs = self._kwargs()  # first, as when a message is read: reasoning beside the content comes before it
        own = {**self._content(), **({"k": kwargs} if kwargs else {}), **self._metadata(), **self._rest()}
        if not (own or self._shown.reasoning_ids or self._calls):
            return Envelopes({}, {}, None)
        own["h"] = self._words.check
        if ids := self._shown.reasoning_ids:
            own["r"] = len(ids) if list(ids) == derived_ids(self._shown.message_id, len(ids)) else list(ids)
        return Envelopes(self._blocks, self._calls, {**self._head, **own})

    def _kwargs(self) -> dict[str, object]:
        kept: dict[str, object] = {}
        kwargs = self._message.additional_kwargs
        self._number = 1 if isinstance(text := kwargs.get("reasoning_content"), str) and text else 0
        for key, value in kwargs.items():
            if value is None or key in _LOCAL:
                continue
            if key == "reasoning" and isinstance(value, Mapping):
                kept[key] = self._reasoning(value, value)
            elif key == GEMINI_SIGNATURES and isinstance(value, Mapping):
                kept[key] = {str(call_id): self._signature(call_id, inner) for call_id, inner in value.items()}
            else:
                kept[key] = self._words.pack(value)
        return kept

    def _content(self) -> dict[str, object]:
        content = self._message.content
        if isinstance(content, str):
            return {} if content == self._words.text else {"c": self._words.pack(content)}
        return {"c": listed([self._block(block) for block in cast("list[str | Block]", content)])}

    def _block(self, block: str | Block) -> object:
        if isinstance(block, Mapping):
            value = block.get("value") if block.get("type") == "non_standard" else None
            inner: Block = value if isinstance(value, Mapping) else block
            if inner.get("type") in REASONING_BLOCKS:
                return self._reasoning(block, inner)
        return self._words.pack(block)

    def _reasoning(self, block: Block, inner: Block) -> object:
        """The place of a reasoning block; its template goes with the first reasoning message that it is shown as."""
        number = self._number
        summary = inner.get("summary")
        self._number += max(1, len(summary)) if isinstance(summary, list) else 1
        if number >= len(self._shown.reasoning_ids):
            return self._words.pack(block)
        self._blocks[number] = {**self._head, "b": self._words.pack(block)}
        return ["$b", number]

    def _signature(self, call_id: object, signature: object) -> object:
        for number, call in enumerate(self._shown.calls):
            if call.id == call_id:
                self._calls[number] = {**self._head, "s": self._words.pack(signature)}
                return ["$s", number]
        return self._words.pack(signature)

    def _metadata(self) -> dict[str, object]:
        told = self._message.response_metadata
        kept = {key: self._words.pack(told[key]) for key in _SENT if told.get(key) is not None}
        if self._provider == "bedrock_converse" and "model_name" in told:
            kept["model_name"] = told["model_name"]  # langchain-aws: which model's reasoning may be sent back
        if isinstance(told.get("id"), str) and told["id"].startswith("resp_"):
            kept["id"] = told["id"]  # langchain-openai: `use_previous_response_id`
        return {"m": kept} if kept else {}

    def _rest(self) -> dict[str, object]:
        message, kept = self._message, dict[str, object]()
        if message.name:
            kept["n"] = message.name
        if message.id is not None and message.id != self._shown.message_id:
            kept["i"] = message.id
        if not same_calls(calls_of(self._shown.calls), (message.tool_calls, message.invalid_tool_calls)):
            kept["x"] = self._words.pack([message.tool_calls, message.invalid_tool_calls])
        return kept


def derived_ids(message_id: str, count: int) -> list[str]:
    """The ids of reasoning messages whose blocks have none of their own."""
    return [f"{message_id}:reasoning:{number}" for number in range(count)]


def unwrap(envelope: Envelope, shown: Shown) -> AIMessage:
    """Return the LangChain message of which the client sees `shown`; its words hold what the other envelopes did.

    Raises:
        Damaged: The envelope is not one of this message, or words of it have changed.
    """
    words = shown.words
    if envelope.get("h") != words.check:
        raise Damaged
    provider = envelope.get("p")
    try:
        metadata = {"model_provider": provider} if isinstance(provider, str) else {}
        metadata.update(words.fill(envelope.get("m", {})))  # type: ignore[call-overload]  # the next line refuses others
        calls = words.fill(envelope["x"]) if "x" in envelope else calls_of(shown.calls)
        valid, invalid = cast("Calls", calls)
        fields = {
            "content": words.fill(envelope["c"]) if "c" in envelope else words.text,
            "additional_kwargs": words.fill(envelope.get("k", {})),
            "response_metadata": metadata,
            "tool_calls": valid,
            "invalid_tool_calls": invalid,
            "id": envelope.get("i", shown.message_id),
            "name": envelope.get("n"),
        }
        return AIMessage.model_validate(fields)
    except (TypeError, ValueError, RecursionError) as error:
        raise Damaged from error


@cache
def warn_withheld() -> None:
    """Say once that reasoning does not come back."""
    logger.warning("Hidden reasoning is not sent back to the provider: ReasoningOptions has no `seal`.")
