"""A run is over with its terminal event, whatever the server does with the connection then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from langgraph_agui.client import (
    AGUIChatModel,
    AGUIClient,
    AGUISession,
    ClientLimits,
    RemoteAgent,
    RunFailedError,
    RunLimitError,
)
from tests.kit.deep import each_value
from tests.kit.processes.scripted_servers import Awaiting, Blocking, Peer, frames, server
from tests.kit.processes.serving import serving
from tests.kit.run.wire_events import ERROR, STARTED, in_run, text
from tests.kit.waiting import PATIENCE, wait_for

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)

DONE = frames(in_run(*text("m", "Hello")))
FAILED = frames([STARTED, *text("m", "Hello"), ERROR])
# So long that a client that waits for the end of the connection fails.
LIMITS = ClientLimits(run_timeout=PATIENCE)


class Lasting:
    """Answers, and keeps the connection open until its client closes it."""

    def __init__(self, answer: bytes, *, pings: bool) -> None:
        self._answer, self._pings = answer, pings
        self.left = threading.Event()

    def __call__(self, peer: Peer) -> None:
        peer.head()
        peer.write(self._answer)
        while self._pings and not peer.gone(0.01):
            peer.write(b": ping\n\n")
        if self._pings or peer.left():
            self.left.set()


def client(url: str, limits: ClientLimits = LIMITS) -> AGUIClient:
    return AGUIClient(url, limits=limits, timeout=None, retries=0)


def session_for(url: str, limits: ClientLimits = LIMITS) -> str:
    return AGUISession[Any](client(url, limits)).send("hi").wait().text


def session_async(url: str, limits: ClientLimits = LIMITS) -> str:
    async def send() -> str:
        return (await AGUISession[Any](client(url, limits)).send("hi")).text

    return asyncio.run(send())


def invoked(url: str, limits: ClientLimits = LIMITS) -> str:
    return str(AGUIChatModel(url=url, limits=limits, timeout=None).invoke("hi").text)


def streamed(url: str, limits: ClientLimits = LIMITS) -> str:
    async def read() -> str:
        model = AGUIChatModel(url=url, limits=limits, timeout=None)
        return "".join([chunk.text async for chunk in model.astream("hi")])

    return asyncio.run(read())


def node(url: str, limits: ClientLimits = LIMITS) -> str:
    made = RemoteAgent(client(url, limits)).invoke({"messages": "hi"})["messages"]
    return "".join(one.text for one in made)


WAYS: tuple[Callable[..., str], ...] = (session_for, session_async, invoked, streamed, node)
each_way = pytest.mark.parametrize("ask", WAYS)


@each_value()
@pytest.mark.parametrize("pings", [True, False], ids=["pings", "silence"])
@each_way
def test_a_server_that_never_closes_the_connection(ask: Callable[..., str], pings: bool) -> None:
    lasting = Lasting(DONE, pings=pings)
    with server(lasting) as agent:
        assert ask(agent.url) == "Hello"
        assert lasting.left.wait(PATIENCE)


@each_value()
@pytest.mark.parametrize("pings", [True, False], ids=["pings", "silence"])
@each_way
def test_a_failure_is_an_end_too(ask: Callable[..., str], pings: bool) -> None:
    lasting = Lasting(FAILED, pings=pings)
    with server(lasting) as agent:
        with pytest.raises(RunFailedError):
            ask(agent.url)
        assert lasting.left.wait(PATIENCE)


@both
def test_a_given_client_is_not_left_with_the_connection(reader: Blocking) -> None:
    lasting = Lasting(DONE, pings=True)
    kind = httpx2.AsyncClient if isinstance(reader, Awaiting) else httpx2.Client
    with server(lasting) as agent:
        http = kind()
        session = AGUISession[Any](AGUIClient(agent.url, http_client=http, limits=LIMITS))
        reader.read(session.send("hi"))
        assert lasting.left.wait(PATIENCE)
        assert not http.is_closed


@each_way
def test_pings_do_not_prolong_a_run(ask: Callable[..., str]) -> None:
    lasting = Lasting(frames([STARTED, *text("m", "Hello")]), pings=True)
    with server(lasting) as agent:
        with pytest.raises(RunLimitError, match=r"0\.2 s.*run_timeout") as caught:
            ask(agent.url, ClientLimits(run_timeout=0.2))
        assert caught.value.option == "run_timeout"
        assert lasting.left.wait(PATIENCE)


# -- servers that close it themselves -------------------------------------------------------------


class Storing:
    """A server that stores the thread once its client has the end of the run."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.ports: list[int] = []
        self.app = Starlette(routes=[Route("/agent", self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> StreamingResponse:
        assert request.client is not None
        self.ports.append(request.client.port)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        yield DONE
        await asyncio.sleep(0.05)
        self.stored.append("thread")


@both
def test_the_server_may_end_its_work(reader: Blocking) -> None:
    """And a connection that is read to its end is used again."""
    storing = Storing()
    with serving(storing.app) as served, httpx2.Client() as blocking:
        if not isinstance(reader, Awaiting):
            session = AGUISession[Any](AGUIClient(served.url("/agent"), http_client=blocking))
            reader.read(session.send("a"))
            reader.read(session.send("b"))
        else:
            asyncio.run(two_turns(served.url("/agent")))
        wait_for(lambda: len(storing.stored) == 2, "both threads are stored")
    assert storing.ports[0] == storing.ports[1]


async def two_turns(url: str) -> None:
    async with httpx2.AsyncClient() as http:
        session = AGUISession[Any](AGUIClient(url, http_client=http))
        await session.send("a")
        await session.send("b")
