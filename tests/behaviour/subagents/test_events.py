"""What subagents send beside words: custom events, state, steps and output of tools carry their
owner."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.tools import tool
from langgraph.config import get_stream_writer

from langgraph_agui import ClientOptions, LangGraphAgent, emit_state
from tests.kit.expect.owners import check_lifecycle, check_no_subagents, starts, tag
from tests.kit.graphs.small import talker
from tests.kit.graphs.subagents import BOSS, Notes, boss_of, graph_of, in_a_boss_node, tools_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.models.voices import voice
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.thread_client import ending


def reporting(who: str) -> Any:
    """A graph that sends of everything that a node may send, as `who`."""

    async def report(_: Any) -> None:
        get_stream_writer()([who, "written"])
        await adispatch_custom_event("news", [who, "dispatched"])
        emit_state({"topic": who})

    return graph_of(Notes, report=report, speak=talker(voice(who), "speak", "notes"))


def nested() -> Any:
    outer = graph_of(Notes, inside=reporting("inner"), after=reporting("late"))
    return in_a_boss_node(None, part=outer)[0]


def working(*names: str) -> Any:
    """Subagents whose tools tell of their output while they work; their calls have the same id."""

    def agent(who: str) -> Any:
        @tool
        async def work(runtime: ToolRuntime) -> str:
            """Work."""
            for number in range(3):
                runtime.emit_output_delta(f"{who} {number}")
            return "worked"

        return create_agent(Scripted([call("work", "c0")], ["Done."]), [work], name=who)

    return tools_of(None, {who: agent(who) for who in names}).graph


async def received(graph: Any, **options: Any) -> tuple[RecordedRun, dict[str, str]]:
    """A run, and its subagents by their names, or by the calls if there are."""
    recorded = await record_run(LangGraphAgent(graph, **options), run_input("hi", thread="t"))
    assert ending(recorded) == "success"
    check_lifecycle(recorded.events)
    told = starts(recorded.events)
    return recorded, {one.parent_tool_call_id or one.name: who for who, one in told.items()}


def whose(recorded: RecordedRun) -> set[tuple[str, str, str | None]]:
    """Who tells what in custom events, and their owners."""
    return {(*event.value, tag(event)) for event in recorded.of("CUSTOM")}


async def test_custom_events_state_and_steps_of_declared_subgraphs() -> None:
    recorded, owners = await received(nested())
    named = {"inner": owners["inside"], "late": owners["after"]}
    ways = ("written", "dispatched")
    assert whose(recorded) == {(who, way, owner) for who, owner in named.items() for way in ways}
    states = {tag(event) for event in recorded.of("STATE_DELTA", "STATE_SNAPSHOT")}
    assert states - {None} == {*named.values()}
    steps = {(event.step_name, tag(event)) for event in recorded.of("STEP_STARTED")}
    assert {name for name, owner in steps if owner is None} == {"part", "speak"}
    assert {owner for _, owner in steps} == {None, *owners.values()}


async def test_custom_events_of_agents_in_tools() -> None:
    @tool
    async def ask(who: str) -> str:
        """Ask."""
        get_stream_writer()([BOSS, "written"])
        await reporting(who).ainvoke({"notes": []})
        return "asked"

    graph, _ = boss_of(None, [ask], ("ask", {"who": "x"}), ("ask", {"who": "y"}))
    recorded, owners = await received(graph)
    told = {(who, owner) for who, _, owner in whose(recorded)}
    assert told == {(BOSS, None), ("x", owners["boss.0"]), ("y", owners["boss.1"])}


async def test_output_of_tools_is_their_subagents() -> None:
    recorded, owners = await received(working("ann", "bob"))
    activities = [message for message in recorded.streamed if message.role == "activity"]
    told = {one.id: (tag(one), one.content["output"], one.content["status"]) for one in activities}
    calls = {tag(one): one.tool_call_id for one in recorded.of("TOOL_CALL_START") if tag(one)}
    assert told == {
        f"{calls[owners[asks]]}:output": (owners[asks], [f"{who} {n}" for n in range(3)], "done")
        for who, asks in (("ann", "boss.0"), ("bob", "boss.1"))
    }
    for event in recorded.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"):
        assert tag(event) == told[event.message_id][0]


@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_other_modes(mode: Any) -> None:
    for graph in (working("ann"), nested()):
        recorded, _ = await received(graph, clients=ClientOptions(subagents=mode))
        check_no_subagents(recorded)
        others = recorded.of("CUSTOM", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
        assert bool(others) == (mode == "inline")
