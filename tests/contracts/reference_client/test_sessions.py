"""Conversations beside the reference client: after each turn both hold the same, and both would
send the same."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from langgraph_agui.client import AgentError, AGUISession, RunFailedError, StreamTruncatedError
from langgraph_agui.protocol import to_jsonable
from tests.kit.expect.agreement import canonical
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.scripted_servers import frames, recording, server
from tests.kit.run.wire_events import (
    ERROR,
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
        again = AGUISession[Any].from_json(session.to_json(), "http://127.0.0.1")
        assert again.to_json() == session.to_json()


def asking(**fields: Any) -> Wire:
    return ended("interrupt", interrupts=[{"id": "i1", "reason": "x", **fields}])


ACTIVITY = {"messageId": "act", "activityType": "plan"}
STEP, ADDED = ({"op": "add", "path": path, "value": 2} for path in ("/steps/-", "/a/c"))
NEW = [message("user", "new", [{"type": "text", "text": "x"}]), message("assistant", "m", "again")]
SNAPSHOT, NOTHING = (event("STATE_SNAPSHOT", snapshot=one) for one in ({"a": {"b": 1.5}}, None))
PLAN = activity("act", activityType="plan", content={"steps": [1]})
# What is sent, and what the agent says to it.
TURNS: list[tuple[dict[str, Any], list[Wire]]] = [
    ({}, in_run(*reasoning("q", "hm"), encrypted("q"))),
    ({}, in_run(PLAN, event("ACTIVITY_DELTA", **ACTIVITY, patch=[STEP]))),
    ({}, in_run(SNAPSHOT, state_delta(ADDED))),
    ({}, in_run(*called("c", "{}"), encrypted("c", "tool-call"))),
    ({}, [STARTED, *called("c2", '{"x": 1}'), ended("cancelled")]),
    ({}, [STARTED, *text("m", "ask", metadata={"k": None}), asking()]),
    ({"answers": {"i1": {"approved": False}}}, [STARTED, *text("n", "no"), ERROR]),
    ({"answers": {"i1": None}}, [STARTED, *text("o", "half")[:2]]),
    ({"answers": {}, "cancel": ["i1"]}, in_run(*text("o", " more"))),
    ({}, [*in_run(NOTHING), ERROR]),
    ({}, [*in_run(snapshot(*NEW)), *in_run(*text("p", "second"))]),
    ({}, in_run(*text("s", "sub", subagentRunId="subagent"), *text("t", "more"))),
]


def test_a_conversation_event_by_event(node_client: NodeClient) -> None:
    with server(*(recording(*events) for _, events in TURNS)) as agent:
        session = AGUISession[Any](agent.url, state={"mine": [1]})
        twin = Twin(node_client, session)
        key = session.thread_id
        empty = frames(in_run()).decode()
        node_client.run(agent=key, threadId=key, state=session.state, sse=empty)
        for number, (given, events) in enumerate(TURNS):
            turn = session.resume(**given) if given else session.send(f"turn {number}")
            failed = {"RUN_ERROR": RunFailedError, "TEXT_MESSAGE_CONTENT": StreamTruncatedError}
            error = failed.get(events[-1]["type"])
            with pytest.raises(error) if error else nullcontext():
                list(turn)
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
