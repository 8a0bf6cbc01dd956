"""A run of one worker, followed by another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from langgraph_agui.kernel.errors import RunInputError, StateError
from langgraph_agui.protocol import Fold, fold
from langgraph_agui.workers import Entry, RedisRunStore, run_writer
from tests.behaviour.threads.test_join import ordered
from tests.contracts.run_stores.pair import (
    STOPS,
    WORDS,
    Follower,
    MadeRun,
    Pair,
    Server,
    ending,
    followed,
    gated,
    hung,
    pair_on,
)
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.raw_http import JSON, body_of
from tests.kit.processes.redis_server import free_port, start_redis
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import agent_of, read
from tests.kit.run.wire_events import event, sse
from tests.kit.waiting import PATIENCE, eventually


@pytest.mark.parametrize("where", STOPS)
async def test_a_page_is_reloaded_in_the_middle_of_a_word(server: Server, where: str) -> None:
    """What it holds in the end equals what the run's own client holds, in the forms of both
    generations. Who was cut off gets the rest, and nothing twice."""
    model, middle = gated(STOPS[where]), {"reasoning": "Hm", "text": "Look"}
    async with hung(server, model) as (pair, live):
        local = await Follower(pair.one, run_input(thread="t")).join()
        held = fold(local.first, [])
        async with local.reader:  # and its connection breaks
            pass
        clients = [
            await one.join()
            for one in (
                pair.follow(),
                pair.follow(protocol_version=None),
                pair.follow(user("go", "u1"), state={"mood": "old", "mine": 1}),
                pair.follow(*held.messages, state=held.state),
            )
        ]
        assert [one.first[0].type.value for one in clients] == ["RUN_STARTED"] * 4
        deltas = [getattr(one, "delta", None) for one in clients[0].first]
        deltas = [one for one in deltas if isinstance(one, str)]
        assert deltas[-1] == middle.get(where, '{"place":')
        model.go()
        truth, recorded = await pair.truth(live), [await one.rest() for one in clients]
        after = pair.follow(*recorded[3].messages, state=recorded[3].state)
        assert dumped((await after.rest()).messages) == dumped(recorded[3].messages)
    assert [one.role for one in truth.messages][:2] == ["user", "reasoning"]
    for one in recorded:
        assert ordered(one.messages) == ordered(truth.messages)
        assert one.last.run_id == one.input.run_id
    assert [one.state for one in recorded[:3]] == [truth.state] * 2 + [{**truth.state, "mine": 1}]
    assert [one.last.outcome is None for one in recorded] == [False, True, False, False]


async def test_a_question_is_followed_and_answered_by_another_worker(server: Server) -> None:
    async def ask(state: Chat) -> Any:
        await gate.wait()
        return {"messages": [("ai", f"So {interrupt({'question': 'Which?'})}.")]}

    def asking(saver: Any, _: Any, **options: Any) -> LangGraphAgent:
        return LangGraphAgent(chain_of(ask, checkpointer=saver), name="asks", **options)

    gate = asyncio.Event()
    async with pair_on(server, Scripted(), make=asking) as pair:
        live = await pair.begin()
        clients = [await pair.follow().join(), await pair.follow(protocol_version=None).join()]
        gate.set()
        truth, new, old = await pair.truth(live), *[await one.rest() for one in clients]
        shown = await pair.follow().rest()
        asked = truth.last.outcome.interrupts
        assert new.last.outcome.interrupts == shown.last.outcome.interrupts == asked
        assert "on_interrupt" in [one.name for one in old.of("CUSTOM")]
        resume = [ResumeEntry(interrupt_id=asked[0].id, status="resolved", payload="both")]
        given = run_input(*shown.messages, thread="t", resume=resume)
        for agent in (pair.two, pair.one):  # the second time, it was answered
            done = RecordedRun(await read(await agent.begin(given)), given)
            assert [one.content for one in done.messages] == ["go", "So both."]


async def test_a_long_run_is_written_from_its_beginning_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old entries go, and who follows from early or late on has all of it once."""
    monkeypatch.setattr(run_writer, "_INTERVAL", 0.001)
    beginnings: list[Entry] = []
    words = [part for number in range(300) for part in (0.008, text_chunk(f"word{number:400} ", 1))]
    model = Scripted([text_chunk("Begin ", 1), 0.05, *words])
    async with pair_on(server, model, limits=RunLimits(unread=30_000)) as pair, server() as three:
        begin_log = pair.stores[0].begin_log

        async def record(run: str, beginning: Entry, oldest: int) -> None:
            beginnings.append(beginning)
            await begin_log(run, beginning, oldest)

        pair.stores[0].begin_log = record
        live = asyncio.create_task(pair.truth(await pair.begin()))
        early = asyncio.create_task(pair.follow().rest())
        await eventually(lambda: len(beginnings) > 2, "it began anew, twice")
        late = [pair.follow(), Pair([pair.stores[1], three], model).follow()]
        recorded = await asyncio.gather(early, *(one.rest() for one in late))
    for one in recorded:
        assert dumped(one.messages) == dumped((await live).messages)


async def test_a_client_joins_behind_all_that_it_holds(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from the run's own worker to one that has not read as far: nothing that it holds is
    taken from it, not even for a moment."""
    monkeypatch.setattr(run_writer, "_INTERVAL", 1.0)
    model = gated(1, [text_chunk("Begin ", 1), *WORDS, 60.0])
    async with followed(server, model) as (pair, live, early):
        model.go()
        client = Fold(pair.given.messages)

        def holds_all() -> bool:
            for one in live.take_waiting():
                client.feed(one)
            return str(client.messages[-1].content).endswith("word19 ")

        await eventually(holds_all, "the first client has it all")
        late = await pair.follow(*client.messages, state=client.state).join()
        assert fold(late.first, client.messages).messages == client.messages
        assert await pair.one.cancel("t", "live")
        recorded = [await early.rest(), await late.rest()]
        async with live:
            pass
    assert [one.messages[-1].content for one in recorded] == [client.messages[-1].content] * 2


async def test_a_mark_is_in_the_next_beginning_too(server: Server) -> None:
    """A worker that is slow to read finds the answer to its client there."""
    words = [part for _ in range(400) for part in (0.002, text_chunk("x" * 500, 1))]
    model = gated(1, [text_chunk("Begin ", 1), *words])
    async with pair_on(server, model, limits=RunLimits(unread=60_000)) as pair:
        live = asyncio.create_task(pair.truth(await pair.begin()))
        begin_log, beginnings = pair.stores[0].begin_log, list[Entry]()
        reads, may_read = pair.stores[1].read, asyncio.Event()

        async def begin(run: str, beginning: Entry, oldest: int) -> None:
            await begin_log(run, beginning, oldest)
            beginnings.append(beginning)
            if len(beginnings) == 2:
                may_read.set()
                await asyncio.sleep(0.05)

        async def read_late(run: str, position: int) -> Any:
            await may_read.wait()
            return await reads(run, position)

        pair.stores[0].begin_log, pair.stores[1].read = begin, read_late
        follower = pair.follow()
        await eventually(lambda: beginnings, "the log is begun")
        model.go()
        await follower.join()
        assert not live.done()
        assert dumped((await follower.rest()).messages) == dumped((await live).messages)


async def test_many_clients_of_a_worker_read_the_run_once(server: Server) -> None:
    """And need no room of other clients: `runs` limits the runs of a worker and the threads that it
    shows, not who follows elsewhere."""
    model, limits = gated(), RunLimits(readers=20, runs=2)
    async with hung(server, model, limits=limits) as (pair, live):
        clients = [await pair.follow().join() for _ in range(20)]
        readers: Any = pair.two._workers._readers  # type: ignore[union-attr]
        assert [len(reader) for reader in readers.values()] == [20]
        assert ending(await pair.follow().rest()) == "too_many_readers"
        async with clients.pop().reader:  # leaves
            pass
        model.go()
        truth = await pair.truth(live)
        for one in clients:
            assert ordered((await one.rest()).messages) == ordered(truth.messages)
        assert not readers


async def test_a_reader_that_never_reads_disturbs_nobody(server: Server) -> None:
    model = Scripted([text_chunk("Well", 1), 0.1, *[0.001, text_chunk("x" * 4000, 1)] * 200])
    async with pair_on(server, model, limits=RunLimits(unread=600_000)) as pair:
        live = asyncio.create_task(pair.truth(await pair.begin()))
        lazy, good = pair.follow(), pair.follow()
        assert dumped((await good.rest()).messages) == dumped((await live).messages)
        assert [one.code for one in await read(lazy.reader)] == ["reader_too_slow"]


@pytest.mark.parametrize("which", ["one", "two"])
async def test_a_worker_that_stops_ends_what_it_serves(server: Server, which: str) -> None:
    """Its runs, for all; and clients that follow runs of others."""
    async with followed(server, model := gated()) as (pair, live, follower):
        run = asyncio.create_task(pair.truth(live))
        rest = asyncio.create_task(follower.rest())
        await getattr(pair, which).drain()
        assert ending(await rest) == "server_stopping"
        model.go()
        assert ending(await run) == ("server_stopping" if which == "one" else "success")
        with pytest.raises(RunInputError, match="stopping"):
            await getattr(pair, which).begin(run_input("on", thread="t"))


async def test_a_worker_that_stops_while_a_client_looks_for_its_run(server: Server) -> None:
    async with hung(server) as (pair, live):
        found, find = asyncio.Event(), pair.stores[1].find

        async def find_later(name: str) -> Any:
            await found.wait()
            return await find(name)

        pair.stores[1].find, pair.stores[1].signal = find_later, pytest.fail
        follower = pair.follow()
        [shown] = pair.two._shown
        await pair.two.drain()
        found.set()
        await asyncio.wait({shown.task})
        assert (await follower.rest()).types == ["RUN_STARTED", "RUN_ERROR"]
        await pair.one.cancel("t", "live")
        await read(live)


@pytest.mark.parametrize("where", ["reasoning", "arguments"])
async def test_a_worker_that_dies(server: Server, where: str) -> None:
    """What is open is closed for its readers elsewhere, who get a code; who connects after that
    gets the thread as it stands."""
    async with server() as two:
        async with server() as one:
            pair = Pair([one, two], model := gated(STOPS[where]))
            await pair.begin()
            await model.hung.wait()
            clients = [await pair.follow().join(), await pair.follow(protocol_version=None).join()]
        # The store of the first worker is closed: to the other one it is dead.
        for one in clients:
            recorded = await one.rest()
            assert (ending(recorded), "STEP_FINISHED" in recorded.types) == ("run_lost", True)
            assert recorded.last.metadata["correlationId"]
        assert (await pair.follow().rest()).last.type.value == "RUN_FINISHED"
        assert not await pair.two.cancel("t", "live")
        await pair.end()


async def test_a_run_that_ends_before_it_can_answer(server: Server) -> None:
    """Who asks for it then gets the thread as it stands."""
    async with pair_on(server, gated()) as pair:
        gone = await MadeRun(pair, pair.key("t", "gone")).begin(pair.key("t"))
        follower = pair.follow()
        await eventually(lambda: gone.signals, "the run is followed")
        await gone.store.finish(gone.key)
        kinds = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        assert (await follower.rest()).types == kinds


async def test_a_worker_that_is_too_far_behind(server: Server) -> None:
    async with pair_on(server, gated()) as pair:
        run = await MadeRun(pair, pair.key("t", "fast")).begin(pair.key("t"))
        follower = pair.follow()
        await run.mark()
        await run.write(1)
        await run.write(2, await run.mark())
        await follower.join()
        await run.write(4, sse(event("STEP_STARTED", stepName="a")))
        assert ending(await follower.rest()) == "run_lost"


async def test_a_thread_that_nobody_keeps_is_joined_by_the_run(server: Server) -> None:
    """And no agent of another name finds it."""
    model = gated()
    async with hung(server, model, saver=None) as (pair, live):
        other = agent_of(InMemorySaver(), model, name="other", run_store=pair.stores[1])
        assert not await other.cancel("t", "live")
        for stranger in (pair.follow(), Follower(other, run_input(thread="t", run="live"))):
            assert (await stranger.rest()).messages == []
        follower = await pair.follow(run="live").join()
        model.go()
        truth = await pair.truth(live)
        assert ordered((await follower.rest()).messages) == ordered(truth.messages)


async def test_a_second_event_loop_is_refused(server: Server) -> None:
    """The connections of the store belong to the first one."""
    async with pair_on(server, Scripted(["Hi"], ["Again"])) as pair:
        await read(await pair.one.begin(pair.given))
        app, on = FastAPI(), run_input("on", thread="t")
        app.include_router(agui_router(pair.one, "/agent"))

        def post(path: str) -> Any:  # a test client has an event loop of its own
            return TestClient(app).post(path, content=body_of(on), headers=JSON)

        for path in ("/agent", "/agent/connect", "/agent/cancel"):
            answer = await asyncio.to_thread(post, path)
            assert (answer.status_code, answer.json()["code"]) == (500, "wrong_event_loop")
        again = RecordedRun(await read(await pair.one.begin(on)), on)
        assert ending(again) == "success"


async def test_runs_go_on_while_the_store_is_down(tmp_path: Path) -> None:
    process = start_redis(port := free_port(), tmp_path)
    url = f"redis://127.0.0.1:{port}"
    try:
        async with RedisRunStore(url) as one, RedisRunStore(url) as two:
            pair = Pair([one, two], model := gated())
            live = await pair.begin()
            await model.hung.wait()
            follower = await pair.follow().join()
            process.kill()
            process.wait(PATIENCE)
            model.go()
            truth = await pair.truth(live)
            assert (ending(truth), ending(await follower.rest())) == ("success", "run_lost")
            with pytest.raises(StateError, match="store of live runs"):
                await pair.two.cancel("t", "other")
            assert ordered((await pair.follow().rest()).messages) == ordered(truth.messages)
            given = run_input("on", thread="t")
            await read(await pair.one.begin(given))

            process = start_redis(port, tmp_path)
            pair = Pair([one, two], model := gated())
            live = await pair.begin()
            await model.hung.wait()
            assert await pair.two.cancel("t", "live")
            assert ending(await pair.truth(live)) == "cancelled"
            await pair.end()
    finally:
        process.kill()
