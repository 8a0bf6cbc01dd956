"""Which requests are served, and what the others are told, before anything runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import InputLimits, LangGraphAgent, RunLimits, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.protocol.schema import parse_input
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask
from tests.kit.processes.serving import Served, serving, wait_for
from tests.kit.run.agents import RecordedRun

LIMIT = 100_000
IMAGE = "iVBORw0KGgo="


class ReceivedEvents:
    """The messages that reached the graph, one list per run."""

    def __init__(self) -> None:
        self.runs: list[list[BaseMessage]] = []

    def agent(self) -> LangGraphAgent:
        async def receive_event(state: MessagesState) -> Any:
            self.runs.append(list(state["messages"]))
            return {"messages": [("ai", "heard")]}

        builder = StateGraph(MessagesState)
        builder.add_node("hear", receive_event)
        builder.add_edge(START, "hear")
        builder.add_edge("hear", END)
        limits = RunLimits(input=InputLimits(max_bytes=LIMIT))
        return LangGraphAgent(graph=builder.compile(), limits=limits)


@pytest.fixture(scope="module")
def received() -> ReceivedEvents:
    return ReceivedEvents()


@pytest.fixture(scope="module")
def served(received: ReceivedEvents) -> Iterator[Served]:
    app = FastAPI()
    app.include_router(agui_router(received.agent(), "/agent"))
    with serving(app) as served:
        yield served


@pytest.fixture(autouse=True)
def forget(received: ReceivedEvents) -> None:
    received.runs.clear()


def wire(**changes: Any) -> dict[str, Any]:
    """An input as the reference client sends it; a change to None takes the member away."""
    given = {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "state": {},
        "messages": [{"id": "u1", "role": "user", "content": "hello"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    return {key: value for key, value in {**given, **changes}.items() if value is not None}


def post(served: Served, body: object) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(served.port, "POST", "/agent", data)


def check_refused(answer: Answer, status: int, received: ReceivedEvents) -> str:
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert received.runs == []
    detail = answer.json["detail"]
    assert isinstance(detail, str)
    assert detail
    return detail


def check_served(answer: Answer, given: dict[str, Any]) -> RecordedRun:
    assert answer.status == 200, answer.body
    recorded = RecordedRun(list(decode([answer.body])), parse_input(given))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert (recorded.last.thread_id, recorded.last.run_id) == (given["threadId"], given["runId"])
    assert recorded.messages[-1].content == "heard"
    return recorded


NOT_JSON = {
    "nothing": b"",
    "words": b"hello",
    "cut": json.dumps(wire()).encode()[:-1],
    "two": b"{}{}",
    "not-utf8": b'{"threadId": "\xff\xfe"}',
    "nan": json.dumps(wire(state={"x": float("nan")})).encode(),
    "infinity": json.dumps(wire(state={"x": float("-inf")})).encode(),
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json(body: bytes, served: Served, received: ReceivedEvents) -> None:
    assert check_refused(post(served, body), 400, received) == "The body is not JSON."


@pytest.mark.parametrize("value", [[], [wire()], "input", 1, None, True])
def test_what_is_not_an_object(value: object, served: Served, received: ReceivedEvents) -> None:
    assert "object" in check_refused(post(served, json.dumps(value).encode()), 422, received)


MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "no-thread": ({"threadId": None}, "threadId"),
    "no-run": ({"runId": None}, "runId"),
    "thread-number": ({"threadId": 7}, "threadId"),
    "messages-object": ({"messages": {}}, "messages"),
    "messages-text": ({"messages": "hello"}, "messages"),
    "message-text": ({"messages": ["hello"]}, "messages/0"),
    "message-without-id": ({"messages": [{"role": "user", "content": "x"}]}, "id"),
    "content-number": ({"messages": [{"id": "1", "role": "user", "content": 3}]}, "content"),
    "content-missing": ({"messages": [{"id": "1", "role": "user"}]}, "content"),
    "arguments-object": (
        {
            "messages": [
                {
                    "id": "1",
                    "role": "assistant",
                    "toolCalls": [
                        {"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}
                    ],
                }
            ]
        },
        "arguments",
    ),
    "tool-without-name": ({"tools": [{"description": "x", "parameters": {}}]}, "name"),
    "tools-object": ({"tools": {}}, "tools"),
    "context-value-object": ({"context": [{"description": "x", "value": {}}]}, "value"),
    "resume-object": ({"resume": {}}, "resume"),
    "resume-status": ({"resume": [{"interruptId": "1", "status": "maybe"}]}, "status"),
    "version-number": ({"protocolVersion": 1.0}, "protocolVersion"),
}


@pytest.mark.parametrize(("changes", "place"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_input_is_refused_with_the_place(
    changes: dict[str, Any], place: str, served: Served, received: ReceivedEvents
) -> None:
    assert place in check_refused(post(served, wire(**changes)), 422, received)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_other_content_types(kind: str | None, served: Served, received: ReceivedEvents) -> None:
    """Browsers send these across sites without asking."""
    headers = {"content-type": kind} if kind else {}
    check_refused(
        ask(served.port, "POST", "/agent", json.dumps(wire()).encode(), headers), 415, received
    )


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_by_another_spelling(kind: str, served: Served) -> None:
    check_served(
        ask(served.port, "POST", "/agent", json.dumps(wire()).encode(), {"content-type": kind}),
        wire(),
    )


def padded(size: int) -> bytes:
    body = json.dumps(wire()).encode()
    return body + b" " * (size - len(body))


def test_too_large(served: Served, received: ReceivedEvents) -> None:
    check_served(post(served, padded(LIMIT)), wire())
    received.runs.clear()
    assert str(LIMIT) in check_refused(post(served, padded(LIMIT + 1)), 413, received)


def test_too_large_without_a_length(served: Served, received: ReceivedEvents) -> None:
    body = padded(LIMIT + 1)
    with Connection(served.port) as connection:
        connection.send_chunked("/agent", [body[:60_000], body[60_000:]])
        check_refused(connection.answer(), 413, received)


def test_in_pieces_without_a_length(served: Served) -> None:
    body = json.dumps(wire()).encode()
    with Connection(served.port) as connection:
        connection.send_chunked("/agent", [body[at : at + 7] for at in range(0, len(body), 7)])
        check_served(connection.answer(), wire())


def test_a_client_that_leaves_while_it_sends(
    served: Served, received: ReceivedEvents, caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(served.port) as connection:
        connection.send_part("/agent", b'{"threadId":', 1000)
        wait_for(served.tasks, "the request has begun")
    served.wait_idle()
    assert received.runs == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_absent_members_mean_nothing(served: Served, received: ReceivedEvents) -> None:
    given = wire(tools=None, context=None, state=None, forwardedProps=None, protocolVersion=None)
    check_served(post(served, given), given)
    assert [message.content for message in received.runs[0]] == ["hello"]
    bare = {"threadId": "t", "runId": "r"}
    check_served(post(served, bare), bare)
    assert received.runs[1] == []


def test_null_state_is_no_state(served: Served) -> None:
    given = {**wire(), "state": None}
    check_served(post(served, given), given)


def test_unknown_material_is_passed_over(served: Served, received: ReceivedEvents) -> None:
    given = wire(
        novelty={"any": "thing"},
        messages=[
            {"id": "p", "role": "prophet", "content": "I foresee"},
            {
                "id": "u1",
                "role": "user",
                "mood": "curious",
                "content": [
                    {"type": "hologram", "source": {}},
                    {"type": "text", "text": "hello", "font": "serif"},
                ],
            },
            {"id": "a", "role": "activity", "activityType": "x", "content": {"deep": [1, None]}},
            {"id": "s", "role": "system", "content": "You are a pirate."},
        ],
    )
    check_served(post(served, given), given)
    assert [message.text for message in received.runs[0]] == ["hello"]


def test_binary_parts_from_before_1_0(served: Served, received: ReceivedEvents) -> None:
    given = wire(
        messages=[
            {
                "id": "u1",
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "binary", "mimeType": "image/png", "data": IMAGE, "filename": "a.png"},
                    {
                        "type": "binary",
                        "mimeType": "application/pdf",
                        "url": "https://example.com/a.pdf",
                    },
                    {"type": "binary", "mimeType": "image/png", "id": "file-1"},
                ],
            }
        ]
    )
    check_served(post(served, given), given)
    blocks = received.runs[0][0].content_blocks
    assert [block["type"] for block in blocks] == ["text", "image", "file"]
    assert IMAGE in str(blocks[1])


@pytest.mark.parametrize("depth", [100, 400, 700, 850, 950, 2000, 9000])
def test_deep_state_is_served_or_refused_but_never_cut(depth: int, served: Served) -> None:
    body = json.dumps(wire()).replace(
        '"state": {}', '"state": {"deep": ' + "[" * depth + "]" * depth + "}"
    )
    answer = post(served, body.encode())
    if answer.status == 200:
        assert list(decode([answer.body]))[-1].type.value in ("RUN_FINISHED", "RUN_ERROR")
    else:
        assert answer.status in (400, 422)
        assert answer.json["detail"]


def test_half_an_emoji_does_not_break_the_stream(served: Served) -> None:
    given = wire(messages=[{"id": "u1", "role": "user", "content": "half \ud83c"}])
    answer = post(served, given)
    assert answer.status == 200
    assert list(decode([answer.body]))[-1].type.value == "RUN_FINISHED"


@pytest.mark.parametrize("version", [None, "1.0", "1.1", "1.99", "1", "1.0.0", "new"])
def test_versions_that_are_served(version: str | None, served: Served) -> None:
    given = wire(protocolVersion=version)
    recorded = check_served(post(served, given), given)
    assert recorded.events[0].protocol_version == "1.0"  # type: ignore[union-attr]


@pytest.mark.parametrize("version", ["2.0", "10.0", "0.9"])
def test_another_major_is_refused(version: str, served: Served, received: ReceivedEvents) -> None:
    assert "1.0" in check_refused(post(served, wire(protocolVersion=version)), 422, received)
    # What else it says may be of a shape that only the other major knows.
    unheard_of = {"protocolVersion": version, "messages": {"are": "different"}}
    assert "1.0" in check_refused(post(served, unheard_of), 422, received)


def test_headers_of_the_reference_client(served: Served) -> None:
    headers = {**JSON, "accept": "text/event-stream"}
    check_served(ask(served.port, "POST", "/agent", json.dumps(wire()).encode(), headers), wire())
