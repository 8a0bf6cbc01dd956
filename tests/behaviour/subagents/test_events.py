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
from tests.kit.graphs.subagents import BOSS, GRAPHS, Notes, Topic, agent_tool, boss_of, graph_of
from tests.kit.models.voices import voice
from tests.kit.run.agents import RecordedRun, record_run, run_input


def reporting(state: Any, who: str) -> Any:
    """A graph that sends of everything that a node may send, as `who`."""

    async def report(_: Any) -> dict[str, Any]:
        get_stream_writer()([who, "written"])
        await adispatch_custom_event("news", [who, "dispatched"])
        emit_state({"topic": who})
        return {}

    return graph_of(state, report=report, speak=talker(voice(who), "speak", "notes"))


def whose(recorded: RecordedRun) -> dict[str, set[str | None]]:
    """The owners of all custom events, by who they name."""
    found: dict[str, set[str | None]] = {}
    for event in recorded.of("CUSTOM"):
        who, _ = event.value
        found.setdefault(who, set()).add(tag(event))
    return found


async def received(graph: Any, **options: Any) -> RecordedRun:
    recorded = await record_run(LangGraphAgent(graph=graph, **options), run_input("hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_lifecycle(recorded.events)
    return recorded


def nested() -> Any:
    outer = graph_of(Notes, inside=reporting(Notes, "inner"), after=reporting(Notes, "late"))
    return graph_of(Topic, part=outer, speak=talker(voice(BOSS), "speak"))


async def test_custom_events_and_state_of_declared_subgraphs() -> None:
    recorded = await received(nested())
    subagent_ids = {
        event.name: subagent_id for subagent_id, event in starts(recorded.events).items()
    }
    assert whose(recorded) == {"inner": {subagent_ids["inside"]}, "late": {subagent_ids["after"]}}
    assert len(recorded.of("CUSTOM")) == 4
    states = [
        (tag(event), event.type.value)
        for event in recorded.of("STATE_DELTA", "STATE_SNAPSHOT")
        if tag(event)
    ]
    assert {subagent_id for subagent_id, _ in states} == {
        subagent_ids["inside"],
        subagent_ids["after"],
    }


async def test_custom_events_of_agents_in_tools() -> None:
    @tool
    async def ask(who: str) -> str:
        """Ask."""
        get_stream_writer()([BOSS, "written"])
        await reporting(Notes, who).ainvoke({"notes": []})
        return "asked"

    graph, _ = boss_of(None, [ask], ("ask", {"who": "x"}), ("ask", {"who": "y"}))
    recorded = await received(graph)
    subagent_ids = {
        event.parent_tool_call_id: subagent_id
        for subagent_id, event in starts(recorded.events).items()
    }
    assert whose(recorded) == {
        BOSS: {None},
        "x": {subagent_ids["boss.0"]},
        "y": {subagent_ids["boss.1"]},
    }


async def test_steps_are_of_who_takes_them() -> None:
    recorded = await received(nested())
    subagent_ids = {
        event.name: subagent_id for subagent_id, event in starts(recorded.events).items()
    }
    steps = {(event.step_name, tag(event)) for event in recorded.of("STEP_STARTED")}
    assert {("part", None), ("speak", None)} <= steps
    assert {name for name, subagent_id in steps if subagent_id is None} == {"part", "speak"}
    assert {subagent_id for _, subagent_id in steps} <= {None, *subagent_ids.values()}


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
    recorded = await received(graph)
    subagent_ids = {
        event.name: subagent_id for subagent_id, event in starts(recorded.events).items()
    }
    activities = {
        message.id: message for message in recorded.streamed if message.role == "activity"
    }
    assert set(activities) == {"ann.0:output", "bob.0:output"}
    for who in ("ann", "bob"):
        activity = activities[f"{who}.0:output"]
        assert activity.subagent_run_id == subagent_ids[who]
        assert activity.content["output"] == [f"{who} {number}" for number in range(3)]
        assert activity.content["status"] == "done"
    for event in recorded.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"):
        assert tag(event) == subagent_ids[event.message_id.partition(".")[0]]


@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_other_modes(mode: Any) -> None:
    tools = [agent_tool("ann", working("ann"))]
    graph, _ = boss_of(None, tools, ("ann", {"question": "q"}))
    for each in (graph, nested()):
        recorded = await received(each, clients=ClientOptions(subagents=mode))
        check_no_subagents(recorded)
        if mode == "hidden":
            assert not recorded.of("CUSTOM", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")


async def test_a_user_whom_a_subagent_quotes() -> None:
    built = GRAPHS["quoting"](None)
    recorded = await received(built.graph)
    (subagent_id,) = starts(recorded.events)
    quoted = [message for message in recorded.messages if message.content == "Obey me."]
    assert [(message.role, tag(message)) for message in quoted] == [("user", subagent_id)]
