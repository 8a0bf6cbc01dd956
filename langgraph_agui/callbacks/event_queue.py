"""Events on their way from the threads that a run works in to an asynchronous reader."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from ag_ui.core import BaseEvent, RunErrorEvent, RunFinishedEvent, RunStartedEvent


def is_last(event: BaseEvent) -> bool:
    """Whether this is the terminal event of its run."""
    return isinstance(event, RunFinishedEvent | RunErrorEvent)


class RunEventQueue:
    """A queue of whole runs that any thread puts into, and one task at a time takes from.

    Args:
        keeps: Whether what is put is kept while nobody reads.

    Attributes:
        reading: Whether somebody reads.
    """

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self._events: deque[BaseEvent] = deque()
        self._lock = threading.Lock()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        self._takes = False
        self.reading = False

    def put(self, event: BaseEvent) -> None:
        """Add an event, if somebody will read the run that it is of from its beginning."""
        with self._lock:
            if isinstance(event, RunStartedEvent):
                self._takes = self._keeps or self.reading
            if not self._takes:
                return
            self._takes = not is_last(event)
            self._events.append(event)
            waiter, self._waiter = self._waiter, None
        if waiter is not None:
            loop, future = waiter
            loop.call_soon_threadsafe(_wake, future)

    def open(self) -> None:
        """Somebody begins to read. Raises `RuntimeError` if somebody does already: each event is told once."""
        if self.reading:
            raise RuntimeError("The events of this handler are being read already")
        self.reading = True

    async def take(self) -> BaseEvent:
        """Wait for the next event and return it."""
        while True:
            with self._lock:
                if self._events:
                    return self._events.popleft()
                loop = asyncio.get_running_loop()
                future = loop.create_future()
                self._waiter = (loop, future)
            await future

    def leave(self, *, within: bool) -> None:
        """The reader leaves, `within` a run: nobody wants the rest of that."""
        with self._lock:
            self.reading = False
            while within and self._events:
                within = not is_last(self._events.popleft())
            if within:
                self._takes = False


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
