"""What subagents send beside words: custom events, state, steps and output of tools carry their owner."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.tools import tool
from langgraph.config import get_stream_writer

from langgraph_agui import LangGraphAgent, emit_state
from tests.adapter.graphs import talker
from tests.adapter.streams import Told, run_input, tell
from tests.subagents.graphs import BOSS, GRAPHS, Notes, Topic, agent_tool, boss_of, graph_of
from tests.subagents.owners import check_lifecycle, check_untold, starts, tag
from tests.subagents.voices import voice


def reporting(state: Any, who: str) -> Any:
    """A graph that sends of everything that a node may send, as `who`."""

    async def report(_: Any) -> dict[str, Any]:
        get_stream_writer()([who, "written"])
        await adispatch_custom_event("news", [who, "dispatched"])
        emit_state({"topic": who})
        return {}

    return graph_of(state, report=report, speak=talker(voice(who), "speak", "notes"))


def whose(told: Told) -> dict[str, set[str | None]]:
    """The owners of all custom events, by who they name."""
    found: dict[str, set[str | None]] = {}
    for event in told.of("CUSTOM"):
        who, _ = event.value
        found.setdefault(who, set()).add(tag(event))
    return found


async def heard(graph: Any, **options: Any) -> Told:
    told = await tell(LangGraphAgent(graph=graph, **options), run_input("hi", thread="t"))
    assert told.last.type.value == "RUN_FINISHED", told.last
    check_lifecycle(told.events)
    return told


def nested() -> Any:
    outer = graph_of(Notes, inside=reporting(Notes, "inner"), after=reporting(Notes, "late"))
    return graph_of(Topic, part=outer, speak=talker(voice(BOSS), "speak"))


async def test_custom_events_and_state_of_declared_subgraphs() -> None:
    told = await heard(nested())
    lanes = {event.name: lane for lane, event in starts(told.events).items()}
    assert whose(told) == {"inner": {lanes["inside"]}, "late": {lanes["after"]}}
    assert len(told.of("CUSTOM")) == 4
    states = [(tag(event), event.type.value) for event in told.of("STATE_DELTA", "STATE_SNAPSHOT") if tag(event)]
    assert {lane for lane, _ in states} == {lanes["inside"], lanes["after"]}


async def test_custom_events_of_agents_in_tools() -> None:
    @tool
    async def ask(who: str) -> str:
        """Ask."""
        get_stream_writer()([BOSS, "written"])
        await reporting(Notes, who).ainvoke({"notes": []})
        return "asked"

    graph, _ = boss_of(None, [ask], ("ask", {"who": "x"}), ("ask", {"who": "y"}))
    told = await heard(graph)
    lanes = {event.parent_tool_call_id: lane for lane, event in starts(told.events).items()}
    assert whose(told) == {BOSS: {None}, "x": {lanes["boss.0"]}, "y": {lanes["boss.1"]}}


async def test_steps_are_of_who_takes_them() -> None:
    told = await heard(nested())
    lanes = {event.name: lane for lane, event in starts(told.events).items()}
    steps = {(event.step_name, tag(event)) for event in told.of("STEP_STARTED")}
    assert {("part", None), ("speak", None)} <= steps
    assert {name for name, lane in steps if lane is None} == {"part", "speak"}
    assert {lane for _, lane in steps} <= {None, *lanes.values()}


def working(who: str) -> Any:
    """A subagent whose tool tells of its output while it works."""

    @tool
    async def work(runtime: ToolRuntime) -> str:
        """Work."""
        for number in range(3):
            runtime.emit_output_delta(f"{who} {number}")
        return "worked"

    return create_agent(voice(who, ("work", {})), [work], name=who)


async def test_output_of_tools_is_their_subagents() -> None:
    tools = [agent_tool(who, working(who)) for who in ("ann", "bob")]
    graph, _ = boss_of(None, tools, *((who, {"question": "q"}) for who in ("ann", "bob")))
    told = await heard(graph)
    lanes = {event.name: lane for lane, event in starts(told.events).items()}
    activities = {message.id: message for message in told.streamed if message.role == "activity"}
    assert set(activities) == {"ann.0:output", "bob.0:output"}
    for who in ("ann", "bob"):
        activity = activities[f"{who}.0:output"]
        assert activity.subagent_run_id == lanes[who]
        assert activity.content["output"] == [f"{who} {number}" for number in range(3)]
        assert activity.content["status"] == "done"
    for event in told.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"):
        assert tag(event) == lanes[event.message_id.partition(".")[0]]


@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_other_modes(mode: Any) -> None:
    tools = [agent_tool("ann", working("ann"))]
    graph, _ = boss_of(None, tools, ("ann", {"question": "q"}))
    for each in (graph, nested()):
        told = await heard(each, subagents=mode)
        check_untold(told)
        if mode == "hidden":
            assert not told.of("CUSTOM", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")


async def test_a_user_whom_a_subagent_quotes() -> None:
    built = GRAPHS["quoting"](None)
    told = await heard(built.graph)
    (lane,) = starts(told.events)
    quoted = [message for message in told.messages if message.content == "Obey me."]
    assert [(message.role, tag(message)) for message in quoted] == [("user", lane)]
