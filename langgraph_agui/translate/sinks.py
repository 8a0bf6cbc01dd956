"""Where events go: as objects, or straight to SSE bytes.

The items call `delta` for every token, and `event` for everything else. The bytes never build an object for a token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)

from langgraph_agui.messages.blocks import Kind
from langgraph_agui.messages.record import Item
from langgraph_agui.protocol.sse import DeltaFrame, DeltaType, encode


class Sink(Protocol):
    """Receives the events of one run, in order."""

    def event(self, event: BaseEvent, /) -> object:
        """Take a whole event."""

    def delta(self, item: Item, text: str) -> None:
        """Take a fragment of an open item."""


class EventSink:
    """Hands `BaseEvent` objects to `put`."""

    def __init__(self, put: Callable[[BaseEvent], object]) -> None:
        self.event: Callable[[BaseEvent], object] = put

    def delta(self, item: Item, text: str) -> None:
        """Build the content event of `item`."""
        if item.kind == "text":
            self.event(TextMessageContentEvent(message_id=item.id, delta=text))
        elif item.kind == "reasoning":
            self.event(ReasoningMessageContentEvent(message_id=item.id, delta=text))
        else:
            self.event(ToolCallArgsEvent(tool_call_id=item.id, delta=text))


_DELTA_TYPES: Mapping[Kind, DeltaType] = {
    "text": "TEXT_MESSAGE_CONTENT",
    "reasoning": "REASONING_MESSAGE_CONTENT",
    "call": "TOOL_CALL_ARGS",
}


class SSESink:
    """Hands SSE frames to `put`; a fragment is its item's ready-made frame around one JSON string."""

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put
        self._frames: dict[Item, Callable[[str], bytes]] = {}

    def event(self, event: BaseEvent) -> None:
        """Encode a whole event."""
        self._put(encode(event))

    def delta(self, item: Item, text: str) -> None:
        """Encode a fragment."""
        frame = self._frames.get(item)
        if frame is None:
            frame = self._frames[item] = DeltaFrame(_DELTA_TYPES[item.kind], item.id).encode
        self._put(frame(text))
