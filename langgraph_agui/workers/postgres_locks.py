"""Locks of the threads that a Postgres checkpointer keeps: one run at a time in all processes that
share the database.

A run takes the lock of this process, then an advisory lock. A process has all of its advisory locks
in one database session. When the process dies, its session ends, and Postgres frees the locks.
"""

import asyncio
import random
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from hashlib import sha256
from typing import Any, ParamSpec, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.kernel.aio import OneEventLoop, keep_alive
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks

T = TypeVar("T")
P = ParamSpec("P")

# An asynchronous Postgres checkpointer connects with one of these.
Source: TypeAlias = AsyncConnection[Any] | AsyncConnectionPool[Any]

logger = run_logger(__name__)

_PREFIX = b"langgraph-agui thread\0"
# Seconds between two attempts to lock a thread in which another process has a run.
_MIN_DELAY, _MAX_DELAY = 0.05, 0.5

# Defaults of the connection: this side soon notices that it is dead.
_PARAMETERS = {
    "application_name": "langgraph-agui thread locks",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# Settings of the session: after a minute, the server ends the session of a machine that went dark.
# It never ends one that is idle.
_SETTINGS = """
SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
    ('idle_session_timeout', '0'), ('statement_timeout', '0')
) AS wanted (name, value) USING (name)
"""


def key_of(thread_id: str) -> int:
    """Return the key of a thread's advisory lock: 64 bits, signed, the same in every process and
    release.
    """
    digest = sha256(_PREFIX + thread_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class PostgresLocks(ThreadLocks):
    """The locks of the threads in one database, for one event loop.

    Args:
        source: The connection or the pool of the checkpointer.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._event_loop = OneEventLoop()
        self._session = LockSession(source)

    async def acquire(self, thread_id: str, max_waiting: int = 0) -> ThreadLease:
        """See `ThreadLocks`. Processes that wait are served in no order.

        Raises:
            RunInputError: Another run has the thread, and as many as may wait in this process
                (`thread_busy`), or the locks belong to another event loop (`wrong_event_loop`).
            StateError: The database cannot be reached.
        """
        self._event_loop.enter()
        lease = await super().acquire(thread_id, max_waiting)
        try:
            while not await self._session.lock(key_of(thread_id)):
                if not max_waiting:
                    raise RunInputError(ErrorCode.THREAD_BUSY)
                # Random, so that waiting processes do not ask in step.
                await asyncio.sleep(random.uniform(_MIN_DELAY, _MAX_DELAY))  # noqa: S311
        except asyncio.CancelledError:
            lease.release()  # behind the attempt to lock, which goes on
            raise
        except Exception:
            await lease.release()
            raise
        return lease

    async def _free(self, lease: ThreadLease) -> None:
        try:
            await self._session.unlock(key_of(lease.thread_id))
        finally:
            await super()._free(lease)


class LockSession:
    """The database session that has the advisory locks of this process.

    Its connection is its own, and lasts as long as the session object. Locks would exhaust the pool
    of the checkpointer.

    Args:
        source: The connection or the pool of the checkpointer.
    """

    def __init__(self, source: Source) -> None:
        self._source = weakref.ref(source)
        self._connection: AsyncConnection[tuple[Any, ...]] | None = None
        self._locked: set[int] = set()
        # One user of the connection at a time: an `unlock` comes after the attempt to lock that it
        # was called after.
        self._turn = asyncio.Lock()

    async def lock(self, key: int) -> bool:
        """Take a lock that this process does not have; return False if another process has it.

        Raises:
            StateError: The database cannot be reached.
        """
        try:
            with suppress(psycopg.Error):  # not open yet, or lost, which only a call shows
                return await self._in_turn(self._lock, key)
            source = self._source()
            if source is None:
                raise StateError("The thread could not be locked: its checkpointer is gone.")
            # A pool without connections keeps its callers waiting: nobody has the turn meanwhile.
            conninfo = await _conninfo_of(source)
            await self._in_turn(self._open, conninfo)
            return await self._in_turn(self._lock, key)
        except psycopg.Error as error:
            raise StateError("The thread could not be locked.") from error

    async def _in_turn(
        self, function: Callable[P, Coroutine[None, None, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call `function` in its turn.

        If the caller is cancelled, the call goes on: no code could tell whether the database has
        granted a lock.
        """

        async def call() -> T:
            async with self._turn:
                return await function(*args, **kwargs)

        return await asyncio.shield(keep_alive(asyncio.create_task(call())))

    async def _lock(self, key: int) -> bool:
        granted = await self._call("pg_try_advisory_lock", key)
        if granted:
            self._locked.add(key)
        return granted

    async def unlock(self, key: int) -> None:
        """Give a lock back, if this process has it."""
        async with self._turn:
            if key not in self._locked:
                return
            self._locked.remove(key)
            try:
                await self._call("pg_advisory_unlock", key)
            except psycopg.Error:
                await self._close()  # which frees all locks; `_open` takes the others again

    async def _call(self, function: str, key: int) -> bool:
        if self._connection is None:
            raise psycopg.OperationalError("The session is not open.")
        cursor = await self._connection.execute(f"SELECT {function}(%s::int8)".encode(), (key,))
        row = await cursor.fetchone()
        return row is not None and row[0] is True

    async def _open(self, conninfo: str) -> None:
        """Connect, unless the session has a connection. Take the locks of an earlier connection
        again, where possible.
        """
        if self._connection is not None and not self._connection.closed:
            return
        self._connection = connection = await AsyncConnection.connect(
            conninfo, autocommit=True, prepare_threshold=None
        )
        # No code closes the session: its connection ends with it, or with the process.
        weakref.finalize(self, connection.pgconn.finish).atexit = False
        try:
            await connection.execute(_SETTINGS)
            for key in tuple(self._locked):
                if not await self._call("pg_try_advisory_lock", key):
                    self._locked.remove(key)
                    logger.warning(
                        "The connection that holds the thread locks was lost; two runs are "
                        "active in one thread."
                    )
        except BaseException:
            await self._close()
            raise

    async def _close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


async def _conninfo_of(source: Source) -> str:
    """Return the parameters, password included, with which `source` connects.

    Raises:
        psycopg.Error: It cannot connect.
    """
    # its parameters may be functions or those of a connection class
    if isinstance(source, AsyncConnectionPool):
        async with source.connection() as connection:
            return await _conninfo_of(connection)
    parameters: dict[str, Any] = {**_PARAMETERS, **source.info.get_parameters()}
    return make_conninfo(**{**parameters, "password": source.info.password or None})
