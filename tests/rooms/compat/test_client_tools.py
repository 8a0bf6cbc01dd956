"""Tools that a client sends and nobody asks for: one warning says so, and what to do; so do the
capabilities. And a node that a client asks for."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from copilotkit import CopilotKitMiddleware
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import AGUIMiddleware, ApprovalOptions, LangGraphAgent
from langgraph_agui.nodes import agui_context, forwarded_props, frontend_tools, is_frontend_call
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input
from tests.rooms.compat.test_inputs import PAINT
from tests.rooms.compat.test_inputs import State as FilledState

NODE = {"nodeName": "plan"}


async def answer(state: Chat) -> dict[str, Any]:
    return {"messages": [await Scripted(["Hello"]).ainvoke(state["messages"])]}


async def answer_with_state(state: FilledState) -> dict[str, Any]:
    return {"messages": [("ai", "Hello")]}


async def with_tools(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    assert [one["function"]["name"] for one in frontend_tools(config)] == ["paint"]
    return await answer(state)


def by_current_config(state: Chat) -> dict[str, Any]:
    assert is_frontend_call({"name": "paint"})
    return {"messages": [("ai", "Hello")]}


async def with_context(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    agui_context(config)
    return await answer(state)


async def with_props(state: Chat, config: RunnableConfig) -> dict[str, Any]:
    forwarded_props(config)
    return await answer(state)


def agent_with(*middleware: Any) -> Any:
    return create_agent(Scripted(["Hello"]), [], middleware=middleware)


class Own(AGUIMiddleware):
    """A subclass, as users write them."""


GRAPHS: dict[str, tuple[Any, bool | None, bool | None]] = {
    # the graph, whether the client's tools reach its models, before and after a run with some
    "node": (chain_of(answer), None, None),
    "agent": (agent_with(), None, None),
    "context": (chain_of(with_context), None, None),
    "tools": (chain_of(with_tools), None, True),
    "current configuration": (chain_of(by_current_config), None, True),
    "middleware": (agent_with(AGUIMiddleware()), True, True),
    "subclass": (agent_with(Own()), True, True),
    "copilotkit": (agent_with(CopilotKitMiddleware()), True, True),
    "state keys": (chain_of(answer_with_state, state=FilledState), True, True),
}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        one.getMessage()
        for one in caplog.records
        if one.name in ("langgraph_agui.runs.client_tools", "langgraph_agui.compat.inputs")
    ]


def known(agent: LangGraphAgent) -> tuple[bool | None, list[str]]:
    """What the capabilities say: whether the client's tools are taken, and the notes."""
    found = agent.get_capabilities()
    return found["tools"].get("clientProvided"), found.get("custom", {}).get("warnings", [])  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", GRAPHS)
async def test_one_warning_and_one_note(name: str, caplog: pytest.LogCaptureFixture) -> None:
    graph, before, after = GRAPHS[name]
    agent = LangGraphAgent(graph)
    assert known(agent) == (before, [])
    for _ in range(2):
        await record_run(agent, run_input("hi", tools=[PAINT]))
    said, (provided, notes) = warnings(caplog), known(agent)
    assert provided is after
    assert len(said) == len(notes) == (not after)
    for text in (*said, *notes):
        assert "AGUIMiddleware()" in text
        assert "frontend_tools(config)" in text
    assert all("'paint'" in text for text in said)
    # Other clients see the capabilities too.
    assert not any("paint" in text for text in notes)


@tool
def paint() -> str:
    """Paint."""
    return "done"


ASKS = PAINT.model_copy(update={"name": "request_approval"})
OWN = create_agent(Scripted(["Hello"]), [paint])
BY_CALL = ApprovalOptions(ask_by="tool_call")


@pytest.mark.parametrize(
    ("graph", "tools", "options"),
    [
        pytest.param(chain_of(answer), [], {}, id="none was sent"),
        pytest.param(OWN, [PAINT], {}, id="a model of the graph has it too"),
        pytest.param(chain_of(answer), [ASKS], {"approvals": BY_CALL}, id="stands for approvals"),
    ],
)
async def test_nothing_is_lost(
    graph: Any, tools: Any, options: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent = LangGraphAgent(graph, **options)
    await record_run(agent, run_input("hi", tools=tools))
    assert (warnings(caplog), known(agent)) == ([], (None, []))


async def test_a_graph_that_paused_is_not_judged(caplog: pytest.LogCaptureFixture) -> None:
    """It may ask later; when it is resumed, it may have asked before."""

    async def ask(state: Chat) -> dict[str, Any]:
        return {"messages": [("ai", interrupt("Sure?"))]}

    agent = LangGraphAgent(chain_of(ask, checkpointer=InMemorySaver()))
    paused = await record_run(agent, run_input("hi", thread="t", tools=[PAINT]))
    (asked,) = paused.last.outcome.interrupts
    entry = ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")
    given = run_input(*paused.messages, thread="t", tools=[PAINT], resume=[entry])
    resumed = await record_run(agent, given)
    assert resumed.messages[-1].content == "yes"
    assert (warnings(caplog), known(agent)) == ([], (None, []))


async def test_a_graph_that_asks_sometimes_and_then_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def sometimes(state: Chat, config: RunnableConfig) -> dict[str, Any]:
        if "ask" in state["messages"][-1].text:
            return {"messages": [("ai", interrupt(f"{len(frontend_tools(config))}?"))]}
        return await answer(state)

    agent = LangGraphAgent(chain_of(sometimes, checkpointer=InMemorySaver()))
    for text, provided in (("skip", None), ("skip", None), ("ask", True), ("skip", True)):
        await record_run(agent, run_input(text, tools=[PAINT]))
        assert len(warnings(caplog)) == 1
        found, notes = known(agent)
        assert (found, len(notes)) == (provided, not provided)


@pytest.mark.parametrize(
    ("node", "props", "warned"),
    [
        (answer, NODE, True),
        (answer, {"node_name": "plan"}, True),
        (answer, {"nodeName": "__end__"}, False),
        (answer, {"other": 1}, False),
        (answer, ["nodeName"], False),
        (with_props, NODE, False),
    ],
)
async def test_a_node_that_a_client_asks_for(
    node: Any, props: Any, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await record_run(LangGraphAgent(chain_of(node)), run_input("hi", forwarded_props=props))
    assert ["'plan'" in text for text in warnings(caplog)] == [True] * warned
