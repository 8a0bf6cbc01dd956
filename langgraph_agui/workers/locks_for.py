"""The locks of the threads that a checkpointer keeps.

All of them exclude runs of this process from a thread that has one. Those of a checkpointer on
Postgres exclude runs of other processes as well (`postgres_locks.py`).
"""

import sys
import weakref
from collections.abc import Callable
from typing import Any, cast

from langgraph_agui.runs.locks import ThreadLocks

# The locks by the `id` of their owner: a checkpointer may be equal to another one, or not hashable.
_locks: dict[int, ThreadLocks] = {}


def locks_for(checkpointer: object) -> ThreadLocks:
    """Return the locks of the threads that `checkpointer` keeps.

    They are the same for the same checkpointer, and for all checkpointers on the same Postgres pool
    or connection.
    """
    # If the module is not imported, the checkpointer is none of its classes.
    aio = sys.modules.get("langgraph.checkpoint.postgres.aio")
    # The shallow class is deprecated, and may be missing.
    savers = [
        getattr(aio, name, ()) for name in ("AsyncPostgresSaver", "AsyncShallowPostgresSaver")
    ]
    if not isinstance(checkpointer, tuple(savers)):
        return _locks_of(checkpointer, ThreadLocks)
    from langgraph_agui.workers.postgres_locks import PostgresLocks  # psycopg is an extra

    source = cast("Any", checkpointer).conn
    return _locks_of(source, lambda: PostgresLocks(source))


def _locks_of(owner: object, make: Callable[[], ThreadLocks]) -> ThreadLocks:
    locks = _locks.get(id(owner))
    if locks is None:
        weakref.finalize(owner, _locks.pop, id(owner), None).atexit = False
        # Another thread may have made the locks meanwhile.
        locks = _locks.setdefault(id(owner), make())
    return locks
