"""Graphs on the real `copilotkit` package and on `ag-ui-langgraph`'s middleware."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Context, Tool, ToolMessage
from ag_ui_langgraph import StateItem, StateStreamingMiddleware
from copilotkit import CopilotKitMiddleware, CopilotKitState, get_forwarded_headers
from copilotkit.langgraph import (
    copilotkit_customize_config,
    copilotkit_emit_message,
    copilotkit_emit_state,
    copilotkit_emit_tool_call,
    copilotkit_exit,
    copilotkit_interrupt,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import agent_of
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import record_run, run_input, user

PAINT = Tool(name="paint", description="Paint.", parameters={"type": "object", "properties": {}})
WRITE = [calling(part("write", '{"steps": ["a"', "c1", 0)), calling(part(None, ', "b"]}', None, 0))]


class State(CopilotKitState):
    steps: list[str]


def states(recorded):
    return recorded.of("STATE_SNAPSHOT", "STATE_DELTA")


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@pytest.mark.parametrize("saver", [InMemorySaver(), None])
async def test_the_middleware(saver):
    """It binds the client's tools, takes their calls out while the others run, and puts them
    back."""
    calls = calling(part("look", '{"q": "x"}', "c1", 0), part("paint", "{}", "c2", 1))
    model, middleware = (
        Scripted([calls], ["Working on it."], ["Painted."]),
        [CopilotKitMiddleware()],
    )
    agent = LangGraphAgent(create_agent(model, [look], middleware=middleware, checkpointer=saver))
    given = {
        "thread": "t",
        "tools": [PAINT],
        "context": [Context(description="Where", value="Rome")],
    }
    first = await record_run(agent, run_input(user("hi"), **given))
    first.check_snapshot()
    assert first.last.outcome.pending_tool_call_ids == ["c2"]
    assert [event.tool_call_id for event in first.of("TOOL_CALL_START")] == ["c1", "c2"]
    assert first.state == {}
    answered = ToolMessage(id="r", role="tool", tool_call_id="c2", content="The page is red.")
    second = await record_run(agent, run_input(*first.messages, answered, **given))
    assert second.messages[-1].content == "Painted."
    assert not second.last.outcome.pending_tool_call_ids
    assert "The page is red." in str(model.seen[-1])


async def test_what_nodes_emit():
    async def node(state: State, config: RunnableConfig) -> dict[str, Any]:
        await copilotkit_emit_message(config, "Step 1")
        await copilotkit_emit_state(config, {"steps": ["one"]})
        call_id = await copilotkit_emit_tool_call(config, name="search", args={"q": "x"})
        await copilotkit_exit(config)
        call = {"id": call_id, "name": "search", "args": {"q": "x"}}
        return {
            "messages": [AIMessage("Step 1"), AIMessage("", tool_calls=[call])],
            "steps": ["done"],
        }

    recorded = await record_run(agent_of(node, state=State), run_input("hi"))
    recorded.check_snapshot()
    answers = [one for one in recorded.messages if one.role == "assistant"]
    said = [(one.content or "", len(one.tool_calls or ())) for one in answers]
    assert said == [("Step 1", 0), ("", 1)]
    assert recorded.state == {"steps": ["done"]}
    assert "one" in str(states(recorded)[0])
    assert "Exit" in [event.name for event in recorded.of("CUSTOM")]


async def test_customize_config():
    async def node(state: State, config: RunnableConfig) -> dict[str, Any]:
        quiet = copilotkit_customize_config(config, emit_messages=False, emit_tool_calls=False)
        await Scripted(["SECRET"]).ainvoke(state["messages"], quiet)
        ahead = [{"state_key": "steps", "tool": "write", "tool_argument": "steps"}]
        loud = copilotkit_customize_config({}, emit_intermediate_state=ahead)
        return {"messages": [await Scripted(WRITE).ainvoke(state["messages"], loud)]}

    recorded = await record_run(agent_of(node, state=State), run_input("hi"))
    assert "SECRET" not in str(recorded.events)
    assert "steps" in str(states(recorded))


async def test_state_streaming_middleware():
    @tool
    def write(steps: list[str]) -> str:
        """Write."""
        return "written"

    item = StateItem(state_key="steps", tool="write", tool_argument="steps")
    options = {"middleware": [StateStreamingMiddleware(item)], "state_schema": State}
    graph = create_agent(Scripted(WRITE, ["Done."]), [write], **options)
    recorded = await record_run(LangGraphAgent(graph), run_input("hi"))
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert [event for event in states(recorded) if "a" in str(event)]


@pytest.mark.parametrize("asked", [{"message": "Really?"}, {"action": "approve", "args": {"n": 1}}])
async def test_an_interrupt(asked):
    async def node(state: State) -> dict[str, Any]:
        answer, _ = copilotkit_interrupt(**asked)
        return {"messages": [("ai", f"You said {answer}")]}

    agent = agent_of(node, state=State, checkpointer=InMemorySaver())
    given = {"thread": "t", "protocol_version": None}
    first = await record_run(agent, run_input(user("hi"), **given))
    assert first.last.outcome is None
    [one] = [event async for event in agent.connect(run_input(thread="t"))][-1].outcome.interrupts
    assert one.message == ("Really?" if "message" in asked else "approve")
    [event] = [event for event in first.of("CUSTOM") if event.name == "on_interrupt"]
    assert "__copilotkit_interrupt_value__" in event.value
    props = {"command": {"resume": "yes", "interruptEvent": event.value}}
    second = await record_run(agent, run_input(*first.messages, **given, forwarded_props=props))
    assert second.messages[-1].content == "You said yes"


async def test_headers_for_the_provider_by_the_configuration():
    """As docs/migrating.md says."""
    seen = []

    def script(messages):
        seen.append(get_forwarded_headers())
        return ["Hello"]

    graph = create_agent(Scripted(script=script), [], middleware=[CopilotKitMiddleware()])
    config = {"configurable": {"copilotkit_forwarded_headers": {"x-trace": "7"}}}
    await record_run(LangGraphAgent(graph), run_input(user("hi")), config=config)
    assert seen == [{"x-trace": "7"}]
