"""Where the events of a run go: to every reader, as objects or as SSE bytes.

Events enter through a `Sink`, fragments of text through the `Writer` of their block. They leave through a
`Subscription`, the queue that one reader takes from. On the way to bytes no object is built for a token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Message, RunAgentInput

from langgraph_agui.aio import keep_alive
from langgraph_agui.errors import CodedError, ErrorCode
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.messages.conversation import merge_messages
from langgraph_agui.protocol.sse import MAX_FRAME, DeltaFrame, DeltaType, encode
from langgraph_agui.protocol.wire import to_jsonable

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Receives the fragments of one block. It is called for every token.
Writer = Callable[[str], object]


class Sink(Protocol):
    """Receives the events of one run, in order."""

    def event(self, event: BaseEvent, /) -> object:
        """Receive a whole event."""

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what receives the fragments of a block."""


# Makes the sink that puts items, in the form that one reader wants, into the reader's queue: `EventSink`, `SSESink`.
MakeSink: TypeAlias = "Callable[[Callable[[T], object]], Sink]"


class EventSink:
    """Puts `BaseEvent` objects into a queue."""

    def __init__(self, put: Callable[[BaseEvent], object]) -> None:
        self._put = put

    def event(self, event: BaseEvent) -> None:
        """Put an event. State goes out as a copy, because the next patches are made from what was sent."""
        match event:
            case agui.StateSnapshotEvent():
                event = event.model_copy(update={"snapshot": to_jsonable(event.snapshot)})
            case agui.StateDeltaEvent():
                event = event.model_copy(deep=True)
        self._put(event)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what puts the content events of a block."""
        template: agui.TextMessageContentEvent | agui.ReasoningMessageContentEvent | agui.ToolCallArgsEvent
        if kind == "text":
            template = agui.TextMessageContentEvent(message_id=block_id, delta="")
        elif kind == "reasoning":
            template = agui.ReasoningMessageContentEvent(message_id=block_id, delta="")
        else:
            template = agui.ToolCallArgsEvent(tool_call_id=block_id, delta="")
        if subagent_run_id is not None:
            template.subagent_run_id = subagent_run_id
        put, fields, copied = self._put, vars(template), template.__copy__

        def write(text: str) -> None:
            fields["delta"] = text  # a copy costs half of a new event, and a third of `model_copy(update=...)`
            put(copied())

        return write


_DELTA_TYPES: Mapping[BlockKind, DeltaType] = {
    "text": "TEXT_MESSAGE_CONTENT",
    "reasoning": "REASONING_MESSAGE_CONTENT",
    "call": "TOOL_CALL_ARGS",
}


class SSESink:
    """Puts SSE frames into a queue. The frame of a fragment is its block's ready-made frame around one JSON string."""

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put

    def event(self, event: BaseEvent) -> None:
        """Encode a whole event. A snapshot that no client would accept is left out, with a warning.

        Raises a `CodedError` (`event_too_large`) for any other event of that size.
        """
        frame = encode(event)
        if len(frame) > MAX_FRAME and len(frame.decode().encode("utf-16-le")) > 2 * MAX_FRAME:  # clients count so
            if not isinstance(event, agui.MessagesSnapshotEvent | agui.StateSnapshotEvent):
                raise CodedError(ErrorCode.EVENT_TOO_LARGE, f"{event.type.value}: {len(frame)} bytes")
            logger.warning("A %s of %d bytes is too large for a client and is left out.", event.type.value, len(frame))
            return
        self._put(frame)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what puts the frames of a block's fragments."""
        put, encode_delta = self._put, DeltaFrame(_DELTA_TYPES[kind], block_id, subagent_run_id).encode
        return lambda text: put(encode_delta(text))


class Broadcaster:
    """The sink of a run: passes everything on to all of its readers."""

    def __init__(self, first: Sink) -> None:
        self._sinks: list[Sink] = [first]

    def add(self, sink: Sink) -> None:
        """Add a reader: it receives what comes from now on."""
        self._sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """Remove a reader."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def event(self, event: BaseEvent) -> None:
        """Pass a whole event on."""
        for sink in self._sinks:
            sink.event(event)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what passes fragments on to the present readers. With one reader it is that reader's own writer."""
        writers = [sink.writer(kind, block_id, subagent_run_id) for sink in self._sinks]
        if len(writers) == 1:
            return writers[0]

        def write(text: str) -> None:
            for write_one in writers:
                write_one(text)

        return write


class IdleTimer:
    """A sink that watches: it calls `expired` when nothing has come for `seconds`, until it is cancelled."""

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

    def writer(self, _kind: BlockKind, _block_id: str, _subagent_run_id: str | None = None) -> Writer:
        """Return what notes that a fragment has come."""
        return lambda _text: setattr(self, "_last", self._loop.time())

    def _check(self) -> None:
        left = self._last + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._expired()


class JoinedSink:
    """A sink for a client that joins another client's run: makes the events fit its run id, messages and state.

    Args:
        sink: Receives the client's events.
        run_input: The client's input.

    Attributes:
        own_state: The part of the client's state that is its own.
    """

    def __init__(self, sink: Sink, run_input: RunAgentInput) -> None:
        self._sink = sink
        self._run_id = run_input.run_id
        self._messages: Sequence[Message] = [
            one for one in run_input.messages if not isinstance(one, agui.ActivityMessage)
        ]
        self._calls: dict[str, int] = {}
        self.own_state: Mapping[str, object] = {}
        self.writer = sink.writer

    def retract(self, message_ids: Collection[str]) -> None:
        """Remove messages from what the client holds, because they are emitted again from their beginning.

        A snapshot deletes what it leaves out, but for reasoning (AG-UI 1.0, client apply step): that is emptied.
        """
        kept: list[Message] = []
        for message in self._messages:
            if message.id not in message_ids:
                kept.append(message)
            elif isinstance(message, agui.ReasoningMessage):
                owner = message.subagent_run_id
                kept.append(agui.ReasoningMessage(id=message.id, role="reasoning", content="", subagent_run_id=owner))
        self._messages = kept

    def event(self, event: BaseEvent) -> None:
        """Pass an event on in the client's terms."""
        match event:
            case agui.ToolCallStartEvent():
                self._calls[event.tool_call_id] = len(self._calls)
            case agui.RunFinishedEvent():
                event = event.model_copy(update={"run_id": self._run_id, "outcome": self._ordered(event.outcome)})
            case agui.MessagesSnapshotEvent():
                truth = [(message.id, [message]) for message in event.messages]
                event = event.model_copy(update={"messages": merge_messages(self._messages, truth)})
            case agui.StateSnapshotEvent() if self.own_state and isinstance(event.snapshot, Mapping):
                event = event.model_copy(update={"snapshot": {**self.own_state, **event.snapshot}})
        self._sink.event(event)

    def _ordered(self, outcome: agui.RunFinishedOutcome | None) -> agui.RunFinishedOutcome | None:
        """Return the outcome with its pending calls in the order in which this client received them."""
        if not isinstance(outcome, agui.RunFinishedSuccessOutcome) or not outcome.pending_tool_call_ids:
            return outcome
        pending = sorted(outcome.pending_tool_call_ids, key=lambda call_id: self._calls.get(call_id, -1))
        return outcome.model_copy(update={"pending_tool_call_ids": pending})


# Seconds between two batches, at the least: a third of the time in which a screen shows one picture.
INTERVAL = 0.005

# Bytes of an event around its text.
_FRAME = 150


def _size(item: object) -> int:
    """Return the bytes of an item as a frame, of a fragment about."""
    if isinstance(item, bytes):
        return len(item)
    delta = getattr(item, "delta", None)
    if isinstance(delta, str):
        return _FRAME + len(delta)
    return len(encode(item)) if isinstance(item, BaseEvent) else 0


class Subscription(Generic[T]):
    """One reader's subscription to a run: a queue of events or bytes, and a context manager that ends it.

    Putting never waits: a slow reader does not stop the run. The first item after a silence wakes the reader at once;
    items that follow within `INTERVAL` go out together, because waking a reader costs more than a token does. A reader
    that lets more than `max_unread` bytes wait gets a `RUN_ERROR` (`reader_too_slow`) in their place, and nothing more.

    Args:
        make_sink: Makes the sink that puts items, in the form that the reader wants, into this queue.
        max_unread: The bytes that may wait for the reader.

    Attributes:
        sink: Receives the run's events.
        behind: Whether the reader left items in the queue; the reader sets it if it left items of its last batch.
        unread: Whether the reader left before the end of the run.
        on_leave: Called when the reader leaves, or is let go.
        left: Set when the reader has left.
    """

    def __init__(self, make_sink: MakeSink[T], max_unread: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: list[T] = []
        self._max_unread = max_unread
        self._weight = 0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._abandoned = False
        self.sink = make_sink(self.put)
        self.behind = False
        self.unread = False
        self.on_leave: Callable[[], Awaitable[None]] | None = None
        self.left = asyncio.Event()

    def put(self, item: T) -> None:
        """Add an item. Does nothing after the reader has left."""
        if self._abandoned:
            return
        self._items.append(item)
        if self._waiter is None:  # else the reader waits for items, and is not slow
            self._weigh(item)
        elif self._timer is None:
            self._wake()

    def _weigh(self, item: T) -> None:
        """Let the reader go if more waits for it than may. One item may wait, however large."""
        self._weight += _size(item)
        if self._weight <= self._max_unread or len(self._items) == 1:
            return
        code = ErrorCode.READER_TOO_SLOW
        logger.warning("A reader was let go: %d bytes waited for it.", self._weight)
        self._items.clear()
        self._weight = 0
        self.behind = True
        self.sink.event(agui.RunErrorEvent(message=code.message, code=code.value))
        self._abandoned = True
        self.close()
        keep_alive(asyncio.ensure_future(self._leave()))

    def close(self) -> None:
        """Note that the run has ended: nothing more will come."""
        self._closed = True
        self._wake()

    async def take(self) -> list[T]:
        """Wait for items and return all that there are; none after the end of the run."""
        while not self._items or (self._timer is not None and not self._closed):
            if self._closed:
                return []
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        batch, self._items = self._items, []
        self._weight = 0
        self._timer = self._loop.call_later(INTERVAL, self._end_interval)
        return batch

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end_interval(self) -> None:
        self._timer = None
        if self._items:
            self._wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave: what still comes is dropped."""
        self._abandoned = True
        self.behind = self.behind or bool(self._items)
        self._items.clear()
        try:
            await self._leave()
        finally:
            self.left.set()

    async def _leave(self) -> None:
        self.unread = self.behind or not self._closed
        on_leave, self.on_leave = self.on_leave, None
        if on_leave is not None:
            await on_leave()
