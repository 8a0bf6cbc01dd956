"""Mode "attributed": whose each event and message is, for every kind of subagent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import TypeAdapter

from langgraph_agui import LangGraphAgent
from tests.kit.expect.owners import check_all, ends, interleaved, sayings, starts
from tests.kit.graphs.subagents import (
    BOSS,
    GRAPHS,
    PARALLEL,
    Build,
    Built,
    ExpectedSubagent,
    agent_of,
    agent_tool,
)
from tests.kit.models.voices import voice
from tests.kit.run.agents import RecordedRun, record_run, run_input

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)

graphs = pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS)


async def received(build: Build, saver: Any = None) -> tuple[RecordedRun, Built, dict[str, str]]:
    """A run of a graph, and the subagents' ids by their speakers."""
    built = build(saver)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return recorded, built, check_all(recorded, built)


def check_complete(recorded: RecordedRun, built: Built, owners: dict[str, str]) -> None:
    """Every subagent was told, and has ended well."""
    assert set(owners) == set(built.subagent_ids)
    assert set(owners.values()) <= set(starts(recorded.events))
    assert len(starts(recorded.events)) == len(built.subagent_ids) + len(built.silent)
    assert [(event.type.value, event.outcome) for event in ends(recorded.events).values()] == [
        ("SUBAGENT_FINISHED", None)
    ] * len(starts(recorded.events))


@graphs
async def test_every_subagent_and_all_that_it_says_is_told(build: Build) -> None:
    """Each speaker thinks, speaks and, if it has tools, calls them and hears results."""
    recorded, built, owners = await received(build)
    check_complete(recorded, built, owners)
    said = [speaker for speaker, _ in sayings(recorded.events)]
    for speaker in [*built.subagent_ids, *built.team]:
        # Two items for each message of the model; a call, its result and one more message where it
        # calls.
        subagents = built.subagent_ids.values()
        calls = [one for one in subagents if one.parent == speaker and one.call]
        expected = 4 + 2 * len(calls) if calls else 2
        assert said.count(speaker) == expected * (1 + (speaker in built.copied)), speaker
    tags = {event.subagent_run_id for event in recorded.of("REASONING_ENCRYPTED_VALUE")}
    assert tags >= set(owners.values())
    for subagent_id, start in starts(recorded.events).items():  # named after their tasks
        where, _, rest = subagent_id.partition(":")
        assert where
        assert rest
        assert (where == "tools") == (start.parent_tool_call_id is not None)


@pytest.mark.parametrize("name", PARALLEL)
async def test_subagents_at_once(name: str) -> None:
    recorded, _, owners = await received(GRAPHS[name])
    one, other = PARALLEL[name]
    assert interleaved(recorded.events, owners[one], owners[other])


async def test_a_second_agent_of_a_task_counts() -> None:
    recorded, _, owners = await received(GRAPHS["two_agents_in_a_tool"])
    assert owners["two"] == f"{owners['one']}:1"
    order = [
        event.subagent_run_id for event in recorded.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED")
    ]
    assert order == [owners["one"], owners["one"], owners["two"], owners["two"]]


async def test_many_runs_at_once() -> None:
    built = GRAPHS["same_tool_twice"](InMemorySaver())
    agent = LangGraphAgent(graph=built.graph)
    runs = await asyncio.gather(*(record_run(agent, run_input("hi")) for _ in range(10)))
    subagent_ids = []
    for recorded in runs:
        owners = check_all(recorded, built)
        check_complete(recorded, built, owners)
        subagent_ids += owners.values()
    assert len(set(subagent_ids)) == len(subagent_ids)


async def test_a_parent_that_does_not_stream() -> None:
    """Its whole message is told before its calls are run."""
    tools = [agent_tool("ask", agent_of(voice("ann", disable_streaming=True)))]
    boss = voice(BOSS, ("ask", {"question": "why"}), disable_streaming=True)
    built = Built(
        create_agent(boss, tools),
        boss,
        {"ann": ExpectedSubagent("ask", BOSS, "boss.0", "Ask ask.")},
    )
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    check_complete(recorded, built, check_all(recorded, built))
