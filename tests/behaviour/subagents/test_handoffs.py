"""Agents that hand over to another one: `Command(goto=..., graph=Command.PARENT)` from a tool."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.test_next_turn import plain
from tests.kit.expect.owners import check_no_subagents
from tests.kit.graphs.small import Chat
from tests.kit.graphs.subagents import asking
from tests.kit.models.scripted import Scripted
from tests.kit.models.voices import voice
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.run.thread_client import Client


@tool("hand_over")
def without_result(runtime: ToolRuntime) -> Any:
    """Hand over."""
    return Command(
        goto="bob",
        graph=Command.PARENT,
        update={"messages": [HumanMessage("please help", name="ann")]},
    )


@tool("hand_over")
def with_result(runtime: ToolRuntime) -> Any:
    """Hand over."""
    done = ToolMessage("handed over", tool_call_id=runtime.tool_call_id, name="hand_over")
    update = {"messages": [*runtime.state["messages"], done]}
    return Command(goto="bob", graph=Command.PARENT, update=update)


@tool("hand_over")
def with_pair(runtime: ToolRuntime) -> Any:
    """Hand over."""
    done = ToolMessage("handed over", tool_call_id=runtime.tool_call_id, name="hand_over")
    return Command(
        goto="bob", graph=Command.PARENT, update={"messages": [runtime.state["messages"][-1], done]}
    )


def build(saver: Any, handing: Any) -> tuple[Any, list[Scripted]]:
    ann, bob = voice("ann", ("hand_over", {})), voice("bob")
    builder = StateGraph(Chat)
    builder.add_node("ann", create_agent(ann, [handing], name="ann"), destinations=("bob",))
    builder.add_node("bob", create_agent(bob, [], name="bob"))
    builder.add_edge(START, "ann")
    return builder.compile(checkpointer=saver), [ann, bob]


handings = pytest.mark.parametrize(
    ("handing", "results"),
    [(without_result, None), (with_result, ["handed over"]), (with_pair, ["handed over"])],
    ids=["none", "all", "pair"],
)


@handings
@pytest.mark.parametrize(
    ("mode", "stored"), [("attributed", True), ("inline", False), ("hidden", True)]
)
async def test_they_are_a_team_and_nothing_is_left_pending(
    handing: Any, results: Any, mode: Any, stored: bool
) -> None:
    graph, models = build(InMemorySaver() if stored else None, handing)
    client = Client(LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode)))
    alone, expected = build(InMemorySaver(), handing)
    for text in ("hi", "again"):
        recorded = await client.send(text)
        recorded.check_snapshot()
        check_no_subagents(recorded)
        assert recorded.last.outcome.type == "success"
        assert not recorded.last.outcome.pending_tool_call_ids
        if text == "hi":
            assert recorded.messages[-1].content.startswith("bob: ends ")
            assert [one.tool_call_id for one in recorded.of("TOOL_CALL_START")] == ["ann.0"]
            if results:
                told = [one.content for one in recorded.messages if one.role == "tool"]
                assert told == results
                assert {one.content for one in recorded.of("TOOL_CALL_RESULT")} == {*results}
        await alone.ainvoke(asking(text), {"configurable": {"thread_id": "t"}})
    for model, other in zip(models, expected, strict=True):
        assert [plain(one) for one in model.seen] == [plain(one) for one in other.seen]


@handings
async def test_a_handler_leaves_nothing_pending(handing: Any, results: Any) -> None:
    received = ReceivedEvents()
    graph, _ = build(None, handing)
    await graph.ainvoke(asking("hi"), received.config)
    messages = received.check()
    assert received.last.outcome.type == "success"
    assert not received.last.outcome.pending_tool_call_ids
    if results:
        assert [one.content for one in messages if one.role == "tool"] == results
