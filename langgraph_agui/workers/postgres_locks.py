"""Locks of the threads that a Postgres checkpointer keeps: one run at a time in all processes that
share the database.

A run takes the lock of this process, then an advisory lock. A process has all of its advisory locks
in one database session. When the process dies, its session ends, and Postgres frees the locks.
"""

import asyncio
import random
import secrets
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.kernel.aio import (
    OneEventLoop,
    ignore_error,
    keep_alive,
    result_of,
    within,
)
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks
from langgraph_agui.workers.bounded import ANSWER, StoreFailures
from langgraph_agui.workers.hang_up import or_hang_up

T = TypeVar("T")

# An asynchronous Postgres checkpointer connects with one of these.
Source: TypeAlias = AsyncConnection[Any] | AsyncConnectionPool[Any]

logger = run_logger(__name__)

_PREFIX = b"langgraph-agui thread\0"
# Seconds between two attempts to lock a thread in which another process has a run.
_MIN_DELAY, _MAX_DELAY = 0.05, 0.5

# Defaults of the connection: this side soon notices that it is dead.
_PARAMETERS = {
    "connect_timeout": 2,  # so that a second host gets its time
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# Seconds between two attempts to connect, while live runs need their locks.
_RETRY: Final = 0.5

# Settings of the session: after a minute, the server ends the session of a machine that went dark.
# It never ends one that is idle.
_SETTINGS = """
SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
    ('idle_session_timeout', '0'), ('statement_timeout', '0')
) AS wanted (name, value) USING (name)
"""

# A server that has not noticed the end of a connection keeps its locks.
_END_EARLIER = """
SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()
"""

# Takes locks, and returns the keys of those that other sessions have.
_LOCK_ALL = """
SELECT key FROM unnest(%s::int8[]) AS key WHERE NOT pg_try_advisory_lock(key)
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
            StateError: The database cannot be reached, or does not answer.
        """
        self._event_loop.enter()
        lease = await super().acquire(thread_id, max_waiting)
        try:
            while not await self._session.lock(key_of(thread_id)):
                if not max_waiting:
                    raise RunInputError(ErrorCode.THREAD_BUSY)
                # Random, so that waiting processes do not ask in step.
                await asyncio.sleep(random.uniform(_MIN_DELAY, _MAX_DELAY))  # noqa: S311
        except RunInputError:
            await lease.release()
            raise
        except BaseException:
            lease.release()  # behind the attempt to lock, which may go on
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

    A database that does not answer within `ANSWER` seconds is hung up on. When the connection is
    lost, the session is opened again, and takes the locks of live runs.

    Args:
        source: The connection or the pool of the checkpointer.
    """

    def __init__(self, source: Source) -> None:
        self._source = weakref.ref(source)
        # The server shows this name. A later connection finds an earlier one by it.
        self._name = f"langgraph-agui thread locks {secrets.token_hex(8)}"
        self._connection: AsyncConnection[tuple[Any, ...]] | None = None
        # The keys of the locks of this process's live runs.
        self._locked: set[int] = set()
        # One user of the connection at a time: an `unlock` comes after the attempt to lock that it
        # was called after.
        self._turn = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._failures = StoreFailures(
            "The database of the thread locks", "threads may be locked too long, or not at all"
        )

    async def lock(self, key: int) -> bool:
        """Take a lock that this process does not have; return False if another process has it.

        If this fails, or the caller is cancelled, the lock may be taken all the same: `unlock` it.

        Raises:
            StateError: The database cannot be reached, or does not answer.
        """
        try:
            return await within(ANSWER, self._lock_if_open(key))
        except (psycopg.Error, TimeoutError) as error:
            self._failures.add("lock", error)
            raise StateError("The thread could not be locked.") from error

    async def unlock(self, key: int) -> None:
        """Give a lock back, if this process has it. After `ANSWER` seconds that goes on alone.

        The log has it if this fails. The server frees the lock then when it loses the connection.
        """
        unlocking = keep_alive(asyncio.create_task(self._in_turn(self._unlock, key)))
        unlocking.add_done_callback(ignore_error)
        try:
            await within(ANSWER, result_of(unlocking))
        except Exception as error:
            self._failures.add("unlock", error)

    # -- locking ----------------------------------------------------------------------------------

    async def _lock_if_open(self, key: int) -> bool:
        with suppress(psycopg.Error):  # not open yet, or lost, which only a call shows
            return await self._in_turn(self._lock, key)
        await result_of(self._open())
        return await self._in_turn(self._lock, key)

    async def _in_turn(self, function: Callable[[int], Coroutine[None, None, T]], key: int) -> T:
        """Call `function` with `key` in its turn, for up to `ANSWER` seconds.

        If the caller is cancelled meanwhile, the call goes on: no code could tell whether the
        database has granted a lock. A call whose turn has not come is left out.
        """
        await self._turn.acquire()
        call = keep_alive(asyncio.create_task(_until_it_ends(function(key))))
        call.add_done_callback(self._end_turn)
        return await result_of(call)

    def _end_turn(self, call: asyncio.Task[Any]) -> None:
        ignore_error(call)
        self._turn.release()
        is_lost = self._connection is not None and self._connection.closed
        if is_lost and not call.cancelled():
            self._open()

    async def _lock(self, key: int) -> bool:
        granted = await self._call("pg_try_advisory_lock", key)
        if granted:
            self._locked.add(key)
        return granted

    async def _unlock(self, key: int) -> None:
        if key not in self._locked:
            return
        self._locked.remove(key)
        try:
            await self._call("pg_advisory_unlock", key)
        except psycopg.Error:
            await self._close()  # which frees all locks; `_connect` takes the others again
            raise

    async def _call(self, function: str, key: int) -> bool:
        if self._connection is None:
            raise psycopg.OperationalError("The session is not open.")
        statement = self._connection.execute(f"SELECT {function}(%s::int8)".encode(), (key,))
        cursor = await or_hang_up(self._connection, statement)
        row = await cursor.fetchone()
        return row is not None and row[0] is True

    # -- the connection ---------------------------------------------------------------------------

    def _open(self) -> asyncio.Task[None]:
        """Open the session, unless it is open: once for all who wait for that."""
        if self._opening is None or self._opening.done():
            self._opening = keep_alive(asyncio.create_task(within(ANSWER, self._connect())))
            self._opening.add_done_callback(self._open_later)
        return self._opening

    def _open_later(self, opening: asyncio.Task[None]) -> None:
        """Open the session again if that has failed, and live runs need it."""
        error = None if opening.cancelled() else opening.exception()
        if not isinstance(error, Exception):
            return
        self._failures.add("connect", error)
        if self._locked:
            opening.get_loop().call_later(_RETRY, self._open)

    async def _connect(self) -> None:
        """Connect, unless the session has a connection."""
        if self._connection is not None and not self._connection.closed:
            return
        source = self._source()
        if source is None:
            raise StateError("The thread could not be locked: its checkpointer is gone.")
        # A pool without connections keeps its callers waiting: nobody has the turn meanwhile.
        conninfo = make_conninfo(await _conninfo_of(source), application_name=self._name)
        connection = await AsyncConnection.connect(
            conninfo, autocommit=True, prepare_threshold=None
        )
        try:
            await or_hang_up(connection, _prepare(connection))
            async with self._turn:
                await or_hang_up(connection, self._lock_again(connection))
                self._connection = connection
        except BaseException:
            await connection.close()
            raise
        # No code closes the session: its connection ends with it, or with the process.
        weakref.finalize(self, connection.pgconn.finish).atexit = False

    async def _close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _lock_again(self, connection: AsyncConnection[tuple[Any, ...]]) -> None:
        """Take the locks of live runs, which an earlier connection had."""
        cursor = await connection.execute(_LOCK_ALL, (list(self._locked),))
        for (key,) in await cursor.fetchall():
            self._locked.remove(key)
            logger.warning(
                "The connection that holds the thread locks was lost; two runs are active in one "
                "thread."
            )


async def _until_it_ends(call: Coroutine[None, None, T]) -> T:
    """Return the result of a call of the database. After `ANSWER` seconds cancel it, and wait until
    it has hung up.
    """
    task = asyncio.create_task(call)
    try:
        return await within(ANSWER, task)
    finally:
        await asyncio.wait({task})


async def _prepare(connection: AsyncConnection[tuple[Any, ...]]) -> None:
    await connection.execute(_SETTINGS)
    with suppress(psycopg.Error):  # it is older than Postgres 14, or forbids that
        await connection.execute(_END_EARLIER)


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
