"""The database session that holds a process's advisory locks, and the thread that talks to it.

The session is a synchronous connection in a thread of its own, so it belongs to no event loop: agents in several loops
share it. It is not taken from the checkpointer's pool, which locks would exhaust.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from inspect import isawaitable
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

T = TypeVar("T")
Source: TypeAlias = Connection[Any] | AsyncConnection[Any] | ConnectionPool[Any] | AsyncConnectionPool[Any]
"""What a Postgres checkpointer is made with."""

logger = logging.getLogger(__name__)

_PARAMETERS = {
    "application_name": "langgraph-agui thread locks",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Of the connection, where the checkpointer's own parameters say nothing: one that leads nowhere is soon noticed."""

_SETTINGS = """
SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
    ('idle_session_timeout', '0'), ('statement_timeout', '0')
) AS wanted (name, value) USING (name)
"""
"""Of the session: a machine that went dark frees its locks after a minute, and one that is merely idle keeps them."""


class SessionLost(Exception):  # noqa: N818  # not an error yet: it is opened again
    """The session is not open, or not any more: locks that it held are free."""


class Worker:
    """A thread that does one thing after another. It starts with the first, and does not keep Python from ending."""

    def __init__(self) -> None:
        self._jobs = SimpleQueue[Callable[[], object] | None]()  # its `put` may be called by the garbage collector
        self._started = False
        self._guard = threading.Lock()

    def do(self, job: Callable[[], T]) -> Future[T]:
        """Do `job` when all that was asked for earlier is done."""
        done = Future[T]()

        def work() -> None:
            try:
                done.set_result(job())
            except BaseException as error:  # it is the asker's
                done.set_exception(error)

        self._jobs.put(work)
        with self._guard:
            if not self._started:
                self._started = True
                name = "langgraph-agui-locks"
                threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True).start()
        return done

    async def run(self, job: Callable[[], T]) -> T:
        """Do `job` and wait for its result; a caller who is cancelled does not stop it."""
        return await asyncio.shield(asyncio.wrap_future(self.do(job)))

    def end(self, last: Callable[[], object]) -> None:
        """Do `last`, and no more."""
        self._jobs.put(last)
        self._jobs.put(None)


def _work(jobs: SimpleQueue[Callable[[], object] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # what it refers to would live until the next one comes


class Session:
    """A session and the locks in it. `take`, `give` and `open` are for its worker to call."""

    def __init__(self) -> None:
        self.worker = Worker()
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._held: set[int] = set()

    def take(self, key: int) -> bool:
        """Take a lock that this process does not have; False if another process has it. Raises `SessionLost`."""
        connection = self._connection
        if connection is None or connection.closed:
            raise SessionLost
        try:
            taken = _call(connection, "pg_try_advisory_lock", key)
        except psycopg.Error as error:
            if connection.closed:
                raise SessionLost from error
            raise
        if taken:
            self._held.add(key)
        return taken

    def give(self, key: int) -> None:
        """Give a lock back, if it was taken."""
        connection = self._connection
        if key not in self._held:
            return
        self._held.remove(key)
        if connection is None or connection.closed:
            return
        try:
            _call(connection, "pg_advisory_unlock", key)
        except psycopg.Error:
            connection.close()  # which frees it surely; the others are taken again with the next

    def open(self, conninfo: str) -> None:
        """Connect, unless it is; locks lost with an earlier connection are taken again where that is possible."""
        if self._connection is not None and not self._connection.closed:
            return
        connection = Connection.connect(conninfo, autocommit=True, prepare_threshold=None)
        try:
            connection.execute(_SETTINGS)
            for key in tuple(self._held):
                if not _call(connection, "pg_try_advisory_lock", key):
                    self._held.remove(key)
                    logger.warning(
                        "The connection that holds the thread locks was lost; two runs are going in one thread."
                    )
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def end(self) -> None:
        """Close the connection and end the worker, from any thread."""
        self.worker.end(self._close)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _call(connection: Connection[tuple[Any, ...]], function: str, key: int) -> bool:
    row = connection.execute(f"SELECT {function}(%s::int8)".encode(), (key,)).fetchone()
    return row is not None and row[0] is True


async def conninfo_of(source: Source) -> str:
    """The parameters, password included, with which `source` connects; raises `psycopg.Error` where it cannot."""
    if isinstance(source, (Connection, AsyncConnection)):
        return _conninfo(_parameters(source))
    conninfo = await _value(source.conninfo)
    kwargs = await _value(source.kwargs)
    if source.connection_class in (Connection, AsyncConnection):
        return _conninfo({**conninfo_to_dict(conninfo or ""), **(kwargs or {})})
    # A class of its own may know what nothing else says, such as a password that changes: it makes one to look at.
    made: Any = await asyncio.to_thread(source.connection_class.connect, conninfo or "", **(kwargs or {}))
    sample: Connection[Any] | AsyncConnection[Any] = await made if isawaitable(made) else made
    try:
        return _conninfo(_parameters(sample))
    finally:
        closed: object = sample.close()
        if isawaitable(closed):
            await closed


async def _value(given: T | Callable[[], T] | Callable[[], Awaitable[T]]) -> T:
    value: Any = given() if callable(given) else given
    return await value if isawaitable(value) else value  # type: ignore[no-any-return]


def _parameters(connection: Connection[Any] | AsyncConnection[Any]) -> dict[str, Any]:
    return {**connection.info.get_parameters(), "password": connection.info.password or None}


def _conninfo(parameters: dict[str, Any]) -> str:
    """A connection string of those parameters that are the server's, not the pool's or the driver's."""
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    return make_conninfo(**{name: value for name, value in {**_PARAMETERS, **parameters}.items() if name in known})
