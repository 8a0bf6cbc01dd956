"""Envelopes: the parts of a LangChain assistant message that its client does not see.

A message and its visible part enter `EnvelopeEncoder`. Envelopes leave: one for each reasoning
block, one for each signed call, and one for the assistant message with all else. `decode_envelope`
makes the LangChain message again, the same for its provider in every byte: content and its shape,
kwargs, calls, and the metadata that packages read when they send a message.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from ag_ui.core import AssistantMessage, ReasoningMessage
from ag_ui.core import ToolCall as AGUIToolCall
from langchain_core.messages import AIMessage, InvalidToolCall
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call

from langgraph_agui.kernel.seal import InvalidEnvelope
from langgraph_agui.messages.blocks import is_reasoning, kwarg_reasoning
from langgraph_agui.messages.content import REMOTE_KWARG, ContentBlock
from langgraph_agui.messages.encrypted_values import VERSION, Envelope
from langgraph_agui.messages.providers import maker_of
from langgraph_agui.messages.template import VisibleText, calls_digest, escape_list
from langgraph_agui.protocol.json import json_key, parse_arguments, same

# Where langchain-google-genai keeps the signature of each call: in `additional_kwargs`, by call id.
GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"

# `response_metadata` that packages read when they send a message, besides the provider (Anthropic:
# `container`).
_SENT = ("output_version", "container")
_METADATA = frozenset({*_SENT, "model_name", "id"})

# `additional_kwargs` that packages send, besides calls, which the client sees. All others travel
# only sealed.
_REASONING = ("reasoning", "reasoning_content", "reasoning_details", "thinking", GEMINI_SIGNATURES)
RETURNED = frozenset(
    (
        *_REASONING,
        "__openai_function_call_ids__",
        "tool_outputs",
        "refusal",
        "audio",
        "prefix",
        REMOTE_KWARG,
    )
)

# Providers whose packages send a single block of text as they send the text alone
# (langchain-google-genai, -aws).
_TEXT_AS_BLOCK = frozenset({"google_genai", "bedrock_converse"})

# `additional_kwargs` that are results for the program and are not sent to a provider.
_LOCAL = frozenset({"parsed"})


Calls: TypeAlias = tuple[Sequence[ToolCall], Sequence[InvalidToolCall]]


def to_langchain_calls(calls: Iterable[AGUIToolCall]) -> Calls:
    """Return LangChain's calls. One whose arguments are not a JSON object becomes an invalid call,
    not an error.
    """
    valid: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in calls:
        name, arguments = call.function.name, parse_arguments(call.function.arguments)
        if isinstance(arguments, dict):
            valid.append(tool_call(name=name, args=arguments, id=call.id))
        else:
            error = "The arguments are not a JSON object."
            invalid.append(
                invalid_tool_call(name=name, args=call.function.arguments, id=call.id, error=error)
            )
    return valid, invalid


def _sent_calls(calls: Calls) -> list[tuple[object, ...]]:
    """Return these calls as a provider gets them, to compare."""
    valid, invalid = calls
    return [
        *((call["id"], call["name"], call["args"], None) for call in valid),
        *((call["id"], call["name"], None, call["args"]) for call in invalid),
    ]


def visible_text(message: AssistantMessage, thoughts: Iterable[ReasoningMessage]) -> VisibleText:
    """Return the visible part of an assistant message and of its reasoning messages."""
    arguments = [call.function.arguments for call in message.tool_calls or ()]
    return VisibleText(message.content or "", [thought.content for thought in thoughts], arguments)


class EnvelopeEncoder:
    """Encodes the hidden parts of one message. A streamed message is the
    sum of its chunks.

    Args:
        message: The message.
        visible: Its visible part.
        thoughts: The reasoning messages that the client sees before it.
        sealed: Whether nobody but the server can read the envelopes.
    """

    def __init__(
        self,
        message: AIMessage,
        visible: AssistantMessage,
        thoughts: Sequence[ReasoningMessage],
        sealed: bool = True,
    ) -> None:
        self._message = message
        self._sealed = sealed
        self._visible = visible
        self._visible_calls = visible.tool_calls or []
        self._thought_ids = [thought.id for thought in thoughts]
        self._text = visible_text(visible, thoughts)
        provider = message.response_metadata.get("model_provider")
        self._provider = provider if isinstance(provider, str) else None
        self._head: Envelope = (
            {"v": VERSION, "p": self._provider} if self._provider else {"v": VERSION}
        )
        self._blocks: dict[int, Envelope] = {}
        self._calls: dict[int, Envelope] = {}
        self._number = 1 if kwarg_reasoning(message) else 0

    def envelopes(self) -> tuple[dict[int, Envelope], dict[int, Envelope], Envelope | None]:
        """Return the envelopes of reasoning messages and of calls, by number, and that of the
        assistant message.
        """
        if self._is_plain():
            return {}, {}, None
        # first, as when a message is read: reasoning in kwargs comes before the content
        kwargs = self._kwargs()
        own = {
            **self._content(),
            **({"k": kwargs} if kwargs else {}),
            **self._metadata(),
            **self._others(),
        }
        if not (own or self._thought_ids or self._calls):
            return {}, {}, None
        own["h"] = self._text.check
        if self._visible_calls:
            own["f"] = visible_calls_digest(self._visible)
        if ids := self._thought_ids:
            derived = [derived_id(self._visible.id, number) for number in range(len(ids))]
            own["r"] = len(ids) if ids == derived else ids
        return self._blocks, self._calls, {**self._head, **own}

    def plain(self) -> Envelope:
        """Return an envelope of a message that needs none, to replace one that the client has."""
        return {**self._head, "h": self._text.check}

    def _is_plain(self) -> bool:
        """Return whether the message is one block of text, and its provider gets the same without
        an envelope.
        """
        message, content = self._message, self._message.content
        return (
            self._provider in _TEXT_AS_BLOCK
            and isinstance(content, list)
            and bool(self._text.text)
            and [{**block, "index": 0} for block in content if isinstance(block, Mapping)]
            == [{"type": "text", "text": self._text.text, "index": 0}]
            and len(content) == 1
            and not (
                self._thought_ids
                or message.additional_kwargs
                or message.tool_calls
                or message.invalid_tool_calls
            )
            and not any(message.response_metadata.get(key) for key in _SENT)
            and not self._others()
        )

    def _kwargs(self) -> dict[str, object]:
        kept: dict[str, object] = {}
        for key, value in self._message.additional_kwargs.items():
            if value is None or key in _LOCAL or not (self._sealed or key in RETURNED):
                continue
            if key == "reasoning" and isinstance(value, Mapping):
                kept[key] = self._reasoning(value, value)
            elif key == GEMINI_SIGNATURES and isinstance(value, Mapping):
                numbers = {
                    call.id: number for number, call in reversed([*enumerate(self._visible_calls)])
                }
                kept[key] = {
                    json_key(call): self._signature(numbers.get(call), one)
                    for call, one in value.items()
                }
            else:
                kept[json_key(key)] = self._text.to_template(value)
        return kept

    def _content(self) -> dict[str, object]:
        content = self._message.content
        if isinstance(content, str):
            return {} if content == self._text.text else {"c": self._text.to_template(content)}
        return {
            "c": escape_list(
                [self._block(block) for block in cast("list[str | ContentBlock]", content)]
            )
        }

    def _block(self, block: str | ContentBlock) -> object:
        if isinstance(block, Mapping):
            value = block.get("value") if block.get("type") == "non_standard" else None
            inner: ContentBlock = value if isinstance(value, Mapping) else block
            if is_reasoning(inner):
                return self._reasoning(block, inner)
        return self._text.to_template(block)

    def _reasoning(self, block: ContentBlock, inner: ContentBlock) -> object:
        """Return a hole for a reasoning block. Its template goes with the first of its reasoning
        messages.
        """
        number = self._number
        summary = inner.get("summary")
        self._number += max(1, len(summary)) if isinstance(summary, list) else 1
        if number >= len(self._thought_ids):
            return self._text.to_template(block)
        self._blocks[number] = {**self._head, "b": self._text.to_template(block)}
        return ["$b", number]

    def _signature(self, number: int | None, signature: object) -> object:
        if number is None:
            return self._text.to_template(signature)
        self._calls[number] = {**self._head, "s": self._text.to_template(signature)}
        return ["$s", number]

    def _metadata(self) -> dict[str, object]:
        metadata = self._message.response_metadata
        kept = {
            key: self._text.to_template(metadata[key])
            for key in _SENT
            if metadata.get(key) is not None
        }
        if self._provider == "bedrock_converse" or maker_of(metadata) != self._provider:
            # The provider's name does not show who made the reasoning. langchain-aws reads the
            # model's name, too.
            kept["model_name"] = self._text.to_template(metadata.get("model_name"))
        if isinstance(metadata.get("id"), str) and metadata["id"].startswith("resp_"):
            kept["id"] = metadata["id"]  # langchain-openai: `use_previous_response_id`
        return {"m": kept} if kept else {}

    def _others(self) -> dict[str, object]:
        message, kept = self._message, dict[str, object]()
        if message.name:
            kept["n"] = message.name
        if message.id and message.id != self._visible.id:
            kept["i"] = message.id
        own = message.tool_calls, message.invalid_tool_calls
        if not same(_sent_calls(to_langchain_calls(self._visible_calls)), _sent_calls(own)):
            kept["x"] = self._text.to_template(list(own))
        return kept


def derived_id(message_id: str, number: int) -> str:
    """Return the id of a reasoning message whose block has none of its own."""
    return f"{message_id}:reasoning:{number}"


def visible_calls_digest(visible: AssistantMessage) -> str:
    """Return the digest of the calls that a client sees."""
    return calls_digest((call.id, call.function.name) for call in visible.tool_calls or ())


def check_visible(envelope: Envelope, text: VisibleText, calls: str) -> None:
    """Raise `InvalidEnvelope` unless an envelope is of a message with this text, and with calls of
    this digest.
    """
    # older values have no `f`
    if envelope.get("h") != text.check or envelope.get("f", calls) != calls:
        raise InvalidEnvelope


def decode_envelope(
    envelope: Envelope, visible: AssistantMessage, text: VisibleText, *, sealed: bool = True
) -> AIMessage:
    """Return the LangChain message of which the client sees `visible`; `text` holds what the other
    envelopes held.

    Args:
        envelope: The envelope of the message.
        visible: The visible part.
        text: The visible text.
        sealed: Whether nobody but the server can have made the envelope. If not, only those
            `additional_kwargs` come back that providers' packages read.

    Raises:
        InvalidEnvelope: The envelope is of another message, or the visible part has changed.
    """
    check_visible(envelope, text, visible_calls_digest(visible))
    provider = envelope.get("p")
    try:
        metadata = {"model_provider": provider} if isinstance(provider, str) else {}
        held, kwargs = (
            cast("dict[str, str]", text.from_template(envelope.get(key, {}))) for key in "mk"
        )
        metadata.update({key: held[key] for key in held if key in _METADATA})
        calls = (
            text.from_template(envelope["x"])
            if "x" in envelope
            else to_langchain_calls(visible.tool_calls or ())
        )
        valid, invalid = cast("Calls", calls)
        fields = {
            "content": text.from_template(envelope["c"]) if "c" in envelope else text.text,
            "additional_kwargs": {
                key: value for key, value in kwargs.items() if sealed or key in RETURNED
            },
            "response_metadata": metadata,
            "tool_calls": valid,
            "invalid_tool_calls": invalid,
            "id": envelope.get("i", visible.id),
            "name": envelope.get("n"),
        }
        return AIMessage.model_validate(fields)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise InvalidEnvelope from error
