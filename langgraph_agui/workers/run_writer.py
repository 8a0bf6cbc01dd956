"""Writes the log of a run of this worker into the store, for clients of other workers.

Signals enter from the store, entries leave into it. The first signal to follow the run starts the
writing. The first entry is the log so far; later entries are what comes, many fragments in each.
When they have become many, the log is written anew.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ag_ui.core import BaseEvent

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.run import Run
from langgraph_agui.workers.signals import Signal, mark_event
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

# Seconds between two entries.
_INTERVAL: Final = 0.04

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

    def __init__(self, store: RunStore, run: Run, key: str, max_unread: int) -> None:
        self._store = store
        self._run = run
        self._key = key
        self._max_unread = max_unread
        self._reader: Subscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._position = 0
        # The marks since the log was begun last.
        self._marks: list[str] = []

    async def serve(self, name: str, thread: str | None) -> None:
        """Keep the run in the store until it ends: under its name, and under the name of its thread
        from the time at which it has the thread.
        """
        try:
            await self._store.begin(self._key, self._receive)
            await self._store.enter(name, self._key)
            await self._run.entered
            if thread is not None and not self._run.finished:
                await self._store.enter(thread, self._key)
            await asyncio.wait({self._run.task})
            if self._task is not None:
                await asyncio.wait({self._task})
        except Exception:
            logger.warning(
                "The store of live runs does not answer: other workers do not see a run.",
                exc_info=True,
            )
        # While the store has the run, a client that connects to the thread waits for it.
        for pause in _RETRIES:
            with suppress(Exception):
                await self._store.finish(self._key)
                return
            await asyncio.sleep(pause)
        logger.warning("The store of live runs does not answer: it still has a run that has ended.")

    async def add_name(self, name: str) -> None:
        """Enter one more name of the run: a client that has joined it has a run id of its own."""
        try:
            if not self._run.finished:
                await self._store.enter(name, self._key)
        except Exception:
            logger.warning(
                "The store of live runs does not answer: a client cannot stop a run.", exc_info=True
            )

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
        if signal.mark:
            self._marks.append(signal.mark)
            if self._reader is not None:
                self._reader.event(mark_event(signal.mark))
        is_writing = self._task is not None and not self._task.done()
        # A worker that pings has entries. It lacks the next ones only if the writing has failed.
        if not is_writing and (signal.kind == "follow" or self._position):
            name = f"agui-write-{self._run.input.run_id}"
            self._task = asyncio.create_task(self._write(), name=name)

    async def _write(self) -> None:
        """Write the log until the run ends; from its beginning again if the store was too slow."""
        try:
            while not self._run.finished:
                self._reader = Subscription(self._max_unread)
                async with self._reader:
                    await self._write_log(self._reader)
        except Exception:
            logger.warning(
                "A run was not written into the store: followers lose it.", exc_info=True
            )
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
            if written > self._max_unread and not reader.dropped:
                # Nothing comes between the events that wait and the log.
                waiting, log, marks = reader.take_waiting(), self._run.log(), [*self._marks]
                await self._append(waiting)
                await self._begin([*log, *map(mark_event, marks)], begun)
                del self._marks[: len(marks)]
                begun, written = self._position, 0
            await asyncio.sleep(_INTERVAL)

    async def _begin(self, log: Sequence[BaseEvent], oldest: int) -> None:
        """Write the log as it is at this position."""
        entry = Entry(self._position, b"".join(map(encode, log)))
        await self._store.begin_log(self._key, entry, oldest)

    async def _append(self, events: Sequence[BaseEvent]) -> int:
        """Write events as one entry, and return their bytes."""
        data = b"".join(map(encode, events))
        if data:
            self._position += 1
            await self._store.append(self._key, Entry(self._position, data))
        return len(data)
