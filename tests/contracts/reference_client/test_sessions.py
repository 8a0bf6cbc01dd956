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
from tests.kit.models.scripted import Turn as Said
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
    FINISHED,
    STARTED,
    Wire,
    event,
    in_run,
    message,
    reasoning,
    snapshot,
    text,
)
from tests.kit.run.wire_events import call as called

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def answer(messages: list[BaseMessage]) -> Said:
    """Does what the last user message names, with calls once, and says something about their
    results."""
    place = max(place for place, one in enumerate(messages) if isinstance(one, HumanMessage))
    asked = messages[place].text
    if any(isinstance(one, ToolMessage) for one in messages[place:]):
        return [thinking("so"), thinking(signature=f"sig-{place}"), text_chunk("It is done.")]
    match asked:
        case "fail":
            return ["not ", RuntimeError("secret")]
        case "look":
            return [
                thinking("look"),
                thinking(signature="s"),
                call("lookup", f"l{place}", 2, city="Rome"),
            ]
        case "paint":
            return [
                "Painting.",
                call("paint", f"p{place}", color="red"),
                call("lookup", f"q{place}", 1, city="Oslo"),
            ]
        case "delete":
            return [
                call("delete", f"d{place}", 0, path="/a"),
                call("delete", f"e{place}", 1, path="/b"),
            ]
    return [
        thinking("hm "),
        thinking("hm"),
        thinking(signature="sig"),
        text_chunk(f"You said {asked}."),
    ]


@tool
def paint(color: str) -> str:
    """Paint."""
    return f"painted {color}"


@pytest.fixture(scope="module")
def recorder() -> Iterator[tuple[str, Recorder]]:
    app = FastAPI()
    middleware = [HumanInTheLoopMiddleware(interrupt_on={"delete": True}), AGUIMiddleware()]
    graph = create_agent(
        Scripted(script=answer),
        [lookup, delete],
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )
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
        run = self.node.run(
            agent=self.session.thread_id,
            threadId=asked["threadId"],
            runId=asked["runId"],
            sse=stream.decode(),
            add=[one for one in asked["messages"] if one["id"] not in known],
            tools=asked["tools"],
            resume=asked.get("resume"),
        )
        assert run.input == asked
        self.held, self.state, self.interrupts = run.messages, run.state, run.openInterrupts

    def check(self) -> None:
        assert canonical(self.held) == canonical(to_jsonable(self.session.messages))
        assert canonical(self.state) == canonical(self.session.state)
        assert canonical(self.interrupts) == canonical(to_jsonable(self.session.interrupts))


@both
def test_a_conversation_with_a_real_agent(
    reader: Blocking, recorder: tuple[str, Recorder], node_client: NodeClient
) -> None:
    url, tape = recorder
    tape.exchanges.clear()
    session = AGUISession[Any](url, tools=[paint, client_tool("other")])
    twin = Twin(node_client, session)

    def follow(runs: int) -> None:
        exchanges, tape.exchanges[:] = tape.exchanges[:], []
        assert len(exchanges) == runs
        for asked, stream in exchanges:
            twin.follow(asked, bytes(stream))
        twin.check()
        again = AGUISession[Any].from_json(session.to_json(), url, tools=[paint])
        assert again.to_json() == session.to_json()

    def turn(said: str, runs: int = 1) -> None:
        reader.read(session.send(said))
        follow(runs)

    turn("hello")
    assert session.messages[-2].role == "reasoning"
    assert session.messages[-2].encrypted_value
    turn("look")
    turn("paint", runs=2)
    assert [one.role for one in session.messages[-4:]] == ["tool", "tool", "reasoning", "assistant"]
    turn("delete")
    assert len(session.interrupts) == 2
    first, second = (one.id for one in session.interrupts)
    reader.read(session.resume({first: {"approved": True}}, cancel=[second]))
    follow(1)
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


ASKING = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i1", "reason": "x"}]}}
ACTIVITY = event("ACTIVITY_SNAPSHOT", messageId="act", activityType="plan", content={"steps": [1]})

# What is sent, and what the agent says to it.
TURNS: Sequence[tuple[dict[str, Any], list[Wire]]] = [
    (
        {},
        in_run(
            *reasoning("q", "hm"),
            event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="q", encryptedValue="v"),
        ),
    ),
    (
        {},
        in_run(
            ACTIVITY,
            event(
                "ACTIVITY_DELTA",
                messageId="act",
                activityType="plan",
                patch=[{"op": "add", "path": "/steps/-", "value": 2}],
            ),
        ),
    ),
    (
        {},
        in_run(
            event("STATE_SNAPSHOT", snapshot={"a": {"b": 1.5}}),
            event("STATE_DELTA", delta=[{"op": "add", "path": "/a/c", "value": None}]),
        ),
    ),
    (
        {},
        in_run(
            *called("c", "{}", name="f"),
            event(
                "REASONING_ENCRYPTED_VALUE", subtype="tool-call", entityId="c", encryptedValue="w"
            ),
        ),
    ),
    ({}, [STARTED, *called("c2", '{"x": 1}'), {**FINISHED, "outcome": {"type": "cancelled"}}]),
    ({}, [STARTED, *text("m", "ask", metadata={"k": None}), ASKING]),
    (
        {"answers": {"i1": {"approved": False}}},
        [STARTED, *text("n", "no"), event("RUN_ERROR", message="boom")],
    ),
    ({"answers": {"i1": None}}, [STARTED, *text("o", "half")[:2]]),
    ({"answers": {}, "cancel": ["i1"]}, in_run(*text("o", " more"))),
    ({}, [*in_run(event("STATE_SNAPSHOT", snapshot=None)), event("RUN_ERROR", message="late")]),
    (
        {},
        [
            *in_run(
                snapshot(
                    message("user", "new", [{"type": "text", "text": "x"}]),
                    message("assistant", "m", "again"),
                )
            ),
            *in_run(*text("p", "second")),
        ],
    ),
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
        node_client.run(
            agent=session.thread_id,
            threadId=session.thread_id,
            state={"mine": [1]},
            sse=frames(in_run()).decode(),
        )
        for number, (given, events) in enumerate(TURNS):
            turn = session.resume(**given) if given else session.send(f"turn {number}")
            fails = events[-1]["type"] == "RUN_ERROR"
            wanted = RunFailedError if fails else StreamTruncatedError
            if fails or events[-1]["type"] != "RUN_FINISHED":
                with pytest.raises(wanted):
                    reader.read(turn)
            else:
                reader.read(turn)
            twin.follow(agent.asked[-1].json, frames(events))
            twin.check()
            assert (
                AGUISession[Any].from_json(session.to_json(), agent.url).to_json()
                == session.to_json()
            )


def test_both_refuse_to_leave_an_interrupt_open(node_client: NodeClient) -> None:
    asking = [
        STARTED,
        {
            **FINISHED,
            "outcome": {
                "type": "interrupt",
                "interrupts": [{"id": "i", "reason": "x", "expiresAt": "2020-01-01"}],
            },
        },
    ]
    with server(recording(*asking)) as agent:
        session = AGUISession[Any](agent.url)
        for _ in session.send("x"):
            pass
        resolved = [{"interruptId": "i", "status": "resolved", "payload": 1}]
        node_client.run(agent=session.thread_id, sse=frames(asking).decode())
        for answers, resume in (({}, None), ({"i": 1}, resolved)):
            assert node_client.run(agent=session.thread_id, sse="", resume=resume).error
            with pytest.raises(AgentError):
                session.resume(answers)
        assert len(agent.asked) == 1
