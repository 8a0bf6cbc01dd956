"""Mode "attributed": whose each event and message is, for every kind of subagent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import TypeAdapter

from langgraph_agui import LangGraphAgent
from tests.adapter.streams import Told, run_input, tell
from tests.subagents.graphs import BOSS, GRAPHS, PARALLEL, Build, Built, Lane, agent_of, agent_tool
from tests.subagents.owners import check_all, ends, interleaved, sayings, starts
from tests.subagents.voices import voice

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)

graphs = pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS)


async def heard(build: Build, saver: Any = None) -> tuple[Told, Built, dict[str, str]]:
    """A run of a graph, and the lanes' ids by their speakers."""
    built = build(saver)
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi", thread="t"))
    assert told.last.type.value == "RUN_FINISHED", told.last
    return told, built, check_all(told, built)


def check_complete(told: Told, built: Built, owners: dict[str, str]) -> None:
    """Every lane was told, and has ended well."""
    assert set(owners) == set(built.lanes)
    assert set(owners.values()) <= set(starts(told.events))
    assert len(starts(told.events)) == len(built.lanes) + len(built.silent)
    assert {(event.type.value, event.outcome) for event in ends(told.events).values()} == {("SUBAGENT_FINISHED", None)}


@graphs
async def test_without_a_checkpointer(build: Build) -> None:
    check_complete(*await heard(build))


@graphs
async def test_in_memory(build: Build) -> None:
    check_complete(*await heard(build, InMemorySaver()))


@graphs
async def test_in_a_database(build: Build, tmp_path: Any) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as saver:
        check_complete(*await heard(build, saver))


@graphs
async def test_everything_that_was_said_is_told(build: Build) -> None:
    """Each speaker thinks, speaks and, if it has tools, calls them and hears results."""
    told, built, _ = await heard(build)
    said = [speaker for speaker, _ in sayings(told.events)]
    for speaker in built.lanes:
        # Two items for each message of the model; a call, its result and one more message where it calls.
        calls = [lane for lane in built.lanes.values() if lane.parent == speaker and lane.call]
        expected = 4 + 2 * len(calls) if calls else 2
        assert said.count(speaker) == expected * (1 + (speaker in built.copied)), speaker


@graphs
async def test_values_of_reasoning_and_messages_are_the_lanes(build: Build) -> None:
    told, _, owners = await heard(build)
    tags = {event.subagent_run_id for event in told.of("REASONING_ENCRYPTED_VALUE")}
    assert tags >= set(owners.values())


@pytest.mark.parametrize("name", PARALLEL)
async def test_lanes_at_once(name: str) -> None:
    told, _, owners = await heard(GRAPHS[name])
    one, other = PARALLEL[name]
    assert interleaved(told.events, owners[one], owners[other])


@graphs
async def test_lanes_are_named_after_their_tasks(build: Build) -> None:
    told, _, _ = await heard(build)
    for lane, start in starts(told.events).items():
        where, _, rest = lane.partition(":")
        assert where
        assert rest
        assert (where == "tools") == (start.parent_tool_call_id is not None)


async def test_a_second_agent_of_a_task_counts() -> None:
    told, _, owners = await heard(GRAPHS["two_agents_in_a_tool"])
    assert owners["two"] == f"{owners['one']}:1"
    order = [event.subagent_run_id for event in told.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED")]
    assert order == [owners["one"], owners["one"], owners["two"], owners["two"]]


@graphs
async def test_other_runs_have_other_lanes(build: Build) -> None:
    built = build(InMemorySaver())
    agent = LangGraphAgent(graph=built.graph)
    runs = [await tell(agent, run_input("hi", thread=thread)) for thread in ("one", "two")]
    one, two = (set(starts(told.events)) for told in runs)
    assert one
    assert not one & two


@graphs
async def test_bytes_say_what_events_say(build: Build) -> None:
    built, given = build(None), run_input("hi", thread="t")
    agent = LangGraphAgent(graph=built.graph)
    body = b"".join([piece async for piece in agent.stream_sse(given)]).decode()
    frames = [frame.removeprefix("data: ") for frame in body.split("\n\n") if frame.startswith("data: ")]
    told = Told([_EVENT.validate_json(frame) for frame in frames], given)
    check_complete(told, built, check_all(told, built))


async def test_many_runs_at_once() -> None:
    built = GRAPHS["same_tool_twice"](InMemorySaver())
    agent = LangGraphAgent(graph=built.graph)
    runs = await asyncio.gather(*(tell(agent, run_input("hi")) for _ in range(10)))
    lanes = []
    for told in runs:
        owners = check_all(told, built)
        check_complete(told, built, owners)
        lanes += owners.values()
    assert len(set(lanes)) == len(lanes)


async def test_a_parent_that_does_not_stream() -> None:
    """Its whole message is told before its calls are run."""
    tools = [agent_tool("ask", agent_of(voice("ann", disable_streaming=True)))]
    boss = voice(BOSS, ("ask", {"question": "why"}), disable_streaming=True)
    built = Built(create_agent(boss, tools), boss, {"ann": Lane("ask", BOSS, "boss.0", "Ask ask.")})
    told = await tell(LangGraphAgent(graph=built.graph), run_input("hi"))
    check_complete(told, built, check_all(told, built))
