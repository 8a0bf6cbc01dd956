"""Where events go: as objects, or straight to SSE bytes.

The items ask for a writer when they open and call it for every token; everything else goes to `event`. The bytes never
build an object for a token.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from ag_ui.core import (
    BaseEvent,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)

from langgraph_agui.errors import EventTooLarge
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.protocol.sse import MAX_FRAME, DeltaFrame, DeltaType, encode

logger = logging.getLogger(__name__)

Writer = Callable[[str], object]


class Sink(Protocol):
    """Receives the events of one run, in order."""

    def event(self, event: BaseEvent, /) -> object:
        """Take a whole event."""

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what takes the fragments of an item, which is said under the `subagentRunId` `tag`."""


class EventSink:
    """Hands `BaseEvent` objects to `put`."""

    def __init__(self, put: Callable[[BaseEvent], object]) -> None:
        self._put = put

    def event(self, event: BaseEvent) -> None:
        """Hand an event on; the state in it is a copy, for the next patches are made from what was sent."""
        match event:
            case StateSnapshotEvent():
                event = event.model_copy(update={"snapshot": to_jsonable(event.snapshot)})
            case StateDeltaEvent():
                event = event.model_copy(deep=True)
        self._put(event)

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what puts the content events of an item."""
        put = self._put
        first: TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent
        if kind == "text":
            first = TextMessageContentEvent(message_id=item_id, delta="")
        elif kind == "reasoning":
            first = ReasoningMessageContentEvent(message_id=item_id, delta="")
        else:
            first = ToolCallArgsEvent(tool_call_id=item_id, delta="")
        if tag is not None:
            first.subagent_run_id = tag
        another = _another(first)
        return lambda text: put(another(text))


def _another(first: BaseEvent) -> Callable[[str], BaseEvent]:
    """Return what makes events like `first` with other deltas, at half the cost of constructing them."""
    kind, fields, given = type(first), vars(first), first.model_fields_set
    new, put = kind.__new__, object.__setattr__

    def another(delta: str) -> BaseEvent:
        event = new(kind)
        put(event, "__dict__", {**fields, "delta": delta})
        put(event, "__pydantic_fields_set__", {*given})
        put(event, "__pydantic_extra__", {})
        put(event, "__pydantic_private__", None)
        return event

    return another


_DELTA_TYPES: Mapping[BlockKind, DeltaType] = {
    "text": "TEXT_MESSAGE_CONTENT",
    "reasoning": "REASONING_MESSAGE_CONTENT",
    "call": "TOOL_CALL_ARGS",
}


class SSESink:
    """Hands SSE frames to `put`; a fragment is its item's ready-made frame around one JSON string."""

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put

    def event(self, event: BaseEvent) -> None:
        """Encode a whole event. A snapshot that no client would take is left out, with a warning.

        Raises `EventTooLarge` for any other event of that size.
        """
        frame = encode(event)
        if len(frame) > MAX_FRAME and len(frame.decode().encode("utf-16-le")) > 2 * MAX_FRAME:  # clients count so
            if not isinstance(event, MessagesSnapshotEvent | StateSnapshotEvent):
                raise EventTooLarge(f"{event.type.value}: {len(frame)} bytes")
            logger.warning("A %s of %d bytes is too large for a client and is left out.", event.type.value, len(frame))
            return
        self._put(frame)

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what puts the frames of an item's fragments."""
        put, frame = self._put, DeltaFrame(_DELTA_TYPES[kind], item_id, tag).encode
        return lambda text: put(frame(text))
