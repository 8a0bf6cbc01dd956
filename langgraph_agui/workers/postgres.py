"""Live runs in Postgres. The worker of a run writes into a table, and other workers read it. NOTIFY
carries signals, and tells of new entries.

A worker is alive while it has an advisory lock, on a connection that it keeps. Both end with the
process.
"""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from psycopg import AsyncConnection
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.kernel.aio import within
from langgraph_agui.workers import sql
from langgraph_agui.workers.bounded import ANSWER
from langgraph_agui.workers.hang_up import or_hang_up
from langgraph_agui.workers.listening import ListeningStore
from langgraph_agui.workers.store import Entry

Row: TypeAlias = tuple[Any, ...]

# Seconds that a reader waits for an entry.
_WAIT: Final = 1.0


class PostgresRunStore(ListeningStore):
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
        super().__init__()
        self._pool = pool
        self._worker = secrets.randbits(63)
        self._published: set[str] = set()
        self._readers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

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
            statement = cursor.execute(query.encode(), parameters, prepare=prepare)
            await or_hang_up(connection, statement)
            return await cursor.fetchall() if cursor.description else []

    # -- signals ----------------------------------------------------------------------------------

    async def find(self, name: str) -> str | None:
        """See `RunStore`."""
        rows = await self._execute(sql.FIND, {"name": name})
        return str(rows[0][0]) if rows else None

    async def signal(self, run: str, text: str) -> bool:
        """See `RunStore`."""
        return bool(await self._execute(sql.SIGNAL, {"run": run, "text": f"{run} {text}"}))

    async def _enter(self, run: str, name: str) -> None:
        await self._enter_missing({run: (name,)})

    async def _enter_missing(self, names: Mapping[str, Iterable[str]]) -> None:
        rows = [(run, name) for run, all_names in names.items() for name in all_names]
        parameters = {
            "runs": [run for run, _ in rows],
            "names": [name for _, name in rows],
            "worker": self._worker,
        }
        await self._execute(sql.ENTER, parameters)

    async def _leave(self, run: str, names: Iterable[str]) -> None:
        await self._execute("DELETE FROM langgraph_agui_runs WHERE run = %(run)s", {"run": run})
        if run in self._published:
            self._published.remove(run)
            await self._execute(sql.SWEEP)

    async def _listen_once(self) -> None:
        async with self._pool.connection() as connection:
            autocommits = connection.autocommit
            try:
                await within(ANSWER, or_hang_up(connection, self._open(connection)))
                self._listens.set()
                async for notification in connection.notifies():
                    self._notify(notification.payload)
            finally:
                closing = self._close(connection, autocommits=autocommits)
                with suppress(Exception):  # the connection may be lost
                    await within(ANSWER, or_hang_up(connection, closing))

    async def _open(self, connection: AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)
        await connection.execute("LISTEN langgraph_agui")
        await connection.execute("SELECT pg_advisory_lock(%s::int8)", (self._worker,))
        await connection.execute(sql.SWEEP.encode())

    async def _close(self, connection: AsyncConnection[Any], *, autocommits: bool) -> None:
        await connection.execute("SELECT pg_advisory_unlock(%s::int8)", (self._worker,))
        await connection.execute("UNLISTEN langgraph_agui")
        await connection.set_autocommit(autocommits)

    def _notify(self, payload: str) -> None:
        """Pass on a signal, or the news of entries: that is the key of a run alone."""
        if " " in payload:
            self._receive(payload)
        for news in self._readers.get(payload, ()):
            news.set()

    async def _look(self) -> bool:
        [[is_seen, count]] = await self._execute(sql.LOOK, {"worker": self._worker})
        if count < sum(map(len, self._live_names().values())):
            await self._enter_again()
        return bool(is_seen)

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
