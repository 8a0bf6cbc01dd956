"""The queue from which one reader of a run takes events or bytes.

Items enter through a sink, fragments of text through the writers that it gets here. They leave
through `take`, all that wait at once. Fragments of one block that wait together leave as one item.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, Self, TypeVar

from ag_ui import core as agui
from ag_ui.core import BaseEvent

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.kernel.errors import ErrorCode
from langgraph_agui.kernel.telemetry import count_error, run_logger
from langgraph_agui.protocol.json import size
from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.sinks import PIECE, MakeSink, Writer

logger = run_logger(__name__)

T = TypeVar("T")

# Seconds between two batches on average: a third of the time in which a screen shows one picture.
INTERVAL = 0.005

# How many batches may leave at once, after a silence.
_BURST = 8

# Bytes of an event around its text, and of a fragment that waits beside others.
_FRAME = 150
_STRING = 60


def _frame_size(item: object) -> int:
    """Return the bytes of an item as a frame, of a fragment about."""
    if isinstance(item, bytes):
        return len(item)
    delta = getattr(item, "delta", None)
    if isinstance(delta, str):
        return _FRAME + size(delta)
    return len(encode(item)) if isinstance(item, BaseEvent) else 0


class _Fragments(Generic[T]):
    """Fragments of one block that wait together; `make` makes an item of their text."""

    __slots__ = ("make", "texts")

    def __init__(self, make: Callable[[str], T], text: str) -> None:
        self.make = make
        self.texts = [text]

    def items(self) -> Iterator[T]:
        text = "".join(self.texts)
        return (self.make(text[start : start + PIECE]) for start in range(0, len(text), PIECE))


class Subscription(Generic[T]):
    """One reader's subscription to a run: a queue of events or bytes, and a context manager that
    ends it.

    Putting never waits: a slow reader does not stop the run. An item wakes the reader at once,
    unless it was woken more often than once in `INTERVAL` lately: then items leave together,
    because waking a reader costs more than a token does. So at a provider's pace each fragment
    leaves by itself; of a faster model, and with a slow reader, those that wait together do. A
    reader that lets more than `max_unread` bytes wait gets a `RUN_ERROR` (`reader_too_slow`) in
    their place, and nothing more.

    Args:
        make_sink: Makes the sink that puts items, in the form that the reader wants, into this
            queue.
        max_unread: See the attribute.

    Attributes:
        sink: Receives the run's events.
        max_unread: The bytes that may wait for the reader.
        dropped: Whether more waited for the reader, so that it gets nothing more.
        on_leave: Called when the reader leaves, or is dropped.
        left: Set when the reader has left.
    """

    def __init__(self, make_sink: MakeSink[T], max_unread: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: list[T | _Fragments[T]] = []
        # The fragments at the end of the queue, to which more may be added.
        self._last: _Fragments[T] | None = None
        self.max_unread = max_unread
        self._weight = 0
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # How many batches may leave at once, at the time of the last one.
        self._burst, self._taken_at = float(_BURST), self._loop.time()
        self._closed = False
        self._abandoned = False
        self.dropped = False
        self.sink = make_sink(self)
        self.on_leave: Callable[[], Awaitable[None]] | None = None
        self.left = asyncio.Event()

    @property
    def waiting(self) -> int:
        """The bytes that wait for the reader, about."""
        return self._weight

    def put(self, item: T) -> None:
        """Add an item. Does nothing after the reader has left."""
        self._last = None
        self._add(item)

    def writer(self, make: Callable[[str], T]) -> Writer:
        """Return the writer of a block's fragments; `make` makes an item of one, or of several
        that wait together.
        """
        own: _Fragments[T] | None = None

        def write(text: str) -> None:
            nonlocal own
            if own is not None and own is self._last:
                own.texts.append(text)
                if self._waiter is None:
                    self._weigh(_STRING + size(text))
            else:
                own = _Fragments(make, text)
                self._add(own)
                self._last = None if self._abandoned else own

        return write

    def _add(self, item: T | _Fragments[T]) -> None:
        if self._abandoned:
            return
        self._items.append(item)
        if self._waiter is None:  # else the reader waits for items, and is not slow
            self._weigh(
                _FRAME + size(item.texts[0]) if isinstance(item, _Fragments) else _frame_size(item)
            )
        elif self._timer is None:
            self._wake()

    def _weigh(self, added: int) -> None:
        """Drop the reader if more waits for it than may. One item may wait, however large."""
        self._weight += added
        if self._weight <= self.max_unread or self._weight == added:
            return
        code = ErrorCode.READER_TOO_SLOW
        logger.warning("A reader was dropped: %d bytes waited for it.", self._weight)
        count_error(code)
        self._items.clear()
        self._weight = 0
        self.dropped = True
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
        self._pace()
        return self.take_waiting() or await self.take()  # fragments may be empty

    def take_waiting(self) -> list[T]:
        """Return the items that wait now."""
        items, self._items = self._items, []
        self._last = None
        self._weight = 0
        batch: list[T] = []
        for item in items:
            if isinstance(item, _Fragments):
                batch.extend(item.items())
            else:
                batch.append(item)
        return batch

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
        if self._items:
            self._wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave: later items are dropped."""
        self._abandoned = True
        self._items.clear()
        self._last = None
        try:
            await self._leave()
        finally:
            self.left.set()

    async def _leave(self) -> None:
        on_leave, self.on_leave = self.on_leave, None
        if on_leave is not None:
            await on_leave()
