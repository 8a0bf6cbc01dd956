"""What a client sends and no node reads: one warning says so, and what to do."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from copilotkit import CopilotKitMiddleware
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from langgraph_agui.nodes import agui_context, forwarded_props, frontend_tools
from tests.adapter.graphs import Chat, chain_of
from tests.adapter.models import Scripted
from tests.adapter.streams import record_run, run_input
from tests.conventions.test_inputs import HERE, PAINT
from tests.conventions.test_inputs import State as FilledState

SENT: dict[str, Any] = {
    "tools": [PAINT],
    "context": [HERE],
    "forwarded_props": {"nodeName": "plan"},
}


async def answer(state: Chat) -> dict[str, Any]:
    return {"messages": [await Scripted(["Hello"]).ainvoke(state["messages"])]}


async def answer_with_state(state: FilledState) -> dict[str, Any]:
    return {"messages": [("ai", "Hello")]}


def read_tools(config: RunnableConfig) -> int:
    return len(frontend_tools(config))


async def with_tools(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    read_tools(config)
    return await answer(state)


async def with_context(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    agui_context(config)
    return await answer(state)


async def with_props(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    forwarded_props(config)
    return await answer(state)


async def by_other_ways(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    sent = config["configurable"]["agui"]
    assert sent["tools"]
    assert sent.get("context")
    return await answer(state)


GRAPHS: dict[str, tuple[Any, set[str]]] = {
    # the graph, and what nothing reads
    "none": (chain_of(answer), {"tools", "context", "nodeName"}),
    "agent": (create_agent(Scripted(["Hello"]), []), {"tools", "context", "nodeName"}),
    "middleware": (
        create_agent(Scripted(["Hello"]), [], middleware=[AGUIMiddleware()]),
        {"nodeName"},
    ),
    "middleware without context": (
        create_agent(Scripted(["Hello"]), [], middleware=[AGUIMiddleware(context=False)]),
        {"nodeName"},
    ),
    "copilotkit": (
        create_agent(Scripted(["Hello"]), [], middleware=[CopilotKitMiddleware()]),
        {"nodeName"},
    ),
    "tools": (chain_of(with_tools), {"context", "nodeName"}),
    "context": (chain_of(with_context), {"tools", "nodeName"}),
    "props": (chain_of(with_props), {"tools", "context"}),
    "by other ways": (chain_of(by_other_ways), {"nodeName"}),
    "state keys": (chain_of(answer_with_state, state=FilledState), {"nodeName"}),
}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        one.getMessage() for one in caplog.records if one.name == "langgraph_agui.runs.capabilities"
    ]


@pytest.mark.parametrize("name", GRAPHS)
async def test_one_warning_says_all(name: str, caplog: pytest.LogCaptureFixture) -> None:
    graph, unread = GRAPHS[name]
    agent = LangGraphAgent(graph)
    for _ in range(2):
        caplog.clear()
        await record_run(agent, run_input("hi", **SENT))
        [warning] = warnings(caplog)
        assert ("'paint'" in warning, "frontend_tools(config)" in warning) == (
            "tools" in unread,
        ) * 2
        assert ("agui_context(config)" in warning) == ("context" in unread)
        assert ("'plan'" in warning) == ("nodeName" in unread)
        assert "Rome" not in warning


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"tools": [], "context": []},
        {"forwarded_props": {"nodeName": "__end__"}},
        {"forwarded_props": {"other": 1}},
    ],
)
async def test_nothing_is_lost_where_nothing_was_sent(
    sent: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    await record_run(LangGraphAgent(chain_of(answer)), run_input("hi", **sent))
    assert warnings(caplog) == []


async def test_a_run_that_waits_may_read_it_later(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(state: Chat) -> dict[str, Any]:
        return {"messages": [("ai", interrupt("Sure?"))]}

    agent = LangGraphAgent(chain_of(ask, checkpointer=InMemorySaver()))
    with caplog.at_level(logging.WARNING):
        await record_run(agent, run_input("hi", **SENT))
    assert warnings(caplog) == []


async def test_what_a_run_has_shown_is_remembered(caplog: pytest.LogCaptureFixture) -> None:
    """The search finds no function in a container of the user's; the run shows that it reads the
    tools."""
    readers = {"of tools": frontend_tools}

    async def sometimes(state: Chat, config: RunnableConfig) -> dict[str, Any]:
        if "read" in state["messages"][-1].text:
            readers["of tools"](config)
        return await answer(state)

    agent = LangGraphAgent(chain_of(sometimes))
    assert agent.capabilities().tools.client_provided is False  # type: ignore[union-attr]
    for text, count in (("skip", 1), ("read", 1), ("skip", 1)):
        await record_run(agent, run_input(text, tools=[PAINT]))
        assert len(warnings(caplog)) == count
    assert agent.capabilities().tools.client_provided is True  # type: ignore[union-attr]
