"""Conversations beside the reference client: after each turn both hold the same, and both would
send the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.client import AgentError, AGUISession, RunFailedError, StreamTruncatedError
from langgraph_agui.protocol import to_jsonable
from tests.kit.expect.agreement import canonical
from tests.kit.graphs.frontend_tools import client_tool, lookup
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Recorder,
    frames,
    recording,
    server,
)
from tests.kit.processes.serving import serving
from tests.kit.run.wire_events import (
    STARTED,
    Wire,
    activity,
    encrypted,
    ended,
    event,
    in_run,
    message,
    reasoning,
    snapshot,
    state_delta,
    text,
)
from tests.kit.run.wire_events import call as called

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


@tool
def paint(color: str) -> str:
    """Paint."""
    return f"painted {color}"


def answer(messages: list[BaseMessage]) -> Any:
    """Does what the last user message names, with calls once, and says something about their
    results."""
    place = max(place for place, one in enumerate(messages) if isinstance(one, HumanMessage))
    asked = messages[place].text
    if any(isinstance(one, ToolMessage) for one in messages[place:]):
        return [thinking("so"), thinking(signature=f"sig-{place}"), text_chunk("It is done.")]

    def made(name: str, index: int, **args: str) -> Any:
        return call(name, f"{name}{index}-{place}", index, **args)

    hm = [thinking("hm"), thinking(signature="s")]
    return {
        "fail": ["not ", RuntimeError("secret")],
        "look": [*hm, made("lookup", 2, city="Rome")],
        "paint": ["Painting.", made("paint", 0, color="red"), made("lookup", 1, city="Oslo")],
        "delete": [made("delete", 0, path="/a"), made("delete", 1, path="/b")],
    }.get(asked, [*hm, text_chunk(f"You said {asked}.")])


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[str, Recorder]]:
    app, model = FastAPI(), Scripted(script=answer)
    middleware = [HumanInTheLoopMiddleware(interrupt_on={"delete": True}), AGUIMiddleware()]
    options: Any = {"middleware": middleware, "checkpointer": InMemorySaver()}
    graph = create_agent(model, [lookup, delete], **options)
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph), "/agent")
    recorder = Recorder(app)
    with serving(recorder) as served:
        yield served.url("/agent"), recorder


class Twin:
    """The reference client, which is told what a session was told."""

    def __init__(self, node: NodeClient, session: AGUISession[Any]) -> None:
        self.node, self.session = node, session
        self.held: list[Wire] = []
        node.drop(session.thread_id)

    def follow(self, asked: Wire, stream: bytes) -> None:
        """Run it with the same input on the same bytes; it must have sent the same."""
        known = {one["id"] for one in self.held}
        new = [one for one in asked["messages"] if one["id"] not in known]
        given = {key: asked[key] for key in ("threadId", "runId", "tools")}
        given |= {"agent": self.session.thread_id, "resume": asked.get("resume"), "add": new}
        run = self.node.run(sse=stream.decode(), **given)
        assert run.input == asked
        self.held, self.state, self.interrupts = run.messages, run.state, run.openInterrupts

    def check(self) -> None:
        session = self.session
        theirs = [self.held, self.state, self.interrupts]
        ours = [session.messages, session.state, session.interrupts]
        assert canonical(theirs) == canonical(to_jsonable(ours))
        again = AGUISession[Any].from_json(session.to_json(), "http://127.0.0.1", tools=[paint])
        assert again.to_json() == session.to_json()


@both
def test_a_conversation_with_a_real_agent(
    reader: Blocking, recorder: tuple[str, Recorder], node_client: NodeClient
) -> None:
    url, tape = recorder
    tape.exchanges.clear()
    session = AGUISession[Any](url, tools=[paint, client_tool("other")])
    twin = Twin(node_client, session)

    def turn(work: Any, runs: int = 1) -> None:
        reader.read(session.send(work) if isinstance(work, str) else work)
        follow(runs)

    def follow(runs: int) -> None:
        exchanges, tape.exchanges[:] = tape.exchanges[:], []
        assert len(exchanges) == runs
        for asked, stream in exchanges:
            twin.follow(asked, bytes(stream))
        twin.check()

    turn("hello")
    assert session.messages[-2].role == "reasoning"
    assert session.messages[-2].encrypted_value
    turn("look")
    turn("paint", runs=2)
    assert [one.role for one in session.messages[-4:]] == ["tool", "tool", "reasoning", "assistant"]
    turn("delete")
    first, second = (one.id for one in session.interrupts)
    turn(session.resume({first: {"approved": True}}, cancel=[second]))
    assert not session.interrupts
    with pytest.raises(RunFailedError, match="model_error"):
        reader.read(session.send("fail"))
    follow(1)
    assert session.messages[-1].content == "not "
    turn("hello")
    elsewhere = AGUISession[Any](url, thread_id=session.thread_id)
    reader.read(elsewhere.connect())
    there, here = (
        [(one.id, one.role, one.content) for one in held.messages] for held in (elsewhere, session)
    )
    assert there == [one for one in here if one[2] != "not "]


def asking(**fields: Any) -> Wire:
    return ended("interrupt", interrupts=[{"id": "i1", "reason": "x", **fields}])


CHANGE = {"op": "add", "path": "/steps/-", "value": 2}
ACTIVITY = {"messageId": "act", "activityType": "plan"}
NEW = [message("user", "new", [{"type": "text", "text": "x"}]), message("assistant", "m", "again")]
# What is sent, and what the agent says to it.
TURNS: Sequence[tuple[dict[str, Any], list[Wire]]] = [
    ({}, in_run(*reasoning("q", "hm"), encrypted("q"))),
    (
        {},
        in_run(
            activity("act", activityType="plan", content={"steps": [1]}),
            event("ACTIVITY_DELTA", **ACTIVITY, patch=[CHANGE]),
        ),
    ),
    (
        {},
        in_run(
            event("STATE_SNAPSHOT", snapshot={"a": {"b": 1.5}}),
            state_delta({"op": "add", "path": "/a/c", "value": None}),
        ),
    ),
    ({}, in_run(*called("c", "{}"), encrypted("c", "tool-call"))),
    ({}, [STARTED, *called("c2", '{"x": 1}'), ended("cancelled")]),
    ({}, [STARTED, *text("m", "ask", metadata={"k": None}), asking()]),
    (
        {"answers": {"i1": {"approved": False}}},
        [STARTED, *text("n", "no"), event("RUN_ERROR", message="boom")],
    ),
    ({"answers": {"i1": None}}, [STARTED, *text("o", "half")[:2]]),
    ({"answers": {}, "cancel": ["i1"]}, in_run(*text("o", " more"))),
    ({}, [*in_run(event("STATE_SNAPSHOT", snapshot=None)), event("RUN_ERROR", message="late")]),
    ({}, [*in_run(snapshot(*NEW)), *in_run(*text("p", "second"))]),
    (
        {},
        in_run(
            *text("s", "sub", subagentRunId="subagent"),
            event("TEXT_MESSAGE_CHUNK", messageId="t", delta="chunk"),
        ),
    ),
]


@both
def test_a_conversation_event_by_event(reader: Blocking, node_client: NodeClient) -> None:
    with server(*(recording(*events) for _, events in TURNS)) as agent:
        session = AGUISession[Any](agent.url, state={"mine": [1]})
        twin = Twin(node_client, session)
        key = session.thread_id
        empty = frames(in_run()).decode()
        node_client.run(agent=key, threadId=key, state=session.state, sse=empty)
        for number, (given, events) in enumerate(TURNS):
            turn = session.resume(**given) if given else session.send(f"turn {number}")
            match events[-1]["type"]:
                case "RUN_FINISHED":
                    reader.read(turn)
                case last:
                    failed = RunFailedError if last == "RUN_ERROR" else StreamTruncatedError
                    with pytest.raises(failed):
                        reader.read(turn)
            twin.follow(agent.asked[-1].json, frames(events))
            twin.check()


def test_both_refuse_to_leave_an_interrupt_open(node_client: NodeClient) -> None:
    events = [STARTED, asking(expiresAt="2020-01-01")]
    with server(recording(*events)) as agent:
        session = AGUISession[Any](agent.url)
        list(session.send("x"))
        resolved = [{"interruptId": "i1", "status": "resolved", "payload": 1}]
        node_client.run(agent=session.thread_id, sse=frames(events).decode())
        for answers, resume in (({}, None), ({"i1": 1}, resolved)):
            assert node_client.run(agent=session.thread_id, sse="", resume=resume).error
            with pytest.raises(AgentError):
                session.resume(answers)
        assert len(agent.asked) == 1
