"""Names of clients and models with line ends and terminal sequences: no log record, and no answer,
has them raw."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, StateOptions, agui_router
from langgraph_agui.nodes import emit_state
from tests.kit.processes.raw_http import Answer, ask
from tests.kit.processes.serving import Served, serving

EVIL = "evil\n\r\x1b[2J\u202e\x9b\u2028 ERROR root: forged " + "x" * 5_000


class State(MessagesState):
    value: str
    asked: bool


def fail(state: State) -> Any:
    """Emit, say and raise what a client or a model has made up."""
    emit_state({EVIL: 1})
    if state["messages"][-1].content == "fail":
        raise ValueError(state["messages"][-1].id)
    call = {"name": EVIL, "args": {EVIL: 1}, "id": EVIL}
    image = {"type": EVIL, "image": 1}
    return {
        "messages": [AIMessage([image, {"type": "text", "text": EVIL}], tool_calls=[call], id=EVIL)]
    }


def ask_or_fail(state: State) -> Any:
    if state["messages"][-1].content == "ask":
        interrupt({"question": EVIL})
    return fail(state)


def graph_of(node: Callable[[State], Any], saver: InMemorySaver | None = None) -> Any:
    builder = StateGraph(State)
    builder.add_node("answer", node)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    app = FastAPI()
    agent = LangGraphAgent(graph_of(ask_or_fail, InMemorySaver()))
    app.include_router(agui_router(agent, "/saved"))
    warned = LangGraphAgent(graph_of(fail), state=StateOptions(forbidden_change="ignore"))
    app.include_router(agui_router(warned, "/unsaved"))
    with serving(app) as served:
        yield served


def user(content: Any = "hello", message_id: str = EVIL) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": content}


def wire(**changes: Any) -> dict[str, Any]:
    return {
        "threadId": EVIL,
        "runId": EVIL,
        "protocolVersion": "1.0",
        "messages": [user()],
        **changes,
    }


CALL = {"id": EVIL, "type": "function", "function": {"name": EVIL, "arguments": "{"}}
IMAGE = {"type": "image", "source": {"type": "url", "value": f"http://{EVIL}"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": wire(),
    "fails": wire(messages=[user("fail")]),
    "unknown members": wire(**{EVIL: 1}, messages=[{**user(), EVIL: 1}, {**user(), "role": EVIL}]),
    "unknown parts": wire(
        messages=[user([{"type": EVIL}, {"type": "text", "text": "a", EVIL: 1}])]
    ),
    "old spelling": wire(
        messages=[{"id": EVIL, "role": "assistant", "content": [{"type": EVIL}]}, user()]
    ),
    "malformed": wire(messages=[{**user(), "content": {EVIL: EVIL}}]),
    "null": wire(messages=[{**user(), "name": None}], tools=[{"name": None}]),
    "calls": wire(
        messages=[{"id": EVIL, "role": "assistant", "toolCalls": [CALL]}, user(message_id="u")]
    ),
    "results": wire(
        messages=[{"id": f"{EVIL}t", "role": "tool", "toolCallId": EVIL, "content": "x"}, user()]
    ),
    "state": wire(state={EVIL: EVIL, "value": [EVIL]}),
    "state of the graph": wire(state={"asked": EVIL}),
    "tools": wire(tools=[{"name": EVIL, "description": EVIL, "parameters": {EVIL: EVIL}}]),
    "node": wire(forwardedProps={"nodeName": EVIL}),
    "answers": wire(resume=[{"interruptId": EVIL, "status": "resolved", "payload": EVIL}]),
    "cancels": wire(resume=[{"interruptId": EVIL, "status": "cancelled"}]),
    "media": wire(messages=[user([IMAGE])]),
    "values": wire(messages=[{**user(), "encryptedValue": EVIL}]),
    "version": wire(protocolVersion=EVIL),
    "zero": wire(threadId=f"\0{EVIL}"),
    "no messages": wire(messages=EVIL),
}


def check(answer: Answer) -> None:
    """What an error says is printable and short."""
    if answer.status != 200:
        said = [json.loads(answer.body)["detail"]]
    else:
        frames = [
            json.loads(line[5:]) for line in answer.body.splitlines() if line.startswith(b"data:")
        ]
        said = [frame["message"] for frame in frames if frame["type"] == "RUN_ERROR"]
    assert all(text.isprintable() and len(text) < 1_100 for text in said), said


@pytest.mark.parametrize("path", ["/saved", "/unsaved", "/saved/connect"])
def test_requests(path: str, served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "langgraph_agui"):
        for name, body in REQUESTS.items():
            check(
                ask(
                    served.port,
                    "POST",
                    path,
                    json.dumps({**body, "threadId": f"{body['threadId']}{name}"}).encode(),
                )
            )
    check_log(caplog, at_least=3)


def check_log(caplog: pytest.LogCaptureFixture, at_least: int) -> None:
    records = [record for record in caplog.records if record.name.startswith("langgraph_agui")]
    assert len(records) >= at_least
    for record in records:
        assert record.getMessage().isprintable(), record.getMessage()
        assert len(record.getMessage()) < 3_000


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
def test_approvals(status: str, served: Served, caplog: pytest.LogCaptureFixture) -> None:
    asked = {**wire(messages=[user("ask")]), "threadId": f"{EVIL}{status}"}
    answer = ask(served.port, "POST", "/saved", json.dumps(asked).encode())
    (last,) = [
        json.loads(line[5:]) for line in answer.body.splitlines() if b'"RUN_FINISHED"' in line
    ]
    (interrupt_id,) = (one["id"] for one in last["outcome"]["interrupts"])
    entry = {
        "interruptId": interrupt_id,
        "status": status,
        **({"payload": EVIL} if status == "resolved" else {}),
    }
    with caplog.at_level(logging.DEBUG, "langgraph_agui"):
        check(ask(served.port, "POST", "/saved", json.dumps({**asked, "resume": [entry]}).encode()))
    assert any("decisions" in record.name for record in caplog.records)
    check_log(caplog, at_least=1)
