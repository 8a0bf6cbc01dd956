"""Calls whose arguments broke off: they neither run here, nor stay in the conversation."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AgentError, AGUIChatModel, AGUIClient, AGUISession, RemoteAgent
from tests.kit.processes.scripted_servers import CANCELLED, Blocking, server
from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, call, in_run, reasoning, text

MORE = in_run(*text("n", "more"))


def begun(*arguments: str, closed: bool = False) -> list[Wire]:
    events = call("c", *arguments, name="add", parentMessageId="m")
    return events if closed else events[:-1]


def add(a: int = 0) -> int:
    """Add one."""
    raise AssertionError("it runs")


@pytest.mark.parametrize(
    ("end", "arguments"),
    [
        pytest.param([ERROR], [], id="failed"),
        pytest.param([CANCELLED], [""], id="cancelled"),
        pytest.param([], ['{"a', '": 1'], id="broken off"),
        pytest.param([STARTED], ['{"a', '": 1'], id="invalid"),
    ],
)
def test_a_session_forgets_them(end: list[Wire], arguments: list[str]) -> None:
    half = begun(*arguments, closed=end == [CANCELLED])
    with server([STARTED, *text("m", "Hello"), *half, *end], MORE) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0), tools=[add])
        with suppress(AgentError):
            session.send("hi").wait()
        assert [one.content for one in session.messages] == ["hi", "Hello"]
        assert session.pending_tool_calls == []
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        assert saved.messages == session.messages
        session.send("again").wait()
        assert [one["role"] for one in agent.sent()] == ["user", "assistant", "user"]
        assert "toolCalls" not in agent.sent()[1]


def test_a_message_of_nothing_else_goes_with_them() -> None:
    whole = call("w", '{"a": 1}', name="other", parentMessageId="v")
    with server([STARTED, *reasoning("q", "hm"), *begun()], [STARTED, *whole, ERROR]) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0))
        for _ in range(2):
            with suppress(AgentError):
                session.send("hi").wait()
    assert [one.role for one in session.messages] == ["user", "reasoning", "user", "assistant"]


def test_a_turn_that_was_left_within_a_call() -> None:
    half = [STARTED, *text("m", "Hello"), *begun('{"a')]
    with server(half, MORE) as agent:
        session = AGUISession[Any](agent.url)
        Blocking().leave(session.send("hi"), len(half))
        session.send("again").wait()
    assert [one.content for one in session.messages] == ["hi", "Hello", "again", "more"]
    assert "toolCalls" not in str(agent.sent())


@pytest.mark.parametrize("arguments", ['{"a": 1', '{"a": 1}'])
def test_a_model_of_a_cancelled_run_leaves_no_calls(arguments: str) -> None:
    said = [STARTED, *text("m", "Hello"), *begun(arguments, closed=True), CANCELLED]
    with server(said, MORE) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([add])
        answer = model.invoke("hi")
        assert (answer.text, answer.tool_calls) == ("Hello", [])
        assert answer.response_metadata["finish_reason"] == "cancelled"
        model.invoke([HumanMessage("hi"), answer, HumanMessage("again")])
        assert [one["role"] for one in agent.sent()] == ["user", "assistant", "user"]
        assert ("toolCalls" in agent.sent()[1]) == (arguments == '{"a": 1}')


@pytest.mark.parametrize(
    ("arguments", "end", "runs"),
    [
        pytest.param('{"a": 12', FINISHED, False, id="which LangChain's parser completes"),
        pytest.param('{"a": 12', CANCELLED, False, id="cancelled"),
        pytest.param("", FINISHED, True, id="none at all is whole"),
    ],
)
def test_what_runs_in_a_graph(arguments: str, end: Wire, runs: bool) -> None:
    ran: list[int] = []

    def add(a: int = 0) -> None:
        """Add one."""
        ran.append(a)

    said = [STARTED, *text("m", "Hello"), *begun(arguments, closed=True), end]
    with server(*[said, *([MORE] if runs else [])] * 2, said, MORE) as agent:
        create_agent(AGUIChatModel(url=agent.url), [add]).invoke({"messages": "hi"})
        RemoteAgent(agent.url, tools=[add]).invoke({"messages": "hi"})
        assert len(agent.asked) == (4 if runs else 2)
        AGUISession[Any](agent.url, tools=[add]).send("hi").wait()  # answers what it cannot read
    assert ran == ([0, 0, 0] if runs else [])
