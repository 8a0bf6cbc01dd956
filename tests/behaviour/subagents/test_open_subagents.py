"""Subagents that fail, are stopped, or are joined while they are open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from langgraph_agui.protocol import fold
from tests.kit.expect.owners import check_no_subagents, check_owners, check_words, ends, starts
from tests.kit.graphs.subagents import (
    WHY,
    Built,
    agent_of,
    agent_tool,
    boss_of,
    failing,
    tools_of,
    until,
)
from tests.kit.models.voices import gated, voice
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input
from tests.kit.run.thread_client import Client, ending
from tests.kit.waiting import PATIENCE


def check_failed(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """Check a run with subagents that failed; return their ids."""
    assert "secret" not in "".join(event.model_dump_json() for event in recorded.events)
    return check_owners(recorded, built)


def codes(recorded: RecordedRun, owners: dict[str, str]) -> dict[str, str | None]:
    """How each speaker's subagent has failed."""
    ended = ends(recorded.events)
    return {speaker: getattr(ended[owner], "code", None) for speaker, owner in owners.items()}


async def test_a_failure_that_the_parent_handles() -> None:
    built = failing(handled=True)
    client = Client(LangGraphAgent(built.graph))
    recorded = await client.send("hi")
    owners = check_failed(recorded, built)
    recorded.check_snapshot()
    assert ending(recorded) == "success"
    assert not recorded.last.outcome.pending_tool_call_ids
    assert recorded.messages[-1].content == "boss: ends 1"
    assert codes(recorded, owners) == {"inner": "model_error", "outer": "model_error"}
    assert all(event.message for event in recorded.of("SUBAGENT_ERROR"))
    again = await client.send("again")
    assert again.messages[-1].content == "boss: ends 2"
    types = [message.type for message in built.boss.seen[-1]]
    assert types == ["human", "ai", "tool", "ai", "human"]


async def test_a_failure_of_the_run() -> None:
    built = failing(handled=False)
    recorded = await record_run(LangGraphAgent(built.graph), run_input("hi"))
    owners = check_failed(recorded, built)
    assert ending(recorded) == "model_error"
    assert codes(recorded, owners) == {"inner": "model_error", "outer": "model_error"}


@pytest.mark.parametrize(("mode", "handled"), [("inline", True), ("hidden", False)])
async def test_failures_in_other_modes(mode: Any, handled: bool) -> None:
    agent = LangGraphAgent(failing(handled=handled).graph, clients=ClientOptions(subagents=mode))
    recorded = await record_run(agent, run_input("hi"))
    check_no_subagents(recorded)
    assert ending(recorded) == ("success" if handled else "model_error")


async def test_errors_may_be_shown_to_a_developer() -> None:
    agent = LangGraphAgent(failing(handled=True).graph, expose_errors=True)
    recorded = await record_run(agent, run_input("hi"))
    assert {event.message for event in recorded.of("SUBAGENT_ERROR")} == {"a secret"}


async def read_into(received: list[Any], events: AsyncIterator[Any]) -> None:
    async with aclosing(events):
        async for event in events:
            received.append(event)  # noqa: PERF401 (others look at it meanwhile)


def thoughts(events: list[Any]) -> int:
    """How many messages have begun to think."""
    return len({e.message_id for e in events if e.type.value == "REASONING_MESSAGE_CONTENT"})


class Open:
    """A run with a boss and two subagents, which wait in the middle of what they say."""

    def __init__(self, *, sync: bool = False, fails: bool = False, **options: Any) -> None:
        self.go = False

        def then() -> None:
            if fails:
                raise ValueError("a secret")

        models = {"ann": gated("ann", lambda: self.go and not fails)}
        models["bob"] = gated("bob", lambda: self.go, then)
        agents = {name: agent_of(model) for name, model in models.items()}
        self.built = tools_of(InMemorySaver(), agents, sync=sync)
        self.agent = LangGraphAgent(self.built.graph, **options)
        self.input = run_input("hi", thread="t", run="r")
        self.events: list[Any] = []
        self.running = asyncio.create_task(read_into(self.events, self.agent.run(self.input)))

    async def both_open(self) -> None:
        await until(lambda: thoughts(self.events) == 3)

    async def end(self) -> RecordedRun:
        await asyncio.wait_for(self.running, PATIENCE)
        return RecordedRun(self.events, self.input)

    async def join(self, *held: Any, leave: bool = False) -> RecordedRun:
        """What a reader hears who comes now."""
        given, received = run_input(*held, thread="t"), list[Any]()
        joining = asyncio.create_task(read_into(received, self.agent.connect(given)))
        await until(lambda: thoughts(received) >= 2)
        if leave:
            self.running.cancel()
            await asyncio.wait({self.running})
        self.go = True
        await asyncio.wait_for(joining, PATIENCE)
        return RecordedRun(received, given)


async def test_a_failure_stops_those_who_work_beside_it() -> None:
    run = Open(fails=True)
    await run.both_open()
    run.go = True
    recorded = await run.end()
    owners = check_failed(recorded, run.built)
    assert codes(recorded, owners) == {"ann": "cancelled", "bob": "model_error"}
    assert ending(recorded) == "model_error"


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_run_that_is_cancelled(sync: bool) -> None:
    """And its thread goes on."""
    run = Open(sync=sync)
    await run.both_open()
    assert await run.agent.cancel("t", "r")
    run.go = sync  # a thread cannot be cancelled: it ends at its next word
    recorded = await run.end()
    assert ending(recorded) == "cancelled"
    owners = check_failed(recorded, run.built)
    assert owners.keys() == {"ann", "bob"}
    assert {*ends(recorded.events)} == {*owners.values()}
    run.go = True
    after = await record_run(run.agent, run_input(*recorded.messages, "again", thread="t"))
    assert ending(after) == "success"
    texts = [message.text for message in run.built.boss.seen[-1] if message.type == "human"]
    assert texts == ["hi", "again"]


def by_id(messages: Any) -> list[Any]:
    return sorted(dumped(messages), key=lambda message: str(message["id"]))


@pytest.mark.parametrize("first_leaves", [False, True])
async def test_a_reader_that_joins_while_two_subagents_are_open(first_leaves: bool) -> None:
    run = Open(on_disconnect="continue")
    await run.both_open()
    joined = await run.join(leave=first_leaves)
    owners = check_failed(joined, run.built)
    assert owners.keys() == run.built.subagents.keys()
    assert {*starts(joined.events)} == {*owners.values()}
    # The closing snapshot says what a reader knew that was told a snapshot when it came.
    closing = joined.of("MESSAGES_SNAPSHOT")[-1]
    before = fold([event for event in joined.events if event is not closing])
    assert dumped(before.messages) == dumped(joined.snapshot)
    if not first_leaves:
        recorded = await run.end()
        assert check_words(recorded, run.built) == owners
        assert by_id(joined.messages) == by_id(recorded.messages)


async def test_a_reader_that_comes_back_while_two_subagents_are_open() -> None:
    """Of the open items it is told from their beginning, and holds nothing twice."""
    run = Open()
    await run.both_open()
    joined = await run.join(*fold(run.events, run.input.messages).messages)
    recorded = await run.end()
    assert check_failed(joined, run.built) == check_failed(recorded, run.built)
    assert by_id(joined.messages) == by_id(recorded.messages)


async def test_a_reader_that_joins_is_told_who_has_spoken_before() -> None:
    opened = False
    second = agent_of(gated("two", lambda: opened))
    both = agent_tool("both", agent_of(voice("one"), name="first"), second)
    graph, _ = boss_of(InMemorySaver(), [both], ("both", WHY))
    agent, events, received = LangGraphAgent(graph), list[Any](), list[Any]()
    running = asyncio.create_task(read_into(events, agent.run(run_input("hi", thread="t"))))
    await until(lambda: len(starts(events)) == 2)
    given = run_input(thread="t")
    joining = asyncio.create_task(read_into(received, agent.connect(given)))
    await until(lambda: any(event.type.value == "MESSAGES_SNAPSHOT" for event in received))
    opened = True
    await asyncio.gather(running, joining)
    joined = RecordedRun(received, given)
    told = [one for one in joined.types if one.startswith("SUBAGENT")]
    assert told == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"] * 2
    assert [one.name for one in starts(joined.events).values()] == ["first", "both"]
