"""Subagents that fail, are stopped, joined, or say nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from langgraph_agui.protocol import fold
from tests.kit.expect.owners import (
    check_lifecycle,
    check_links,
    check_no_subagents,
    check_tags,
    check_words,
    ends,
    starts,
)
from tests.kit.graphs.subagents import (
    BOSS,
    GRAPHS,
    Built,
    ExpectedSubagent,
    agent_of,
    agent_tool,
    boss_of,
    failing,
    until,
)
from tests.kit.models.voices import gated, voice
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input
from tests.kit.run.thread_client import Client
from tests.kit.waiting import PATIENCE

# -- failures -------------------------------------------------------------------------------------


def check_failed(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """Check a run with subagents that failed; return their ids."""
    check_lifecycle(recorded.events)
    check_tags(recorded)
    owners = check_words(recorded, built)
    check_links(recorded, built.subagent_ids, owners)
    assert "secret" not in "".join(event.model_dump_json() for event in recorded.events)
    return owners


async def test_a_failure_that_the_parent_handles() -> None:
    built = failing(handled=True)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    owners = check_failed(recorded, built)
    recorded.check_snapshot()
    assert recorded.last.outcome.type == "success"
    assert not recorded.last.outcome.pending_tool_call_ids
    assert recorded.messages[-1].content == "boss: ends 1"
    failed = ends(recorded.events)
    for speaker in ("inner", "outer"):
        event = failed[owners[speaker]]
        assert event.type.value == "SUBAGENT_ERROR"
        assert event.message
        assert event.code == "model_error"


async def test_the_turn_after_a_failure_that_the_parent_handles() -> None:
    built = failing(handled=True)
    client = Client(LangGraphAgent(graph=built.graph))
    await client.send("hi")
    recorded = await client.send("again")
    assert recorded.messages[-1].content == "boss: ends 2"
    assert [message.type for message in built.boss.seen[-1]] == [
        "human",
        "ai",
        "tool",
        "ai",
        "human",
    ]


async def test_a_failure_of_the_run() -> None:
    built = failing(handled=False)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    owners = check_failed(recorded, built)
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "model_error")
    assert {
        ends(recorded.events)[owners[speaker]].type.value for speaker in built.subagent_ids
    } == {"SUBAGENT_ERROR"}


@pytest.mark.parametrize("mode", ["inline", "hidden"])
@pytest.mark.parametrize("handled", [True, False])
async def test_failures_in_other_modes(handled: bool, mode: Any) -> None:
    built = failing(handled=handled)
    recorded = await record_run(
        LangGraphAgent(graph=built.graph, clients=ClientOptions(subagents=mode)), run_input("hi")
    )
    check_no_subagents(recorded)
    assert recorded.last.type.value == ("RUN_FINISHED" if handled else "RUN_ERROR")


async def test_a_failure_stops_those_who_work_beside_it() -> None:
    begun = False

    def fail() -> None:
        raise ValueError("a secret")

    slow = agent_tool("slow", agent_of(gated("slow", lambda: False)))
    quick = agent_tool("quick", agent_of(gated("quick", lambda: begun, fail)))
    graph, boss = boss_of(
        None, [slow, quick], ("slow", {"question": "q"}), ("quick", {"question": "q"})
    )
    subagent_ids = {
        name: ExpectedSubagent(name, BOSS, f"boss.{n}", f"Ask {name}.")
        for n, name in enumerate(("slow", "quick"))
    }
    events: list[Any] = []
    given = run_input("hi")
    agent = LangGraphAgent(graph=graph)
    running = asyncio.create_task(read_into(events, agent.run(given)))
    # the boss and both of them have begun
    await until(lambda: len({one.message_id for one in events if one.type.value == THINKS}) == 3)
    begun = True
    await asyncio.wait_for(running, PATIENCE)
    recorded = RecordedRun(events, given)
    owners = check_failed(recorded, Built(graph, boss, subagent_ids))
    codes = {speaker: ends(events)[owners[speaker]].code for speaker in subagent_ids}
    assert codes == {"slow": "cancelled", "quick": "model_error"}
    assert recorded.last.code == "model_error"


async def test_errors_may_be_shown_to_a_developer() -> None:
    built = failing(handled=True)
    recorded = await record_run(
        LangGraphAgent(graph=built.graph, expose_errors=True), run_input("hi")
    )
    assert {event.message for event in recorded.of("SUBAGENT_ERROR")} == {"a secret"}


# -- runs that are stopped, and readers that come later ------------------------------------------


async def read_into(received: list[Any], events: AsyncIterator[Any]) -> None:
    async with aclosing(events):  # type: ignore[type-var]
        async for event in events:
            received.append(event)  # noqa: PERF401 (others look at it meanwhile)


THINKS = "REASONING_MESSAGE_CONTENT"


class Open:
    """A run with two subagents that wait in the middle of what they say."""

    def __init__(self, *, sync: bool = False, **options: Any) -> None:
        self.go = False
        tools = [
            agent_tool(name, agent_of(gated(name, lambda: self.go)), sync=sync)
            for name in ("ann", "bob")
        ]
        graph, boss = boss_of(
            InMemorySaver(), tools, *((name, {"question": "why"}) for name in ("ann", "bob"))
        )
        subagent_ids = {
            name: ExpectedSubagent(name, BOSS, f"boss.{n}", f"Ask {name}.")
            for n, name in enumerate(("ann", "bob"))
        }
        self.built = Built(graph, boss, subagent_ids)
        self.agent = LangGraphAgent(graph=graph, **options)
        self.input = run_input("hi", thread="t", run="r")
        self.events: list[Any] = []
        self.running = asyncio.create_task(read_into(self.events, self.agent.run(self.input)))

    async def both_open(self) -> None:
        """Wait until both have begun to think, behind the boss."""
        await until(
            lambda: len({one.message_id for one in self.events if one.type.value == THINKS}) == 3
        )

    async def end(self) -> RecordedRun:
        await asyncio.wait_for(self.running, PATIENCE)
        return RecordedRun(self.events, self.input)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_run_that_is_cancelled(sync: bool) -> None:
    run = Open(sync=sync)
    await run.both_open()
    assert await run.agent.cancel("t", "r")
    run.go = sync  # a thread cannot be cancelled: it ends at its next word
    recorded = await run.end()
    assert recorded.last.outcome.type == "cancelled"
    owners = check_failed(recorded, run.built)
    assert set(owners) == {"ann", "bob"}
    assert set(ends(recorded.events)) == set(owners.values())


async def test_a_thread_goes_on_after_its_run_was_cancelled() -> None:
    run = Open()
    await run.both_open()
    assert await run.agent.cancel("t", "r")
    recorded = await run.end()
    run.go = True
    given = run_input(*recorded.messages, "again", thread="t")
    after = await record_run(run.agent, given)
    assert after.last.outcome.type == "success"
    assert [message.text for message in run.built.boss.seen[-1] if message.type == "human"] == [
        "hi",
        "again",
    ]


@pytest.mark.parametrize("read", ["two_readers", "first_left"])
async def test_a_reader_that_joins_while_two_subagents_are_open(read: str) -> None:
    run = Open(on_disconnect="continue")
    await run.both_open()
    given = run_input(thread="t")
    received: list[Any] = []

    joining = asyncio.create_task(read_into(received, run.agent.connect(given)))
    await until(
        lambda: sum(event.type.value == "REASONING_MESSAGE_CONTENT" for event in received) >= 2
    )
    if read == "first_left":
        run.running.cancel()
        await asyncio.wait({run.running})
    run.go = True
    await asyncio.wait_for(joining, PATIENCE)
    joined = RecordedRun(received, given)
    owners = check_failed(joined, run.built)
    check_closing(joined)
    assert set(owners) == set(run.built.subagent_ids)
    assert set(starts(joined.events)) == set(owners.values())
    if read == "two_readers":
        recorded = await run.end()
        assert check_words(recorded, run.built) == owners
        assert _dumped(joined.messages) == _dumped(recorded.messages)


async def test_a_reader_that_joins_is_told_who_has_spoken_before() -> None:
    opened = False
    both = agent_tool(
        "both", agent_of(voice("one"), name="first"), agent_of(gated("two", lambda: opened))
    )
    graph, _ = boss_of(InMemorySaver(), [both], ("both", {"question": "why"}))
    agent, events, received = LangGraphAgent(graph=graph), list[Any](), list[Any]()
    running = asyncio.create_task(read_into(events, agent.run(run_input("hi", thread="t"))))
    await until(lambda: sum(event.type.value == "SUBAGENT_STARTED" for event in events) == 2)
    given = run_input(thread="t")
    joining = asyncio.create_task(read_into(received, agent.connect(given)))
    await until(lambda: any(event.type.value == "MESSAGES_SNAPSHOT" for event in received))
    opened = True
    await asyncio.gather(running, joining)
    subagent_ids = [
        event.type.value
        for event in RecordedRun(received, given).events
        if event.type.value.startswith("SUBAGENT")
    ]
    assert subagent_ids == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"] * 2
    assert [one.name for one in received if one.type.value == "SUBAGENT_STARTED"] == [
        "first",
        "both",
    ]


async def test_a_reader_that_comes_back_while_two_subagents_are_open() -> None:
    """It holds what it has heard: of the open items it is told from their beginning, and holds
    nothing twice."""
    run = Open()
    await run.both_open()
    held = fold(run.events, run.input.messages).messages
    given = run_input(*held, thread="t")
    received: list[Any] = []
    joining = asyncio.create_task(read_into(received, run.agent.connect(given)))
    await until(
        lambda: sum(event.type.value == "REASONING_MESSAGE_CONTENT" for event in received) >= 2
    )
    run.go = True
    await asyncio.wait_for(joining, PATIENCE)
    recorded, joined = await run.end(), RecordedRun(received, given)
    assert check_failed(joined, run.built) == check_failed(recorded, run.built)
    assert _dumped(joined.messages) == _dumped(recorded.messages)


def check_closing(joined: RecordedRun) -> None:
    """The closing snapshot says what a reader knew that was told a snapshot when it came."""
    before = fold(
        [event for event in joined.events if event is not joined.of("MESSAGES_SNAPSHOT")[-1]]
    )
    assert dumped(before.messages) == dumped(joined.snapshot)


def _dumped(messages: Any) -> list[Any]:
    return sorted(
        (message.model_dump(mode="json") for message in messages),
        key=lambda message: str(message["id"]),
    )


# -- subagents without words ---------------------------------------------------------------------


async def test_a_subagent_that_nobody_hears() -> None:
    built = GRAPHS["nostream"](None)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    (subagent_id,) = starts(recorded.events)
    tagged = {
        event.type.value
        for event in recorded.events
        if getattr(event, "subagent_run_id", None) == subagent_id
    }
    assert tagged <= {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "STEP_STARTED", "STEP_FINISHED"}
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert (result.content, result.subagent_run_id) == ("quiet: ends 1", None)
