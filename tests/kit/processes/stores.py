"""The stores of live runs, on real servers. Each call of a `Server` makes the store of one more
worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from psycopg_pool import AsyncConnectionPool

from langgraph_agui.workers import PostgresRunStore, RedisRunStore, RunStore

Server: TypeAlias = "Callable[[], AbstractAsyncContextManager[RunStore]]"


def redis(url: str) -> Server:
    return lambda: RedisRunStore(url)


def postgres(dsn: str, **options: Any) -> Server:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[RunStore]:
        async with (
            AsyncConnectionPool(dsn, open=False, min_size=1, max_size=4, **options) as pool,
            PostgresRunStore(pool) as store,
        ):
            await store.setup()
            yield store

    return open_store
