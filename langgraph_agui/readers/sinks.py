"""Where the events of a run go. Whole events enter a `Sink` as such, text as fragments of its
block; content events are made of the fragments where events leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from ag_ui import core as agui
from ag_ui.core import BaseEvent

from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.protocol.json import size, to_jsonable
from langgraph_agui.protocol.wire import wire_fields

# The most characters in one delta: clients refuse an event of more than 10 Mi (AG-UI 1.0, HTTP
# binding).
PIECE = 1_000_000


class Sink(Protocol):
    """Receives the events of one run, in order."""

    def event(self, event: BaseEvent, /) -> object:
        """Receive a whole event."""

    def fragment(self, block: Block, text: str, /) -> object:
        """Receive more text of an open block. It is called for every token."""


def content_events(block: Block, text: str) -> list[BaseEvent]:
    """Return the content event of a text in a block, or several if it is long."""
    if len(text) <= PIECE:
        return [_content_event(block, text)]
    starts = range(0, len(text), PIECE)
    return [_content_event(block, text[start : start + PIECE]) for start in starts]


def _content_event(block: Block, text: str) -> BaseEvent:
    event: agui.TextMessageContentEvent | agui.ReasoningMessageContentEvent | agui.ToolCallArgsEvent
    match block.kind:
        case "text":
            event = agui.TextMessageContentEvent(message_id=block.id, delta=text)
        case "reasoning":
            event = agui.ReasoningMessageContentEvent(message_id=block.id, delta=text)
        case "call" | "server_call" | "server_result":  # a result is never a fragment
            event = agui.ToolCallArgsEvent(tool_call_id=block.id, delta=text)
    if block.subagent_run_id is not None:
        event.subagent_run_id = block.subagent_run_id
    return event


def own_copy(event: BaseEvent) -> BaseEvent:
    """Return an event for code that is not ours, which may change it: the log and other readers
    have it too. State is copied as a whole, because the next patches are made from it.
    """
    match event:
        case agui.StateSnapshotEvent():
            return event.model_copy(update={"snapshot": to_jsonable(event.snapshot)})
        case agui.StateDeltaEvent():
            return event.model_copy(deep=True)
    return event.model_copy()


# Bytes of an event around what it carries, and of a message in a snapshot: its texts are those of
# the conversation.
_FRAME = 150


def weight(event: BaseEvent) -> int:
    """Return how many bytes an event takes, about."""
    match event:
        case (
            agui.TextMessageContentEvent()
            | agui.ReasoningMessageContentEvent()
            | agui.ToolCallArgsEvent()
        ):
            return _FRAME + len(event.delta)
        case agui.StateDeltaEvent():
            return sum(_FRAME + size(getattr(one, "value", None)) for one in event.delta)
        case agui.StateSnapshotEvent():
            return _FRAME + size(event.snapshot)
        case agui.MessagesSnapshotEvent():
            return _FRAME * (1 + len(event.messages))
        case agui.ToolCallResultEvent(content=str(content)):
            return _FRAME + len(content)
        case agui.ReasoningEncryptedValueEvent(encrypted_value=value):
            return _FRAME + len(value)
        case (
            agui.ToolCallResultEvent()
            | agui.ActivitySnapshotEvent()
            | agui.ActivityDeltaEvent()
            | agui.CustomEvent()
            | agui.RawEvent()
            | agui.RunFinishedEvent()
        ):
            return size(wire_fields(event))
    return _FRAME  # only ids and names


class EventSink:
    """Makes a content event of each fragment.

    Args:
        put: Receives the events.
    """

    def __init__(self, put: Callable[[BaseEvent], object]) -> None:
        self._put = put

    def event(self, event: BaseEvent) -> None:
        """Pass an event on."""
        self._put(own_copy(event))

    def fragment(self, block: Block, text: str) -> None:
        """Pass the text on as an event."""
        for event in content_events(block, text):
            self._put(event)


class Fragments:
    """Fragments of one block that came one after the other."""

    __slots__ = ("block", "texts")

    def __init__(self, block: Block, text: str) -> None:
        self.block = block
        self.texts = [text]

    def events(self) -> list[BaseEvent]:
        """Return the content event of all of them."""
        return content_events(self.block, "".join(self.texts))


class EventQueue:
    """Events and fragments, in order. Neighbouring fragments of one block leave as one event."""

    def __init__(self) -> None:
        self._items: list[BaseEvent | Fragments] = []
        # The fragments at the end, to which more may be added.
        self._last: Fragments | None = None

    def __len__(self) -> int:
        return len(self._items)

    def event(self, event: BaseEvent) -> None:
        """Add an event."""
        self._last = None
        self._items.append(event)

    def fragment(self, block: Block, text: str) -> None:
        """Add a fragment."""
        last = self._last
        if last is not None and last.block is block:
            last.texts.append(text)
        else:
            self._last = last = Fragments(block, text)
            self._items.append(last)

    def events(self) -> list[BaseEvent]:
        """Return all of them as events."""
        events: list[BaseEvent] = []
        for item in self._items:
            if isinstance(item, Fragments):
                events.extend(item.events())
            else:
                events.append(item)
        return events

    def replace(self, events: Iterable[BaseEvent]) -> None:
        """Put events in the place of all that there is."""
        self._items = [*events]
        self._last = None

    def clear(self) -> None:
        """Remove all."""
        self._items = []
        self._last = None


class Broadcaster:
    """The sink of a run: passes everything on to its log and to all of its readers.

    Args:
        sinks: Receive all from the beginning.
        watch: Called with each whole event, when the sinks have it. Fragments do not pass it.
    """

    def __init__(self, *sinks: Sink, watch: Callable[[BaseEvent], object]) -> None:
        self._sinks = list(sinks)
        self._watch = watch

    def add(self, sink: Sink) -> None:
        """Add a sink: it receives all later events."""
        self._sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """Remove a sink."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def event(self, event: BaseEvent) -> None:
        """Pass a whole event on."""
        for sink in self._sinks:
            sink.event(event)
        self._watch(event)

    def fragment(self, block: Block, text: str) -> None:
        """Pass a fragment on."""
        for sink in self._sinks:
            sink.fragment(block, text)


class IdleTimer:
    """A sink that watches: it calls `expired` when nothing has come for `seconds`, until it is
    cancelled.
    """

    def __init__(self, seconds: float, expired: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._expired = expired
        self._last = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._check)

    def cancel(self) -> None:
        """Stop watching."""
        self._timer.cancel()

    def event(self, _event: BaseEvent) -> None:
        """Note that an event has come."""
        self._last = self._loop.time()

    def fragment(self, _block: Block, _text: str) -> None:
        """Note that a fragment has come."""
        self._last = self._loop.time()

    def _check(self) -> None:
        left = self._last + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._expired()
