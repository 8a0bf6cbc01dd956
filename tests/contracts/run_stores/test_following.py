"""A run of one worker, followed and stopped by another: two agents on two stores, in one event
loop."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import BaseEvent, RunAgentInput, StepStartedEvent
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from langgraph_agui.kernel.errors import RunInputError, StateError
from langgraph_agui.protocol import Fold, fold
from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.translate.lifecycle import run_started
from langgraph_agui.workers import Entry, RedisRunStore, RunStore, run_writer
from langgraph_agui.workers.signals import Signal, mark_event
from tests.behaviour.threads.test_join import check, forget, held_after, ordered
from tests.kit.deep import deep, others_deep
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.processes.redis_server import free_port, start_redis
from tests.kit.processes.stores import Server
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import agent_of, join_after, read, turns
from tests.kit.waiting import PATIENCE, eventually


class Gated(Scripted):
    """Stops behind the `stop`th chunk, until the gate is open."""

    stop: int = 0
    gate: Any = None
    sent: int = 0

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            self.sent += 1
            if self.sent == self.stop:
                self.hung.set()
                await self.gate.wait()


# A turn with everything, and where it stops: in the middle of reasoning, of text, of a call's
# arguments.
TURN: list[Any] = [
    *(thinking("Hm", 0), thinking(", well.", 0), thinking(index=0, signature="s1")),
    *(text_chunk("Look", 1), text_chunk("ing.", 1)),
    *(
        calling(part("look", "", "c1", 2)),
        calling(part(None, '{"place":', None, 2)),
        calling(part(None, ' "a"}', None, 2)),
    ),
]
STOPS = {"reasoning": 1, "text": 4, "arguments": 7}


def gated(stop: int) -> Gated:
    return Gated(TURN, [text_chunk("All done.", 1)], stop=stop, gate=asyncio.Event())


class Pair:
    """Two workers of one agent: the run is in the first."""

    def __init__(self, stores: list[RunStore], model: Scripted, **options: Any) -> None:
        saver = options.pop("saver", InMemorySaver())
        options = {"on_disconnect": "continue", **options}
        self.stores = stores
        self.has_threads = saver is not None
        self.one, self.two = (
            agent_of(saver, model, run_store=store, **options) for store in stores
        )
        self.given = run_input(user("go", "u1"), thread="t", run="live")

    async def begin(self, given: RunAgentInput | None = None) -> Subscription:
        """A run of the first worker, which the other one can find."""
        given = given or self.given
        reader: Subscription = await self.one.begin(given)
        await self.until_found(given)
        return reader

    async def until_found(self, given: RunAgentInput) -> None:
        workers = self.two._workers
        assert workers is not None
        async with asyncio.timeout(PATIENCE):
            while not await self.stores[1].find(workers._key(given.thread_id, given.run_id)):
                await asyncio.sleep(0.001)
            while (
                self.has_threads
                and given.run_id == self.given.run_id
                and not await self.stores[1].find(workers._key(given.thread_id))
            ):
                await asyncio.sleep(0.001)

    def join(self, **fields: Any) -> tuple[Subscription, RunAgentInput]:
        """A client of the second worker."""
        own = run_input(*fields.pop("messages", ()), thread="t", **fields)
        return self.two.subscribe(own), own

    async def end(self) -> None:
        await asyncio.gather(self.one.drain(), self.two.drain())


@asynccontextmanager
async def pair_on(server: Server, model: Scripted, **options: Any) -> AsyncIterator[Pair]:
    async with server() as one, server() as two:
        pair = Pair([one, two], model, **options)
        yield pair
        await pair.end()


async def until_joined(reader: Subscription) -> list[BaseEvent]:
    """What a client gets first."""
    async with asyncio.timeout(PATIENCE):
        return await reader.take()


async def rest_of(reader: Subscription, first: list[BaseEvent], own: RunAgentInput) -> RecordedRun:
    async with asyncio.timeout(PATIENCE):
        return RecordedRun([*first, *await read(reader)], own)  # type: ignore[list-item]


@pytest.mark.parametrize("where", STOPS)
async def test_a_page_is_reloaded_in_the_middle_of_a_word(each_server: Server, where: str) -> None:
    """What it holds in the end equals what the run's own client holds, in the forms of both
    generations."""
    model = gated(STOPS[where])
    async with pair_on(each_server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        joined = [
            pair.join(),
            pair.join(messages=[user("go", "u1")], state={"mood": "old", "mine": 1}),
            pair.join(protocol_version=None),
        ]
        first = [await until_joined(reader) for reader, _ in joined]
        assert [events[0].type.value for events in first] == ["RUN_STARTED"] * 3
        model.gate.set()
        truth = RecordedRun(await read(live), pair.given)
        recorded = [
            await rest_of(reader, some, own)
            for (reader, own), some in zip(joined, first, strict=True)
        ]
    assert [message.role for message in truth.messages][:2] == ["user", "reasoning"]
    for one in recorded:
        assert ordered(one.messages) == ordered(truth.messages)
        assert one.last.run_id == one.input.run_id
    assert [one.state for one in recorded] == [truth.state, {**truth.state, "mine": 1}, truth.state]
    assert [one.last.outcome is None for one in recorded] == [False, False, True]
    middle = {"reasoning": "Hm", "text": "Look", "arguments": '{"place":'}[where]
    deltas = [
        event.delta
        for event in first[0]
        if hasattr(event, "delta") and isinstance(event.delta, str)
    ]
    assert deltas[-1] == middle


@pytest.mark.parametrize("where", STOPS)
async def test_who_lost_its_connection_gets_the_rest_and_nothing_twice(
    server: Server, where: str
) -> None:
    model = gated(STOPS[where])
    async with pair_on(server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        received = list[Any]()
        async with live:  # and its connection breaks
            await eventually(lambda: len(live._items) or received, "events wait")
            received += live.take_waiting()
        client = fold(received, pair.given.messages)
        reader, own = pair.join(messages=client.messages, state=client.state)
        first = await until_joined(reader)
        model.gate.set()
        recorded = await rest_of(reader, first, own)
        again, seen = pair.join(messages=recorded.messages, state=recorded.state)
        after = RecordedRun(await read(again), seen)
    texts = [
        message.content
        for message in recorded.messages
        if message.role in ("reasoning", "assistant")
    ]
    assert [text for text in texts if text] == ["Hm, well.", "Looking.", "All done."]
    assert dumped(after.messages) == dumped(recorded.messages)


async def test_who_follows_gets_nothing_that_only_the_tab_of_the_run_holds(server: Server) -> None:
    answers: list[Any] = [[text_chunk("Old.", 1)], [text_chunk("Well", 1), text_chunk(", yes.", 1)]]
    model = Gated(*answers, stop=2, gate=asyncio.Event())
    async with pair_on(server, model) as pair:
        before = run_input(user("my pin is 1234", "u1"), thread="t", run="first")
        held = RecordedRun(await read(await pair.one.begin(before)), before).messages
        await forget(pair.one)
        live = await pair.begin(run_input(*held, user("go", "u2"), thread="t", run="live"))
        await model.hung.wait()
        reader, own = pair.join()
        first = await until_joined(reader)
        model.gate.set()
        await read(live)
        recorded = await rest_of(reader, first, own)
    assert [one.content for one in recorded.messages] == ["go", "Well, yes."]
    assert all(b"1234" not in encode(event) for event in recorded.events)


class Halting(Scripted):
    """Goes on while the gate is open."""

    gate: Any = None

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        await self.gate.wait()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.gate.wait()


@pytest.mark.parametrize("after", others_deep(range(3, 38), lambda after: after // 8))
async def test_joined_after_any_event(server: Server, after: int) -> None:
    """Of one who holds nothing, one of before AG-UI 1.0, one who holds the question, two who were
    cut off, now and earlier; from when others find the run."""
    inputs = [
        run_input(thread="t"),
        run_input(thread="t", protocol_version=None),
        run_input(user("go", "u1"), thread="t", state={"mood": "old"}),
        lambda received: held_after(received[: after // 2], given, run_input(thread="t")),
    ]
    given, cut = run_input(user("go", "u1"), thread="t", run="live"), run_input(thread="t")
    async with pair_on(server, model := Halting(*turns(), gate=asyncio.Event())) as pair:
        pair.one.subscribe = pair.two.subscribe  # type: ignore[method-assign]

        async def open_when(ready: Awaitable[None]) -> None:
            await ready
            model.gate.set()

        def halt(received: list[Any]) -> RunAgentInput:
            model.gate.clear()
            tasks.append(
                asyncio.create_task(open_when(eventually(all_have_begun, "all have begun")))
            )
            return held_after(received, given, cut)

        def all_have_begun() -> bool:
            seen.update(pair.two._shown)
            return len(seen) == 5 and all(
                one.has_joined or one._shown or one.task.done() for one in seen
            )

        seen = set[Any]()
        tasks = [asyncio.create_task(open_when(pair.until_found(given)))]
        joined = await join_after(pair.one, after, *inputs, halt, given=given)
        await asyncio.gather(*tasks)
    if after <= len(joined.live.events):
        check(joined)


async def test_a_long_run_is_written_from_its_beginning_again(
    each_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old entries go, and who follows from early or late on has all of it once."""
    monkeypatch.setattr(run_writer, "_INTERVAL", 0.001)
    beginnings: list[Entry] = []
    words = [part for number in range(300) for part in (0.008, text_chunk(f"word{number:400} ", 1))]
    model = Scripted([text_chunk("Begin ", 1), 0.05, *words])
    async with (
        pair_on(each_server, model, limits=RunLimits(unread=30_000)) as pair,
        each_server() as three,
    ):
        begin_log = pair.stores[0].begin_log

        async def record(run: str, beginning: Entry, oldest: int) -> None:
            beginnings.append(beginning)
            await begin_log(run, beginning, oldest)

        pair.stores[0].begin_log = record  # type: ignore[method-assign]
        live = asyncio.create_task(read(await pair.begin()))
        early, own_early = pair.join()
        reading = asyncio.create_task(read(early))
        await eventually(lambda: len(beginnings) > 2, "it began anew, twice")
        later, own_later = pair.join()
        elsewhere = Pair([pair.stores[1], three], model).join()
        late = [(later, own_later), elsewhere]
        recorded = await asyncio.gather(*(rest_of(reader, [], own) for reader, own in late))
        recorded.append(RecordedRun(await reading, own_early))
        truth = RecordedRun(await live, pair.given)
    for one in recorded:
        assert dumped(one.messages) == dumped(truth.messages)


async def test_a_client_joins_behind_all_that_it_holds(
    each_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from the run's own worker to one that has not read as far: nothing that it holds is
    taken from it, not even for a moment."""
    monkeypatch.setattr(run_writer, "_INTERVAL", 1.0)
    words = [text_chunk(f"word{number} ", 1) for number in range(10)]
    model = Gated([text_chunk("Begin ", 1), *words, 60.0], stop=1, gate=asyncio.Event())
    async with pair_on(each_server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        early, own_early = pair.join()
        first = await until_joined(early)
        model.gate.set()
        client = Fold(pair.given.messages)

        def holds_all() -> bool:
            for event in live.take_waiting():
                client.feed(event)  # type: ignore[arg-type]
            return str(client.messages[-1].content).endswith("word9 ")

        await eventually(holds_all, "the first client has it all")
        late, own_late = pair.join(messages=client.messages)
        joined = await until_joined(late)
        assert fold(joined, client.messages).messages == client.messages  # type: ignore[arg-type]
        assert await pair.one.cancel("t", "live")
        recorded = [await rest_of(early, first, own_early), await rest_of(late, joined, own_late)]
        async with live:
            pass
    assert [one.messages[-1].content for one in recorded] == [client.messages[-1].content] * 2


async def test_a_mark_is_in_the_next_beginning_too(server: Server) -> None:
    """A worker that is slow to read finds the answer to its client there."""
    words = [part for _ in range(400) for part in (0.002, text_chunk("x" * 500, 1))]
    model = Gated([text_chunk("Begin ", 1), *words], stop=1, gate=asyncio.Event())
    async with pair_on(server, model, limits=RunLimits(unread=60_000)) as pair:
        live = asyncio.create_task(read(await pair.begin()))
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

        pair.stores[0].begin_log = begin  # type: ignore[method-assign]
        pair.stores[1].read = read_late  # type: ignore[method-assign]
        reader, own = pair.join()
        await eventually(lambda: beginnings, "the log is begun")
        model.gate.set()
        first = await until_joined(reader)
        assert not live.done()
        recorded = await rest_of(reader, first, own)
        truth = RecordedRun(await live, pair.given)
    assert dumped(recorded.messages) == dumped(truth.messages)


async def test_many_clients_of_a_worker_read_the_run_once(each_server: Server) -> None:
    model = gated(4)
    async with pair_on(each_server, model, limits=RunLimits(readers=100)) as pair:
        live = await pair.begin()
        await model.hung.wait()
        joined = [pair.join() for _ in range(100)]
        first = [await until_joined(reader) for reader, _ in joined]
        workers = pair.two._workers
        assert workers is not None
        assert [len(reader) for reader in workers._readers.values()] == [100]
        refused, own_refused = pair.join()
        assert (await rest_of(refused, [], own_refused)).last.code == "too_many_readers"
        async with joined[0][0]:  # leaves
            pass
        model.gate.set()
        truth = RecordedRun(await read(live), pair.given)
        for (reader, own), some in zip(joined[1:], first[1:], strict=True):
            assert ordered((await rest_of(reader, some, own)).messages) == ordered(truth.messages)
        assert not workers._readers


async def test_followers_need_no_room_of_other_clients(server: Server) -> None:
    """`max_concurrent_runs` limits the runs of a worker and the threads that it shows, not who
    follows elsewhere."""
    model = gated(4)
    async with pair_on(server, model, limits=RunLimits(runs=2)) as pair:
        live = await pair.begin()
        await model.hung.wait()
        joined = [pair.join() for _ in range(2)]
        first = [await until_joined(reader) for reader, _ in joined]
        joined.append(pair.join())
        first.append(await until_joined(joined[2][0]))
        model.gate.set()
        truth = RecordedRun(await read(live), pair.given)
        for (reader, own), some in zip(joined, first, strict=True):
            assert ordered((await rest_of(reader, some, own)).messages) == ordered(truth.messages)


async def test_a_reader_that_never_reads_disturbs_nobody(server: Server) -> None:
    model = Scripted([text_chunk("Well", 1), 0.1, *[0.001, text_chunk("x" * 1000, 1)] * 800])
    async with pair_on(server, model, limits=RunLimits(unread=600_000)) as pair:
        reading = asyncio.create_task(read(await pair.begin()))
        lazy, own_lazy = pair.join()
        good, own = pair.join()
        recorded = await rest_of(good, [], own)
        truth = RecordedRun(await reading, pair.given)
        assert dumped(recorded.messages) == dumped(truth.messages)
        let_go = await read(lazy)
        assert [event.code for event in let_go] == ["reader_too_slow"]
        assert own_lazy.thread_id == "t"


# -- stopping ------------------------------------------------------------------------------------


async def test_any_worker_cancels(each_server: Server) -> None:
    model = gated(4)
    async with pair_on(each_server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        reader, own = pair.join()
        first = await until_joined(reader)
        assert not await pair.two.cancel("t", "other")
        assert not await pair.two.cancel("other", "live")
        assert await pair.two.cancel("t", "live")
        assert RecordedRun(await read(live), pair.given).last.outcome.type == "cancelled"
        assert (await rest_of(reader, first, own)).last.outcome.type == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while await pair.two.cancel("t", "live"):  # until the store has it too
                await asyncio.sleep(0.01)


async def test_who_has_joined_cancels_by_its_own_run_id(server: Server) -> None:
    """A page that was reloaded no longer knows the id of the run; any worker may get its wish."""
    for joins in ("one", "two"):
        model = gated(4)
        async with pair_on(server, model) as pair:
            live = await pair.begin()
            await model.hung.wait()
            reader: Subscription = getattr(pair, joins).subscribe(run_input(thread="t", run="mine"))
            async with reader:
                await reader.take()
            for other in (pair.one, pair.two):
                assert not await other.cancel("other", "mine")
            async with asyncio.timeout(PATIENCE):
                while not await (pair.two if joins == "one" else pair.one).cancel("t", "mine"):
                    await asyncio.sleep(0.01)
            assert (await read(live))[-1].outcome.type == "cancelled"


async def test_a_run_that_waits_for_its_thread(each_server: Server) -> None:
    """It is cancelled from anywhere; who connects follows the run that has the thread."""
    model = gated(4)
    async with pair_on(each_server, model, on_busy="wait") as pair:
        live = await pair.begin()
        await model.hung.wait()
        waiting = await pair.begin(run_input("and", thread="t", run="waits"))
        reader, own = pair.join()
        first = await until_joined(reader)
        assert await pair.two.cancel("t", "waits")
        assert (await read(waiting))[-1].outcome.type == "cancelled"
        model.gate.set()
        truth = RecordedRun(await read(live), pair.given)
        assert ordered((await rest_of(reader, first, own)).messages) == ordered(truth.messages)


async def test_a_worker_that_stops_ends_its_runs_for_all(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        reader, own = pair.join()
        first = await until_joined(reader)
        reading = asyncio.create_task(read(live))
        await pair.one.drain()
        assert (await reading)[-1].code == "server_stopping"
        assert (await rest_of(reader, first, own)).last.code == "server_stopping"
        with pytest.raises(RunInputError, match="stopping"):
            await pair.one.begin(run_input("on", thread="t"))


async def test_a_worker_that_stops_lets_its_followers_go(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        reader, own = pair.join()
        first = await until_joined(reader)
        reading = asyncio.create_task(read(reader))
        await pair.two.drain()
        assert RecordedRun([*first, *await reading], own).last.code == "server_stopping"  # type: ignore[list-item]
        model.gate.set()
        assert (await read(live))[-1].type.value == "RUN_FINISHED"


async def test_a_worker_that_dies(each_server: Server) -> None:
    """Its readers elsewhere get a code, and who connects after that gets the thread as it
    stands."""
    model = gated(4)
    async with each_server() as two:
        async with each_server() as one:
            pair = Pair([one, two], model)
            await pair.begin()
            await model.hung.wait()
            reader, own = pair.join()
            first = await until_joined(reader)
        # The store of the first worker is closed: to the other one it is dead.
        recorded = await rest_of(reader, first, own)
        assert recorded.last.code == "run_lost"
        assert recorded.last.metadata["correlationId"]
        again, own = pair.join()
        assert (await rest_of(again, [], own)).last.type.value == "RUN_FINISHED"
        assert not await pair.two.cancel("t", "live")
        await pair.end()


async def test_a_run_that_ends_before_it_can_answer(server: Server) -> None:
    """Who asks for it then gets the thread as it stands."""
    async with pair_on(server, gated(0)) as pair:
        key = pair.two._workers._key  # type: ignore[union-attr]
        await pair.stores[0].begin(key("t", "gone"), print)  # live, and never answers
        await pair.stores[0].enter(key("t"), key("t", "gone"))
        reader, own = pair.join()
        await eventually(lambda: pair.two._workers._readers, "the run is followed")  # type: ignore[union-attr]
        await pair.stores[0].finish(key("t", "gone"))
        recorded = await rest_of(reader, [], own)
        assert recorded.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]


async def mark_of(signals: list[str]) -> str:
    """The mark that the first client to follow a run has sent."""
    await eventually(lambda: signals, "a client asks for the run")
    return Signal.from_text(signals[0]).mark


async def test_a_worker_that_is_too_far_behind(server: Server) -> None:
    async with pair_on(server, gated(0)) as pair:
        key = pair.two._workers._key  # type: ignore[union-attr]
        signals = list[str]()
        await pair.stores[0].begin(run := key("t", "fast"), signals.append)
        await pair.stores[0].enter(key("t"), run)
        reader, own = pair.join()
        await pair.stores[0].begin_log(run, Entry(1, encode(run_started(pair.given))), 1)
        await pair.stores[0].append(run, Entry(2, encode(mark_event(await mark_of(signals)))))
        first = await until_joined(reader)
        await pair.stores[0].append(run, Entry(4, encode(StepStartedEvent(step_name="a"))))
        assert (await rest_of(reader, first, own)).last.code == "run_lost"


async def test_a_thread_that_nobody_keeps_is_joined_by_the_run(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model, saver=None) as pair:
        live = await pair.begin()
        await model.hung.wait()
        stranger, own_stranger = pair.join()
        assert (await rest_of(stranger, [], own_stranger)).messages == []
        reader, own = pair.join(run="live")
        first = await until_joined(reader)
        model.gate.set()
        truth = RecordedRun(await read(live), pair.given)
        assert ordered((await rest_of(reader, first, own)).messages) == ordered(truth.messages)


async def test_agents_of_other_names_share_nothing(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model) as pair:
        await pair.begin()
        await model.hung.wait()
        other = agent_of(InMemorySaver(), model, name="other", run_store=pair.stores[1])
        assert not await other.cancel("t", "live")
        own = run_input(thread="t")
        assert RecordedRun(await read(other.subscribe(own)), own).messages == []


async def test_a_second_event_loop_is_refused(server: Server) -> None:
    """The connections of the store belong to the first one."""
    async with pair_on(server, Scripted(["Hi"], ["Again"])) as pair:
        await read(await pair.one.begin(pair.given))

        async def in_second_loop() -> list[BaseEvent]:
            with pytest.raises(RunInputError, match="works in one event loop"):
                await pair.one.cancel("t", "other")
            ran = [event async for event in pair.one.run(run_input("on", thread="t"))]
            shown = [event async for event in pair.one.connect(run_input(thread="t"))]
            assert [event.type.value for event in [*ran, *shown]] == [
                "RUN_STARTED",
                "RUN_ERROR",
            ] * 2
            return [ran[-1], shown[-1]]

        ends: list[Any] = await asyncio.to_thread(asyncio.run, in_second_loop())
        assert [event.code for event in ends] == ["wrong_event_loop"] * 2
        again = await pair.one.begin(run_input("on", thread="t"))
        assert (await read(again))[-1].type.value == "RUN_FINISHED"


async def test_a_second_event_loop_is_refused_over_http(server: Server) -> None:
    async with server() as store:
        agent = agent_of(InMemorySaver(), Scripted(["Hi"]), run_store=store)
        await read(await agent.begin(run_input("go", thread="t")))
        app = FastAPI()
        app.include_router(agui_router(agent, "/agent"))

        def post() -> list[tuple[int, str]]:
            body = run_input("on", thread="t").model_dump(mode="json", by_alias=True)
            client = TestClient(app)  # has an event loop of its own
            answers = [
                client.post(f"/agent{path}", json=body) for path in ("", "/connect", "/cancel")
            ]
            return [(answer.status_code, answer.json()["code"]) for answer in answers]

        assert await asyncio.to_thread(post) == [(500, "wrong_event_loop")] * 3
        await agent.drain()


# -- a store that is down ------------------------------------------------------------------------


async def test_runs_go_on_while_the_store_is_down(tmp_path: Path) -> None:
    port = free_port()
    process: subprocess.Popen[bytes] | None = start_redis(port, tmp_path)
    try:
        url = f"redis://127.0.0.1:{port}"
        async with RedisRunStore(url) as one, RedisRunStore(url) as two:
            model = gated(4)
            pair = Pair([one, two], model)
            live = await pair.begin()
            await model.hung.wait()
            reader, own = pair.join()
            first = await until_joined(reader)
            assert process is not None
            process.kill()
            process.wait(PATIENCE)
            model.gate.set()
            truth = RecordedRun(await read(live), pair.given)
            assert truth.last.type.value == "RUN_FINISHED"
            assert (await rest_of(reader, first, own)).last.code == "run_lost"
            with pytest.raises(StateError, match="store of live runs"):
                await pair.two.cancel("t", "other")
            at_rest, own = pair.join()
            assert ordered((await rest_of(at_rest, [], own)).messages) == ordered(truth.messages)
            second = RecordedRun(
                await read(await pair.one.begin(given := run_input("on", thread="t"))),
                given,
            )
            assert second.last.type.value == "RUN_ERROR" or second.messages

            process = start_redis(port, tmp_path)
            later = gated(4)
            pair = Pair([one, two], later)
            live = await pair.begin()
            await later.hung.wait()
            assert await pair.two.cancel("t", "live")
            assert (await read(live))[-1].outcome.type == "cancelled"
            await pair.end()
    finally:
        if process is not None:
            process.kill()


class WaitsEachTime(Scripted):
    """Stops behind each chunk, until the gate is open."""

    gate: Any = None

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.gate.wait()


@deep
async def test_many_runs_at_once(server: Server) -> None:
    turns = [[text_chunk(f"answer {number}", 1)] for number in range(50)]
    model = WaitsEachTime(*turns, gate=asyncio.Event())
    async with pair_on(server, model) as pair:
        inputs = [
            run_input(user("go", f"u{number}"), thread=f"t{number}", run="r")
            for number in range(50)
        ]
        lives = [await pair.begin(given) for given in inputs]
        own = [run_input(thread=given.thread_id) for given in inputs]
        readers = [pair.two.subscribe(one) for one in own]
        begun = await asyncio.gather(*map(until_joined, readers))
        model.gate.set()
        for live, given, reader, first, one in zip(lives, inputs, readers, begun, own, strict=True):
            truth = RecordedRun(await read(live), given)
            joined = await rest_of(reader, first, one)
            assert dumped(joined.messages) == dumped(truth.messages)


def test_an_agent_without_a_store_shares_nothing() -> None:
    assert agent_of(InMemorySaver())._workers is None
    assert isinstance(
        agent_of(InMemorySaver(), run_store=RedisRunStore("redis://localhost")), LangGraphAgent
    )
