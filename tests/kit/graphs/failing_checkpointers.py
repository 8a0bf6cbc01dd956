"""Checkpointers in trouble: real ones whose database is full, or that lose what they are given."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


class Full(InMemorySaver):
    """Can be read; can be written while it is not `full`. `written` counts what it was to keep."""

    full = False
    full_soon = False
    """Whether it is full once it has kept the next writes of a task."""
    written = 0

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self._check()
        return super().put(*args, **kwargs)

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        self._check()
        super().put_writes(*args, **kwargs)
        self.full |= self.full_soon

    def _check(self) -> None:
        self.written += 1
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")


class Losing(InMemorySaver):
    """Says that it has kept the writes of tasks, and has not, while it is `losing`."""

    losing = False

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if not self.losing:
            super().put_writes(*args, **kwargs)


async def fill(saver: AsyncSqliteSaver) -> None:
    """Let the database grow no more, and use up what is left in it."""
    await saver.conn.execute("CREATE TABLE filler (text TEXT)")
    async with saver.conn.execute("PRAGMA page_count") as pages:
        (count,) = await pages.fetchone()  # type: ignore[misc]
    await saver.conn.execute(f"PRAGMA max_page_count = {count}")
    for size in (4000, 400, 40, 1):
        with contextlib.suppress(sqlite3.OperationalError):  # it is full
            while True:
                await saver.conn.execute("INSERT INTO filler VALUES (?)", ["x" * size])
    await saver.conn.commit()


async def drain(saver: AsyncSqliteSaver) -> None:
    """Give the database room again."""
    await saver.conn.execute("PRAGMA max_page_count = 1000000")
