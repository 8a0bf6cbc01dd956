"""The thread locks of one process: a queue of leases for each thread that has a run."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from langgraph_agui.errors import ErrorCode, RunInputError


class LocalLease:
    """A place in the queue of a thread; its head is the run that goes on."""

    def __init__(self, thread_id: str, leave: Callable[[LocalLease], None]) -> None:
        self.thread_id = thread_id
        self.turn = Future[None]()
        self._leave = leave

    def let_go(self) -> None:
        """See `ThreadLease`."""
        self._leave(self)

    async def release(self) -> None:
        """See `ThreadLease`."""
        self._leave(self)


class LocalLocks:
    """The locks of one process."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[LocalLease]] = {}
        # Reentrant: a collected coroutine leaves its queue, and anything may be collected while the guard is held.
        self._guard = threading.RLock()

    async def acquire(self, thread_id: str, *, wait: bool) -> LocalLease:
        """See `ThreadLocks`."""
        lease = LocalLease(thread_id, self._leave)
        with self._guard:
            queue = self._queues.setdefault(thread_id, deque())
            if queue and not wait:
                raise RunInputError(ErrorCode.THREAD_BUSY)
            queue.append(lease)
            free = queue[0] is lease
        if not free:
            try:
                await asyncio.wrap_future(lease.turn)
            except BaseException:  # whoever is cancelled while it waits may have become the head already
                self._leave(lease)
                raise
        return lease

    @property
    def busy(self) -> int:
        """How many threads have a run."""
        return len(self._queues)

    def _leave(self, lease: LocalLease) -> None:
        with self._guard:
            queue = self._queues.get(lease.thread_id)
            if queue is None or lease not in queue:
                return
            headed = queue[0] is lease
            queue.remove(lease)
            if not queue:
                del self._queues[lease.thread_id]
            elif headed and queue[0].turn.set_running_or_notify_cancel():  # else it is about to leave by itself
                queue[0].turn.set_result(None)
