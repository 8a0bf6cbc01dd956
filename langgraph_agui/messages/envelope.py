"""What a LangChain assistant message is besides what the client sees of it, as envelopes.

A message and what the client sees of it enter `wrap`; envelopes leave: one for each reasoning block, one for each
signed call, one for the assistant message with what belongs to neither. `unwrap` makes the LangChain message again,
the same for its provider in every byte: content and its shape, kwargs, calls, and the metadata that packages read when
they send a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from langchain_core.messages import AIMessage

from langgraph_agui.messages.blocks import ContentBlock, beside, is_reasoning
from langgraph_agui.messages.encrypted_values import VERSION, Envelope
from langgraph_agui.messages.provider import maker_of
from langgraph_agui.messages.template import InvalidEnvelope, VisibleText, json_key, listed
from langgraph_agui.messages.tool_calls import Call, Calls, same_calls, to_langchain_calls

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


class VisibleTurn(NamedTuple):
    """What a client sees of an assistant message, and under which ids."""

    message_id: str
    words: VisibleText
    reasoning_ids: Sequence[str]
    calls: Sequence[Call]


def encode_envelopes(message: AIMessage, shown: VisibleTurn) -> Envelopes:
    """Return what is to be kept of `message` (of a streamed one: the sum of its chunks) besides what is shown."""
    return _Wrapping(message, shown).envelopes()


class _Wrapping:
    def __init__(self, message: AIMessage, shown: VisibleTurn) -> None:
        self._message = message
        self._shown = shown
        self._words = shown.words
        provider = message.response_metadata.get("model_provider")
        self._provider = provider if isinstance(provider, str) else None
        self._head: Envelope = {"v": VERSION, "p": self._provider} if self._provider else {"v": VERSION}
        self._blocks: dict[int, Envelope] = {}
        self._calls: dict[int, Envelope] = {}
        self._number = 0

    def envelopes(self) -> Envelopes:
        kwargs = self._kwargs()  # first, as when a message is read: reasoning beside the content comes before it
        own = {**self._content(), **({"k": kwargs} if kwargs else {}), **self._metadata(), **self._rest()}
        if not (own or self._shown.reasoning_ids or self._calls):
            return Envelopes({}, {}, None)
        own["h"] = self._words.check
        if ids := self._shown.reasoning_ids:
            derived = [derived_id(self._shown.message_id, number) for number in range(len(ids))]
            own["r"] = len(ids) if list(ids) == derived else list(ids)
        return Envelopes(self._blocks, self._calls, {**self._head, **own})

    def _kwargs(self) -> dict[str, object]:
        kept: dict[str, object] = {}
        kwargs = self._message.additional_kwargs
        self._number = 1 if beside(self._message) else 0
        for key, value in kwargs.items():
            if value is None or key in _LOCAL:
                continue
            if key == "reasoning" and isinstance(value, Mapping):
                kept[key] = self._reasoning(value, value)
            elif key == GEMINI_SIGNATURES and isinstance(value, Mapping):
                kept[key] = {json_key(call): self._signature(call, inner) for call, inner in value.items()}
            else:
                kept[json_key(key)] = self._words.pack(value)
        return kept

    def _content(self) -> dict[str, object]:
        content = self._message.content
        if isinstance(content, str):
            return {} if content == self._words.text else {"c": self._words.pack(content)}
        return {"c": listed([self._block(block) for block in cast("list[str | ContentBlock]", content)])}

    def _block(self, block: str | ContentBlock) -> object:
        if isinstance(block, Mapping):
            value = block.get("value") if block.get("type") == "non_standard" else None
            inner: ContentBlock = value if isinstance(value, Mapping) else block
            if is_reasoning(inner):
                return self._reasoning(block, inner)
        return self._words.pack(block)

    def _reasoning(self, block: ContentBlock, inner: ContentBlock) -> object:
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
        if self._provider == "bedrock_converse" or maker_of(told) != self._provider:
            # Whose reasoning it is, where the provider's name does not tell (langchain-aws reads it, too).
            kept["model_name"] = self._words.pack(told.get("model_name"))
        if isinstance(told.get("id"), str) and told["id"].startswith("resp_"):
            kept["id"] = told["id"]  # langchain-openai: `use_previous_response_id`
        return {"m": kept} if kept else {}

    def _rest(self) -> dict[str, object]:
        message, kept = self._message, dict[str, object]()
        if message.name:
            kept["n"] = message.name
        if message.id and message.id != self._shown.message_id:
            kept["i"] = message.id
        if not same_calls(to_langchain_calls(self._shown.calls), (message.tool_calls, message.invalid_tool_calls)):
            kept["x"] = self._words.pack([message.tool_calls, message.invalid_tool_calls])
        return kept


def derived_id(message_id: str, number: int) -> str:
    """The id of a reasoning message whose block has none of its own."""
    return f"{message_id}:reasoning:{number}"


def decode_envelope(envelope: Envelope, shown: VisibleTurn) -> AIMessage:
    """Return the LangChain message of which the client sees `shown`; its words hold what the other envelopes did.

    Raises:
        Damaged: The envelope is not one of this message, or words of it have changed.
    """
    words = shown.words
    if envelope.get("h") != words.check:
        raise InvalidEnvelope
    provider = envelope.get("p")
    try:
        metadata = {"model_provider": provider} if isinstance(provider, str) else {}
        metadata.update(words.fill(envelope.get("m", {})))  # type: ignore[call-overload]  # the next line refuses others
        calls = words.fill(envelope["x"]) if "x" in envelope else to_langchain_calls(shown.calls)
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
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise InvalidEnvelope from error
