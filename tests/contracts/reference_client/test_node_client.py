"""The test harness itself: the reference client against a real server, over several turns."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, call, in_run, message, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.processes.node_client import NodeClient


class Server(ThreadingHTTPServer):
    """Answers every request with the events that are due, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.events: list[Wire] = in_run()
        self.inputs: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.inputs.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(self.server.status)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for wire in self.server.events:
            self.wfile.write(f"data: {json.dumps(wire)}\n\n".encode())
            self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Keep the test output clean."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


def test_a_turn_sends_what_the_client_holds(server: Server, node_client: NodeClient) -> None:
    server.events = in_run(*text("m", "hello"))
    first = node_client.run(
        url=server.url,
        agent="turns",
        threadId="t",
        add=[message("user", "u1")],
        headers={"x-key": "1"},
    )
    assert [held["id"] for held in first.messages] == ["u1", "m"]
    server.events = in_run(*text("m2", "again"))
    second = node_client.run(
        url=server.url, agent="turns", add=[message("user", "u2")], tools=[], state={}
    )
    assert [held["id"] for held in second.messages] == ["u1", "m", "u2", "m2"]
    assert server.inputs[1]["messages"] == [*first.messages, message("user", "u2")]
    assert server.inputs[1] == second.input
    assert [given["threadId"] for given in server.inputs] == ["t", "t"]
    assert server.headers[0]["x-key"] == "1"
    node_client.drop("turns")
    assert node_client.run(url=server.url, agent="turns").messages == second.messages[-1:]
    node_client.drop("turns")


async def test_the_outcome_is_told(server: Server, node_client: NodeClient) -> None:
    server.events = [STARTED, *call(), FINISHED]
    pending = await node_client.arun(url=server.url)
    assert (pending.outcome, pending.pendingToolCallIds) == ("success", ["c"])
    interrupts = [{"id": "i", "reason": "r"}]
    server.events = [
        STARTED,
        {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}},
    ]
    interrupted = await node_client.arun(url=server.url, agent="paused")
    assert (interrupted.outcome, interrupted.openInterrupts) == ("interrupt", interrupts)
    unanswered = await node_client.arun(url=server.url, agent="paused")
    assert "not addressed by resume" in str(unanswered.error)
    server.events = [STARTED, {**FINISHED, "result": {"x": 1}}]
    answer = {"interruptId": "i", "status": "resolved", "payload": 1}
    resumed = await node_client.arun(url=server.url, agent="paused", resume=[answer])
    assert (resumed.result, resumed.openInterrupts) == ({"x": 1}, [])
    assert server.inputs[-1]["resume"] == [answer]
    node_client.drop("paused")
    server.events = [STARTED, ERROR]
    failed = await node_client.arun(url=server.url)
    assert failed.accepted
    assert failed.runError == {"message": "no", "code": None}


def test_a_refused_request_and_a_broken_stream_are_errors(
    server: Server, node_client: NodeClient
) -> None:
    server.status = 403
    refused = node_client.run(url=server.url)
    assert refused.status == 403
    server.status, server.events = 200, [STARTED, STARTED]
    broken = node_client.run(url=server.url)
    assert "run is still active" in str(broken.error)
    assert any("Agent execution failed" in line for line in broken.warnings)


def test_a_run_can_be_aborted(server: Server, node_client: NodeClient) -> None:
    server.events = [STARTED, *text("m", *["x" * 1000] * 5000), FINISHED]
    aborted = node_client.run(url=server.url, abortAfterEvents=3)
    assert aborted.accepted
    assert aborted.runError is not None
    assert aborted.runError["code"] == "abort"
    assert "RUN_FINISHED" not in aborted.events
