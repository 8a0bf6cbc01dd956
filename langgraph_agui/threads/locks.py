"""One run per thread at a time: locks by thread id, for all event loops, agents and workers that share a checkpointer.

A checkpointer enters `locks_for`, the locks of its threads leave. All of them exclude runs within this process; those
of a checkpointer on Postgres exclude runs of other processes as well (`postgres_locks.py`).
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from langgraph_agui.threads.local_locks import LocalLocks


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
