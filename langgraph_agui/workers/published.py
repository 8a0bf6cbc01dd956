"""A run of this worker that others may follow and stop. Signals enter from the store, entries leave
into it.

Nothing is written before another worker asks. Then all that there is of the run so far is, as for a
client that joins, and after it the rest, many fragments at a time.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.readers.sinks import SSESink
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.run import Run
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

# The signals to a run: stop; write what there is so far, and the rest; are you there? A client's
# name for the run may stand behind it.
CANCEL: Final = "cancel"
FOLLOW: Final = "follow"
PING: Final = "ping"

# Seconds between two entries.
_INTERVAL: Final = 0.04

# Seconds between the attempts to end a run in the store.
_RETRIES: Final = (1, 5, 30, 120, 600)

# Bytes after which the run is written from its beginning again, so that what stands before can be
# deleted. More, if the beginning is larger.
_SEGMENT: Final = 1024 * 1024

# A reader of a run, what the one before it has left, and what it got when it joined.
Segment: TypeAlias = tuple[Subscription[bytes], list[bytes], list[bytes]]


class PublishedRun:
    """A run of this worker, as others see it.

    Args:
        store: Receives what the run emits, if another worker asks for it.
        run: The run.
        key: Its key in the store.
        max_unread: The bytes that may wait for the store.
    """

    def __init__(self, store: RunStore, run: Run, key: str, max_unread: int) -> None:
        self._store = store
        self._run = run
        self._key = key
        self._max_unread = max_unread
        # Of a client that holds nothing.
        self._input = run.input.model_copy(update={"messages": [], "state": None})
        self._reader: Subscription[bytes] | None = None
        self._task: asyncio.Task[None] | None = None
        self._wanted = False
        self._position = 0
        # The positions of two complete entries, a segment apart or more, and the bytes since the
        # second one.
        self._beginnings = (0, 0)
        self._size = 0

    async def serve(self, name: str, thread: str | None) -> None:
        """Have the run in the store under its name until it ends, and under the thread's from when
        it has that.
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
        for (
            pause
        ) in _RETRIES:  # who connects to the thread waits for the run while the store has it
            with suppress(Exception):
                await self._store.finish(self._key)
                return
            await asyncio.sleep(pause)
        logger.warning("The store of live runs does not answer: it still has a run that has ended.")

    async def add_name(self, name: str) -> None:
        """Let the run be found under one more name: a client that has joined it has an id of its
        own.
        """
        try:
            if not self._run.finished:
                await self._store.enter(name, self._key)
        except Exception:
            logger.warning(
                "The store of live runs does not answer: a client cannot stop a run.", exc_info=True
            )

    def _receive(self, text: str) -> None:
        signal, _, name = text.partition(" ")
        if name:
            keep_alive(asyncio.create_task(self.add_name(name)))
        if signal == CANCEL:
            self._run.stop()
        elif self._run.finished or (signal == PING and not self._position):
            return
        elif (
            self._task is None or self._task.done()
        ):  # also for a `ping`: who sends it has lost what failed
            self._task = asyncio.create_task(
                self._publish(), name=f"agui-publish-{self._run.input.run_id}"
            )
        elif signal == FOLLOW:
            self._wanted = True
            if self._reader is not None:
                self._reader.put(b"")  # wakes it

    async def _publish(self) -> None:
        try:
            segment = None if self._run.finished else self._lose()
            while segment is not None:
                segment = await self._write(*segment)
        except Exception:
            logger.warning(
                "A run was not written into the store: followers lose it.", exc_info=True
            )

    def _lose(self) -> Segment:
        """Begin a segment behind a gap, at which followers leave."""
        self._position += 1
        return self._begin_segment([])

    def _begin_segment(self, rest: list[bytes]) -> Segment:
        self._wanted = False
        self._reader = reader = Subscription(SSESink, sys.maxsize)
        self._run.join(reader, self._input)
        beginning = reader.take_waiting()
        reader.max_unread = self._max_unread
        return reader, rest, beginning

    async def _write(
        self, reader: Subscription[bytes], rest: list[bytes], beginning: list[bytes]
    ) -> Segment | None:
        """Write a segment to its end. Return the next one; None at the end of the run."""
        async with reader:
            await self._append(rest)
            left = max(_SEGMENT, await self._append(beginning, begins=True))
            while self._run.finished or not (self._wanted or reader.let_go or left < 0):
                if not (batch := await reader.take()):
                    return None
                left -= await self._append(batch)
                await asyncio.sleep(_INTERVAL)
            # Nothing comes between what waits here and the beginning of the next one.
            return self._lose() if reader.let_go else self._begin_segment(reader.take_waiting())

    async def _append(self, frames: Sequence[bytes], *, begins: bool = False) -> int:
        data = b"".join(frames)
        if data:
            self._position += 1
            if (
                begins and self._size > _SEGMENT
            ):  # who is behind still needs what stands after the last beginning
                self._beginnings, self._size = (self._beginnings[1], self._position), 0
            self._size += len(data)
            await self._store.append(
                self._key, Entry(self._position, data, begins), self._beginnings[0]
            )
        return len(data)
