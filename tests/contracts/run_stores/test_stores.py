"""What every store of live runs does, seen from two workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from redis.asyncio import Redis

from langgraph_agui import LangGraphAgent
from langgraph_agui.workers import Entry, PostgresRunStore, RedisRunStore, RunStore
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.processes.stores import Server, postgres, redis
from tests.kit.waiting import PATIENCE, eventually


async def test_a_run_is_live_until_it_is_finished(each_server: Server) -> None:
    signals: list[str] = []
    async with each_server() as own, each_server() as other:
        assert await other.find("thread") is None
        assert not await other.signal("run", "stop")
        await own.begin("run", signals.append)
        assert await other.find("thread") is None
        await own.enter("thread", "run")
        assert await other.find("thread") == await own.find("thread") == "run"
        assert await other.signal("run", "stop now")
        assert await own.signal("run", "again")
        await eventually(lambda: signals == ["stop now", "again"], "the signals arrive")
        await own.finish("run")
        assert await other.find("thread") is None
        assert not await other.signal("run", "stop")
    assert signals == ["stop now", "again"]


async def test_the_next_run_of_a_thread_stays_when_the_one_before_is_finished(
    each_server: Server,
) -> None:
    async with each_server() as one, each_server() as two:
        await one.begin("first", print)
        await one.enter("thread", "first")
        await two.begin("second", print)
        await two.enter("thread", "second")
        assert await one.find("thread") == "second"
        await one.finish("first")
        assert await one.find("thread") == "second"


def entry(number: int, text: str = "é") -> Entry:
    return Entry(number, f"data: {number} {text}\n\n".encode())


async def test_a_log_is_read_from_its_beginning_on(each_server: Server) -> None:
    async with each_server() as own, each_server() as other:
        beginning, *written = [entry(number) for number in range(1, 7)]
        await own.begin_log("run", beginning, 1)
        assert [*await other.read("run", 0)] == [beginning]
        for one in written:
            await own.append("run", one)
        assert [*await other.read("run", 0)] == [beginning, *written]
        assert [*await other.read("run", 3)] == written[2:]
        assert [*await other.read("other run", 0)] == []


async def test_a_log_that_is_begun_anew(each_server: Server) -> None:
    """The beginning stands for all entries up to its position; a reader that is behind still gets
    those since the beginning before."""
    async with each_server() as own, each_server() as other:
        await own.begin_log("run", entry(1), 1)
        for number in range(2, 7):
            await own.append("run", entry(number))
        await own.begin_log("run", again := entry(6, "and all before"), 3)
        await own.append("run", last := entry(7))
        assert [*await other.read("run", 0)] == [again, last]
        assert [*await other.read("run", 3)] == [entry(4), entry(5), entry(6), last]
        assert [one.position for one in await other.read("run", 1)] == [4, 5, 6, 7]
        await own.begin_log("run", entry(7, "and all before"), 6)
        assert [one.position for one in await other.read("run", 1)] == [7]


async def test_a_reader_waits_for_the_next_entry(each_server: Server) -> None:
    async with each_server() as own, each_server() as other:
        readings = [asyncio.create_task(other.read("run", 0)) for _ in range(2)]
        await own.begin_log("run", entry(1), 1)
        await own.append("run", entry(2))
        for entries in await asyncio.gather(*readings):
            assert [*entries][:1] == [entry(1)]
        assert [*await other.read("run", 2)] == []
        reading = asyncio.create_task(other.read("run", 2))
        await own.append("run", entry(3))
        assert [*await reading] == [entry(3)]


async def test_a_worker_that_is_closed_is_dead(each_server: Server) -> None:
    async with each_server() as other:
        async with each_server() as own:
            await own.begin("run", print)
            await own.enter("thread", "run")
            assert await other.find("thread") == "run"
        await _eventually_dead(other)


async def _eventually_dead(store: RunStore) -> None:
    async with asyncio.timeout(PATIENCE):
        while await store.find("thread") is not None or await store.signal("run", "ping"):
            await asyncio.sleep(0.01)


DYING = """
import asyncio, sys
from tests.kit.processes.stores import postgres, redis

async def main():
    async with {"redis": redis, "postgres": postgres}[sys.argv[1]](sys.argv[2])() as store:
        await store.begin("run", print)
        await store.enter("thread", "run")
        print("live", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "kind", ["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
async def test_a_worker_that_is_killed_is_dead(kind: str, request: pytest.FixtureRequest) -> None:
    address = request.getfixturevalue("redis_url" if kind == "redis" else "fresh_database")
    command = [sys.executable, "-c", DYING, kind, address]
    async with {"redis": redis, "postgres": postgres}[kind](address)() as store:
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
        assert sorted(await client.keys()) == [
            b"mine:beginning:run",
            b"mine:name:thread",
            b"mine:run:run",
            b"mine:stream:run",
        ]
        assert 0 < await client.ttl("mine:run:run") <= 24 * 3600
        for kind in ("beginning", "stream"):
            assert 60 < await client.ttl(f"mine:{kind}:run") <= 3600
        await store.finish("run")
        assert sorted(await client.keys()) == [b"mine:beginning:run", b"mine:stream:run"]
        for kind in ("beginning", "stream"):
            assert 0 < await client.ttl(f"mine:{kind}:run") <= 60


@pytest.mark.xdist_group("postgres")
async def test_postgres_forgets(fresh_database: str) -> None:
    async with (
        postgres(fresh_database)() as store,
        await psycopg.AsyncConnection.connect(fresh_database) as client,
    ):
        await client.set_autocommit(True)

        async def rows(table: str) -> list[str]:
            return [
                row[0]
                for row in await (
                    await client.execute(f"SELECT run FROM {table}".encode())
                ).fetchall()
            ]

        for run in ("finished", "live"):
            await store.begin(run, print)
            await store.begin_log(run, entry(1), 1)
        await client.execute("INSERT INTO langgraph_agui_runs (run, worker) VALUES ('dead', 1)")
        await client.execute("INSERT INTO langgraph_agui_log VALUES ('dead', 1, true, '', now())")
        await client.execute(
            "UPDATE langgraph_agui_log SET written = written - interval '2 minutes'"
        )
        await store.finish("finished")
        assert await rows("langgraph_agui_runs") == ["live"]
        await store.append("live", entry(2))
        await store.finish("live")
        assert await rows("langgraph_agui_runs") == []
        # for a minute, for those who still read
        assert "live" in await rows("langgraph_agui_log")


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("autocommit", [True, False])
async def test_the_pool_gets_its_connection_back(fresh_database: str, autocommit: bool) -> None:
    async with AsyncConnectionPool(
        fresh_database, open=False, min_size=1, max_size=2, kwargs={"autocommit": autocommit}
    ) as pool:
        async with PostgresRunStore(pool) as store:
            await store.setup()
            await store.begin("run", print)
            assert pool.get_stats()["pool_available"] == 1
        async with asyncio.timeout(PATIENCE), pool.connection() as one, pool.connection() as two:
            assert one.autocommit is two.autocommit is autocommit
            for connection in (one, two):
                [[held]] = await (
                    await connection.execute(
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = "
                        "pg_backend_pid()"
                    )
                ).fetchall()
                assert held == 0


def test_wrong_stores_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"PostgresRunStore takes a psycopg_pool\.AsyncConnectionPool, not str"
    ):
        PostgresRunStore("postgresql://localhost")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give the pool a max_size of 2 or more"):
        PostgresRunStore(AsyncConnectionPool("", open=False, min_size=1))
    graph = agent_of(talker(Scripted(["a"]))).graph
    with pytest.raises(TypeError, match="run_store must be RunStore, not str"):
        LangGraphAgent(graph, run_store="redis://localhost")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Redis URL must specify one of the following schemes"):
        RedisRunStore("localhost:6379")
