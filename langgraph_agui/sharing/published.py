"""A run of this worker that others may follow and stop. Signals enter from the store, entries leave into it.

Nothing is written before another worker asks. Then all that there is of the run so far is, as for a client that joins,
and after it the rest, many fragments at a time.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, TypeAlias

from langgraph_agui.run import Run
from langgraph_agui.run_store.store import Entry, RunStore
from langgraph_agui.translate.event_sinks import SSESink
from langgraph_agui.translate.subscription import Subscription

logger = logging.getLogger(__name__)

# The signals to a run: stop; write what there is so far, and the rest; are you there?
CANCEL: Final = "cancel"
FOLLOW: Final = "follow"
PING: Final = "ping"

# Seconds between two entries.
_INTERVAL: Final = 0.04

# Bytes after which the run is written from its beginning again, so that what stands before can be deleted. More, if the
# beginning is larger.
_SEGMENT: Final = 1024 * 1024

# A reader of a run, and what it got when it joined.
Begun: TypeAlias = tuple[Subscription[bytes], list[bytes]]


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
        # The positions of the last two complete entries.
        self._beginnings = (0, 0)

    async def serve(self, name: str, thread: str | None) -> None:
        """Have the run in the store under its name until it ends; once it has its thread, under that's name too."""
        try:
            await self._store.begin(self._key, self._receive)
            await self._store.enter(name, self._key)
            await self._run.entered
            if thread is not None and not self._run.finished:
                await self._store.enter(thread, self._key)
            await asyncio.wait({self._run.task})
            if self._task is not None:
                await asyncio.wait({self._task})
            await self._store.finish(self._key)
        except Exception:
            logger.warning("The store of live runs does not answer: other workers do not see a run.", exc_info=True)

    def _receive(self, signal: str) -> None:
        if signal == CANCEL:
            self._run.stop()
        elif signal == FOLLOW and not self._run.finished:
            self._wanted = True
            if self._task is None or self._task.done():
                publishing = self._publish(self._subscribe())
                self._task = asyncio.create_task(publishing, name=f"agui-publish-{self._run.input.run_id}")
            elif self._reader is not None:
                self._reader.put(b"")  # wakes it

    async def _publish(self, begun: Begun | None) -> None:
        try:
            while begun is not None:
                begun = await self._write(*begun)
        except Exception:
            logger.warning("The store of live runs does not answer: followers lose a run.", exc_info=True)

    def _subscribe(self) -> Begun:
        self._wanted = False
        self._reader = Subscription(SSESink, self._max_unread)
        self._run.join(self._reader, self._input)
        return self._reader, self._reader.take_waiting()

    async def _write(self, reader: Subscription[bytes], beginning: list[bytes]) -> Begun | None:
        """Write what a reader gets, to the end of its segment. Return the next reader; None at the end of the run."""
        async with reader:
            left = max(_SEGMENT, await self._append(beginning, begins=True))
            while self._run.finished or not (self._wanted or left < 0):
                if not (batch := await reader.take()):
                    return None
                left -= await self._append(batch)
                await asyncio.sleep(_INTERVAL)
            rest = reader.take_waiting()  # and nothing comes until the next reader has joined
            following = self._subscribe()
        await self._append(rest)
        return following

    async def _append(self, frames: Sequence[bytes], *, begins: bool = False) -> int:
        data = b"".join(frames)
        if data:
            self._position += 1
            if begins:  # who is behind still needs what stands after the last beginning
                self._beginnings = (self._beginnings[1], self._position)
            await self._store.append(self._key, Entry(self._position, data, begins), self._beginnings[0])
        return len(data)
