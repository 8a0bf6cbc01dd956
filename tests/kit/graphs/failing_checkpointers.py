"""Checkpointers in trouble: real ones whose database is full, or that lose what they are given."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver


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


class Dying(InMemorySaver):
    """That of a process that dies: it keeps nothing while it is not `alive`."""

    alive = True

    def put(self, *args: Any, **kwargs: Any) -> Any:
        return super().put(*args, **kwargs) if self.alive else args[0]

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if self.alive:
            super().put_writes(*args, **kwargs)


class Troubled(InMemorySaver):
    """Counts its calls; the one of the number `at` fails, or takes until it is `released`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.at, self.hangs = 0, False
        self.met, self.released = asyncio.Event(), asyncio.Event()

    async def trouble(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self.at:
            self.met.set()
            if not self.hangs:
                raise sqlite3.OperationalError("disk I/O error")
            await self.released.wait()

    def well(self) -> None:
        """Have no more trouble."""
        self.at = 0
        self.released.set()

    async def aget_tuple(self, config: Any) -> Any:
        await self.trouble("read")
        return await super().aget_tuple(config)

    async def alist(self, config: Any, **kwargs: Any) -> AsyncIterator[Any]:
        await self.trouble("list")
        async for saved in super().alist(config, **kwargs):
            yield saved

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        await self.trouble("write")
        return await super().aput(*args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        await self.trouble("write beside")
        await super().aput_writes(*args, **kwargs)
