"""Stores of live runs that forget, fail or keep silent: what other workers see of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from redis.asyncio import Redis

from langgraph_agui import RunLimits
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.workers import Entry, RedisRunStore, bounded, listening, run_reader, run_writer
from langgraph_agui.workers.bounded import BoundedStore, StoreFailures
from langgraph_agui.workers.signals import Signal
from tests.contracts.run_stores.conftest import POSTGRES
from tests.contracts.run_stores.pair import (
    SERVERS,
    WORDS,
    MadeRun,
    Server,
    ending,
    followed,
    gated,
    lost,
    pair_on,
)
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.silence import line_to
from tests.kit.run.agents import dumped
from tests.kit.run.joining import read
from tests.kit.waiting import PATIENCE, eventually


@pytest.fixture(params=["redis", pytest.param("postgres", marks=POSTGRES)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def until(answers: Callable[[], Awaitable[object]], what: str) -> None:
    """Wait until a database answers so. It may fail meanwhile."""
    found: object = None
    async with asyncio.timeout(PATIENCE):
        while not found:
            with suppress(OSError):
                found = await answers()
            await asyncio.sleep(0.01)


Forget = Callable[[], Awaitable[object]]


@pytest.fixture
async def forget(kind: str, address: str) -> AsyncIterator[Forget]:
    """Deletes all that the database has. No connection breaks."""
    if kind == "redis":
        async with Redis.from_url(address) as client:
            yield client.flushdb
    else:
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
            yield lambda: connection.execute("TRUNCATE langgraph_agui_runs, langgraph_agui_log")


async def test_a_database_forgets_a_run(server: Server, forget: Forget) -> None:
    """It soon knows the run again. Who follows it goes on, and others find it and stop it."""
    async with followed(server, model := gated(1, WORDS)) as (pair, live, early):
        model.go(3)
        await forget()
        await pair.until_found(pair.key("t", "live"))
        model.go(3)
        late = await pair.follow().join()
        await forget()
        await until(lambda: pair.two.cancel("t", "live"), "it is stopped")
        truth = await pair.truth(live)
        assert ending(truth) == "cancelled"
        for one in (early, late):
            assert dumped((await one.rest()).messages) == dumped(truth.messages)


async def test_redis_evicts_one_key(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes again. A name stays that another run has taken."""
    monkeypatch.setattr(listening, "_LOOK", 0.05)
    async with (
        RedisRunStore(redis_url) as one,
        RedisRunStore(redis_url) as two,
        Redis.from_url(redis_url) as client,
    ):
        await one.begin("run", print)
        await one.enter("thread", "run")
        await one.enter("taken", "run")
        await two.begin("next", print)
        await two.enter("taken", "next")
        for key in ("langgraph-agui:run:run", "langgraph-agui:name:thread"):
            await client.delete(key)
            await until(lambda key=key: client.exists(key), "it is there again")  # type: ignore[misc]
            assert 0 < await client.ttl(key) <= 24 * 3600
        assert (await two.find("thread"), await one.find("taken")) == ("run", "next")
        for store, run in ((one, "run"), (two, "next")):
            await store.finish(run)
        await store.enter("late", "run")  # of a client that joined at the end
        assert await client.keys() == []


LOCKS = "FROM pg_locks WHERE locktype = 'advisory' AND granted"
KILL = f"WITH held AS MATERIALIZED (SELECT pid {LOCKS}) SELECT array_agg(pid) FROM held WHERE pg_terminate_backend(pid)"
LISTEN_AGAIN = f"SELECT count(*) = 2 AND NOT array_agg(pid) && %s::int4[] {LOCKS}"


async def test_the_connection_that_listens_is_lost(server: Server, kind: str, address: str) -> None:
    """The worker's runs are found and stopped again after that."""
    async with followed(server, gated(1, WORDS)) as (pair, live, first):
        async with first.reader:  # so that both listen
            pass
        for _ in range(2):
            if kind == "redis":
                async with Redis.from_url(address) as client:
                    await client.client_kill_filter(_type="pubsub")
            else:
                async with await psycopg.AsyncConnection.connect(address, autocommit=True) as sql:
                    [[killed]] = await (await sql.execute(KILL)).fetchall()
                    query: Any = (LISTEN_AGAIN, (killed,))
                    while await (await sql.execute(*query)).fetchone() != (True,):
                        await asyncio.sleep(0.01)
            await pair.until_found(pair.key("t", "live"))
        follower = await pair.follow().join()
        assert await pair.two.cancel("t", "live")
        assert ending(await pair.truth(live)) == ending(await follower.rest()) == "cancelled"


async def test_the_database_loses_the_connection_that_listens(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the worker is not told, as in a failover. It listens anew."""
    monkeypatch.setattr(listening, "_LOOK", 0.05)
    async with (
        line_to(redis_url) as (line, through),
        RedisRunStore(redis_url) as other,
        RedisRunStore(through) as own,
        Redis.from_url(redis_url) as client,
    ):
        signals = list[str]()
        await own.begin("run", signals.append)
        line.flows.clear()
        await client.client_kill_filter(_type="pubsub")
        assert not await other.signal("run", "lost")
        line.flows.set()

        async def arrives() -> bool:
            return await other.signal("run", "again") and bool(signals)

        await until(arrives, "a signal arrives")


@pytest.mark.parametrize("is_there", [False, True])
async def test_an_entry_that_was_not_written_is_written_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """Also if it is there, and nobody has learned that. Who follows the run lacks nothing."""
    monkeypatch.setattr(run_writer, "_RETRY", 0.01)
    async with followed(server, model := gated(1, WORDS)) as (pair, live, follower):
        append, positions = pair.stores[0].append, list[int]()

        async def fail(run: str, entry: Entry) -> None:
            positions.append(entry.position)
            fails = len(positions) % 3 != 0
            if is_there or not fails:
                await append(run, entry)
            if fails:
                raise OSError("lost")

        pair.stores[0].append = fail
        model.go(2)
        await eventually(lambda: len(positions) >= 3, "it was written again")
        model.go(100)
        rest, truth = await follower.rest(), await pair.truth(live)
    assert (ending(rest), dumped(rest.messages)) == ("success", dumped(truth.messages))
    assert positions.count(positions[0]) == 3


async def test_the_end_of_a_run_that_is_not_written(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who follows the run loses it, and the store is told that it has ended."""
    monkeypatch.setattr(run_writer, "_RETRY", 0.01)
    monkeypatch.setattr(run_reader, "_MISSES", 1)
    async with followed(server, model := gated(1, WORDS)) as (pair, live, follower):
        pair.stores[0].append = lost
        model.go(100)
        assert ending(await pair.truth(live)) == "success"
        assert ending(await follower.rest()) == "run_lost"
        assert not await pair.two.cancel("t", "live")


async def test_the_end_of_a_run_does_not_reach_the_store(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told again: until then, who connects to the thread would wait for the run."""
    monkeypatch.setattr(run_writer, "_RETRIES", (0.0, 0.0, 0.0))
    async with pair_on(server, Scripted(["Hi"])) as pair:
        finish, tries = pair.stores[0].finish, list[str]()

        async def fail(run: str) -> None:
            tries.append(run)
            await (finish(run) if len(tries) == 3 else lost())

        pair.stores[0].finish = fail
        await read(await pair.one.begin(pair.given))
        assert ending(await pair.follow().rest()) == "success"
        await pair.end()
        assert len(tries) == 3


async def test_a_store_that_is_too_slow(server: Server) -> None:
    """Who followed the run is let go; who comes after that gets all of it."""
    model, limits = gated(1, [text_chunk("x", 1)] * 600), RunLimits(unread=20_000)
    async with followed(server, model, limits=limits) as (pair, live, follower):
        truth = asyncio.create_task(pair.truth(live))
        append, slow, waits = pair.stores[0].append, asyncio.Event(), asyncio.Event()

        async def wait(*entry: Any) -> None:
            waits.set()
            await slow.wait()
            await append(*entry)

        pair.stores[0].append = wait
        model.go(1)
        await waits.wait()
        model.go(500)
        [run] = pair.one._running
        await eventually(lambda: run._readers[-1].dropped, "the store is too slow")
        slow.set()
        assert ending(await follower.rest()) == "run_lost"
        again = await pair.follow().join()
        model.go(1_000)
        assert dumped((await again.rest()).messages) == dumped((await truth).messages)


async def test_a_log_with_a_gap(server: Server) -> None:
    """As that of a replica that was behind. It is not read again and again, and who has not joined
    yet does so in the log that is written next."""
    async with pair_on(server, gated()) as pair:
        run = await MadeRun(pair, pair.key("t", "fast")).begin(pair.key("t"))
        await run.write(1)
        await run.write(3, run.beginning)
        read_entries, reads = pair.stores[1].read, list[int]()

        async def count(run: str, position: int) -> Sequence[Entry]:
            reads.append(position)
            found: Sequence[Entry] = await read_entries(run, position)
            return found

        pair.stores[1].read = count
        follower, again = pair.follow(), Signal("follow").to_text()
        await eventually(lambda: run.signals.count(again) == 3, "it asks for another log")
        assert len(reads) <= 4
        await run.store.begin_log(run.key, Entry(4, run.beginning), 3)
        await run.write(5, await run.mark())
        assert [one.type.value for one in (await follower.join()).first] == ["RUN_STARTED"]
        await run.store.finish(run.key)
        async with follower.reader:
            pass


def test_the_log_is_told_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(bounded, "monotonic", lambda: now)
    failures = StoreFailures("The store", "nothing is lost")
    for _ in range(240):
        failures.add("read", OSError("gone"))
        now += 0.5
    assert [one.message.rpartition(": ")[2] for one in caplog.records] == ["1.", "120."]
    assert all(one.exc_info for one in caplog.records)


async def test_a_database_falls_silent(
    kind: str, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call ends, and the log has one record. When the database speaks again, all is as
    before; if it does not, the store ends too."""
    async with line_to(address) as (line, through), SERVERS[kind](through)() as own:
        store = BoundedStore(own)
        await store.begin("run", print)
        await store.begin_log("run", Entry(1, b"first"), 1)
        for module in (bounded, listening):
            monkeypatch.setattr(module, "ANSWER", 0.3)
        line.flows.clear()
        calls = [
            *(store.begin("next", print), store.enter("name", "next"), store.find("name")),
            *(store.signal("run", "ping"), store.append("run", Entry(2, b"second"))),
            store.begin_log("run", Entry(2, b"again"), 1),
            *(store.read("run", 0), store.finish("other")),
        ]
        async with asyncio.timeout(PATIENCE):
            results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [StateError] * len(calls)
        [record] = [one for one in caplog.records if one.name == bounded.__name__]
        assert record.message.endswith("Failures since the last such record: 1.")
        line.flows.set()
        async with SERVERS[kind](address)() as other:
            await until(lambda: other.signal("run", "ping"), "the run is live")
            await until(lambda: other.signal("next", "ping"), "the other run is live")
        line.flows.clear()
