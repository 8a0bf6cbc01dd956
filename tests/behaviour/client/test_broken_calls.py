"""Calls whose arguments broke off: they neither run here, nor stay in the conversation."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AgentError, AGUIChatModel, AGUIClient, AGUISession, RemoteAgent
from tests.kit.processes.client_agents import WAYS, Ask
from tests.kit.processes.scripted_servers import Awaiting, Blocking, recording, server
from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, call, in_run, reasoning, text

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)

CANCELLED = {**FINISHED, "outcome": {"type": "cancelled"}}
ENDS: dict[str, list[Wire]] = {
    "failed": [ERROR],
    "cancelled": [CANCELLED],
    "broken off": [],
    "invalid": [STARTED],
}
MORE = in_run(*text("n", "more"))


def begun(arguments: list[str], message: str = "m", *, closed: bool) -> list[Wire]:
    events = call("c", *arguments, name="add", parentMessageId=message)
    return events if closed else events[:-1]


class Adding:
    """A tool that runs here, and what it was given."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def add(self, a: int = 0) -> int:
        """Add one."""
        self.ran.append(a)
        return a + 1


@both
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("arguments", [[], [""], ['{"a": 1'], ['{"a', '": 1']], ids=repr)
def test_a_session_forgets_them(reader: Blocking, end: str, arguments: list[str]) -> None:
    tool = Adding()
    half = begun(arguments, closed=end == "cancelled")
    with server(
        recording(STARTED, *text("m", "Hello"), *half, *ENDS[end]), recording(*MORE)
    ) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0), tools=[tool.add])
        with suppress(AgentError):
            reader.read(session.send("hi"))
        assert [one.content for one in session.messages] == ["hi", "Hello"]
        assert session.pending_tool_calls == []
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        assert saved.messages == session.messages
        reader.read(session.send("again"))
    sent = agent.asked[1].json["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert "toolCalls" not in sent[1]
    assert tool.ran == []


@both
def test_a_message_of_nothing_else_goes_with_them(reader: Blocking) -> None:
    half = [*reasoning("q", "hm"), *begun([], closed=False)]
    whole = call("w", '{"a": 1}', name="other", parentMessageId="v")
    with server(recording(STARTED, *half), recording(STARTED, *whole, ERROR)) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, retries=0))
        for _ in range(2):
            with suppress(AgentError):
                reader.read(session.send("hi"))
    assert [one.role for one in session.messages] == ["user", "reasoning", "user", "assistant"]


@both
def test_a_turn_that_was_left_within_a_call(reader: Blocking) -> None:
    half = [STARTED, *text("m", "Hello"), *begun(['{"a'], closed=False)]
    with server(recording(*half), recording(*MORE)) as agent:
        session = AGUISession[Any](agent.url)
        reader.leave(session.send("hi"), len(half))
        reader.read(session.send("again"))
    assert [one.content for one in session.messages] == ["hi", "Hello", "again", "more"]
    assert "toolCalls" not in str(agent.asked[1].json)


@both
def test_a_finished_run_with_half_a_call_answers_it(reader: Blocking) -> None:
    """The agent has said all that it will, so it is told what is wrong."""
    tool = Adding()
    said = in_run(*begun(['{"a": 1'], closed=True))
    with server(recording(*said), recording(*MORE)) as agent:
        reader.read(AGUISession[Any](agent.url, tools=[tool.add]).send("hi"))
    assert agent.asked[1].json["messages"][-1]["error"] == "The arguments are not a JSON object."
    assert tool.ran == []


# -- models and nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("arguments", [[], ['{"a": 1'], ['{"a": 1}']], ids=repr)
def test_a_model_of_a_cancelled_run_leaves_no_calls(ask: Ask, arguments: list[str]) -> None:
    tool = Adding()
    said = [STARTED, *text("m", "Hello"), *begun(arguments, closed=True), CANCELLED]
    with server(recording(*said), recording(*MORE)) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([tool.add])
        answer = ask(model, "hi")
        assert (answer.text, answer.tool_calls) == ("Hello", [])
        assert answer.response_metadata["finish_reason"] == "cancelled"
        ask(model, [HumanMessage("hi"), answer, HumanMessage("again")])
    sent = agent.asked[1].json["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert ("toolCalls" in sent[1]) == (arguments == ['{"a": 1}'])


@pytest.mark.parametrize(
    "end", [CANCELLED, FINISHED], ids=lambda one: one.get("outcome", {}).get("type", "success")
)
def test_a_graph_does_not_run_them(end: Wire) -> None:
    """LangChain's parser completes arguments that broke off."""
    said = [STARTED, *text("m", "Hello"), *begun(['{"a": 12'], closed=True), end]
    tool = Adding()
    with server(recording(*said), recording(*said)) as agent:
        create_agent(AGUIChatModel(url=agent.url), [tool.add]).invoke({"messages": "hi"})
        RemoteAgent(agent.url, tools=[tool.add]).invoke({"messages": "hi"})
        assert len(agent.asked) == 2
    assert tool.ran == []


def test_a_call_without_arguments_runs() -> None:
    tool = Adding()
    said = in_run(*begun([], closed=True))
    with server(*[recording(*said), recording(*MORE)] * 3) as agent:
        AGUISession[Any](agent.url, tools=[tool.add]).send("hi").wait()
        create_agent(AGUIChatModel(url=agent.url), [tool.add]).invoke({"messages": "hi"})
        RemoteAgent(agent.url, tools=[tool.add]).invoke({"messages": "hi"})
    assert tool.ran == [0, 0, 0]
