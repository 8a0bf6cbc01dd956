"""One run per thread at a time, for all event loops of this process. A thread's id enters, a lease
leaves.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from langgraph_agui.kernel.errors import ErrorCode, RunInputError


class ThreadLease:
    """The right to run in a thread, until it is released; before that, a place in the thread's
    queue.

    Args:
        thread_id: The thread.
        free: Lets the next run in. The future is done when that is done.
    """

    def __init__(self, thread_id: str, free: Callable[["ThreadLease"], Future[None]]) -> None:
        self.thread_id = thread_id
        self.granted = Future[None]()
        self._free = free
        self._freed: Future[None] | None = None
        self._guard = threading.RLock()

    def let_go(self) -> Future[None]:
        """Begin to release, for where nothing can be awaited: from any thread, also when the event
        loop is closed.
        """
        with self._guard:
            if self._freed is None:
                self._freed = self._free(self)
            return self._freed

    async def release(self) -> None:
        """Let the next run in. May be called again, and does its work even if the caller is
        cancelled meanwhile.
        """
        await asyncio.shield(asyncio.wrap_future(self.let_go()))


class ThreadLocks:
    """Locks by thread id, for all event loops of this process: a queue of leases for each thread
    that has a run.
    """

    def __init__(self) -> None:
        self._queues: dict[str, deque[ThreadLease]] = {}
        # Reentrant: the garbage collector may end a waiting coroutine, which leaves its queue,
        # while this is taken.
        self._guard = threading.RLock()

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
            queue = self._queues.setdefault(thread_id, deque())
            if len(queue) > max_waiting:
                raise RunInputError(ErrorCode.THREAD_BUSY)
            queue.append(lease)
            if queue[0] is lease:
                return lease
        try:
            await asyncio.wrap_future(lease.granted)
        except BaseException:  # a waiter that is cancelled may have been granted the thread already
            self._leave(lease)
            raise
        return lease

    def _free(self, lease: ThreadLease) -> Future[None]:
        self._leave(lease)
        done = Future[None]()
        done.set_result(None)
        return done

    def _leave(self, lease: ThreadLease) -> None:
        with self._guard:
            queue = self._queues.get(lease.thread_id)
            if queue is None or lease not in queue:
                return
            was_first = queue[0] is lease
            queue.remove(lease)
            if not queue:
                del self._queues[lease.thread_id]
            elif (
                was_first and queue[0].granted.set_running_or_notify_cancel()
            ):  # else that waiter is about to leave
                queue[0].granted.set_result(None)
