"""Locks of threads that a Postgres checkpointer keeps: one run at a time in all processes that share the database.

A lock is the lock of this process (`LocalLocks`) and, behind it, an advisory lock of one database session that this
process has beside the checkpointer's connections. Postgres frees it when the session ends, however the process dies.
"""

from __future__ import annotations

import asyncio
import random
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from hashlib import sha256
from typing import TypeGuard

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from langgraph_agui.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.threads.local_locks import LocalLease, LocalLocks
from langgraph_agui.threads.postgres_session import Session, SessionLost, Source, conninfo_of

_PREFIX = b"langgraph-agui thread\0"
_SHORTEST, _LONGEST = 0.05, 0.5
"""Seconds between two looks at a thread that another process runs in."""


def key_of(thread_id: str) -> int:
    """The advisory lock of a thread: 64 bits, signed, the same in every process and release."""
    digest = sha256(_PREFIX + thread_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class PostgresLease:
    """A thread that is locked in this process and in the database."""

    def __init__(self, local: LocalLease, session: Session, key: int) -> None:
        self._local = local
        self._session = session
        self._key = key
        self._gone: Future[None] | None = None
        self._guard = threading.Lock()

    def let_go(self) -> Future[None]:
        """See `ThreadLease`; the future says when it is done."""
        with self._guard:
            if self._gone is None:
                self._gone = self._session.worker.do(self._give_back)
            return self._gone

    async def release(self) -> None:
        """See `ThreadLease`."""
        await asyncio.shield(asyncio.wrap_future(self.let_go()))

    def _give_back(self) -> None:
        try:
            self._session.give(self._key)
        finally:
            self._local.let_go()


class PostgresLocks:
    """The locks of the threads in one database; `source` is what the checkpointer was given to connect with."""

    def __init__(self, source: Source) -> None:
        self._source = weakref.ref(source)
        self._local = LocalLocks()
        self._session = Session()
        weakref.finalize(self, self._session.end).atexit = False  # the end of the process ends the session

    @staticmethod
    def can_use(source: object) -> TypeGuard[Source]:
        """Whether `source` is something that a session can be opened from."""
        return isinstance(source, (Connection, AsyncConnection, ConnectionPool, AsyncConnectionPool))

    async def acquire(self, thread_id: str, *, wait: bool) -> PostgresLease:
        """See `ThreadLocks`; also raises `StateError`, if the database cannot be asked.

        First come, first served within this process; processes among each other take their chance.
        """
        key = key_of(thread_id)
        local = await self._local.acquire(thread_id, wait=wait)
        lease = PostgresLease(local, self._session, key)
        try:
            pauses = _pauses()
            while not await self._take(key):
                if not wait:
                    raise RunInputError(ErrorCode.THREAD_BUSY)
                await asyncio.sleep(next(pauses))
        except Exception:
            await lease.release()
            raise
        except BaseException:  # cancelled, maybe while the database was about to say yes: the lease goes behind that
            lease.let_go()
            raise
        return lease

    async def _take(self, key: int) -> bool:
        worker = self._session.worker
        try:
            try:
                return await worker.run(partial(self._session.take, key))
            except SessionLost:
                conninfo = await self._conninfo()
                await worker.run(partial(self._session.open, conninfo))
                return await worker.run(partial(self._session.take, key))
        except (psycopg.Error, SessionLost) as error:
            raise StateError("The thread could not be locked.") from error

    async def _conninfo(self) -> str:
        source = self._source()
        if source is None:
            raise SessionLost("The checkpointer is gone.")
        return await conninfo_of(source)


def _pauses() -> Iterator[float]:
    pause = _SHORTEST
    while True:
        yield pause * random.uniform(0.75, 1.25)  # noqa: S311  # so that waiting processes do not ask in step
        pause = min(pause * 1.5, _LONGEST)
