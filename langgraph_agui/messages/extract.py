"""Find messages in what graphs and nodes take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

_USUAL = frozenset({AIMessage, AIMessageChunk, HumanMessage, ToolMessage})
"""Classes that need no look at their bases, which is slow for pydantic models."""


def as_mapping(values: object) -> Mapping[str, object] | None:
    """The channels of a state that is a mapping, a pydantic model or a dataclass; None for anything else."""
    if isinstance(values, Mapping):
        return cast("Mapping[str, object]", values)
    if isinstance(values, BaseModel) and not isinstance(values, BaseMessage):
        return {name: getattr(values, name) for name in type(values).model_fields}
    if is_dataclass(values) and not isinstance(values, type):
        return {field.name: getattr(values, field.name) for field in fields(values)}
    return None


def extract_messages(value: object, key: str) -> list[BaseMessage]:
    """Return the messages that a node's input or output holds, in order, removals left out.

    Args:
        value: A state, an update, a `Command`, a message (functional API), or a sequence of those.
        key: The channel of the messages.
    """
    if isinstance(value, Mapping):
        return _channel(value.get(key))
    if isinstance(value, BaseMessage):
        return _channel(value)
    if isinstance(value, Command):
        return extract_messages(value.update, key)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        found: list[BaseMessage] = []
        for inner in value:
            if isinstance(inner, tuple) and len(inner) == 2 and isinstance(inner[0], str):
                if inner[0] == key:  # an update written as (channel, value) pairs
                    found += _channel(inner[1])
            else:
                found += extract_messages(inner, key)
        return found
    channels = as_mapping(value)
    return _channel(channels.get(key)) if channels is not None else []


def find_messages(value: object, depth: int = 3) -> list[BaseMessage]:
    """All messages in a value, whatever it is: one itself, or in a list, or under a key, not deeper than `depth`."""
    if isinstance(value, BaseMessage):
        return [value]
    inner = as_mapping(value) if depth else None
    members = inner.values() if inner is not None else value if depth and isinstance(value, list | tuple) else ()
    return [message for member in members for message in find_messages(member, depth - 1)]


def _channel(value: object) -> list[BaseMessage]:
    if isinstance(value, Overwrite):
        value = value.value
    if isinstance(value, BaseMessage):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return []
    return [inner for inner in value if inner.__class__ in _USUAL or _is_message(inner)]


def _is_message(value: object) -> bool:
    return isinstance(value, BaseMessage) and not isinstance(value, RemoveMessage)
