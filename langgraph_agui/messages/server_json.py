"""LangChain messages as JSON data, as a LangGraph server sends and takes them.

What a server sends holds messages anywhere, known by their shape; what it is sent is read by LangChain's
`convert_to_messages`, which takes fewer fields than a dump has and puts those that it does not know into
`additional_kwargs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    message_chunk_to_message,
)
from langgraph.types import Command, Overwrite
from pydantic import ValidationError

_CLASSES: Mapping[object, type[BaseMessage]] = {
    "ai": AIMessage,
    "AIMessageChunk": AIMessageChunk,
    "human": HumanMessage,
    "HumanMessageChunk": HumanMessageChunk,
    "tool": ToolMessage,
    "ToolMessageChunk": ToolMessageChunk,
    "system": SystemMessage,
    "SystemMessageChunk": SystemMessageChunk,
    "function": FunctionMessage,
    "FunctionMessageChunk": FunctionMessageChunk,
    "chat": ChatMessage,
    "ChatMessageChunk": ChatMessageChunk,
}

_ANY = ("type", "content", "id", "name", "additional_kwargs", "response_metadata")
_TAKEN = (*_ANY, "tool_calls", "tool_call_id", "status", "artifact")
"""The fields that `convert_to_messages` reads."""


def decode_message(data: object) -> BaseMessage | None:
    """The message that `data` is the JSON of; None if it is of none."""
    if not isinstance(data, Mapping) or not ("content" in data and "additional_kwargs" in data):
        return None
    try:
        if data.get("type") == "remove":
            return RemoveMessage(id=data["id"])
        made = _CLASSES.get(data.get("type"))
        return made(**data) if made is not None else None
    except (ValidationError, ValueError, TypeError, KeyError):
        return None  # data of the application that only looks like a message


class MessageDecoder:
    """Makes messages again of those in JSON data. One that has not changed since comes out as the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mapping[str, object], BaseMessage]] = {}

    def of(self, value: object) -> object:
        """`value`, JSON data, with LangChain messages in it, however deep."""
        if isinstance(value, Mapping):
            message = self._message(value)
            return {key: self.of(inner) for key, inner in value.items()} if message is None else message
        if isinstance(value, list | tuple):
            return [self.of(inner) for inner in value]
        return value

    def _message(self, data: Mapping[str, object]) -> BaseMessage | None:
        message_id = data.get("id")
        if not isinstance(message_id, str):
            return decode_message(data)
        known = self._known.get(message_id)
        if known is not None and known[0] == data:
            return known[1]
        message = decode_message(data)
        if message is not None:
            self._known[message_id] = data, message
        return message


def encode_for_server(value: object) -> object:
    """Return a graph's input, messages and commands in it, as data that a LangGraph server reads as the same."""
    if isinstance(value, BaseMessage):
        return _dumped(value)
    if isinstance(value, Command):
        return replace(value, update=encode_for_server(value.update))
    if isinstance(value, Overwrite):
        return {"__overwrite__": encode_for_server(value.value)}
    if isinstance(value, Mapping):
        return {key: encode_for_server(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode_for_server(inner) for inner in value]
    return value


def _dumped(message: BaseMessage) -> dict[str, object]:
    if isinstance(message, RemoveMessage):
        return {"type": "remove", "content": "", "id": message.id}
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    data = message.model_dump(mode="json")
    return {key: data[key] for key in _TAKEN if data.get(key) not in (None, {})}
