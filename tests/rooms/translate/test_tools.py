"""Tool results: whose message they are, when they come, how they fail."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import PATIENCE


@tool
async def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def look_sync(q: int) -> str:
    """Look something up, in a thread."""
    return f"found {q}"


@tool
async def fail(q: int) -> str:
    """Fail."""
    raise ValueError(f"no {q}")


@tool
async def picture() -> list[dict[str, Any]]:
    """Draw."""
    return [
        {"type": "text", "text": "A dot"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ]


@tool
async def commanding(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Answer by a command."""
    return Command(update={"messages": [LCToolMessage("done", tool_call_id=tool_call_id, id="r1")]})


def loop(model: Any, *tools: Any, **options: Any) -> LangGraphAgent:
    """A hand-written agent loop around a `ToolNode`."""
    builder = StateGraph(Chat)
    builder.add_node("model", talker(model))
    builder.add_node("tools", ToolNode(list(tools), **options))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver()))


def created(model: Any, *tools: Any) -> LangGraphAgent:
    return LangGraphAgent(graph=create_agent(model, list(tools), checkpointer=InMemorySaver()))


async def recording(agent: LangGraphAgent, **fields: Any) -> RecordedRun:
    recorded = await record_run(agent, run_input("hi", **fields))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


def state_results(agent: LangGraphAgent, recorded: RecordedRun) -> list[Any]:
    stored = agent.graph.get_state({"configurable": {"thread_id": recorded.input.thread_id}})
    return [message for message in stored.values["messages"] if message.type == "tool"]


@pytest.mark.parametrize("which", [look, look_sync], ids=["async", "sync"])
@pytest.mark.parametrize("build", [loop, created])
async def test_the_result_has_the_state_messages_id_and_comes_before_the_answer(
    build: Any, which: Any
) -> None:
    agent = build(Scripted([call(which.name, "c1", q=7)], ["Answer"]), which)
    recorded = await recording(agent)
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert (result.tool_call_id, result.content, result.metadata) == ("c1", "found 7", None)
    assert [message.id for message in state_results(agent, recorded)] == [result.message_id]
    order = [
        kind
        for kind in recorded.types
        if kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START")
    ]
    assert order == ["TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START"]
    assert recorded.last.outcome.pending_tool_call_ids is None


async def test_a_failed_tool() -> None:
    recorded = await recording(
        loop(Scripted([call("fail", "c1", q=7)], ["Sorry"]), fail, handle_tool_errors=True)
    )
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert result.metadata == {"status": "error"}
    (held,) = [message for message in recorded.messages if isinstance(message, ToolMessage)]
    assert held.error is not None
    assert "no 7" in held.error


async def test_a_failed_tool_that_nobody_handles() -> None:
    recorded = await record_run(
        loop(Scripted([call("fail", "c1", q=7)]), fail, handle_tool_errors=False), run_input("hi")
    )
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "tool_error")


async def test_media() -> None:
    recorded = await recording(loop(Scripted([call("picture", "c1")], ["Nice"]), picture))
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert [part.type for part in result.content] == ["text", "image"]
    assert result.content[1].source.value == "aGk="


async def test_a_tool_that_returns_a_command() -> None:
    recorded = await recording(loop(Scripted([call("commanding", "c1")], ["Answer"]), commanding))
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert (result.message_id, result.content) == ("r1", "done")


async def test_a_fast_tool_is_told_before_a_slow_one_ends() -> None:
    """The slow tool waits until the client has the fast one's result.

    In `create_agent` each call is a task of its own. A bare `ToolNode` runs all calls in one node,
    and what it makes of a result is known only when it ends (a `wrap_tool_call` may still redact
    it).
    """
    fast_told = asyncio.Event()

    @tool
    async def fast() -> str:
        """Answer at once."""
        return "fast"

    @tool
    async def slow() -> str:
        """Answer once the other result is told."""
        await asyncio.wait_for(fast_told.wait(), PATIENCE)
        return "slow"

    both = calling(part("slow", "{}", "c1", 0), part("fast", "{}", "c2", 1))
    agent = LangGraphAgent(graph=create_agent(Scripted([both], ["Answer"]), [slow, fast]))
    given = run_input("hi")
    events = []
    async for event in agent.run(given):
        events.append(event)
        if event.type.value == "TOOL_CALL_RESULT":
            fast_told.set()
    recorded = RecordedRun(events, given)
    recorded.check_snapshot()
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["fast", "slow"]


async def test_a_tool_that_runs_an_agent() -> None:
    inner = create_agent(Scripted([call("look", "c2", q=1)], ["inner answer"]), [look])

    @tool
    async def ask() -> str:
        """Ask another agent."""
        result = await inner.ainvoke({"messages": [("user", "go")]})
        return str(result["messages"][-1].content)

    recorded = await recording(
        LangGraphAgent(graph=create_agent(Scripted([call("ask", "c1")], ["outer answer"]), [ask]))
    )
    assert sorted(
        (event.tool_call_id, event.content) for event in recorded.of("TOOL_CALL_RESULT")
    ) == [
        ("c1", "inner answer"),
        ("c2", "found 1"),
    ]


async def test_frontend_tools_stay_open() -> None:
    def end_or_tools(state: Chat) -> str:
        return "__end__"

    builder = StateGraph(Chat)
    builder.add_node(
        "model", talker(Scripted([call("paint", "c1", 0), call("paint", "c2", 1)], ["Thanks"]))
    )
    builder.add_edge(START, "model")
    agent = LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver()))
    tools = [Tool(name="paint", description="Paint.", parameters={"type": "object"})]
    recorded = await recording(agent, tools=tools, thread="t")
    assert recorded.last.outcome.pending_tool_call_ids == ["c1", "c2"]
    answers = [
        ToolMessage(id=f"r{n}", role="tool", tool_call_id=f"c{n}", content="ok") for n in (1, 2)
    ]
    second = await record_run(
        agent, run_input(*recorded.messages, *answers, tools=tools, thread="t")
    )
    second.check_snapshot()
    assert [message.role for message in second.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert second.last.outcome.pending_tool_call_ids is None
    assert second.types.count("TOOL_CALL_RESULT") == 0


async def test_results_are_json_safe() -> None:
    @tool
    async def data() -> dict[str, Any]:
        """Give data."""
        return {"b": [1, None], "é": 1.5}

    recorded = await recording(loop(Scripted([call("data", "c1")], ["ok"]), data))
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert json.loads(result.content) == {"b": [1, None], "é": 1.5}
