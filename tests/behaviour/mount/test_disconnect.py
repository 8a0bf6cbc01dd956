"""Clients that leave a stream over a real socket: the work they asked for stops, or (if so told)
goes on unread."""

from __future__ import annotations

import logging
import random
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from starlette.types import Message, Receive, Scope, Send

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.graphs import Graph
from tests.kit.deep import deep
from tests.kit.graphs.small import scripted_agent
from tests.kit.models.cases import BY_ID
from tests.kit.models.endless import SHAPES, Talker, flat
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import run_input
from tests.kit.waiting import PATIENCE, eventually

AT_ONCE = 10.0
"""Seconds in which a run that was left has stopped, however busy the machine is; else it goes on
for 15 minutes."""
LEAVES = (Connection.leave, Connection.vanish)


def app_of(*graphs: Graph, **options: Any) -> FastAPI:
    app = FastAPI()
    for number, graph in enumerate(graphs):
        app.include_router(agui_router(LangGraphAgent(graph, **options), f"/agent{number or ''}"))
    return app


def open_stream(served: Served, mark: bytes) -> Connection:
    """Begin a run, and read until the mark."""
    connection, seen = Connection(served.port), b""
    connection.send("POST", "/agent", body_of(run_input("go")))
    assert connection.head()[0] == 200
    pieces = connection.pieces()
    while mark not in seen:
        seen += next(pieces)
    return connection


def check_stopped(model: Talker, served: Served, left: float, produced: int) -> None:
    assert model.meter.ended.wait(AT_ONCE), "the model still talks"
    assert time.monotonic() - left < AT_ONCE
    assert model.meter.produced - produced <= AT_ONCE / model.pause
    served.wait_idle()
    quiet = model.meter.produced
    assert ask(served.port, "GET", "/agent/health").status == 200
    assert model.meter.produced == quiet


@pytest.mark.parametrize(
    ("shape", "leave", "silent", "behind"),
    [
        ("flat", Connection.leave, False, False),
        ("synchronous", Connection.vanish, False, False),
        ("nested", Connection.vanish, False, False),
        ("subgraph", Connection.leave, True, False),
        ("in-tool", Connection.leave, True, False),
        pytest.param("flat", Connection.leave, True, True, id="behind middleware"),
    ],
)
def test_a_model_is_stopped(
    shape: str, leave: Any, silent: bool, behind: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = Talker(words=0, silent=True) if silent else Talker()
    app = app_of(SHAPES[shape](model))
    if behind:

        @app.middleware("http")
        async def passing(request: Request, proceed: Callable[[Request], Any]) -> Response:
            response: Response = await proceed(request)
            return response

    with serving(app) as served:
        connection = open_stream(served, b"RUN_STARTED" if silent else b"word3")
        assert model.meter.begun.wait(PATIENCE)
        produced, left = model.meter.produced, time.monotonic()
        leave(connection)
        check_stopped(model, served, left, produced)
    noise = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    # Only an exception out of a callback stops a model in a thread; LangChain logs it.
    assert shape == "synchronous" or noise == []
    assert all("on_llm_new_token" in line for line in noise)


def test_the_reference_client_aborts(node_client: NodeClient) -> None:
    model, go = Talker(), [{"id": "1", "role": "user", "content": "go"}]
    with serving(app_of(flat(model))) as served:
        run = node_client.run(url=served.url("/agent"), messages=go, abortAfterEvents=12)
        left = time.monotonic()
        assert (run.error, (run.runError or {}).get("code")) == (None, "abort")
        check_stopped(model, served, left, model.meter.produced)


@deep
@pytest.mark.parametrize("case_id", ["anthropic-thinking-text", "openai-summary-parts"])
def test_the_provider_sees_its_client_leave(case_id: str, provider_server: ProviderServer) -> None:
    case = BY_ID[case_id]
    provider_server.script(case.provider, Reply(case.turns[0], hold_after=5))
    with serving(app_of(create_agent(make_model(case.provider, provider_server), []))) as served:
        connection = open_stream(served, b"REASONING_MESSAGE_CONTENT")
        assert provider_server.requests[0].held.wait(PATIENCE)
        time.sleep(0.5)  # packages let go of the provider only while they wait for more
        connection.leave()
        assert provider_server.requests[0].finished.wait(PATIENCE), "the provider still talks"
        served.wait_idle()
    assert provider_server.disconnects == 1


def test_many_clients_leave_at_random_points(caplog: pytest.LogCaptureFixture) -> None:
    source = random.Random(11)
    graphs = [shape(Talker(words=40, pause=0.002), InMemorySaver()) for shape in SHAPES.values()]

    def visit(number: int, amount: int, leave: Callable[[Connection], None]) -> None:
        path = f"/agent{number % len(graphs) or ''}"
        with Connection(served.port) as connection:
            connection.send("POST", path, body_of(run_input("go", thread=str(number))))
            if amount > 0:
                connection.head()
                for piece in connection.pieces():
                    amount -= len(piece)
                    if amount < 0:
                        break
            leave(connection)

    with (
        warnings.catch_warnings(record=True) as caught,
        serving(app_of(*graphs)) as served,
        ThreadPoolExecutor(30) as pool,
    ):
        warnings.simplefilter("always")
        amounts = [(source.randrange(-300, 6000), source.choice(LEAVES)) for _ in range(30)]
        list(pool.map(visit, range(30), *zip(*amounts, strict=True)))
        served.wait_idle()
    noise = [str(one.message) for one in caught] + [one.getMessage() for one in caplog.records]
    assert not [line for line in noise if "never" in line]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_client_that_is_gone_before_the_first_byte() -> None:
    agent, app = scripted_agent(["first", 60.0, "never"]), FastAPI()
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
