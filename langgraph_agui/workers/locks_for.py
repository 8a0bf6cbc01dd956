"""Threads: what a run does with one, and the locks that let one run at a time into it.

A checkpointer enters `locks_for`, the locks of its threads leave. All of them exclude runs within
this process; those of a checkpointer on Postgres exclude runs of other processes as well
(`postgres_locks.py`).
"""

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, cast

from langgraph_agui.runs.locks import ThreadLocks

# The locks of each checkpointer, by its `id`: checkpointers may be equal to each other, and not
# hashable.
_locks: dict[int, ThreadLocks] = {}

_guard = threading.RLock()


def locks_for(checkpointer: object) -> ThreadLocks:
    """Return the locks of the threads that `checkpointer` keeps.

    The same locks for the same checkpointer, and for all checkpointers on the same Postgres pool or
    connection.
    """
    aio = sys.modules.get(
        "langgraph.checkpoint.postgres.aio"
    )  # not imported: then it cannot be one of those
    # The shallow one is deprecated, and may be missing.
    savers = [
        getattr(aio, name, ()) for name in ("AsyncPostgresSaver", "AsyncShallowPostgresSaver")
    ]
    if not isinstance(checkpointer, tuple(savers)):
        return _locks_of(checkpointer, ThreadLocks)
    from langgraph_agui.workers.postgres_locks import PostgresLocks  # psycopg: extra

    source = cast("Any", checkpointer).conn
    return _locks_of(source, lambda: PostgresLocks(source))


def _locks_of(owner: object, make: Callable[[], ThreadLocks]) -> ThreadLocks:
    with _guard:
        if id(owner) not in _locks:
            weakref.finalize(owner, _locks.pop, id(owner), None).atexit = False
            _locks[id(owner)] = make()
        return _locks[id(owner)]
