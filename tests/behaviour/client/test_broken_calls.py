"""Calls whose arguments broke off: they neither run here, nor stay in the conversation."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AgentError, AGUIChatModel, AGUIClient, AGUISession, RemoteAgent
from tests.kit.processes.client_agents import WAYS, Ask
from tests.kit.processes.scripted_servers import CANCELLED, Blocking, server
from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, call, in_run, reasoning, text

MORE = in_run(*text("n", "more"))


def begun(*arguments: str, closed: bool = False) -> list[Wire]:
    events = call("c", *arguments, name="add", parentMessageId="m")
    return events if closed else events[:-1]


class Adding:
    """A tool that runs here, and what it was given."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def add(self, a: int = 0) -> int:
        """Add one."""
        self.ran.append(a)
        return a + 1


ENDS = {"failed": [ERROR], "cancelled": [CANCELLED], "broken off": [], "invalid": [STARTED]}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("arguments", [[], [""], ['{"a', '": 1']], ids=repr)
def test_a_session_forgets_them(end: str, arguments: list[str]) -> None:
    tool, half = Adding(), begun(*arguments, closed=end == "cancelled")
    with server([STARTED, *text("m", "Hello"), *half, *ENDS[end]], MORE) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0), tools=[tool.add])
        with suppress(AgentError):
            session.send("hi").wait()
        assert [one.content for one in session.messages] == ["hi", "Hello"]
        assert session.pending_tool_calls == []
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        assert saved.messages == session.messages
        session.send("again").wait()
        assert [one["role"] for one in agent.sent()] == ["user", "assistant", "user"]
        assert "toolCalls" not in agent.sent()[1]
    assert tool.ran == []


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


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("arguments", ['{"a": 1', '{"a": 1}'])
def test_a_model_of_a_cancelled_run_leaves_no_calls(ask: Ask, arguments: str) -> None:
    half = begun(arguments, closed=True)
    with server([STARTED, *text("m", "Hello"), *half, CANCELLED], MORE) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([Adding().add])
        answer = ask(model, "hi")
        assert (answer.text, answer.tool_calls) == ("Hello", [])
        assert answer.response_metadata["finish_reason"] == "cancelled"
        ask(model, [HumanMessage("hi"), answer, HumanMessage("again")])
        assert [one["role"] for one in agent.sent()] == ["user", "assistant", "user"]
        assert ("toolCalls" in agent.sent()[1]) == (arguments == '{"a": 1}')


@pytest.mark.parametrize("end", [CANCELLED, FINISHED], ids=["cancelled", "success"])
def test_a_graph_does_not_run_them(end: Wire) -> None:
    """LangChain's parser completes arguments that broke off."""
    tool, said = Adding(), [STARTED, *text("m", "Hello"), *begun('{"a": 12', closed=True), end]
    with server(said, said) as agent:
        create_agent(AGUIChatModel(url=agent.url), [tool.add]).invoke({"messages": "hi"})
        RemoteAgent(agent.url, tools=[tool.add]).invoke({"messages": "hi"})
        assert len(agent.asked) == 2
    assert tool.ran == []


def test_a_call_without_arguments_runs() -> None:
    tool, said = Adding(), in_run(*begun(closed=True))
    with server(*[said, MORE] * 3) as agent:
        AGUISession[Any](agent.url, tools=[tool.add]).send("hi").wait()
        create_agent(AGUIChatModel(url=agent.url), [tool.add]).invoke({"messages": "hi"})
        RemoteAgent(agent.url, tools=[tool.add]).invoke({"messages": "hi"})
    assert tool.ran == [0, 0, 0]
