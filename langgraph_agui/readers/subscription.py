"""The queue from which one reader of a run takes events.

Events and fragments enter, because a subscription is a sink. All that wait at once leave through
`take`, in the form that the reader's client wants.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import copy_context
from typing import Self, TypeAlias

from ag_ui import core as agui
from ag_ui.core import BaseEvent

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.kernel.errors import ErrorCode
from langgraph_agui.kernel.telemetry import count_dropped, count_error, run_logger
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.protocol.open_items import OpenItems
from langgraph_agui.protocol.sse import MAX_FRAME, encode, encode_text
from langgraph_agui.readers.sinks import PIECE, EventQueue, content_events, weight

logger = run_logger(__name__)

# Returns the events that one client gets for an event of the run.
Convert: TypeAlias = Callable[[BaseEvent], Iterable[BaseEvent]]

# Seconds between two batches on average: a third of the time in which a screen shows one picture.
INTERVAL = 0.005

# How many batches may leave at once, after a silence.
_BURST = 8

# Stands for the text in the frame of a block.
_TEXT = "text"

# Bytes of a fragment that waits, around its text.
_STRING = 60


class Subscription(EventQueue):
    """One reader's subscription to a run: a queue of events, and a context manager that ends it.

    Putting never waits: a slow reader does not stop the run. An event wakes the reader at once,
    unless it was woken more often than once in `INTERVAL` lately: then events leave together,
    because waking a reader costs more than a token does. So at a provider's pace each fragment
    leaves by itself; of a faster model, and with a slow reader, those that wait together do. A
    reader that lets more than `max_unread` bytes wait gets a `RUN_ERROR` (`reader_too_slow`) in
    their place, and nothing more. Whatever ends a run, the reader gets the ends of all that is open
    before it.

    Args:
        max_unread: The bytes that may wait for the reader.
        *converts: Make the client's events of those of the run, one after the other.

    Attributes:
        on_leave: Called when the reader leaves, or is dropped.
        dropped: Whether it was dropped.
        left: Set when the reader has left.
    """

    def __init__(self, max_unread: int, *converts: Convert) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._max_unread = max_unread
        self._converts = [*converts]
        # The items that are open in the events which the reader has got.
        self._open = OpenItems()
        # Log records and metrics name the run of this context, whoever takes the events.
        self._context = copy_context()
        self._weight = 0
        # The frame of a text in the block that was encoded last, before and behind the text.
        self._block: Block | None = None
        self._head = self._end = ""
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # How many batches may leave at once, at the time of the last one.
        self._burst, self._taken_at = float(_BURST), self._loop.time()
        self._closed = False
        self._abandoned = False
        self.dropped = False
        self.on_leave: Callable[[], Awaitable[None]] | None = None
        self.left = asyncio.Event()

    @property
    def waiting(self) -> int:
        """The bytes that wait for the reader, about."""
        return self._weight

    def begin(self, events: Iterable[BaseEvent], convert: Convert) -> None:
        """Give the reader the beginning of a run that it joins. That weighs nothing: the reader is
        not slow.

        Args:
            events: The beginning.
            convert: Makes the reader's events of them and of all later ones, before the other
                conversions.
        """
        self._converts.insert(0, convert)
        for event in events:
            super().event(event)
        self._wake()

    def event(self, event: BaseEvent) -> None:
        """Add an event. Does nothing after the reader has left."""
        if self._abandoned:
            return
        super().event(event)
        if self._waiter is None:  # else the reader waits for events, and is not slow
            added = weight(event)
            self._weight += added
            self._judge(added)
        elif self._timer is None:
            self._wake()

    def fragment(self, block: Block, text: str) -> None:
        """Add a fragment. Does nothing after the reader has left."""
        if self._abandoned:
            return
        super().fragment(block, text)
        if self._waiter is None:
            self._weight += _STRING + len(text)
            if self._weight > self._max_unread:
                self._judge(_STRING + len(text))
        elif self._timer is None:
            self._wake()

    def _judge(self, added: int) -> None:
        """Drop the reader if more waits for it than may. One item may wait, however large."""
        if self._weight > self._max_unread and self._weight != added:
            logger.warning("A reader was dropped: %d bytes waited for it.", self._weight)
            self.drop(ErrorCode.READER_TOO_SLOW)

    def drop(self, code: ErrorCode) -> None:
        """Give the reader a `RUN_ERROR` in place of what waits, and nothing more."""
        count_error(code)
        self._converts.clear()  # they may be why
        self.clear()
        super().event(agui.RunErrorEvent(message=code.message, code=code.value))
        self._abandoned = self.dropped = True
        self.close()
        keep_alive(asyncio.ensure_future(self._leave()))

    def close(self) -> None:
        """Note that the run has ended: nothing more will come."""
        self._closed = True
        self._wake()

    async def take(self) -> list[BaseEvent]:
        """Wait for events and return all that there are; none after the end of the run."""
        while await self._wait():
            self._pace()
            if events := self.take_waiting():
                return events
        return []

    def take_waiting(self) -> list[BaseEvent]:
        """Return the events that wait now."""
        return [one for event in self._waiting() for one in self._open.feed(event)]

    def _waiting(self) -> list[BaseEvent]:
        events = self.events()
        self.clear()
        return self._context.run(self._convert, events) if self._converts else events

    def _convert(self, events: list[BaseEvent]) -> list[BaseEvent]:
        try:
            for convert in self._converts:
                events = [made for event in events for made in convert(event)]
        except Exception:
            logger.exception("The events of a run could not be made for a client.")
            self.drop(ErrorCode.INTERNAL)
            return []
        return events

    async def _wait(self) -> bool:
        """Wait until something may leave; return False after the end of the run."""
        while not len(self) or (self._timer is not None and not self._closed):
            if self._closed:
                return False
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return True

    async def take_frames(self) -> bytes:
        """Wait for events and return all that there are as SSE frames; none after the end.

        No client takes a frame of more than `MAX_FRAME` characters. Such a snapshot is left out.
        For any other event the reader gets `RUN_ERROR` (`event_too_large`).
        """
        while await self._wait():
            self._pace()
            frames = self._encode_waiting() if not self._converts else None
            if frames is None:
                frames = self._encode(self._waiting())
            if frames:
                return frames
        return b""

    def _encode_waiting(self) -> bytes | None:
        """Return the frame of one short text, which is all that waits at a provider's pace; None if
        anything else waits. No event is made: the frames of a block differ in their texts alone.
        """
        if len(self) != 1 or (last := self._last) is None:
            return None
        text = "".join(last.texts)
        if len(text) > PIECE:
            return None
        if last.block is not self._block:
            self._block = last.block
            [event] = content_events(last.block, _TEXT)
            head, field, end = encode(event).decode().partition(f'"delta":"{_TEXT}')
            self._head, self._end = head + field.removesuffix(_TEXT), end
        try:
            frame = f"{self._head}{encode_text(text)}{self._end}".encode()
        except UnicodeEncodeError:  # half a surrogate pair: `encode` knows what to do
            return None
        self.clear()
        return frame

    def _encode(self, events: Iterable[BaseEvent]) -> bytes:
        frames: list[bytes] = []
        for event in events:
            frame = encode(event)
            if _fits(frame):
                *ends, _ = self._open.feed(event)
                frames += [*map(encode, ends), frame]
            elif not self._context.run(self._leave_out, event, len(frame)):
                break
        return b"".join(frames)

    def _leave_out(self, event: BaseEvent, length: int) -> bool:
        """Leave out a snapshot that is too large for a client, or drop the reader; return whether
        it goes on.
        """
        text = "A %s of %d bytes is too large for a client"
        if isinstance(event, agui.MessagesSnapshotEvent | agui.StateSnapshotEvent):
            logger.warning(text + " and is left out.", event.type.value, length)
            count_dropped("large_snapshot")
            return True
        logger.error(text + ".", event.type.value, length)
        self.drop(ErrorCode.EVENT_TOO_LARGE)
        return False

    def clear(self) -> None:
        """Remove all that waits."""
        super().clear()
        self._weight = 0

    def _pace(self) -> None:
        """Let the next batch wait if too many have left lately."""
        before, self._taken_at = self._taken_at, self._loop.time()
        self._burst = min(_BURST, self._burst + (self._taken_at - before) / INTERVAL) - 1
        if self._burst < 1:
            self._timer = self._loop.call_later(INTERVAL, self._end_interval)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end_interval(self) -> None:
        self._timer = None
        if len(self):
            self._wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave: later events are dropped."""
        self._abandoned = True
        self.clear()
        try:
            await self._leave()
        finally:
            self.left.set()

    async def _leave(self) -> None:
        on_leave, self.on_leave = self.on_leave, None
        if on_leave is not None:
            await on_leave()


def _fits(frame: bytes) -> bool:
    """Return whether clients take a frame. They count characters of UTF-16."""
    return len(frame) <= MAX_FRAME or len(frame.decode().encode("utf-16-le")) <= 2 * MAX_FRAME
