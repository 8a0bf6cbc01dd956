"""How a session goes on: after a turn that was left, after a tool that was stopped, and with what
it cannot send."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import TextPart, ToolMessage
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AgentStatusError, AGUIClient, AGUISession, ResumeError
from tests.kit.graphs.frontend_tools import client_tool
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Endless,
    answering,
    recording,
    server,
)
from tests.kit.run.wire_events import call, in_run, text

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


def contents(session: AGUISession[Any]) -> list[Any]:
    return [message.content for message in session.messages]


async def leave(session: AGUISession[Any]) -> None:
    async for one in session.send("x"):
        if one.type == "TEXT_MESSAGE_CONTENT":
            break


async def test_a_bare_break_leaves_the_session_at_once() -> None:
    """What Python cleans up of the old turn while the new one goes on does not end that."""
    endless = Endless()
    with server(endless, recording(*in_run(*text("n", "b")))) as agent:
        session = AGUISession[Any](agent.url)
        await leave(session)
        turn = session.send("y")
        assert contents(session) == ["x", "a"]
        async for _ in turn:
            await endless.cleaned_up()
            with pytest.raises(RuntimeError, match="still running"):
                session.send("z")
        assert contents(session) == ["x", "a", "y", "b"]
        session.send("z")


async def test_a_turn_that_was_left_brings_nothing_back() -> None:
    endless = Endless()
    with server(endless) as agent:
        session = AGUISession[Any](agent.url)
        await leave(session)
        session.clear()
        await endless.cleaned_up()
        assert session.messages == []


async def test_a_turn_that_somebody_holds_goes_on() -> None:
    endless = Endless()
    with server(endless) as agent:
        session = AGUISession[Any](agent.url)
        events = aiter(session.send("x"))
        async for _ in events:
            break
        with pytest.raises(RuntimeError, match="still running"):
            session.send("y")
        async for one in events:
            if one.type == "TEXT_MESSAGE_CONTENT":
                break
        del events
        session.send("y")
        await endless.cleaned_up()


# -- tools that were stopped ---------------------------------------------------------------------


def stop() -> str:
    """Stop."""
    raise KeyboardInterrupt


def stopped(url: str) -> AGUISession[Any]:
    """A session whose tool was stopped, beside a call that the application answers."""
    session = AGUISession[Any](AGUIClient(url, retries=0), tools=[stop, client_tool("locate")])
    with pytest.raises(KeyboardInterrupt):
        session.send("x").wait()
    assert [one.id for one in session.pending_tool_calls] == ["s", "l"]
    return session


CALLED = in_run(
    *call("s", "{}", name="stop", parentMessageId="m"),
    *call("l", "{}", name="locate", parentMessageId="m"),
)


def test_a_tool_that_was_stopped_is_answered_before_new_words() -> None:
    with server(recording(*CALLED), answering(500), recording(*in_run())) as agent:
        session = stopped(agent.url)
        with pytest.raises(AgentStatusError):
            session.send("y").wait()
        # as if nothing had been said
        assert [one.id for one in session.pending_tool_calls] == ["s", "l"]
        session.send("y").wait()
        assert [one.id for one in session.pending_tool_calls] == []
    sent = agent.asked[2].json["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "user"]
    recorded = "The tool was interrupted."
    assert (sent[2]["toolCallId"], sent[2]["content"], sent[2]["error"]) == (
        "s",
        recorded,
        recorded,
    )
    assert [one.id for one in session.messages] == [one["id"] for one in sent]


@pytest.mark.parametrize(
    "said", [[], [ToolMessage(id="o", tool_call_id="s", content="mine")]], ids=["nothing", "it"]
)
def test_a_tool_that_was_stopped_and_no_new_words(said: list[Any]) -> None:
    with server(recording(*CALLED), recording(*in_run(*text("n", "b")))) as agent:
        stopped(agent.url).send(*said).wait()
    results = [one["content"] for one in agent.asked[1].json["messages"] if one["role"] == "tool"]
    assert results == [one.content for one in said]


# -- what cannot be sent -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"role": "user", "content": "x"},
        HumanMessage("x"),
        [HumanMessage("x")],
        TextPart(text="x"),
        None,
        b"x",
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_message(said: Any) -> None:
    session = AGUISession[Any]("http://127.0.0.1:1/agent")
    with pytest.raises(TypeError, match="takes texts"):
        session.send(said)
    session.send([{"type": "text", "text": "x"}])  # type: ignore[list-item]


@both
def test_nothing_is_open(reader: Blocking) -> None:
    with server(recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url)
        reader.read(session.send("x"))
        for answers in ({}, {"i": 1}):
            with pytest.raises(ResumeError, match="Nothing is open") as caught:
                session.resume(answers)
            assert caught.value.code == "interrupt_unknown"
