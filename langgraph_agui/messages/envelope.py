"""Envelopes: the fields of a LangChain message that do not follow from what its client sees.

An assistant message and its visible part enter `encode_message`; one envelope leaves, or none if
the client sees all of the message. `decode_message` makes the LangChain message again, the same for
its provider in every byte: content and its shape, kwargs, calls, and the metadata that packages
read when they send a message.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ag_ui.core import AssistantMessage, ReasoningMessage
from langchain_core.messages import AIMessage, InvalidToolCall
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call

from langgraph_agui.kernel.seal import InvalidEnvelope
from langgraph_agui.messages.blocks import SERVER_FIELDS
from langgraph_agui.messages.content import REMOTE_KWARG, own_call_id
from langgraph_agui.messages.encrypted_values import VERSION, Envelope
from langgraph_agui.messages.providers import END_REASONS, end_of, maker_of, was_cut
from langgraph_agui.messages.template import Call, VisibleText
from langgraph_agui.protocol.json import json_key, parse_arguments, same

# Where langchain-google-genai keeps the signature of each call: in `additional_kwargs`, by call id.
GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"

# `response_metadata` that packages read when they send a message, besides the provider (Anthropic:
# `container`).
_SENT = ("output_version", "container")
_METADATA = frozenset({*_SENT, *END_REASONS, "model_provider", "model_name", "id"})

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
        SERVER_FIELDS,
    )
)

# Providers whose packages send a single block of text as they send the text alone
# (langchain-google-genai, -aws).
_TEXT_AS_BLOCK = frozenset({"google_genai", "bedrock_converse"})

# `additional_kwargs` that are results for the program and are not sent to a provider.
_LOCAL = frozenset({"parsed"})


Calls: TypeAlias = tuple[Sequence[ToolCall], Sequence[InvalidToolCall]]


def to_langchain_calls(message: AssistantMessage) -> Calls:
    """Return LangChain's calls, with the model's ids. One whose arguments are not a JSON object
    becomes an invalid call, not an error.
    """
    valid: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in message.tool_calls or ():
        own_id = own_call_id(call.id, message.id)
        name, arguments = call.function.name, parse_arguments(call.function.arguments)
        if isinstance(arguments, dict):
            valid.append(tool_call(name=name, args=arguments, id=own_id))
        else:
            error = "The arguments are not a JSON object."
            invalid.append(
                invalid_tool_call(name=name, args=call.function.arguments, id=own_id, error=error)
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
    calls = [
        Call(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
    ]
    reasoning = [(thought.id, thought.content) for thought in thoughts]
    return VisibleText(message.content or "", reasoning, calls)


def make_envelope(fields: Mapping[str, object], text: VisibleText) -> Envelope:
    """Return the envelope of a message: these fields of it, and `text`, which the client sees."""
    return {"v": VERSION, "message": text.to_template(fields), "digest": text.digest}


def fields_in(envelope: Envelope, text: VisibleText) -> dict[str, Any]:
    """Return the fields of a message that its envelope holds.

    Raises:
        InvalidEnvelope: It is of a message with other text, or is damaged.
    """
    fields = text.from_template(envelope.get("message"))
    if envelope.get("digest") != text.digest or not isinstance(fields, dict):
        raise InvalidEnvelope
    return fields


def encode_message(
    message: AIMessage,
    visible: AssistantMessage,
    thoughts: Sequence[ReasoningMessage],
    holder: str | None,
    *,
    sealed: bool,
) -> Envelope | None:
    """Return the envelope of a message; None if its client sees all that its provider gets.

    Args:
        message: The message. A streamed one is the sum of its chunks.
        visible: Its visible part.
        thoughts: The reasoning messages that belong to it.
        holder: The id of the one that will have the value; None if the assistant message will.
        sealed: Whether nobody but the server can read the envelope. If not, only those
            `additional_kwargs` go out that providers' packages read.
    """
    # Clients may drop a reasoning message without text and value.
    named = [thought for thought in thoughts if thought.content or thought.id == holder]
    text, content = visible_text(visible, named), message.content
    metadata = _sent_metadata(message.response_metadata)
    fields: dict[str, object] = {
        "additional_kwargs": _kwargs(message, sealed),
        "name": message.name,
        "id": message.id if message.id != visible.id else None,
    }
    fields = {key: value for key, value in fields.items() if value}
    own = message.tool_calls, message.invalid_tool_calls
    if not same(_sent_calls(to_langchain_calls(visible)), _sent_calls(own)):
        fields["tool_calls"], fields["invalid_tool_calls"] = own
    is_text = content == text.text or _is_one_text(message, text.text)
    if is_text and not (fields or metadata):
        return None
    if metadata := _maker(message.response_metadata) | metadata:
        fields["response_metadata"] = metadata
    if content != text.text:
        fields["content"] = content
    envelope = make_envelope(fields, text)
    if not named:
        return envelope
    numbers = {derived_id(visible.id, number): number for number in range(len(thoughts))}
    return {**envelope, "reasoning": [numbers.get(thought.id, thought.id) for thought in named]}


def _kwargs(message: AIMessage, sealed: bool) -> dict[str, object]:
    return {
        json_key(key): value
        for key, value in message.additional_kwargs.items()
        if value is not None and key not in _LOCAL and (sealed or key in RETURNED)
    }


def _sent_metadata(metadata: Mapping[str, object]) -> dict[str, object]:
    sent = {key: metadata[key] for key in _SENT if metadata.get(key) is not None}
    response_id = metadata.get("id")
    if isinstance(response_id, str) and response_id.startswith("resp_"):
        sent["id"] = response_id  # langchain-openai: `use_previous_response_id`
    return sent


def _maker(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata that name the provider of a message, and the model if packages ask for
    it, and that say that a limit has cut it.
    """
    provider = metadata.get("model_provider")
    maker: dict[str, object] = {"model_provider": provider} if isinstance(provider, str) else {}
    model = metadata.get("model_name")
    if model and (provider == "bedrock_converse" or maker_of(metadata) != provider):
        # The provider's name does not show who made the reasoning. langchain-aws reads the
        # model's name, too.
        maker["model_name"] = model
    if was_cut(metadata):
        # Of a text that was cut, nothing is the answer if its think tag is not closed.
        maker |= end_of(metadata)
    return maker


def _is_one_text(message: AIMessage, text: str) -> bool:
    """Return whether the message is one block of this text, and its provider gets the same as of
    the text alone.
    """
    match message.content:
        case [{"type": "text", "text": str(own), **more}] if own and own == text:
            provider = message.response_metadata.get("model_provider")
            calls = message.tool_calls or message.invalid_tool_calls
            return provider in _TEXT_AS_BLOCK and more.keys() <= {"index"} and not calls
    return False


def derived_id(message_id: str, number: int) -> str:
    """Return the id of a reasoning message whose block has none of its own."""
    return f"{message_id}:reasoning:{number}"


def owner_id(thought_id: str) -> str:
    """Return the id of the message whose reasoning message has this derived id."""
    return thought_id.rpartition(":reasoning:")[0]


def decode_message(
    envelope: Envelope,
    visible: AssistantMessage,
    thoughts: Iterable[ReasoningMessage],
    *,
    sealed: bool,
) -> AIMessage:
    """Return the LangChain message of which the client sees `visible` and `thoughts`.

    Args:
        envelope: The envelope of the message.
        visible: The visible part.
        thoughts: The reasoning messages that the envelope names.
        sealed: As for `encode_message`.

    Raises:
        InvalidEnvelope: The envelope is of another message, or the visible part has changed.
    """
    text = visible_text(visible, thoughts)
    fields = fields_in(envelope, text)
    calls = to_langchain_calls(visible)
    try:
        kwargs = fields.get("additional_kwargs", {}).items()
        metadata = fields.get("response_metadata", {}).items()
        return AIMessage(
            content=fields.get("content", text.text),
            additional_kwargs={key: value for key, value in kwargs if sealed or key in RETURNED},
            response_metadata={key: value for key, value in metadata if _is_sent(key, value)},
            tool_calls=fields.get("tool_calls", calls[0]),
            invalid_tool_calls=fields.get("invalid_tool_calls", calls[1]),
            id=fields.get("id", visible.id),
            name=fields.get("name"),
        )
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise InvalidEnvelope from error


def _is_sent(key: str, value: object) -> bool:
    return key in _METADATA and (key != "model_provider" or isinstance(value, str))
