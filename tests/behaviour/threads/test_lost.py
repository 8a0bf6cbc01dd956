"""Threads that the server has lost: they go on from the client's history."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ToolMessage
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent, TrustOptions
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import record_run, run_input, user


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def script() -> Scripted:
    first = [
        thinking("hm", 0),
        thinking(index=0, signature="S"),
        text_chunk("Looking", 1),
        call("look", "c1", 2, q="x"),
    ]
    return Scripted(first, [text_chunk("It is x.", 0)], ["Bye."])


def comparable(messages: list[BaseMessage]) -> list[Any]:
    return [
        (message.type, message.content, getattr(message, "tool_calls", None))
        for message in messages
    ]


async def test_the_model_reads_what_langgraph_alone_would_have_sent() -> None:
    model = script()
    graph, config = (
        create_agent(model, [look], checkpointer=InMemorySaver()),
        {"configurable": {"thread_id": "t"}},
    )
    await graph.ainvoke({"messages": [("user", "hi")]}, config)  # type: ignore[call-overload]
    await graph.ainvoke({"messages": [("user", "bye")]}, config)  # type: ignore[call-overload]
    expected = comparable(model.seen[-1])

    ours = script()
    first = await record_run(
        LangGraphAgent(create_agent(ours, [look], checkpointer=InMemorySaver())),
        run_input(user("hi"), thread="t"),
    )
    agent = LangGraphAgent(create_agent(ours, [look], checkpointer=InMemorySaver()))
    second = await record_run(agent, run_input(*first.messages, user("bye"), thread="t"))
    assert comparable(ours.seen[-1]) == expected
    assert second.messages[: len(first.messages)] == first.messages
    third = await record_run(agent, run_input(*second.messages, user("and?"), thread="t"))
    assert [message.type for message in ours.seen[-1]].count("human") == 3
    assert third.last.outcome.type == "success"


async def test_it_can_be_ignored() -> None:
    model = script()
    first = await record_run(
        LangGraphAgent(create_agent(model, [look])), run_input(user("hi"), thread="t")
    )
    graph = create_agent(model, [look], checkpointer=InMemorySaver())
    await record_run(
        LangGraphAgent(graph, trust=TrustOptions(history="ignore")),
        run_input(*first.messages, user("bye"), thread="t"),
    )
    assert [message.type for message in model.seen[-1]] == ["human", "human"]


async def test_an_open_call_is_answered_as_interrupted_and_never_run() -> None:
    ran: list[int] = []

    @tool
    def transfer(amount: int) -> str:
        """Transfer money."""
        ran.append(amount)
        return "sent"

    model = Scripted([call("transfer", "c1", amount=5)], ["Fine."])
    middleware = [HumanInTheLoopMiddleware({"transfer": True})]

    def agent() -> LangGraphAgent:
        return LangGraphAgent(
            create_agent(model, [transfer], middleware=middleware, checkpointer=InMemorySaver())
        )

    first = await record_run(agent(), run_input(user("send"), thread="t"))
    [asked] = first.last.outcome.interrupts
    answer = [{"interruptId": asked.id, "status": "resolved", "payload": {"approved": True}}]
    refused = await record_run(agent(), run_input(*first.messages, thread="t", resume=answer))
    assert refused.last.code == "interrupt_unknown"
    second = await record_run(agent(), run_input(*first.messages, user("well?"), thread="t"))
    assert ran == []
    result = next(message for message in model.seen[-1] if message.type == "tool")
    assert "Interrupted" in result.text
    assert ("tool", "c1") in [
        (one.role, getattr(one, "tool_call_id", None)) for one in second.messages
    ]


@pytest.mark.parametrize("echo", [True, False])
async def test_a_frontend_tool_goes_on_and_an_echo_runs_nothing(echo: bool) -> None:
    tools = [
        {
            "name": "paint",
            "description": "Paint",
            "parameters": {"type": "object", "properties": {}},
        }
    ]
    model = Scripted([call("paint", "c1")], ["Painted."])

    def agent() -> LangGraphAgent:
        return LangGraphAgent(
            create_agent(model, middleware=[AGUIMiddleware()], checkpointer=InMemorySaver())
        )

    first = await record_run(agent(), run_input(user("paint"), thread="t", tools=tools))
    result = ToolMessage(id="r", role="tool", content="done", tool_call_id="c1")
    second = await record_run(agent(), run_input(*first.messages, result, thread="t", tools=tools))
    assert second.messages[-1].content == "Painted."
    calls = len(model.seen)
    if echo:
        await record_run(agent(), run_input(*second.messages, thread="t", tools=tools))
        assert len(model.seen) == calls
