"""Locks of threads that a Postgres checkpointer keeps: one run at a time in all processes that
share the database.

A lock is the lock of this process and, behind it, an advisory lock of one database session that
this process has beside the checkpointer's connections. Postgres frees it when the session ends,
however the process dies.
"""

import asyncio
import random
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from hashlib import sha256
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks

T = TypeVar("T")
# What an asynchronous Postgres checkpointer is made with.
Source: TypeAlias = AsyncConnection[Any] | AsyncConnectionPool[Any]

logger = run_logger(__name__)

_PREFIX = b"langgraph-agui thread\0"
# Seconds between two attempts to lock a thread that another process runs in.
_MIN_DELAY, _MAX_DELAY = 0.05, 0.5

# Defaults of the connection: the client soon notices a connection that is dead.
_PARAMETERS = {
    "application_name": "langgraph-agui thread locks",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# Of the session: the server frees the locks of a machine that went dark after a minute, and of none
# that is idle.
_SETTINGS = """
SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
    ('idle_session_timeout', '0'), ('statement_timeout', '0')
) AS wanted (name, value) USING (name)
"""


def key_of(thread_id: str) -> int:
    """Return the advisory lock of a thread: 64 bits, signed, the same in every process and
    release.
    """
    digest = sha256(_PREFIX + thread_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class PostgresLocks(ThreadLocks):
    """The locks of the threads in one database; `source` is what the checkpointer was given to
    connect with.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = weakref.ref(source)
        self._session = LockSession()
        weakref.finalize(
            self, self._session.end
        ).atexit = False  # the end of the process ends the session

    async def acquire(self, thread_id: str, max_waiting: int = 0) -> ThreadLease:
        """See `ThreadLocks`. Processes that wait are served in no order.

        Raises:
            RunInputError: Another run has the thread, and as many as may wait in this process
                (`thread_busy`).
            StateError: The database cannot be reached.
        """
        lease = await super().acquire(thread_id, max_waiting)
        try:
            while not await self._lock(key_of(thread_id)):
                if not max_waiting:
                    raise RunInputError(ErrorCode.THREAD_BUSY)
                # Random, so that waiting processes do not ask in step.
                await asyncio.sleep(random.uniform(_MIN_DELAY, _MAX_DELAY))  # noqa: S311
        except Exception:
            await lease.release()
            raise
        except (
            BaseException
        ):  # cancelled, maybe while the database grants the lock: the session frees it after that
            lease.let_go()
            raise
        return lease

    def _free(self, lease: ThreadLease) -> Future[None]:
        def free() -> None:
            try:
                self._session.unlock(key_of(lease.thread_id))
            finally:
                self._leave(lease)

        return self._session.submit(free)

    async def _lock(self, key: int) -> bool:
        session, source = self._session, self._source()
        if source is None:
            raise StateError("The thread could not be locked: its checkpointer is gone.")
        try:
            with suppress(psycopg.Error):  # not open yet, or lost, which shows only when it is used
                return await session.run(partial(session.lock, key))
            await session.run(partial(session.open, await _conninfo_of(source)))
            return await session.run(partial(session.lock, key))
        except psycopg.Error as error:
            raise StateError("The thread could not be locked.") from error


class LockSession:
    """The database session with a process's advisory locks, and the thread that talks to it.

    A synchronous connection in a thread of its own belongs to no event loop: agents in several
    loops share it. It is not taken from the checkpointer's pool, which locks would exhaust. `lock`,
    `unlock` and `open` are jobs for `submit` and `run`.
    """

    def __init__(self) -> None:
        self._jobs = SimpleQueue[
            Callable[[], object] | None
        ]()  # its `put` may be called by the garbage collector
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._locked: set[int] = set()
        # A daemon does not keep Python from ending.
        threading.Thread(target=self._work, name="langgraph-agui-locks", daemon=True).start()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Do `job` in the session's thread, after all that was submitted before."""
        done = Future[T]()

        def work() -> None:
            try:
                done.set_result(job())
            except BaseException as error:
                done.set_exception(error)

        self._jobs.put(work)
        return done

    async def run(self, job: Callable[[], T]) -> T:
        """Submit `job` and wait for its result; a caller that is cancelled does not stop it."""
        return await asyncio.shield(asyncio.wrap_future(self.submit(job)))

    def end(self) -> None:
        """Close the connection and end the thread, after all that was submitted before."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # the next one may take long to come, and this one refers to its lease
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _call(self, function: str, key: int) -> bool:
        if self._connection is None:
            raise psycopg.OperationalError("The session is not open.")
        row = self._connection.execute(f"SELECT {function}(%s::int8)".encode(), (key,)).fetchone()
        return row is not None and row[0] is True

    def lock(self, key: int) -> bool:
        """Take a lock that this process does not have; False if another process has it."""
        if granted := self._call("pg_try_advisory_lock", key):
            self._locked.add(key)
        return granted

    def unlock(self, key: int) -> None:
        """Give a lock back, if this process has it."""
        if key not in self._locked:
            return
        self._locked.remove(key)
        try:
            self._call("pg_advisory_unlock", key)
        except psycopg.Error:
            self._close()  # frees all locks; the next session takes the others again

    def open(self, conninfo: str) -> None:
        """Connect, unless it is; locks that were lost with an earlier connection are taken again
        where possible.
        """
        if self._connection is not None and not self._connection.closed:
            return
        self._connection = Connection.connect(conninfo, autocommit=True, prepare_threshold=None)
        try:
            self._connection.execute(_SETTINGS)
            for key in tuple(self._locked):
                if not self._call("pg_try_advisory_lock", key):
                    self._locked.remove(key)
                    logger.warning(
                        "The connection that holds the thread locks was lost; two runs are going "
                        "in one thread."
                    )
        except BaseException:
            self._close()
            raise


async def _conninfo_of(source: Source) -> str:
    """Return the parameters, password included, with which `source` connects.

    Raises:
        psycopg.Error: It cannot connect.
    """
    if isinstance(
        source, AsyncConnectionPool
    ):  # its parameters may be functions or those of a connection class
        async with source.connection() as connection:
            return await _conninfo_of(connection)
    parameters: dict[str, Any] = {**_PARAMETERS, **source.info.get_parameters()}
    return make_conninfo(**{**parameters, "password": source.info.password or None})
