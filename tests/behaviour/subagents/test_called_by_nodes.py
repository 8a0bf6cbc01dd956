"""Graphs that a node runs for tool calls: named after the call, and linked to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import TypedDict

from examples.research_team import team
from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, record_run, run_input


class Task(TypedDict, total=False):
    topic: str
    notes: list[str]


def started(recorded: RecordedRun) -> list[tuple[Any, ...]]:
    return [
        (event.name, event.description, event.parent_tool_call_id)
        for event in recorded.of("SUBAGENT_STARTED")
    ]


async def test_a_supervisor_with_researchers() -> None:
    recorded = await record_run(
        LangGraphAgent(team.build(InMemorySaver())), run_input("What of prices?")
    )
    recorded.check_snapshot()
    (supervisor, *researchers) = recorded.of("SUBAGENT_STARTED")
    assert supervisor.name == "research_supervisor"
    assert [
        (one.name, one.description, one.parent_tool_call_id, one.parent_subagent_run_id)
        for one in researchers
    ] == [
        ("ConductResearch", topic, f"research-{number}", supervisor.subagent_run_id)
        for number, topic in enumerate(team.TOPICS)
    ]
    found = [event.content for event in recorded.of("TOOL_CALL_RESULT")]
    # The last call tells the graph that it is done: nobody answers it.
    assert found == [f"{topic} has risen." for topic in team.TOPICS] * 2 + [
        "This call has no result."
    ]


TEA, COFFEE = '{"topic": "tea"}', '{"topic": "coffee"}'
WORKER = chain_of(lambda state: {"notes": ["done"]}, state=Task)


def boss_of(run: Any, *arguments: str) -> LangGraphAgent:
    """An agent whose node runs a graph for each of its calls, by `run(call)`."""
    parts = [part("Research", one, f"c{at}", at) for at, one in enumerate(arguments)]

    async def carry_out(state: Chat) -> Any:
        calls = state["messages"][-1].tool_calls
        await asyncio.gather(*(run(call) for call in calls))
        return {"messages": [ToolMessage("done", tool_call_id=call["id"]) for call in calls]}

    return agent_of(talker(Scripted([calling(*parts)]), "ask"), carry_out)


async def same_words(call: Any) -> None:
    await WORKER.ainvoke(call["args"])


async def twice(call: Any) -> None:
    await same_words(call)
    await same_words(call)


async def other_words(call: Any) -> None:
    await WORKER.ainvoke({"topic": f"Look up {call['args']['topic']}!"})


async def configured(call: Any) -> None:
    await WORKER.ainvoke({"topic": "other words"}, {"metadata": {"tool_call_id": call["id"]}})


async def named(call: Any) -> None:
    metadata, name = {"tool_call_id": call["id"]}, f"researcher of {call['args']['topic']}"
    await WORKER.ainvoke({"topic": "other"}, {"metadata": metadata, "run_name": name})


C0, C1 = ("Research", "tea", "c0"), ("Research", "coffee", "c1")
NAMED = [("researcher of tea", *C0[1:]), ("researcher of coffee", *C1[1:])]


@pytest.mark.parametrize(
    ("run", "arguments", "expected"),
    [
        (same_words, (TEA, TEA, COFFEE), [C0, (*C0[:2], "c1"), (*C1[:2], "c2")]),
        (twice, (TEA,), [C0, C0]),
        # nothing is guessed: the graph has the name of the node that runs it
        (other_words, (TEA, COFFEE), [("carry_out", None, None)] * 2),
        (configured, (TEA, COFFEE), [C0, C1]),
        (named, (TEA, COFFEE), NAMED),
    ],
)
async def test_a_graph_is_the_calls_that_names_it(run: Any, arguments: Any, expected: Any) -> None:
    recorded = await record_run(boss_of(run, *arguments), run_input("hi"))
    assert started(recorded) == expected


async def test_a_call_that_is_answered_runs_nothing() -> None:
    """A graph that gets the topic once more later is not the call's."""

    async def later(state: Chat) -> None:
        await WORKER.ainvoke({"topic": "tea"})

    async def ask(state: Chat) -> Any:
        reply = await Scripted([calling(part("Research", TEA, "c0", 0))]).ainvoke("x")
        return {"messages": [reply, ToolMessage("done", tool_call_id="c0")]}

    recorded = await record_run(agent_of(ask, later), run_input("hi"))
    assert started(recorded) == [("later", None, None)]
