"""Names of clients and models with line ends and terminal sequences: no log record, and no answer,
has them raw."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, StateOptions, agui_router
from langgraph_agui.nodes import emit_state
from tests.faults.hostile.requests import caller, post, resolved, tool, user, wire
from tests.kit.graphs.small import Chat, agent_of, chain_of
from tests.kit.processes.serving import Served, serving

EVIL = "evil\n\r\x1b[2J\u202e\x9b\u2028 ERROR root: forged " + "x" * 5_000


class State(Chat):
    value: str
    asked: bool


def ask(state: State) -> Any:
    if state["messages"][-1].content == "ask":
        interrupt({"question": EVIL})


def answer(state: State) -> Any:
    """Emit, say and raise what a client or a model has made up."""
    last = state["messages"][-1]
    emit_state({EVIL: 1})
    if last.content == "fail":
        raise ValueError(last.id)
    call = {"name": EVIL, "args": {EVIL: 1}, "id": EVIL}
    content: Any = [{"type": EVIL, "image": 1}, {"type": "text", "text": EVIL}]
    return {"messages": [AIMessage(content, tool_calls=[call], id=EVIL)]}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    app, warns = FastAPI(), StateOptions(forbidden_change="ignore")
    saved = agent_of(ask, answer, state=State, checkpointer=InMemorySaver())
    unsaved = LangGraphAgent(chain_of(answer, state=State), state=warns)
    app.include_router(agui_router(saved, "/saved"))
    app.include_router(agui_router(unsaved, "/unsaved"))
    with serving(app) as served:
        yield served


def evil(content: Any = "hello", **fields: Any) -> dict[str, Any]:
    return user(content, EVIL, **fields)


def sent(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return wire(*(messages or [evil()]), **{"threadId": EVIL, "runId": EVIL, **changes})


IMAGE = {"type": "image", "source": {"type": "url", "value": f"http://{EVIL}"}}
TEXT = {"type": "text", "text": "a", EVIL: 1}
RESULT = {"id": f"{EVIL}t", "role": "tool", "toolCallId": EVIL, "content": "x"}
OLD = {"id": EVIL, "role": "assistant", "content": [{"type": EVIL}]}
REQUESTS: list[dict[str, Any]] = [
    sent(),
    sent(evil("fail")),
    sent(evil(**{EVIL: 1}), {**evil(), "role": EVIL}, **{EVIL: 1}),
    sent(evil([{"type": EVIL}, TEXT])),
    sent(OLD, evil()),
    sent(evil({EVIL: EVIL})),
    sent(evil(name=None), tools=[{"name": None}]),
    sent(caller(EVIL, name=EVIL, arguments="{", id_=EVIL), user()),
    sent(RESULT, evil()),
    sent(state={EVIL: EVIL, "value": [EVIL]}),
    sent(state={"asked": EVIL}),
    sent(tools=[tool(EVIL, EVIL, **{EVIL: EVIL})]),
    sent(forwardedProps={"nodeName": EVIL}),
    sent(resume=[resolved(EVIL, EVIL)]),
    sent(resume=[{"interruptId": EVIL, "status": "cancelled"}]),
    sent(evil([IMAGE])),
    sent(evil(encryptedValue=EVIL)),
    sent(protocolVersion=EVIL),
    sent(threadId=f"\0{EVIL}"),
    sent(messages=EVIL),
]


def check(served: Served, path: str, body: dict[str, Any]) -> list[Any]:
    """What an error says is printable and short."""
    answer = post(served, path, body)
    if answer.status != 200:
        events, said = [], [answer.json["detail"]]
    else:
        lines = [line[5:] for line in answer.body.splitlines() if line.startswith(b"data:")]
        events = [json.loads(line) for line in lines]
        said = [one["message"] for one in events if one["type"] == "RUN_ERROR"]
    assert [text for text in said if not text.isprintable() or len(text) >= 1_100] == []
    return events


def check_log(caplog: pytest.LogCaptureFixture, *names: str) -> None:
    records = [record for record in caplog.records if record.name.startswith("langgraph_agui")]
    assert {record.name.rpartition(".")[2] for record in records} >= {*names}
    said = [record.getMessage() for record in records]
    assert [text for text in said if not text.isprintable() or len(text) >= 3_000] == []


@pytest.mark.parametrize("path", ["/saved", "/unsaved"])
def test_requests(path: str, served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "langgraph_agui"):
        for number, body in enumerate(REQUESTS):
            check(served, path, {**body, "threadId": f"{body['threadId']}{number}"})
        check(served, f"{path}/connect", sent())
    check_log(caplog, "schema", "to_langchain")


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
def test_approvals(status: str, served: Served, caplog: pytest.LogCaptureFixture) -> None:
    asked = sent(evil("ask"), threadId=f"{EVIL}{status}")
    [question] = check(served, "/saved", asked)[-1]["outcome"]["interrupts"]
    entry = {**resolved(question["id"], EVIL), "status": status}
    if status == "cancelled":
        del entry["payload"]
    with caplog.at_level(logging.DEBUG, "langgraph_agui"):
        check(served, "/saved", {**asked, "resume": [entry]})
    check_log(caplog, "decisions")
