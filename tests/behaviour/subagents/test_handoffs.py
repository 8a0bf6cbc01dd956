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
from tests.kit.deep import each_value
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
    "handing", [without_result, with_result, with_pair], ids=["none", "all", "pair"]
)
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])


@handings
@modes
@savers
@each_value()
async def test_nothing_is_left_pending(handing: Any, mode: Any, stored: bool) -> None:
    graph, models = build(InMemorySaver() if stored else None, handing)
    client = Client(LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode)))
    alone, expected = build(InMemorySaver(), handing)
    for text in ("hi", "again"):
        recorded = await client.send(text)
        recorded.check_snapshot()
        assert recorded.last.outcome.type == "success"
        assert not recorded.last.outcome.pending_tool_call_ids
        await alone.ainvoke(asking(text), {"configurable": {"thread_id": "t"}})
    for model, other in zip(models, expected, strict=True):
        assert [plain(messages) for messages in model.seen] == [
            plain(messages) for messages in other.seen
        ]


@pytest.mark.parametrize("handing", [with_result, with_pair], ids=["all", "pair"])
@modes
@each_value()
async def test_its_own_result_is_told(handing: Any, mode: Any) -> None:
    graph, _ = build(None, handing)
    recorded = await Client(
        LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode))
    ).send("hi")
    assert [message.content for message in recorded.messages if message.role == "tool"] == [
        "handed over"
    ]
    assert {event.content for event in recorded.of("TOOL_CALL_RESULT")} == {"handed over"}
    assert len(recorded.of("TOOL_CALL_START")) == 1


@handings
@modes
@each_value()
async def test_they_are_a_team(handing: Any, mode: Any) -> None:
    """They speak in the conversation, in all modes."""
    graph, _ = build(None, handing)
    recorded = await Client(
        LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode))
    ).send("hi")
    check_no_subagents(recorded)
    (called,) = recorded.of("TOOL_CALL_START")
    assert called.tool_call_id == "ann.0"
    assert recorded.messages[-1].content in ("bob: ends 1", "bob: ends 2")


@handings
@each_value()
async def test_a_handler_leaves_nothing_pending(handing: Any) -> None:
    received = ReceivedEvents()
    graph, _ = build(None, handing)
    await graph.ainvoke(asking("hi"), received.config)
    received.check()
    assert received.last.outcome.type == "success"
    assert not received.last.outcome.pending_tool_call_ids


@pytest.mark.parametrize("handing", [with_result, with_pair], ids=["all", "pair"])
async def test_a_handler_tells_its_own_result(handing: Any) -> None:
    received = ReceivedEvents()
    graph, _ = build(None, handing)
    await graph.ainvoke(asking("hi"), received.config)
    assert [one.content for one in received.check() if one.role == "tool"] == ["handed over"]
