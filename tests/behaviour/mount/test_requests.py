"""Which requests are served, and what the others are told, before anything runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import BaseMessage

from langgraph_agui import InputLimits, RunLimits, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask
from tests.kit.processes.serving import Served, serving, wait_for
from tests.kit.run.agents import RecordedRun

LIMIT = 100_000
RUNS: list[list[BaseMessage]] = []
"""The messages that reached the graph, one list per run."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    async def hear(state: Chat) -> Any:
        RUNS.append(list(state["messages"]))
        return {"messages": [("ai", "heard")]}

    app, limits = FastAPI(), RunLimits(input=InputLimits(max_bytes=LIMIT))
    app.include_router(agui_router(agent_of(hear, limits=limits), "/agent"))
    with serving(app) as served:
        yield served


@pytest.fixture(autouse=True)
def forget() -> None:
    RUNS.clear()


def wire(**changes: Any) -> dict[str, Any]:
    """An input as the reference client sends it; a change to None takes the member away."""
    ids = {"threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    said = [{"id": "u1", "role": "user", "content": "hello"}]
    given = {**ids, "state": {}, "messages": said, "tools": [], "context": [], "forwardedProps": {}}
    return {key: value for key, value in {**given, **changes}.items() if value is not None}


def post(served: Served, body: object, headers: Any = JSON) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(served.port, "POST", "/agent", data, headers)


def check_refused(answer: Answer, status: int) -> str:
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert (RUNS, answer.json["detail"] != "") == ([], True)
    return str(answer.json["detail"])


def check_served(answer: Answer, given: dict[str, Any]) -> RecordedRun:
    assert answer.status == 200, answer.body
    recorded = RecordedRun(list(decode([answer.body])), parse_input(given))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert (recorded.last.thread_id, recorded.last.run_id) == (given["threadId"], given["runId"])
    assert recorded.messages[-1].content == "heard"
    assert recorded.events[0].protocol_version == "1.0"  # type: ignore[union-attr]
    return recorded


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}
NAN = [json.dumps(wire(state={"x": float(one)})).encode() for one in ("nan", "-inf")]
NOT_JSON = [b"", b"hello", json.dumps(wire()).encode()[:-1], b"{}{}", b'{"threadId":"\xff"}', *NAN]
KINDS = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
MALFORMED: list[tuple[dict[str, Any], str]] = [
    *(({"threadId": None}, "threadId"), ({"runId": 7}, "runId"), ({"tools": {}}, "tools")),
    *(({"messages": {}}, "messages"), ({"messages": ["hello"]}, "messages/0")),
    ({"messages": [{"id": "1", "role": "user"}]}, "content"),
    ({"messages": [{"id": "1", "role": "assistant", "toolCalls": [CALL]}]}, "arguments"),
    ({"context": [{"description": "x", "value": {}}]}, "value"),
    ({"resume": [{"interruptId": "1", "status": "maybe"}]}, "status"),
    ({"protocolVersion": 1.0}, "protocolVersion"),
    # another major version; what else it says may be of a shape that only it knows
    *(
        ({"protocolVersion": one, "messages": {"are": "different"}}, "1.0")
        for one in ("2.0", "0.9")
    ),
]


@pytest.mark.parametrize(
    ("body", "kind", "status", "says"),
    [
        *((body, "application/json", 400, "The body is not JSON.") for body in NOT_JSON),
        *((body, "application/json", 422, "object") for body in ([], [wire()], "input", 1, None)),
        *((wire(**changes), "application/json", 422, place) for changes, place in MALFORMED),
        # content types that browsers send across sites
        *((wire(), kind, 415, "application/json") for kind in KINDS),
    ],
)
def test_what_is_refused(
    body: Any, kind: str | None, status: int, says: str, served: Served
) -> None:
    answer = post(served, body, {"content-type": kind} if kind else {})
    assert says in check_refused(answer, status)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_by_another_spelling(kind: str, served: Served) -> None:
    headers = {"content-type": kind, "accept": "text/event-stream"}
    check_served(post(served, wire(), headers), wire())


def test_large_bodies(served: Served) -> None:
    """With a length, and in pieces without one."""
    body = json.dumps(wire()).encode()
    large = body + b" " * (LIMIT + 1 - len(body))
    assert str(LIMIT) in check_refused(post(served, large), 413)
    with Connection(served.port) as connection:
        connection.send_chunked("/agent", [large[:60_000], large[60_000:]])
        check_refused(connection.answer(), 413)
    check_served(post(served, large[:-1]), wire())
    with Connection(served.port) as connection:
        connection.send_chunked("/agent", [body[at : at + 7] for at in range(0, len(body), 7)])
        check_served(connection.answer(), wire())


def test_a_client_that_leaves_while_it_sends(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(served.port) as connection:
        connection.send_part("/agent", b'{"threadId":', 1000)
        wait_for(served.tasks, "the request has begun")
    served.wait_idle()
    assert not RUNS
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


BARE = {"threadId": "t", "runId": "r"}
PARTS = [{"type": "hologram", "source": {}}, {"type": "text", "text": "hello", "font": "serif"}]
UNKNOWN = [
    {"id": "p", "role": "prophet", "content": "I foresee"},
    {"id": "u1", "role": "user", "mood": "curious", "content": PARTS},
    {"id": "a", "role": "activity", "activityType": "x", "content": {"deep": [1, None]}},
    {"id": "s", "role": "system", "content": "You are a pirate."},
]
HALF = [{"id": "u1", "role": "user", "content": "half \ud83c"}]


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        pytest.param(BARE, [], id="nothing"),
        pytest.param({**wire(), "state": None}, ["hello"], id="null"),
        pytest.param(wire(novelty={"any": "thing"}, messages=UNKNOWN), ["hello"], id="unknown"),
        pytest.param(wire(messages=HALF), ["half \ufffd"], id="half an emoji"),
        *((wire(protocolVersion=one), ["hello"]) for one in (None, "1.1", "1.99", "1", "new")),
    ],
)
def test_what_is_served(given: dict[str, Any], heard: list[str], served: Served) -> None:
    check_served(post(served, given), given)
    assert [[message.text for message in run] for run in RUNS] == [heard]
