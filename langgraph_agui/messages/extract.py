"""LangChain messages in other data: in the input and output of graphs and nodes, and in the JSON of
a LangGraph server.

`extract_messages` and `find_messages` take any value and return the messages in it.
`MessageDecoder` makes messages of the JSON that a server sends, and `encode_for_server` does the
reverse. A server reads messages with LangChain's `convert_to_messages`. It takes fewer fields than
a dump has, and puts unknown ones into `additional_kwargs`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.utils import message_chunk_to_message, messages_from_dict
from langgraph.func import entrypoint
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite

from langgraph_agui.kernel.configs import as_mapping

# Classes that are recognised without a look at their bases, which is slow for pydantic models.
_USUAL = frozenset({AIMessage, AIMessageChunk, HumanMessage, ToolMessage})

# Classes of data that is no message, and holds none as its first item.
_DATA = frozenset({dict, str, int, float, bool, type(None)})

# How many values of a mapping may be messages; one of more keys is data.
_MOST_KEYS = 100

_BASE_FIELDS = ("type", "content", "id", "name", "additional_kwargs", "response_metadata")
# The fields that `convert_to_messages` reads.
_SENT_FIELDS = (*_BASE_FIELDS, "tool_calls", "tool_call_id", "status", "artifact")


def extract_messages(value: object, key: str) -> list[BaseMessage]:
    """Return the messages that a node's input or output holds, in order, without removals.

    Args:
        value: A state, an update, a `Command`, a message or an `entrypoint.final` (functional
            API), or a sequence of those.
        key: The channel of the messages.
    """
    found: list[BaseMessage] = []
    for part in _parts(value):
        if isinstance(part, BaseMessage):
            found += _channel(part)
        elif (channels := as_mapping(part)) is not None:
            found += _channel(channels.get(key))
    return found


def message_ids(value: object, key: str) -> set[str]:
    """Return the ids of the messages in a node's input, or in its JSON; see `extract_messages` for
    the arguments.
    """
    found = {message.id for message in extract_messages(value, key) if message.id}
    listed = value.get(key) if isinstance(value, Mapping) else None
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("id"), str):
            found.add(one["id"])
    return found


def extract_removals(value: object, key: str) -> list[str]:
    """Return the ids of the messages that a node removes; `REMOVE_ALL_MESSAGES` stands for all that
    were there before. See `extract_messages` for the arguments.
    """
    removed: list[str] = []
    for part in _parts(value):
        channel = (as_mapping(part) or {}).get(key)
        if isinstance(channel, Overwrite):
            removed.append(REMOVE_ALL_MESSAGES)
        listed = channel if isinstance(channel, list | tuple) else [channel]
        removed += [one.id for one in listed if isinstance(one, RemoveMessage) and one.id]
    return removed


def extract_all(value: object, key: str) -> list[BaseMessage]:
    """Return the results of both `extract_messages` and `extract_other_messages`."""
    return [*extract_messages(value, key), *extract_other_messages(value, key)]


def extract_other_messages(value: object, key: str) -> list[BaseMessage]:
    """Return the answers of models and the results of tools in the other channels of a node's
    output.

    Args:
        value: As `extract_messages` takes it.
        key: The channel that is left out.
    """
    found: list[BaseMessage] = []
    for part in _parts(value):
        found += _answers(as_mapping(part) or {}, key)
    return found


def extract_other_results(value: object, key: str) -> list[ToolMessage]:
    """Return the results of tools among `extract_other_messages`."""
    found = extract_other_messages(value, key)
    return [message for message in found if isinstance(message, ToolMessage)]


def _parts(value: object) -> Iterator[object]:
    """Yield the states, updates and messages in the input or output of a node."""
    if isinstance(value, Command):
        yield from _parts(value.update)
    elif isinstance(value, entrypoint.final):
        # The saved conversation first: it may end with the returned messages.
        yield from _parts(value.save)
        yield from _parts(value.value)
    elif not isinstance(value, Sequence) or isinstance(value, str | bytes):
        yield value
    else:
        for inner in value:
            if isinstance(inner, tuple) and len(inner) == 2 and isinstance(inner[0], str):
                yield {inner[0]: inner[1]}  # an update written as (channel, value) pairs
            else:
                yield from _parts(inner)


def _answers(channels: Mapping[str, object], key: str) -> list[BaseMessage]:
    others = [value for name, value in channels.items() if name != key]
    # A channel may keep messages by agent, or have a reducer that takes an instruction with them.
    for value in others.copy():
        if isinstance(value, Mapping):
            others += islice(value.values(), _MOST_KEYS)
    return [
        message
        for value in others
        if _holds_messages(value)
        for message in _channel(value)
        if isinstance(message, AIMessage | ToolMessage)
    ]


def _holds_messages(value: object) -> bool:
    """Whether a channel holds messages, by its first item: the others of a long list of data are
    not looked at.
    """
    if type(value) in _DATA:
        return False
    if isinstance(value, Overwrite):
        value = value.value
    first = (
        next(iter(value), None)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes)
        else value
    )
    return type(first) not in _DATA and isinstance(first, BaseMessage)


def _channel(value: object) -> list[BaseMessage]:
    if isinstance(value, Overwrite):
        value = value.value
    if isinstance(value, BaseMessage):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return []
    if _USUAL.issuperset(map(type, value)):
        return [*value]
    return [
        inner
        for inner in value
        if inner.__class__ in _USUAL
        or (isinstance(inner, BaseMessage) and not isinstance(inner, RemoveMessage))
    ]


def find_messages(value: object, depth: int = 3) -> list[BaseMessage]:
    """Return all messages in any value: itself, in a list, or under a key, not deeper than
    `depth`.
    """
    if isinstance(value, BaseMessage):
        return [value]
    if not depth:
        return []
    members: Iterable[object] = value if isinstance(value, list | tuple) else ()
    inner = as_mapping(value)
    if inner is not None:
        members = inner.values()
    return [message for member in members for message in find_messages(member, depth - 1)]


# -- the JSON of a LangGraph server --------------------------------------------------------------


def decode_message(data: object) -> BaseMessage | None:
    """Return the message that `data` is the JSON of; None if it is not the JSON of a message."""
    if not isinstance(data, Mapping) or not ("content" in data and "additional_kwargs" in data):
        return None
    try:
        if data.get("type") == "remove":
            return RemoveMessage(id=data["id"])
        return messages_from_dict([{"type": data.get("type"), "data": data}])[0]
    except (ValueError, TypeError, KeyError):
        return None  # data of the application that only looks like a message


class MessageDecoder:
    """Decodes the messages in JSON data. A message that has not changed since comes out as the same
    object.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mapping[str, object], BaseMessage]] = {}

    def decode(self, value: object) -> object:
        """Return `value`, JSON data, with LangChain messages in it, however deep."""
        if isinstance(value, Mapping):
            message = self._message(value)
            return (
                {key: self.decode(inner) for key, inner in value.items()}
                if message is None
                else message
            )
        if isinstance(value, list | tuple):
            return [self.decode(inner) for inner in value]
        return value

    def _message(self, data: Mapping[str, object]) -> BaseMessage | None:
        known = self._known.get(str(data.get("id")))
        if known is not None and known[0] == data:
            return known[1]
        message = decode_message(data)
        if message is not None and message.id is not None:
            self._known[message.id] = data, message
        return message


def encode_for_server(value: object) -> object:
    """Return a graph's input, with its messages and commands, as data that a LangGraph server reads
    as the same.
    """
    if isinstance(value, RemoveMessage):
        return {"type": "remove", "content": "", "id": value.id}
    if isinstance(value, BaseMessage):
        data = message_chunk_to_message(value).model_dump(mode="json")
        return {key: data[key] for key in _SENT_FIELDS if data.get(key) not in (None, {})}
    if isinstance(value, Command):
        return replace(value, update=encode_for_server(value.update))
    if isinstance(value, Overwrite):
        return {"__overwrite__": encode_for_server(value.value)}
    if isinstance(value, Mapping):
        return {key: encode_for_server(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode_for_server(inner) for inner in value]
    return value
