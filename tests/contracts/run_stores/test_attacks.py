"""What has gone wrong when workers shared their runs: each test has failed once."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from ag_ui.core import RunErrorEvent
from langgraph.checkpoint.memory import InMemorySaver
from redis.asyncio import Redis

from langgraph_agui import RunLimits
from langgraph_agui.protocol.sse import encode
from langgraph_agui.translate.lifecycle import run_started
from langgraph_agui.workers import Entry, run_writer
from langgraph_agui.workers.signals import mark_event
from tests.behaviour.threads.test_join import ordered
from tests.contracts.run_stores.test_following import (
    Pair,
    gated,
    mark_of,
    pair_on,
    rest_of,
    until_joined,
)
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.stores import Server, postgres, redis
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import read
from tests.kit.waiting import PATIENCE, eventually


async def test_a_run_id_that_comes_again_in_a_thread(server: Server) -> None:
    """Each of the two runs is followed from its own beginning to its own end."""
    saver = InMemorySaver()
    async with server() as one, server() as two:
        for _ in range(2):
            pair = Pair([one, two], model := gated(4), saver=saver)
            live = await pair.begin()
            await model.hung.wait()
            reader, own = pair.join()
            first = await until_joined(reader)
            model.gate.set()
            truth = RecordedRun(await read(live), pair.given)
            followed = await rest_of(reader, first, own)
            assert followed.last.type.value == "RUN_FINISHED"
            assert ordered(followed.messages)[-len(truth.messages) :] == ordered(truth.messages)
            await pair.end()


async def test_a_run_id_that_comes_again_at_once(server: Server) -> None:
    """The end of the first run is not that of the second."""
    async with server() as one, server() as two:
        pairs = [Pair([one, two], gated(4), saver=None) for _ in range(2)]
        lives, runs = [], set[str]()
        for pair in pairs:
            lives.append(await pair.begin())
            workers = pair.two._workers
            assert workers is not None
            async with asyncio.timeout(PATIENCE):
                while (run := await two.find(workers._key("t", "live"))) is None or run in runs:
                    await asyncio.sleep(0.001)
            runs.add(run)
        next(iter(pairs[0].one._running)).stop()
        assert (await read(lives[0]))[-1].outcome.type == "cancelled"
        await pairs[0].end()
        assert await pairs[1].two.cancel("t", "live")
        assert (await read(lives[1]))[-1].outcome.type == "cancelled"
        await pairs[1].end()


class Stepping(Scripted):
    """Takes a step for each chunk."""

    steps: Any = None

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        await self.steps.acquire()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.steps.acquire()

    def go(self, steps: int) -> None:
        for _ in range(steps):
            self.steps.release()


def stepping(*turns: Any) -> Stepping:
    return Stepping(*turns, steps=asyncio.Semaphore(1))


WORDS = [text_chunk(f"word{number} ", 1) for number in range(20)]


async def test_a_store_that_is_too_slow(server: Server) -> None:
    """Who followed the run is let go; who comes after that gets all of it."""
    model = stepping([text_chunk("x", 1)] * 600)
    async with pair_on(server, model, limits=RunLimits(unread=20_000)) as pair:
        reading = asyncio.create_task(read(await pair.begin()))
        reader, _ = pair.join()
        await until_joined(reader)
        append, slow, waits = pair.stores[0].append, asyncio.Event(), asyncio.Event()

        async def wait(*entry: Any) -> None:
            waits.set()
            await slow.wait()
            await append(*entry)

        pair.stores[0].append = wait  # type: ignore[method-assign, assignment]
        model.go(1)
        await waits.wait()
        model.go(500)
        await eventually(
            lambda: next(iter(pair.one._running))._readers[-1].dropped, "the store is too slow"
        )
        slow.set()
        async with asyncio.timeout(PATIENCE):
            assert (await read(reader))[-1].code == "run_lost"
        again, own = pair.join()
        first = await until_joined(again)
        assert [event.code for event in first if isinstance(event, RunErrorEvent)] == []
        model.go(1_000)
        followed = await rest_of(again, first, own)
        assert dumped(followed.messages) == dumped(RecordedRun(await reading, pair.given).messages)


async def test_a_thread_of_more_than_may_wait(server: Server) -> None:
    given = run_input(user("x" * 59_900, "u1"), thread="t", run="live")
    async with pair_on(server, stepping(WORDS), limits=RunLimits(unread=60_000)) as pair:
        live = await pair.begin(given)
        reader, own = pair.join()
        first = await until_joined(reader)
        assert await pair.two.cancel("t", "live")
        followed, truth = await rest_of(reader, first, own), RecordedRun(await read(live), given)
        assert dumped(followed.messages) == dumped(truth.messages)


async def test_a_run_that_cannot_be_joined(server: Server) -> None:
    """The signals to its worker still arrive."""
    async with pair_on(server, stepping(WORDS)) as pair:
        live = await pair.begin()
        joins = list[Any]()

        def fail() -> None:
            joins.append(True)
            raise ValueError("cannot")

        next(iter(pair.one._running)).log = fail  # type: ignore[method-assign, assignment]
        reader, _ = pair.join()
        await eventually(lambda: joins, "it is asked for")
        async with reader:
            assert await pair.two.cancel("t", "live")
            assert (await read(live))[-1].outcome.type == "cancelled"


LOCKS = "FROM pg_locks WHERE locktype = 'advisory' AND granted"
KILL = f"WITH held AS MATERIALIZED (SELECT pid {LOCKS}) SELECT array_agg(pid) FROM held WHERE pg_terminate_backend(pid)"
LISTEN_AGAIN = f"SELECT count(*) = 2 AND NOT array_agg(pid) && %s::int4[] {LOCKS}"


@pytest.mark.parametrize(
    "kind", ["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
async def test_the_connection_that_listens_is_lost(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """The worker's runs are found and stopped again after that."""
    address = request.getfixturevalue("redis_url" if kind == "redis" else "fresh_database")
    server = redis(address) if kind == "redis" else postgres(address)
    async with pair_on(server, stepping(WORDS)) as pair:
        live = await pair.begin()
        reader, _ = pair.join()
        async with reader:  # so that both listen
            await until_joined(reader)
        for _ in range(2):
            if kind == "redis":
                async with Redis.from_url(address) as client:
                    await client.client_kill_filter(_type="pubsub")
            else:
                async with await psycopg.AsyncConnection.connect(
                    address, autocommit=True
                ) as connection:
                    [[killed]] = await (await connection.execute(KILL)).fetchall()
                    while await (await connection.execute(LISTEN_AGAIN, (killed,))).fetchall() != [
                        (True,)
                    ]:
                        await asyncio.sleep(0.01)
            await pair.until_found(pair.given)
        reader, own = pair.join()
        first = await until_joined(reader)
        assert await pair.two.cancel("t", "live")
        assert (await read(live))[-1].outcome.type == "cancelled"
        assert (await rest_of(reader, first, own)).last.outcome.type == "cancelled"


async def test_the_end_of_a_run_does_not_reach_the_store(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told again: until then, who connects to the thread would wait for the run."""
    monkeypatch.setattr(run_writer, "_RETRIES", (0.0, 0.0, 0.0))
    async with pair_on(server, Scripted(["Hi"])) as pair:
        finish, tries = pair.stores[0].finish, list[str]()

        async def fail(run: str) -> None:
            tries.append(run)
            if len(tries) == 3:
                return await finish(run)
            raise OSError("lost")

        pair.stores[0].finish = fail  # type: ignore[method-assign]
        live = await pair.one.begin(pair.given)
        await read(live)
        reader, own = pair.join()
        async with asyncio.timeout(PATIENCE):
            assert RecordedRun(await read(reader), own).types[-1] == "RUN_FINISHED"
        await pair.end()
        assert len(tries) == 3


async def test_a_run_that_does_not_reach_the_store(server: Server) -> None:
    """It is not kept in memory for that."""
    async with pair_on(server, Scripted(["Hi"])) as pair:

        async def fail(*given: str) -> None:
            raise OSError("lost")

        store: Any = pair.stores[0]
        store.enter = fail
        await read(await pair.one.begin(pair.given))
        await pair.end()
        assert not store._receivers
        assert not await pair.two.cancel("t", "live")


async def test_who_was_let_go_leaves_later(server: Server) -> None:
    """And leaves the others of its worker in the feed that they share."""
    async with pair_on(server, gated(0)) as pair:
        workers, store = pair.two._workers, pair.stores[0]
        assert workers is not None
        signals = list[str]()
        await store.begin("fast", signals.append)
        await store.enter(workers._key("t"), "fast")
        beginning = encode(run_started(pair.given))
        slow, _ = pair.join()
        await store.begin_log("fast", Entry(1, beginning), 1)
        await store.append("fast", Entry(2, encode(mark_event(await mark_of(signals)))))
        await until_joined(slow)
        signals.clear()
        fresh, _ = pair.join()
        mark = encode(mark_event(await mark_of(signals)))
        await store.begin_log("fast", Entry(4, beginning), 4)
        await store.append("fast", Entry(5, mark))
        assert (await until_joined(slow))[-1].type.value == "RUN_ERROR"
        assert (await until_joined(fresh))[0].type.value == "RUN_STARTED"
        async with slow:
            pass
        assert [len(reader) for reader in workers._readers.values()] == [1]
        async with fresh:
            pass
        await store.finish("fast")


async def test_a_worker_that_stops_while_a_client_looks_for_its_run(server: Server) -> None:
    async with pair_on(server, gated(4)) as pair:
        live = await pair.begin()
        found, find, followed = asyncio.Event(), pair.stores[1].find, list[str]()

        async def find_later(name: str) -> str | None:
            await found.wait()
            return await find(name)

        async def signal(run: str, text: str) -> bool:
            followed.append(text)
            return False

        pair.stores[1].find = find_later  # type: ignore[method-assign]
        pair.stores[1].signal = signal  # type: ignore[method-assign]
        reader, _ = pair.join()
        [shown] = pair.two._shown
        await pair.two.drain()
        found.set()
        await asyncio.wait({shown.task})
        assert [event.type.value for event in await read(reader)] == ["RUN_STARTED", "RUN_ERROR"]
        assert not followed
        assert await pair.one.cancel("t", "live")
        await read(live)
