"""Writes the log of a run of this worker into the store, for clients of other workers.

Signals enter from the store, entries leave into it. The first signal to follow the run starts the
writing. The first entry is the log so far; later entries are what comes, many fragments in each.
When they have become many, the log is written anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ag_ui.core import BaseEvent

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.run_log import for_others
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.run import Run
from langgraph_agui.workers.bounded import BoundedStore
from langgraph_agui.workers.signals import Signal, mark_event
from langgraph_agui.workers.store import Entry

logger = logging.getLogger(__name__)

# Seconds between two entries.
_INTERVAL: Final = 0.04

# Seconds between the attempts to write an entry, and the attempts when the run has ended.
_RETRY: Final = 0.5
_LAST_ATTEMPTS: Final = 3

# Seconds between the attempts to end a run in the store.
_RETRIES: Final = (1, 5, 30, 120, 600)


class RunWriter:
    """Writes the log of a run of this worker, and carries out the signals to it.

    Args:
        store: Receives the entries.
        run: The run.
        key: The key of the run in the store.
        max_unread: The bytes that may wait for the store, and those after which the log is written
            anew.
    """

    def __init__(self, store: BoundedStore, run: Run, key: str, max_unread: int) -> None:
        self._store = store
        self._run = run
        self._key = key
        self._max_unread = max_unread
        self._reader: Subscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._position = 0
        # The marks since the log was begun last.
        self._marks: list[str] = []
        # Whether a reader has not found the beginning of the log.
        self._lacks_beginning = False

    async def serve(self, name: str, thread: str | None) -> None:
        """Keep the run in the store until it ends: under its name, and under the name of its thread
        from the time at which it has the thread.
        """
        await _try(self._store.begin(self._key, self._receive))
        await _try(self._store.enter(name, self._key))
        await self._run.entered
        if thread is not None and not self._run.finished:
            await _try(self._store.enter(thread, self._key))
        await asyncio.wait({self._run.task})
        if self._task is not None:
            await asyncio.wait({self._task})
        # While the store has the run, a client that connects to the thread waits for it.
        for pause in _RETRIES:
            if await _try(self._store.finish(self._key)):
                return
            await asyncio.sleep(pause)
        logger.warning("The store of live runs does not answer: it still has a run that has ended.")

    async def add_name(self, name: str) -> None:
        """Enter one more name of the run: a client that has joined it has a run id of its own."""
        if not self._run.finished:
            await _try(self._store.enter(name, self._key))

    def _receive(self, text: str) -> None:
        signal = Signal.from_text(text)
        if signal.kind == "cancel":
            self._run.stop()
        elif signal.kind in ("follow", "ping") and not self._run.finished:
            if signal.name:
                keep_alive(asyncio.create_task(self.add_name(signal.name)))
            self._show(signal)

    def _show(self, signal: Signal) -> None:
        """Write the log for the client of a signal."""
        if signal.kind == "follow":
            self._note(signal.mark)
        is_writing = self._task is not None and not self._task.done()
        # A worker that pings has entries. It lacks the next ones only if the writing has failed.
        if not is_writing and (signal.kind == "follow" or self._position):
            name = f"agui-write-{self._run.input.run_id}"
            self._task = asyncio.create_task(self._write(), name=name)

    def _note(self, mark: str) -> None:
        """Note the mark of a client. A worker that does not find the log sends none."""
        if mark:
            self._marks.append(mark)
        else:
            self._lacks_beginning = True
        if self._reader is not None:
            self._reader.event(mark_event(mark))

    async def _write(self) -> None:
        """Write the log until the run ends; from its beginning again if the store was too slow."""
        try:
            while not self._run.finished:
                self._reader = Subscription(self._max_unread, lambda event: (for_others(event),))
                async with self._reader:
                    await self._write_log(self._reader)
        except Exception:
            logger.exception("The log of a run could not be written.")
        finally:
            self._reader = None

    async def _write_log(self, reader: Subscription) -> None:
        """Write the log so far, and then what comes until the reader gets no more."""
        log = self._run.log()
        self._run.follow(reader)
        for mark in self._marks:
            reader.event(mark_event(mark))
        # Workers that have entries of an earlier attempt lack this one, and notice it.
        self._position += 1
        begun = self._position
        await self._begin(log, begun)
        written = 0
        while (events := await reader.take()) and not reader.dropped:
            written += await self._append(events)
            is_due = written > self._max_unread or self._lacks_beginning
            if is_due and not reader.dropped:
                # Nothing comes between the events that wait and the log.
                waiting, log, marks = reader.take_waiting(), self._run.log(), [*self._marks]
                await self._append(waiting)
                await self._begin([*log, *map(mark_event, marks)], begun)
                del self._marks[: len(marks)]
                begun, written = self._position, 0
            await asyncio.sleep(_INTERVAL)

    async def _begin(self, log: Sequence[BaseEvent], oldest: int) -> None:
        """Write the log as it is at this position."""
        self._lacks_beginning = False
        entry = Entry(self._position, b"".join(map(encode, log)))
        await self._insist(lambda: self._store.begin_log(self._key, entry, oldest))

    async def _append(self, events: Sequence[BaseEvent]) -> int:
        """Write events as one entry, and return their bytes."""
        data = b"".join(map(encode, events))
        if data:
            self._position += 1
            entry = Entry(self._position, data)
            await self._insist(lambda: self._store.append(self._key, entry))
        return len(data)

    async def _insist(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write an entry until the store has it: who follows can do without none. Give up if too
        much waits meanwhile, or if the run has ended.
        """
        attempts = _LAST_ATTEMPTS
        while attempts and not await _try(write()):
            if self._reader is None or self._reader.dropped:
                return
            attempts -= self._run.finished
            await asyncio.sleep(_RETRY)


async def _try(call: Awaitable[None]) -> bool:
    """Return whether the store has answered. The log has it otherwise."""
    try:
        await call
    except StateError:
        return False
    return True
