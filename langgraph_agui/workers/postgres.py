"""Live runs in Postgres. The worker of a run writes into a table, and other workers read it. NOTIFY
carries signals, and tells of new entries.

A worker is alive while it has an advisory lock, on a connection that it keeps. Both end with the
process.
"""

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.workers import sql
from langgraph_agui.workers.store import Entry

logger = logging.getLogger(__name__)

Row: TypeAlias = tuple[Any, ...]

# Seconds that a reader waits for an entry, and between two attempts to listen again.
_WAIT, _RETRY = 1.0, 0.5


class PostgresRunStore:
    """A `RunStore` in Postgres, for one event loop. As a context manager it gives its connection
    back at the end.

    Args:
        pool: The pool of the checkpointer, or one like it. The store keeps one of its connections,
            which must lead to Postgres itself or to a pgbouncer in session mode.

    Raises:
        ValueError: The pool has room for one connection only.
    """

    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        if not isinstance(pool, AsyncConnectionPool):
            raise TypeError(
                f"PostgresRunStore takes a psycopg_pool.AsyncConnectionPool, not "
                f"{type(pool).__name__}"
            )
        if pool.max_size < 2:
            raise ValueError(
                "PostgresRunStore keeps a connection of the pool: give the pool a max_size of 2 "
                "or more"
            )
        self._pool = pool
        self._worker = secrets.randbits(63)
        self._receivers: dict[str, Callable[[str], object]] = {}
        self._names: dict[str, list[str]] = {}
        self._published: set[str] = set()
        self._readers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Give the connection back."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait({self._listener})

    async def setup(self) -> None:
        """Make the tables. Call this once, before the workers start, like `setup` of the
        checkpointer.
        """
        # Several statements cannot be prepared as one.
        await self._execute(sql.SETUP, prepare=False)

    async def _execute(
        self,
        query: str,
        parameters: Mapping[str, object] | None = None,
        *,
        prepare: bool | None = None,
    ) -> list[Row]:
        async with (
            self._pool.connection() as connection,
            connection.cursor(row_factory=tuple_row) as cursor,
        ):
            await cursor.execute(query.encode(), parameters, prepare=prepare)
            return await cursor.fetchall() if cursor.description else []

    # -- signals ----------------------------------------------------------------------------------

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """See `RunStore`."""
        await self._listen()
        self._receivers[run], self._names[run] = receive, []
        await self.enter("", run)

    async def enter(self, name: str, run: str) -> None:
        """See `RunStore`."""
        self._names[run].append(name)
        await self._execute(sql.ENTER, {"run": run, "name": name, "worker": self._worker})

    async def find(self, name: str) -> str | None:
        """See `RunStore`."""
        rows = await self._execute(sql.FIND, {"name": name})
        return str(rows[0][0]) if rows else None

    async def signal(self, run: str, text: str) -> bool:
        """See `RunStore`."""
        return bool(await self._execute(sql.SIGNAL, {"run": run, "text": f"{run} {text}"}))

    async def finish(self, run: str) -> None:
        """See `RunStore`."""
        self._receivers.pop(run, None)
        self._names.pop(run, None)
        await self._execute("DELETE FROM langgraph_agui_runs WHERE run = %(run)s", {"run": run})
        if run in self._published:
            self._published.remove(run)
            await self._execute(sql.SWEEP)

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = asyncio.create_task(self._keep_listening(), name="agui-run-store")
        waiting = asyncio.create_task(self._listening.wait())
        await asyncio.wait({waiting, self._listener}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _keep_listening(self) -> None:
        while True:
            try:
                async with self._pool.connection() as connection:
                    await self._receive_on(connection)
            except psycopg.Error:
                logger.warning(
                    "The connection that listens for signals to runs was lost.", exc_info=True
                )
            self._listening.clear()
            await asyncio.sleep(_RETRY)

    async def _receive_on(self, connection: AsyncConnection[Any]) -> None:
        """Receive signals and news on a connection, until it is lost or this is cancelled."""
        autocommits = connection.autocommit
        await connection.set_autocommit(True)
        try:
            await connection.execute("LISTEN langgraph_agui")
            await connection.execute("SELECT pg_advisory_lock(%s::int8)", (self._worker,))
            await connection.execute(sql.SWEEP.encode())
            await self._enter_again(connection)
            self._listening.set()
            async for notification in connection.notifies():
                run, _, text = notification.payload.partition(" ")
                if text and run in self._receivers:
                    self._receivers[run](text)
                elif not text and run in self._readers:
                    for news in self._readers[run]:
                        news.set()
        finally:
            with suppress(psycopg.Error):  # the connection may be lost
                await connection.execute("SELECT pg_advisory_unlock(%s::int8)", (self._worker,))
                await connection.execute("UNLISTEN langgraph_agui")
                await connection.set_autocommit(autocommits)

    async def _enter_again(self, connection: AsyncConnection[Any]) -> None:
        """Insert the rows of this worker's runs again. While it did not listen, other workers took
        it for dead, and may have deleted them.
        """
        rows = [
            {"run": run, "name": name, "worker": self._worker}
            for run, names in self._names.items()
            for name in names
        ]
        async with connection.cursor() as cursor:
            await cursor.executemany(sql.ENTER.encode(), rows)
        finished = list({str(row["run"]) for row in rows} - self._names.keys())
        await connection.execute("DELETE FROM langgraph_agui_runs WHERE run = ANY(%s)", (finished,))

    # -- entries ----------------------------------------------------------------------------------

    async def begin_log(self, run: str, beginning: Entry, oldest: int) -> None:
        """See `RunStore`."""
        self._published.add(run)
        await self._execute(sql.BEGIN_LOG, {"run": run, "oldest": oldest, **beginning._asdict()})

    async def append(self, run: str, entry: Entry) -> None:
        """See `RunStore`."""
        await self._execute(sql.APPEND, {"run": run, **entry._asdict()})

    async def read(self, run: str, position: int) -> Sequence[Entry]:
        """See `RunStore`."""
        await self._listen()
        news = asyncio.Event()
        self._readers[run].add(news)
        try:
            rows = await self._execute(sql.READ, {"run": run, "position": position})
            if not rows:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_WAIT):
                        await news.wait()
                rows = await self._execute(sql.READ, {"run": run, "position": position})
        finally:
            self._readers[run].remove(news)
            if not self._readers[run]:
                del self._readers[run]
        return [Entry(*row) for row in rows]
