"""Stores of live runs that forget, fail or keep silent: what other workers see of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from redis.asyncio import Redis

from langgraph_agui.kernel.errors import StateError
from langgraph_agui.protocol.sse import encode
from langgraph_agui.translate.lifecycle import run_started
from langgraph_agui.workers import (
    Entry,
    PostgresRunStore,
    RedisRunStore,
    RunStore,
    bounded,
    listening,
    run_reader,
    run_writer,
)
from langgraph_agui.workers.bounded import BoundedStore, StoreFailures
from langgraph_agui.workers.signals import Signal, mark_event
from tests.contracts.run_stores.test_attacks import WORDS, stepping
from tests.contracts.run_stores.test_following import (
    STOPS,
    Pair,
    gated,
    pair_on,
    rest_of,
    until_joined,
)
from tests.kit.processes.redis_server import free_port, start_redis
from tests.kit.processes.silence import line_to
from tests.kit.processes.stores import Server, postgres, redis
from tests.kit.run.agents import RecordedRun, check_closed, dumped
from tests.kit.run.joining import read
from tests.kit.waiting import PATIENCE, eventually

SERVERS = {"redis": redis, "postgres": postgres}


@pytest.fixture(
    params=["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest) -> str:
    """The address of an empty database."""
    return str(request.getfixturevalue("redis_url" if kind == "redis" else "fresh_database"))


async def until(answers: Callable[[], Awaitable[object]], what: str) -> None:
    """Wait until a database answers so. It may fail meanwhile."""
    async with asyncio.timeout(PATIENCE):
        while not await _answer(answers()):
            await asyncio.sleep(0.01)


async def _answer(call: Awaitable[object]) -> object:
    try:
        return await call
    except OSError:
        return None


# -- a store that forgets ------------------------------------------------------------------------

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


async def test_a_database_forgets_a_run(kind: str, address: str, forget: Forget) -> None:
    """It soon knows the run again. Who follows it goes on, and others find it."""
    async with pair_on(SERVERS[kind](address), model := stepping(WORDS)) as pair:
        live = await pair.begin()
        model.go(3)
        early, own_early = pair.join()
        first = await until_joined(early)
        await forget()
        await pair.until_found(pair.given)
        model.go(3)
        late, own_late = pair.join()
        seen = await until_joined(late)
        model.go(100)
        truth = RecordedRun(await read(live), pair.given)
        for reader, own, some in ((early, own_early, first), (late, own_late, seen)):
            assert dumped((await rest_of(reader, some, own)).messages) == dumped(truth.messages)


async def test_a_run_that_was_forgotten_is_stopped(kind: str, address: str, forget: Forget) -> None:
    async with pair_on(SERVERS[kind](address), model := gated(4)) as pair:
        live = await pair.begin()
        await model.hung.wait()
        await forget()
        await until(lambda: pair.two.cancel("t", "live"), "it is stopped")
        assert (await read(live))[-1].outcome.type == "cancelled"


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
        assert await two.find("thread") == "run"
        assert await one.find("taken") == "next"
        for store, run in ((one, "run"), (two, "next")):
            await store.finish(run)
        await store.enter("late", "run")  # of a client that joined at the end
        assert await client.keys() == []


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
        await until(lambda: other.signal("run", "again"), "others see it")

        async def arrives() -> bool:
            await other.signal("run", "again")
            return bool(signals)

        await until(arrives, "a signal arrives")


async def test_redis_restarts_without_a_disk(tmp_path: Path) -> None:
    """A run that went on before, its new name, and a run that began meanwhile: all are found."""
    process = start_redis(port := free_port(), tmp_path)
    try:
        url = f"redis://127.0.0.1:{port}"
        async with RedisRunStore(url) as one, RedisRunStore(url) as two:
            await one.begin("before", print)
            await one.enter("early", "before")
            process.kill()
            process.wait(PATIENCE)
            with pytest.raises(StateError):
                await BoundedStore(one).enter("late", "before")
            beginning = asyncio.create_task(BoundedStore(one).begin("meanwhile", print))
            process = start_redis(port, tmp_path)
            await asyncio.wait({beginning})
            await until(lambda: two.find("early"), "its name is there again")
            await until(lambda: two.find("late"), "its other name is there")
            await until(lambda: two.signal("meanwhile", "ping"), "the other run is there")
    finally:
        process.kill()
        process.wait(PATIENCE)


# -- a store that fails --------------------------------------------------------------------------


@pytest.mark.parametrize("is_there", [False, True])
async def test_an_entry_that_was_not_written_is_written_again(
    each_server: Server, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """Also if it is there, and nobody has learned that. Who follows the run lacks nothing."""
    monkeypatch.setattr(run_writer, "_RETRY", 0.01)
    async with pair_on(each_server, model := stepping(WORDS)) as pair:
        live = await pair.begin()
        reader, own = pair.join()
        first = await until_joined(reader)
        append, positions = pair.stores[0].append, list[int]()

        async def fail(run: str, entry: Entry) -> None:
            positions.append(entry.position)
            fails = len(positions) % 3 != 0
            if is_there or not fails:
                await append(run, entry)
            if fails:
                raise OSError("lost")

        pair.stores[0].append = fail  # type: ignore[method-assign]
        model.go(2)
        await eventually(lambda: len(positions) >= 3, "it was written again")
        model.go(100)
        followed = await rest_of(reader, first, own)
        truth = RecordedRun(await read(live), pair.given)
    assert followed.last.type.value == "RUN_FINISHED"
    assert dumped(followed.messages) == dumped(truth.messages)
    assert positions[0] == positions[1] == positions[2]


async def test_the_end_of_a_run_that_is_not_written(
    each_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who follows the run loses it, and the store is told that it has ended."""
    monkeypatch.setattr(run_writer, "_RETRY", 0.01)
    monkeypatch.setattr(run_reader, "_MISSES", 1)
    async with pair_on(each_server, model := stepping(WORDS)) as pair:
        live = await pair.begin()
        reader, own = pair.join()
        first = await until_joined(reader)

        async def fail(*_: object) -> None:
            raise OSError("lost")

        pair.stores[0].append = fail  # type: ignore[method-assign, assignment]
        model.go(100)
        assert (await read(live))[-1].type.value == "RUN_FINISHED"
        assert (await rest_of(reader, first, own)).last.code == "run_lost"
        assert not await pair.two.cancel("t", "live")


async def test_a_log_with_a_gap(each_server: Server) -> None:
    """As that of a replica that was behind. It is not read again and again, and who has not joined
    yet does so in the log that is written next."""
    async with pair_on(each_server, gated(0)) as pair:
        key = pair.two._workers._key  # type: ignore[union-attr]
        store, signals = pair.stores[0], list[str]()
        await store.begin(run := key("t", "fast"), signals.append)
        await store.enter(key("t"), run)
        beginning = encode(run_started(pair.given))
        await store.begin_log(run, Entry(1, beginning), 1)
        await store.append(run, Entry(3, beginning))
        read_entries, reads = pair.stores[1].read, list[int]()

        async def count(run: str, position: int) -> Sequence[Entry]:
            reads.append(position)
            return await read_entries(run, position)

        pair.stores[1].read = count  # type: ignore[method-assign]
        reader, own = pair.join()
        asks_again = Signal("follow").to_text()
        await eventually(lambda: signals.count(asks_again) == 3, "its worker asks for another log")
        assert len(reads) <= 4
        mark = Signal.from_text(signals[0]).mark
        await store.begin_log(run, Entry(4, beginning), 3)
        await store.append(run, Entry(5, encode(mark_event(mark))))
        assert [one.type.value for one in await until_joined(reader)] == ["RUN_STARTED"]
        await store.finish(run)
        async with reader:
            pass
        assert own.thread_id == "t"


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


async def test_a_store_that_is_down_is_no_flood_of_records(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its listener, the runs here and those that are followed: one record."""
    monkeypatch.setattr(run_writer, "_RETRIES", ())
    monkeypatch.setattr(bounded, "ANSWER", 0.2)
    async with RedisRunStore(f"redis://127.0.0.1:{free_port()}") as store:
        pair = Pair([store, store], gated(4), saver=None)
        for number in range(5):
            live = await pair.one.begin(pair.given.model_copy(update={"thread_id": f"t{number}"}))
            assert await pair.one.cancel(f"t{number}", "live")
            await read(live)
            reader, _ = pair.join()
            await read(reader)
        await eventually(lambda: store.failures._count > 5, "more has failed")
        await pair.end()
    records = [one for one in caplog.records if one.name.startswith("langgraph_agui.workers.bound")]
    assert len(records) == 1


# -- the end of a run that is lost ---------------------------------------------------------------


@pytest.mark.parametrize("where", STOPS)
async def test_a_run_that_is_lost_is_closed(
    redis_url: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its step, its message, its reasoning or its call, for clients of both generations."""
    monkeypatch.setattr(run_reader, "_MISSES", 1)
    model = gated(STOPS[where])
    async with RedisRunStore(redis_url) as two:
        async with RedisRunStore(redis_url) as one:
            pair = Pair([one, two], model)
            await pair.begin()
            await model.hung.wait()
            joined = [pair.join(), pair.join(protocol_version=None)]
            first = [await until_joined(reader) for reader, _ in joined]
        # The store of the first worker is closed: to the other one it is dead.
        for (reader, own), some in zip(joined, first, strict=True):
            recorded = await rest_of(reader, some, own)
            assert recorded.last.code == "run_lost"
            assert "STEP_FINISHED" in recorded.types
            check_closed(recorded.events)
        await pair.end()


# -- a store that is silent ----------------------------------------------------------------------


def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (bounded, listening):
        monkeypatch.setattr(module, "ANSWER", 0.3)


async def check_all_fail(store: RunStore) -> None:
    calls = [
        store.begin("next", print),
        store.enter("name", "next"),
        store.find("name"),
        store.signal("run", "ping"),
        store.append("run", Entry(2, b"second")),
        store.begin_log("run", Entry(2, b"again"), 1),
        store.read("run", 0),
        store.finish("other"),
    ]
    async with asyncio.timeout(PATIENCE):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [StateError] * len(calls)


async def test_a_database_falls_silent(
    kind: str, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call ends, and the log has one record. When the database speaks again, all is as
    before; if it does not, the store ends too."""
    async with line_to(address) as (line, through), SERVERS[kind](through)() as own:
        store = BoundedStore(own)
        await store.begin("run", print)
        await store.begin_log("run", Entry(1, b"first"), 1)
        be_quick(monkeypatch)
        line.flows.clear()
        await check_all_fail(store)
        [record] = [one for one in caplog.records if one.name == bounded.__name__]
        assert record.message.endswith("Failures since the last such record: 1.")
        line.flows.set()
        async with SERVERS[kind](address)() as other:
            await until(lambda: other.signal("run", "ping"), "the run is live")
            await until(lambda: other.signal("next", "ping"), "the other run is live")
        line.flows.clear()


async def test_a_database_that_never_says_anything(
    kind: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_quick(monkeypatch)
    async with line_to(address) as (line, through), asyncio.timeout(PATIENCE):
        line.flows.clear()
        async with silent_store(kind, through) as own:
            await check_all_fail(BoundedStore(own))


@asynccontextmanager
async def silent_store(kind: str, address: str) -> AsyncIterator[RunStore]:
    """A store whose database does not answer from the beginning on."""
    if kind == "redis":
        async with RedisRunStore(address) as store:
            yield store
        return
    pool = AsyncConnectionPool(address, open=False, min_size=1, max_size=4)
    await pool.open()
    try:
        async with PostgresRunStore(pool) as on_pool:
            yield on_pool
    finally:
        await pool.close(timeout=0)
