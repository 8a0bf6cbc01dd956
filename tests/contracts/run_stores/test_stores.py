"""What every store of live runs does, seen from two workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from redis.asyncio import Redis

from langgraph_agui.workers import Entry, PostgresRunStore, RedisRunStore, RunStore
from tests.contracts.run_stores.conftest import POSTGRES
from tests.contracts.run_stores.pair import Server, postgres
from tests.kit.graphs.small import agent_of
from tests.kit.waiting import PATIENCE, eventually


@pytest.fixture(params=["redis", pytest.param("postgres", marks=POSTGRES)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_run_is_live_until_it_is_finished(server: Server) -> None:
    """The next run of its thread stays."""
    signals: list[str] = []
    async with server() as own, server() as other:
        assert not await other.signal("run", "stop")
        await own.begin("run", signals.append)
        assert await other.find("thread") is None
        await own.enter("thread", "run")
        assert await other.find("thread") == await own.find("thread") == "run"
        assert await other.signal("run", "stop now")
        assert await own.signal("run", "again")
        await eventually(lambda: signals == ["stop now", "again"], "the signals arrive")
        await other.begin("second", print)
        await other.enter("thread", "second")
        await own.finish("run")
        assert await own.find("thread") == "second"
        assert not await other.signal("run", "stop")
        await other.finish("second")
        assert await own.find("thread") is None
    assert signals == ["stop now", "again"]


def entry(number: int, text: str = "é") -> Entry:
    return Entry(number, f"data: {number} {text}\n\n".encode())


async def test_a_log(server: Server) -> None:
    """Its beginning stands for all entries up to its position; a reader that is behind still gets
    those since the beginning before."""
    async with server() as own, server() as other:
        readings = [asyncio.create_task(other.read("run", 0)) for _ in range(2)]
        await own.begin_log("run", entry(1), 1)
        for found in await asyncio.gather(*readings):  # they have waited for it
            assert [*found] == [entry(1)]
        for number in range(2, 7):
            await own.append("run", entry(number))
        assert [*await other.read("run", 0)] == [entry(number) for number in range(1, 7)]
        assert [*await other.read("run", 3)] == [entry(4), entry(5), entry(6)]
        assert [*await other.read("run", 6)] == [*await other.read("other run", 0)] == []
        reading = asyncio.create_task(other.read("run", 6))
        await own.append("run", entry(7))
        assert [*await reading] == [entry(7)]

        await own.begin_log("run", again := entry(7, "and all before"), 3)
        await own.append("run", last := entry(8))
        assert [*await other.read("run", 0)] == [again, last]
        assert [one.position for one in await other.read("run", 3)] == [4, 5, 6, 7, 8]
        assert [one.position for one in await other.read("run", 1)] == [4, 5, 6, 7, 8]
        await own.begin_log("run", entry(8, "and all before"), 7)
        assert [one.position for one in await other.read("run", 1)] == [8]


async def _eventually_dead(store: RunStore) -> None:
    async with asyncio.timeout(PATIENCE):
        while await store.find("thread") is not None or await store.signal("run", "ping"):
            await asyncio.sleep(0.01)


DYING = """
import asyncio, sys
from tests.contracts.run_stores.pair import SERVERS

async def main():
    async with SERVERS[sys.argv[1]](sys.argv[2])() as store:
        await store.begin("run", print)
        await store.enter("thread", "run")
        print("live", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


async def test_a_worker_that_is_closed_or_killed_is_dead(
    server: Server, kind: str, address: str
) -> None:
    async with server() as store:
        async with server() as own:
            await own.begin("run", print)
            await own.enter("thread", "run")
            assert await store.find("thread") == "run"
        await _eventually_dead(store)
        command = [sys.executable, "-c", DYING, kind, address]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == b"live\n"
            assert await store.find("thread") == "run"
            os.kill(process.pid, signal.SIGKILL)
        await _eventually_dead(store)
        await store.begin("next", print)  # on the same thread, by another worker
        await store.enter("thread", "next")
        assert await store.find("thread") == "next"


async def test_redis_forgets(redis_url: str) -> None:
    async with (
        RedisRunStore(redis_url, prefix="mine") as store,
        Redis.from_url(redis_url) as client,
    ):
        await store.begin("run", print)
        await store.enter("thread", "run")
        await store.begin_log("run", entry(1), 1)
        await store.append("run", entry(2))
        log = [b"mine:beginning:run", b"mine:stream:run"]
        live = [b"mine:name:thread", b"mine:run:run"]
        assert sorted(await client.keys()) == sorted(log + live)
        assert 0 < await client.ttl("mine:run:run") <= 24 * 3600
        assert all([60 < await client.ttl(key) <= 3600 for key in log])
        await store.finish("run")
        assert sorted(await client.keys()) == log
        assert all([0 < await client.ttl(key) <= 60 for key in log])


@POSTGRES
async def test_postgres_forgets(fresh_database: str) -> None:
    async with (
        postgres(fresh_database)() as store,
        await psycopg.AsyncConnection.connect(fresh_database, autocommit=True) as client,
    ):

        async def runs(table: str) -> list[str]:
            found = await client.execute(f"SELECT run FROM langgraph_agui_{table}".encode())
            return [row[0] for row in await found.fetchall()]

        for run in ("finished", "live"):
            await store.begin(run, print)
            await store.begin_log(run, entry(1), 1)
        await client.execute("INSERT INTO langgraph_agui_runs (run, worker) VALUES ('dead', 1)")
        await client.execute("INSERT INTO langgraph_agui_log VALUES ('dead', 1, true, '', now())")
        old = "UPDATE langgraph_agui_log SET written = written - interval '2 minutes'"
        await client.execute(old)
        await store.finish("finished")
        assert await runs("runs") == ["live"]
        await store.append("live", entry(2))
        await store.finish("live")
        assert await runs("runs") == []
        assert "live" in await runs("log")  # for a minute, for those who still read


@POSTGRES
@pytest.mark.parametrize("autocommit", [True, False])
async def test_the_pool_gets_its_connection_back(fresh_database: str, autocommit: bool) -> None:
    options = {"open": False, "max_size": 2, "min_size": 1, "kwargs": {"autocommit": autocommit}}
    query = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    async with AsyncConnectionPool(fresh_database, **options) as pool:  # type: ignore[arg-type]
        async with PostgresRunStore(pool) as store:
            await store.setup()
            await store.begin("run", print)
            assert pool.get_stats()["pool_available"] == 1
        async with asyncio.timeout(PATIENCE), pool.connection() as one, pool.connection() as two:
            for connection in (one, two):
                assert connection.autocommit is autocommit
                assert await (await connection.execute(query)).fetchall() == []


POOL = AsyncConnectionPool("", open=False, min_size=1)
STR = "postgresql://localhost"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: PostgresRunStore(STR), r"takes a psycopg_pool\.AsyncConnectionPool, not str"),  # type: ignore[arg-type]
        (lambda: PostgresRunStore(POOL), "give the pool a max_size of 2 or more"),
        (lambda: RedisRunStore(STR), "Redis URL must specify one of the following schemes"),
        (lambda: agent_of(lambda _: {}, run_store=STR), "run_store must be RunStore, not str"),
    ],
)
def test_wrong_stores_are_refused(make: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        make()
