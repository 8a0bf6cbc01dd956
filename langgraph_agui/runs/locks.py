"""One run at a time in each thread, for all event loops of this process.

The id of a thread enters `ThreadLocks.acquire`, a lease leaves.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress

from langgraph_agui.kernel.aio import keep_alive
from langgraph_agui.kernel.errors import ErrorCode, RunInputError

# Seconds after which a waiting run looks at its place again: an event loop that is closed within a
# run tells nobody.
_LOOK_INTERVAL = 1.0


class ThreadLease:
    """The right to run in a thread, or a place in the queue for it.

    Args:
        thread_id: The thread.
        free: Lets the next run in.

    Attributes:
        thread_id: The thread.
        loop: The event loop of the run.
        granted: Set when a run that waits gets the thread from another one.
    """

    def __init__(
        self, thread_id: str, free: Callable[["ThreadLease"], Coroutine[None, None, None]]
    ) -> None:
        self.thread_id = thread_id
        self.loop = asyncio.get_running_loop()
        self.granted = asyncio.Event()
        self._free = free
        self._freeing: asyncio.Task[None] | None = None

    def release(self) -> asyncio.Future[None]:
        """Begin to let the next run in; the future is done when that is done.

        It is done once, also if no code awaits it, or if the caller is cancelled meanwhile.
        """
        if self._freeing is None:
            self._freeing = keep_alive(self.loop.create_task(self._free(self)))
        return asyncio.shield(self._freeing)


class ThreadLocks:
    """Locks by thread id.

    Each thread with a run has a queue of leases, and the first one is the run's.
    """

    def __init__(self) -> None:
        self._queues: dict[str, list[ThreadLease]] = {}
        # Agents in several event loops, each in a thread of its own, may share a checkpointer.
        self._guard = threading.Lock()

    async def acquire(self, thread_id: str, max_waiting: int = 0) -> ThreadLease:
        """Return the lease of a thread. Runs of this process wait for it first come, first served.

        Args:
            thread_id: The thread.
            max_waiting: How many runs of this process may wait, this one included, while another
                one has the thread.

        Raises:
            RunInputError: Another run has the thread, and as many as may wait (`thread_busy`).
        """
        lease = ThreadLease(thread_id, self._free)
        with self._guard:
            queue = self._queue(thread_id)
            if len(queue) > max_waiting:
                raise RunInputError(ErrorCode.THREAD_BUSY)
            self._queues[thread_id] = [*queue, lease]
        try:
            while not self._is_first(lease):
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_INTERVAL):
                        await lease.granted.wait()
        except asyncio.CancelledError:  # the thread may have been granted just before
            self._leave(lease)
            raise
        return lease

    def _is_first(self, lease: ThreadLease) -> bool:
        with self._guard:
            return self._queue(lease.thread_id)[0] is lease

    async def _free(self, lease: ThreadLease) -> None:
        self._leave(lease)

    def _leave(self, lease: ThreadLease) -> None:
        """Take a lease from its queue. The thread belongs to the one that is then the first."""
        with self._guard:
            queue = [one for one in self._queue(lease.thread_id) if one is not lease]
            self._queues.pop(lease.thread_id, None)
            if queue:
                self._queues[lease.thread_id] = queue
                with suppress(RuntimeError):  # its event loop is being closed
                    queue[0].loop.call_soon_threadsafe(queue[0].granted.set)

    def _queue(self, thread_id: str) -> list[ThreadLease]:
        """Return the queue of a thread, without leases of closed event loops: they stay."""
        queue = self._queues.get(thread_id, ())
        return [lease for lease in queue if not lease.loop.is_closed()]
