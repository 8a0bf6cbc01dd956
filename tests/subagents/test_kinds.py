"""Subagents that fail, are stopped, joined, or say nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import fold
from tests.adapter.streams import Told, collect, dumped, run_input, tell
from tests.approvals.clients import Client
from tests.subagents.graphs import BOSS, GRAPHS, Built, Lane, agent_of, agent_tool, boss_of, failing, until
from tests.subagents.owners import (
    check_lifecycle,
    check_links,
    check_tags,
    check_untold,
    check_words,
    ends,
    starts,
)
from tests.subagents.voices import gated, voice
from tests.waiting import PATIENCE

# -- failures -------------------------------------------------------------------------------------------------------


def check_failed(told: Told, built: Built) -> dict[str, str]:
    """Check a run with lanes that failed; return their ids."""
    check_lifecycle(told.events)
    check_tags(told)
    owners = check_words(told, built)
    check_links(told, built.lanes, owners)
    assert "secret" not in "".join(event.model_dump_json() for event in told.events)
    return owners


async def test_a_failure_that_the_parent_handles() -> None:
    built = failing(handled=True)
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi"))
    owners = check_failed(told, built)
    told.check_snapshot()
    assert told.last.outcome.type == "success"
    assert told.messages[-1].content == "boss: ends 1"
    failed = ends(told.events)
    for speaker in ("inner", "outer"):
        event = failed[owners[speaker]]
        assert event.type.value == "SUBAGENT_ERROR"
        assert event.message
        assert event.code == "model_error"


async def test_a_failure_that_the_parent_handles_leaves_nothing_to_answer() -> None:
    """Nobody will ever ask for the result of a call whose subagent is gone."""
    built = failing(handled=True)
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi"))
    assert not told.last.outcome.pending_tool_call_ids


async def test_the_turn_after_a_failure_that_the_parent_handles() -> None:
    built = failing(handled=True)
    client = Client(LangGraphAgent(graph=built.graph))
    await client.send("hi")
    told = await client.send("again")
    assert told.messages[-1].content == "boss: ends 2"
    assert [message.type for message in built.boss.seen[-1]] == ["human", "ai", "tool", "ai", "human"]


async def test_a_failure_of_the_run() -> None:
    built = failing(handled=False)
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi"))
    owners = check_failed(told, built)
    assert (told.last.type.value, told.last.code) == ("RUN_ERROR", "model_error")
    assert {ends(told.events)[owners[speaker]].type.value for speaker in built.lanes} == {"SUBAGENT_ERROR"}


@pytest.mark.parametrize("mode", ["inline", "hidden"])
@pytest.mark.parametrize("handled", [True, False])
async def test_failures_in_other_modes(handled: bool, mode: Any) -> None:
    built = failing(handled=handled)
    told = await tell(LangGraphAgent(graph=built.graph, subagents=mode), run_input("hi"))
    check_untold(told)
    assert told.last.type.value == ("RUN_FINISHED" if handled else "RUN_ERROR")


async def test_a_failure_stops_those_who_work_beside_it() -> None:
    begun = False

    def fail() -> None:
        raise ValueError("a secret")

    slow = agent_tool("slow", agent_of(gated("slow", lambda: False)))
    quick = agent_tool("quick", agent_of(gated("quick", lambda: begun, fail)))
    graph, boss = boss_of(None, [slow, quick], ("slow", {"question": "q"}), ("quick", {"question": "q"}))
    lanes = {name: Lane(name, BOSS, f"boss.{n}", f"Ask {name}.") for n, name in enumerate(("slow", "quick"))}
    events: list[Any] = []
    given = run_input("hi")
    running = asyncio.create_task(read_into(events, LangGraphAgent(graph=graph).run(given)))
    await until(lambda: sum(event.type.value == "REASONING_MESSAGE_CONTENT" for event in events) >= 4)
    begun = True
    await asyncio.wait_for(running, PATIENCE)
    told = Told(events, given)
    owners = check_failed(told, Built(graph, boss, lanes))
    codes = {speaker: ends(events)[owners[speaker]].code for speaker in lanes}
    assert codes == {"slow": "cancelled", "quick": "model_error"}
    assert told.last.code == "model_error"


async def test_errors_may_be_shown_to_a_developer() -> None:
    built = failing(handled=True)
    told = await tell(LangGraphAgent(graph=built.graph, expose_errors=True), run_input("hi"))
    assert {event.message for event in told.of("SUBAGENT_ERROR")} == {"a secret"}


# -- runs that are stopped, and readers that come later -------------------------------------------------------------


async def read_into(heard: list[Any], events: AsyncIterator[Any]) -> None:
    async with aclosing(events):  # type: ignore[type-var]
        async for event in events:
            heard.append(event)  # noqa: PERF401 (others look at it meanwhile)


THINKS = "REASONING_MESSAGE_CONTENT"


class Open:
    """A run with two subagents that wait in the middle of what they say."""

    def __init__(self, *, sync: bool = False, **options: Any) -> None:
        self.go = False
        tools = [agent_tool(name, agent_of(gated(name, lambda: self.go)), sync=sync) for name in ("ann", "bob")]
        graph, boss = boss_of(InMemorySaver(), tools, *((name, {"question": "why"}) for name in ("ann", "bob")))
        lanes = {name: Lane(name, BOSS, f"boss.{n}", f"Ask {name}.") for n, name in enumerate(("ann", "bob"))}
        self.built = Built(graph, boss, lanes)
        self.agent = LangGraphAgent(graph=graph, **options)
        self.input = run_input("hi", thread="t", run="r")
        self.events: list[Any] = []
        self.running = asyncio.create_task(read_into(self.events, self.agent.run(self.input)))

    async def both_open(self) -> None:
        """Wait until both have begun to think, behind the boss."""
        await until(lambda: len({one.message_id for one in self.events if one.type.value == THINKS}) == 3)

    async def end(self) -> Told:
        await asyncio.wait_for(self.running, PATIENCE)
        return Told(self.events, self.input)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_run_that_is_cancelled(sync: bool) -> None:
    run = Open(sync=sync)
    await run.both_open()
    assert run.agent.cancel("t", "r")
    run.go = sync  # a thread cannot be cancelled: it ends at its next word
    told = await run.end()
    assert told.last.outcome.type == "cancelled"
    owners = check_failed(told, run.built)
    assert set(owners) == {"ann", "bob"}
    assert set(ends(told.events)) == set(owners.values())


async def test_a_thread_goes_on_after_its_run_was_cancelled() -> None:
    run = Open()
    await run.both_open()
    assert run.agent.cancel("t", "r")
    told = await run.end()
    run.go = True
    given = run_input(*told.messages, "again", thread="t")
    after = await tell(run.agent, given)
    assert after.last.outcome.type == "success"
    assert [message.text for message in run.built.boss.seen[-1] if message.type == "human"] == ["hi", "again"]


@pytest.mark.parametrize("read", ["two_readers", "first_left"])
async def test_a_reader_that_joins_while_two_lanes_are_open(read: str) -> None:
    run = Open(on_disconnect="continue")
    await run.both_open()
    given = run_input(thread="t")
    heard: list[Any] = []

    joining = asyncio.create_task(read_into(heard, run.agent.connect(given)))
    await until(lambda: sum(event.type.value == "REASONING_MESSAGE_CONTENT" for event in heard) >= 2)
    if read == "first_left":
        run.running.cancel()
        await asyncio.wait({run.running})
    run.go = True
    await asyncio.wait_for(joining, PATIENCE)
    joined = Told(heard, given)
    owners = check_failed(joined, run.built)
    check_closing(joined)
    assert set(owners) == set(run.built.lanes)
    assert set(starts(joined.events)) == set(owners.values())
    if read == "two_readers":
        told = await run.end()
        assert check_words(told, run.built) == owners
        assert _dumped(joined.messages) == _dumped(told.messages)


async def test_a_reader_that_joins_is_told_who_has_spoken_before() -> None:
    opened = False
    both = agent_tool("both", agent_of(voice("one"), name="first"), agent_of(gated("two", lambda: opened)))
    graph, _ = boss_of(InMemorySaver(), [both], ("both", {"question": "why"}))
    agent, events, heard = LangGraphAgent(graph=graph), list[Any](), list[Any]()
    running = asyncio.create_task(read_into(events, agent.run(run_input("hi", thread="t"))))
    await until(lambda: sum(event.type.value == "SUBAGENT_STARTED" for event in events) == 2)
    given = run_input(thread="t")
    joining = asyncio.create_task(read_into(heard, agent.connect(given)))
    await until(lambda: any(event.type.value == "MESSAGES_SNAPSHOT" for event in heard))
    opened = True
    await asyncio.gather(running, joining)
    lanes = [event.type.value for event in Told(heard, given).events if event.type.value.startswith("SUBAGENT")]
    assert lanes == ["SUBAGENT_STARTED", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_FINISHED"]
    assert [one.name for one in heard if one.type.value == "SUBAGENT_STARTED"] == ["first", "both"]


async def test_a_reader_that_comes_back_while_two_lanes_are_open() -> None:
    """It holds what it has heard: of the open items it is told from their beginning, and holds nothing twice."""
    run = Open()
    await run.both_open()
    held = fold(run.events, run.input.messages).messages
    given = run_input(*held, thread="t")
    heard: list[Any] = []
    joining = asyncio.create_task(read_into(heard, run.agent.connect(given)))
    await until(lambda: sum(event.type.value == "REASONING_MESSAGE_CONTENT" for event in heard) >= 2)
    run.go = True
    await asyncio.wait_for(joining, PATIENCE)
    told, joined = await run.end(), Told(heard, given)
    assert check_failed(joined, run.built) == check_failed(told, run.built)
    assert _dumped(joined.messages) == _dumped(told.messages)


async def test_a_reader_that_comes_back_to_a_thread_at_rest() -> None:
    built = GRAPHS["deep"](InMemorySaver())
    agent = LangGraphAgent(graph=built.graph)
    told = await tell(agent, run_input("hi", thread="t"))
    given = run_input(*told.messages, thread="t")
    back = Told(await collect(agent.connect(given)), given)
    assert [message.model_dump() for message in back.messages] == [message.model_dump() for message in told.messages]


def check_closing(joined: Told) -> None:
    """The closing snapshot says what a reader knew that was told a snapshot when it came."""
    before = fold([event for event in joined.events if event is not joined.of("MESSAGES_SNAPSHOT")[-1]])
    assert dumped(before.messages) == dumped(joined.snapshot)


def _dumped(messages: Any) -> list[Any]:
    return sorted((message.model_dump(mode="json") for message in messages), key=lambda message: str(message["id"]))


async def test_a_reader_that_joins_between_two_lanes() -> None:
    """What the first lane has said is in the snapshot, with its owner; the lane itself is over."""
    go = False
    both = agent_tool("both", agent_of(voice("one")), agent_of(gated("two", lambda: go)))
    graph, boss = boss_of(InMemorySaver(), [both], ("both", {"question": "why"}))
    built = Built(graph, boss, {name: Lane("both", BOSS, "boss.0", "Ask both.") for name in ("one", "two")})
    agent = LangGraphAgent(graph=graph)
    first, given = run_input("hi", thread="t"), run_input(thread="t")
    events, heard = list[Any](), list[Any]()
    running = asyncio.create_task(read_into(events, agent.run(first)))

    await until(lambda: any(event.type.value == "SUBAGENT_FINISHED" for event in events))
    joining = asyncio.create_task(read_into(heard, agent.connect(given)))
    await until(lambda: any(event.type.value == "REASONING_MESSAGE_CONTENT" for event in heard))
    go = True
    await asyncio.wait_for(asyncio.gather(running, joining), PATIENCE)
    told, joined = Told(events, first), Told(heard, given)
    check_lifecycle(joined.events)
    check_closing(joined)
    assert check_words(joined, built) == check_words(told, built)
    assert _dumped(joined.messages) == _dumped(told.messages)


# -- lanes without words --------------------------------------------------------------------------------------------


async def test_a_subagent_that_nobody_hears() -> None:
    built = GRAPHS["nostream"](None)
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi"))
    (lane,) = starts(told.events)
    tagged = {event.type.value for event in told.events if getattr(event, "subagent_run_id", None) == lane}
    assert tagged <= {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "STEP_STARTED", "STEP_FINISHED"}
    (result,) = told.of("TOOL_CALL_RESULT")
    assert (result.content, result.subagent_run_id) == ("quiet: ends 1", None)
