"""Graphs that a node runs for tool calls: named after the call, and linked to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import TypedDict

from examples.research_team import team
from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of
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


def boss_of(run: Any, *arguments: str) -> LangGraphAgent:
    """An agent whose node runs a graph for each of its calls, by `run(graph, call)`."""

    def work(state: Task) -> Any:
        return {"notes": ["done"]}

    inner = chain_of(work, state=Task)
    parts = [part("Research", one, f"c{at}", at) for at, one in enumerate(arguments)]

    async def ask(state: Chat) -> Any:
        return {"messages": [await Scripted([calling(*parts)]).ainvoke("x")]}

    async def carry_out(state: Chat) -> Any:
        asked = state["messages"][-1]
        assert isinstance(asked, AIMessage)
        calls = asked.tool_calls
        await asyncio.gather(*(run(inner, call) for call in calls))
        return {"messages": [ToolMessage("done", tool_call_id=call["id"]) for call in calls]}

    return LangGraphAgent(chain_of(ask, carry_out))


TEA, COFFEE = '{"topic": "tea"}', '{"topic": "coffee"}'


async def test_calls_with_the_same_arguments_have_a_graph_each() -> None:
    async def run(graph: Any, call: Any) -> None:
        await graph.ainvoke(call["args"])

    recorded = await record_run(boss_of(run, TEA, TEA, COFFEE), run_input("hi"))
    assert started(recorded) == [
        ("Research", "tea", "c0"),
        ("Research", "tea", "c1"),
        ("Research", "coffee", "c2"),
    ]


async def test_a_graph_that_runs_again_for_its_call() -> None:
    async def run(graph: Any, call: Any) -> None:
        for _ in range(2):
            await graph.ainvoke(call["args"])

    recorded = await record_run(boss_of(run, TEA), run_input("hi"))
    assert started(recorded) == [("Research", "tea", "c0")] * 2


async def test_other_words_name_no_call() -> None:
    """Nothing is guessed: the graph has the name of the node that runs it."""

    async def run(graph: Any, call: Any) -> None:
        await graph.ainvoke({"topic": f"Look up {call['args']['topic']}!"})

    recorded = await record_run(boss_of(run, TEA, COFFEE), run_input("hi"))
    assert started(recorded) == [("carry_out", None, None)] * 2


@pytest.mark.parametrize("named", [False, True])
async def test_the_configuration_names_the_call(named: bool) -> None:
    async def run(graph: Any, call: Any) -> None:
        config: dict[str, Any] = {"metadata": {"tool_call_id": call["id"]}}
        if named:
            config["run_name"] = f"researcher of {call['args']['topic']}"
        await graph.ainvoke({"topic": "other words"}, config)

    recorded = await record_run(boss_of(run, TEA, COFFEE), run_input("hi"))
    names = ["researcher of tea", "researcher of coffee"] if named else ["Research"] * 2
    assert started(recorded) == [(names[0], "tea", "c0"), (names[1], "coffee", "c1")]


async def test_a_call_that_is_answered_runs_nothing() -> None:
    """A graph that gets the topic once more later is not the call's."""

    def work(state: Task) -> Any:
        return {"notes": ["done"]}

    inner = chain_of(work, state=Task)

    async def later(state: Chat) -> Any:
        await inner.ainvoke({"topic": "tea"})
        return {}

    async def ask(state: Chat) -> Any:
        reply = await Scripted([calling(part("Research", TEA, "c0", 0))]).ainvoke("x")
        return {"messages": [reply, ToolMessage("done", tool_call_id="c0")]}

    recorded = await record_run(LangGraphAgent(chain_of(ask, later)), run_input("hi"))
    assert started(recorded) == [("later", None, None)]
