"""One run per thread at a time: locks by thread id, for all event loops, agents and workers that share a checkpointer.

A checkpointer enters `locks_for`, the locks of its threads leave. All of them exclude runs within this process; those
of a checkpointer on Postgres exclude runs of other processes as well (`postgres_locks.py`).
"""

from __future__ import annotations

import asyncio
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from langgraph_agui.errors import ErrorCode, RunInputError


class ThreadLease(Protocol):
    """The right to run in a thread, until it is released."""

    async def release(self) -> None:
        """Let the next run in. May be called again, and does its work even if the caller is cancelled meanwhile."""

    def let_go(self) -> object:
        """Begin to release, for where nothing can be awaited: from any thread, and though the event loop is ending."""


class ThreadLocks(Protocol):
    """Locks by thread id; to be used from any event loop."""

    async def acquire(self, thread_id: str, *, wait: bool) -> ThreadLease:
        """Return the lease of a thread.

        Args:
            thread_id: The thread.
            wait: Whether to wait, first come, first served, while another run has it. If not, `RunInputError` with
                `ErrorCode.THREAD_BUSY` is raised.
        """


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


class _Registry:
    """The locks of each checkpointer, for as long as that lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Callable[[], object], ThreadLocks]] = {}
        self._guard = threading.RLock()  # reentrant, as `forget` is called by the garbage collector

    def of(self, owner: object, make: Callable[[], ThreadLocks]) -> ThreadLocks:
        number = id(owner)  # owners need not be hashable, nor different if they are equal
        with self._guard:
            known = self._known.get(number)
            if known is not None and known[0]() is owner:
                return known[1]

            def forget(reference: Callable[[], object]) -> None:
                with self._guard:
                    if (entry := self._known.get(number)) is not None and entry[0] is reference:
                        del self._known[number]

            try:
                reference: Callable[[], object] = weakref.ref(owner, forget)
            except TypeError:  # a class with __slots__: kept for good, as such objects mostly are
                reference = lambda: owner  # noqa: E731
            locks = make()
            self._known[number] = (reference, locks)
            return locks


_registry = _Registry()


def locks_for(checkpointer: object) -> ThreadLocks:
    """Return the locks of the threads that `checkpointer` keeps.

    The same locks for the same checkpointer, and for all checkpointers on the same Postgres pool or connection.
    """
    base = sys.modules.get("langgraph.checkpoint.postgres.base")  # not imported: then it cannot be one of those
    if base is not None and isinstance(checkpointer, base.BasePostgresSaver):
        from langgraph_agui.threads.postgres_locks import PostgresLocks  # psycopg: extra

        source = getattr(checkpointer, "conn", None)
        if PostgresLocks.can_use(source):
            return _registry.of(source, lambda: PostgresLocks(source))
    return _registry.of(checkpointer, LocalLocks)
