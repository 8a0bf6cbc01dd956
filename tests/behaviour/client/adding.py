"""Chunks of streams, and their sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ag_ui.core import AssistantMessage, Event, Message, ReasoningMessage
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message

from langgraph_agui.client import MessageChunks
from langgraph_agui.protocol import parse_event
from tests.kit.models.scripted import add
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import Wire, call, event, in_run, reasoning, result, text


def parsed(wires: Iterable[Wire]) -> list[Event]:
    return [one for wire in wires if (one := parse_event(wire)) is not None]


def chunks_of(events: Iterable[Event], **options: Any) -> list[AIMessageChunk]:
    chunks = MessageChunks(**options)
    return [*(chunk for one in events for chunk in chunks.feed(one)), *chunks.finish()]


def whole(chunks: list[AIMessageChunk]) -> AIMessage:
    """The sum, as a model returns it."""
    total = message_chunk_to_message(add(chunks))
    assert type(total) is AIMessage
    return total


def message_of(*wires: Wire, **options: Any) -> AIMessage:
    return whole(chunks_of(parsed(wires), **options))


def encrypted(entity: str, value: str = "v", subtype: str = "message", **fields: Any) -> Wire:
    about = {"subtype": subtype, "entityId": entity, "encryptedValue": value}
    return event("REASONING_ENCRYPTED_VALUE", **about, **fields)


def spoken(messages: Iterable[Message], *others: type) -> list[dict[str, Any]]:
    """What the parent agent said and thought, among a client's messages."""
    kinds = (AssistantMessage, ReasoningMessage, *others)
    own = [one for one in messages if isinstance(one, kinds) and one.subagent_run_id is None]
    return dumped(own)


LOOP = in_run(
    *reasoning("q", "hm"),
    encrypted("q", "old"),
    *text("m", "a", "b", name="Ann", metadata={"k": 1}),
    *call("c", '{"x":1}', parentMessageId="m"),
    encrypted("q", "new"),
    encrypted("c", "cv", "tool-call"),
    encrypted("m", "mv"),
    result("c", "o", "sunny", metadata={"took": 1}),
    *reasoning("q2", "so"),
    *text("n", "done"),
)
"""An agent that calls its own tool and goes on."""
