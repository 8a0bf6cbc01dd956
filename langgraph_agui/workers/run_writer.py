"""Writes a run of this worker into the store, for clients of other workers.

Signals enter from the store, entries leave into it. The first signal to follow the run starts the
writing. The first entry is the run so far, as a client that joins gets it. Later entries are the
rest, many fragments in each.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.readers.sinks import SSESink
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.run import Run
from langgraph_agui.workers.signals import Signal, SignalKind
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

# Seconds between two entries.
_INTERVAL: Final = 0.04

# Seconds between the attempts to end a run in the store.
_RETRIES: Final = (1, 5, 30, 120, 600)

# The bytes of a segment, or more if its beginning has more.
_SEGMENT: Final = 1024 * 1024


class Segment(NamedTuple):
    """A part of the written run. Its first entry is complete, so the entries before it can be
    deleted.

    Attributes:
        reader: A new subscription to the run.
        rest: Frames of the run that the segment before this one has not written.
        beginning: The run so far, as the new reader got it.
    """

    reader: Subscription[bytes]
    rest: list[bytes]
    beginning: list[bytes]


class RunWriter:
    """Writes a run of this worker, and carries out the signals to it.

    Args:
        store: Receives the entries.
        run: The run.
        key: The key of the run in the store.
        max_unread: The bytes that may wait for the store.
    """

    def __init__(self, store: RunStore, run: Run, key: str, max_unread: int) -> None:
        self._store = store
        self._run = run
        self._key = key
        self._max_unread = max_unread
        # The input of a client that holds nothing.
        self._input = run.input.model_copy(update={"messages": [], "state": None})
        self._reader: Subscription[bytes] | None = None
        self._task: asyncio.Task[None] | None = None
        # Whether a client waits for the next complete entry.
        self._wanted = False
        self._position = 0
        # The positions of two complete entries that are a segment or more apart, and the bytes
        # since the second one.
        self._beginnings = (0, 0)
        self._size = 0

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
        if signal.name:
            keep_alive(asyncio.create_task(self.add_name(signal.name)))
        if signal.kind == "cancel":
            self._run.stop()
        elif not self._run.finished:
            self._show(signal.kind)

    def _show(self, kind: SignalKind) -> None:
        """Write the run for the client of a signal."""
        is_writing = self._task is not None and not self._task.done()
        if is_writing and kind == "follow":
            self._begin_anew()
        # A worker that pings has entries. It lacks the next ones only if the writing has failed.
        if not is_writing and (kind == "follow" or self._position):
            name = f"agui-write-{self._run.input.run_id}"
            self._task = asyncio.create_task(self._write(), name=name)

    def _begin_anew(self) -> None:
        self._wanted = True
        if self._reader is not None:
            self._reader.put(b"")  # wakes it

    async def _write(self) -> None:
        try:
            segment = None if self._run.finished else self._begin_after_gap()
            while segment is not None:
                segment = await self._write_segment(segment)
        except Exception:
            logger.warning(
                "A run was not written into the store: followers lose it.", exc_info=True
            )

    def _begin_after_gap(self) -> Segment:
        """Begin a segment one position too far. At the gap, clients notice that they lack entries,
        and leave.
        """
        self._position += 1
        return self._begin_segment([])

    def _begin_segment(self, rest: list[bytes]) -> Segment:
        self._wanted = False
        self._reader = reader = Subscription(SSESink, sys.maxsize)
        self._run.join(reader, self._input)
        beginning = reader.take_waiting()
        reader.max_unread = self._max_unread
        return Segment(reader, rest, beginning)

    async def _write_segment(self, segment: Segment) -> Segment | None:
        """Write a segment to its end. Return the next one; None at the end of the run."""
        async with segment.reader as reader:
            await self._append(segment.rest)
            left = max(_SEGMENT, await self._append(segment.beginning, is_complete=True))
            while self._run.finished or not (self._wanted or reader.dropped or left < 0):
                if not (batch := await reader.take()):
                    return None
                left -= await self._append(batch)
                await asyncio.sleep(_INTERVAL)
            if reader.dropped:
                return self._begin_after_gap()
            # Nothing comes between the frames that wait here and the beginning of the next segment.
            return self._begin_segment(reader.take_waiting())

    async def _append(self, frames: Sequence[bytes], *, is_complete: bool = False) -> int:
        """Write frames as one entry, and return their bytes."""
        data = b"".join(frames)
        if not data:
            return 0
        self._position += 1
        if is_complete and self._size > _SEGMENT:
            # A client that is behind still reads the entries after the last beginning.
            self._beginnings = (self._beginnings[1], self._position)
            self._size = 0
        self._size += len(data)
        entry = Entry(self._position, data, is_complete)
        await self._store.append(self._key, entry, self._beginnings[0])
        return len(data)
