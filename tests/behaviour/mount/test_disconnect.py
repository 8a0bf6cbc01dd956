"""Clients that leave a stream over a real socket: the work they asked for stops, or (if so told)
goes on unread."""

from __future__ import annotations

import json
import logging
import random
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from starlette.types import Message, Receive, Scope, Send

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.graphs import Graph
from tests.kit.deep import deep, together
from tests.kit.graphs.small import scripted_agent
from tests.kit.models.cases import BY_ID
from tests.kit.models.endless import SHAPES, Talker, flat, synchronous
from tests.kit.models.reading import case_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import Served, serving, wait_for
from tests.kit.run.agents import run_input
from tests.kit.waiting import PATIENCE, eventually

AT_ONCE = 10.0
"""Seconds in which a run that was left has stopped, however busy the machine is; else it goes on
for 15 minutes."""


def app_of(graph: Graph, **options: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(LangGraphAgent(graph=graph, **options), "/agent"))
    return app


def open_stream(served: Served, *, thread: str | None = None) -> Connection:
    connection = Connection(served.port)
    connection.send("POST", "/agent", body_of(run_input("go", thread=thread)))
    assert connection.head()[0] == 200
    return connection


def read_until(connection: Connection, mark: bytes) -> None:
    seen = b""
    for piece in connection.pieces():
        seen += piece
        if mark in seen:
            return
    raise AssertionError(f"{mark!r} is not in {seen!r}")


def check_stopped(model: Talker, served: Served, left: float, produced: int) -> None:
    assert model.meter.ended.wait(AT_ONCE), "the model still talks"
    assert time.monotonic() - left < AT_ONCE
    assert model.meter.produced - produced <= AT_ONCE / model.pause
    served.wait_idle()
    quiet = model.meter.produced
    assert ask(served.port, "GET", "/agent/health").status == 200
    assert model.meter.produced == quiet


LEAVE: dict[str, Callable[[Connection], None]] = {
    "closed": Connection.leave,
    "reset": Connection.vanish,
}


@together(
    pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE),
    pytest.mark.parametrize("shape", SHAPES),
)
def test_a_model_that_talks_is_stopped(
    shape: str, leave: Callable[[Connection], None], caplog: pytest.LogCaptureFixture
) -> None:
    model = Talker()
    with serving(app_of(SHAPES[shape](model))) as served:
        connection = open_stream(served)
        read_until(connection, b"word3")
        produced, left = model.meter.produced, time.monotonic()
        leave(connection)
        check_stopped(model, served, left, produced)
    noise = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    # Only an exception out of a callback stops a model in a thread; LangChain logs it.
    assert [
        line for line in noise if shape != "synchronous" or "on_llm_new_token" not in line
    ] == []


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "synchronous"])
def test_a_model_that_thinks_in_silence_is_stopped(shape: str) -> None:
    model = Talker(words=0, silent=True)
    with serving(app_of(SHAPES[shape](model))) as served:
        connection = open_stream(served)
        assert model.meter.begun.wait(PATIENCE)
        left = time.monotonic()
        connection.leave()
        check_stopped(model, served, left, 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_client_aborts(shape: str, node_client: NodeClient) -> None:
    model = Talker()
    with serving(app_of(SHAPES[shape](model))) as served:
        run = node_client.run(
            url=served.url("/agent"),
            messages=[{"id": "1", "role": "user", "content": "go"}],
            abortAfterEvents=12,
        )
        left = time.monotonic()
        assert run.error is None
        assert run.runError is not None
        assert run.runError["code"] == "abort"
        check_stopped(model, served, left, model.meter.produced)


def test_the_reference_client_aborts_in_silence(node_client: NodeClient) -> None:
    model = Talker(words=0, silent=True)
    with serving(app_of(flat(model))) as served:
        node_client.run(
            url=served.url("/agent"),
            messages=[{"id": "1", "role": "user", "content": "go"}],
            abortAfterEvents=1,
        )
        served.wait_idle(AT_ONCE)


def test_leaving_is_noticed_behind_middleware() -> None:
    """`@app.middleware("http")` wraps what an endpoint hears from its client."""
    model = Talker(words=0, silent=True)
    app = app_of(flat(model))

    @app.middleware("http")
    async def passing(request: Request, proceed: Callable[[Request], Any]) -> Response:
        response: Response = await proceed(request)
        return response

    with serving(app) as served:
        connection = open_stream(served)
        assert model.meter.begun.wait(PATIENCE)
        left = time.monotonic()
        connection.leave()
        check_stopped(model, served, left, 0)


@deep
@pytest.mark.parametrize(
    "case_id",
    [
        "anthropic-thinking-text",
        "openai-summary-parts",
        pytest.param("google-signature-on-thought", marks=deep),
        pytest.param("mistral-thinking-text", marks=deep),
        pytest.param("ollama-thinking-text", marks=deep),
        pytest.param("deepseek-thinking-text", marks=deep),
        "openrouter-thinking-text",
    ],
)
def test_the_provider_sees_its_client_leave(case_id: str, provider_server: ProviderServer) -> None:
    case = BY_ID[case_id]
    provider_server.script(case.provider, Reply(case.turns[0], hold_after=5))
    with serving(app_of(create_agent(case_model(case, provider_server), []))) as served:
        connection = open_stream(served)
        wait_for(lambda: provider_server.requests, "the provider was asked")
        assert provider_server.requests[0].held.wait(PATIENCE)
        # Packages let go of the provider only while they wait for more.
        read_until(connection, b"REASONING_MESSAGE_CONTENT")
        time.sleep(0.5)
        connection.leave()
        assert provider_server.requests[0].finished.wait(PATIENCE), "the provider still talks"
        served.wait_idle()
    assert provider_server.disconnects == 1


@pytest.mark.parametrize(
    "shape",
    [
        name if name in ("nested", "synchronous") else pytest.param(name, marks=deep)
        for name in SHAPES
    ],
)
def test_a_run_may_go_on_unread(shape: str) -> None:
    model = Talker(words=60)
    graph = SHAPES[shape](model, InMemorySaver())
    with serving(app_of(graph, on_disconnect="continue")) as served:
        connection = open_stream(served, thread="unread")
        read_until(connection, b"word3")
        connection.leave()
        served.wait_idle()
        assert model.meter.produced == 60
        state = graph.get_state({"configurable": {"thread_id": "unread"}})
        assert state.next == ()
        assert any("word59" in message.text for message in state.values["messages"])
        answer = ask(served.port, "POST", "/agent", body_of(run_input(thread="unread")))
        assert b"word59" in answer.body


@deep
@pytest.mark.parametrize("mode", ["cancel", "continue"])
def test_many_clients_leave_at_random_points(
    mode: Literal["cancel", "continue"], caplog: pytest.LogCaptureFixture
) -> None:
    source = random.Random(11)
    graphs = [shape(Talker(words=40, pause=0.002), InMemorySaver()) for shape in SHAPES.values()]
    app = FastAPI()
    for number, graph in enumerate(graphs):
        app.include_router(
            agui_router(LangGraphAgent(graph=graph, on_disconnect=mode), f"/agent-{number}")
        )

    def visit(number: int, amount: int, leave: Callable[[Connection], None]) -> None:
        with Connection(served.port) as connection:
            connection.send(
                "POST",
                f"/agent-{number % len(graphs)}",
                body_of(run_input("go", thread=str(number))),
            )
            size = 0
            if amount > 0:
                connection.head()
                for piece in connection.pieces():
                    size += len(piece)
                    if size > amount:
                        break
            leave(connection)

    caplog.set_level(logging.WARNING)
    with warnings.catch_warnings(record=True) as caught, serving(app) as served:
        warnings.simplefilter("always")
        leaves = list(LEAVE.values())
        with ThreadPoolExecutor(50) as pool:
            visits = [
                pool.submit(visit, number, source.randrange(-300, 6000), source.choice(leaves))
                for number in range(50)
            ]
        for done in visits:
            done.result()
        served.wait_idle()
    noise = [str(warning.message) for warning in caught] + [
        record.getMessage() for record in caplog.records
    ]
    assert not [line for line in noise if "never" in line]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_thread_that_was_left_can_go_on() -> None:
    """What was running when its client left does not spoil the thread."""
    model = Talker(words=30)
    graph = synchronous(model, InMemorySaver())
    with serving(app_of(graph)) as served:
        connection = open_stream(served, thread="left")
        read_until(connection, b"word3")
        connection.leave()
        served.wait_idle()
        answer = ask(served.port, "POST", "/agent", body_of(run_input("again", thread="left")))
    last = json.loads(answer.body.removesuffix(b"\n\n").rpartition(b"data: ")[2])
    assert last["type"] == "RUN_FINISHED"
    assert b"word29" in answer.body


@pytest.mark.parametrize("mode", ["cancel", "continue"])
def test_a_server_that_stops_takes_its_runs_along(mode: Literal["cancel", "continue"]) -> None:
    model = Talker(words=0, silent=True)
    with serving(app_of(flat(model), on_disconnect=mode)) as served:
        connection = open_stream(served)
        assert model.meter.begun.wait(PATIENCE)
    assert model.meter.ended.is_set()
    connection.leave()


async def test_a_client_that_is_gone_before_the_first_byte() -> None:
    agent = scripted_agent(["first", 60.0, "never"])
    app = FastAPI()
    app.include_router(agui_router(agent))

    async def gone(scope: Scope, receive: Receive, send: Send) -> None:
        async def broken(message: Message) -> None:
            if message["type"] == "http.response.body":
                raise OSError("gone")
            await send(message)

        with suppress(OSError):
            await app(scope, receive, broken)
        await send({"type": "http.response.body", "body": b""})

    body = run_input("go").model_dump(mode="json", by_alias=True, exclude_none=True)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(gone)) as client:
        # so that the answer begins with a comment
        await client.post("http://agent/", json={**body, "unknown": True})
    await eventually(lambda: not agent._running, "the run ends")
