"""Connections: who closes them and when, whose they are, where they lead, and what of them is never
shown. A run is over with its terminal event, whatever the server does with the connection then."""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from ag_ui.core import UserMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from langgraph_agui.client import (
    AgentError,
    AGUIClient,
    ClientLimits,
    RunFailedError,
    RunLimitError,
)
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Endless,
    Peer,
    answering,
    both,
    frames,
    server,
)
from tests.kit.processes.serving import serving
from tests.kit.run.agents import run_input
from tests.kit.run.wire_events import ERROR, STARTED, in_run, text
from tests.kit.waiting import PATIENCE, wait_for

ASK = run_input(UserMessage(id="u", content="hi"), thread="t")
WHOLE = in_run(*text("m", "Hello"))


async def gone(left: threading.Event) -> bool:
    return await asyncio.to_thread(left.wait, PATIENCE)


@both
def test_leaving_a_block_closes_the_connection(reader: Blocking) -> None:
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        assert len(reader.leave(run, 2)) == 2
        assert endless.left.wait(PATIENCE)
    assert run.outcome is None
    assert [message.id for message in run.messages] == ["u", "m"]


async def test_cancelling_before_the_answer_closes_the_connection() -> None:
    left, asked = threading.Event(), threading.Event()

    def silent(peer: Peer) -> None:
        asked.set()
        if peer.left():
            left.set()

    with server(silent) as agent:
        run = AGUIClient(agent.url).run(ASK)
        task = asyncio.ensure_future(anext(aiter(run)))
        assert await gone(asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(left)
    assert [message.content for message in run.messages] == ["hi"]


def test_a_bare_break_and_close_out_of_for() -> None:
    """They leave at once, though the run is still at hand."""
    first, second = Endless(), Endless()
    with server(first, second) as agent:
        run = AGUIClient(agent.url).run(ASK)
        for _ in run:
            break
        assert first.left.wait(PATIENCE)
        run.close()
        with pytest.raises(RuntimeError, match="once"):
            iter(run)
        run = AGUIClient(agent.url).run(ASK)
        events = iter(run)
        next(events)
        run.close()
        assert second.left.wait(PATIENCE)
        assert list(events) == []


@pytest.mark.parametrize("closes", [True, False])
async def test_a_bare_break_out_of_async_for(closes: bool) -> None:
    """Leaves with the next turn of the loop, though the run is still at hand."""
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        async for _ in run:
            break
        if closes:
            await run.aclose()
        assert await gone(endless.left)
        await run.aclose()


async def test_a_given_client_is_used_and_left_open() -> None:
    def whole(peer: Peer) -> None:
        peer.head(content_length=str(len(frames(WHOLE))))
        peer.write(frames(WHOLE))

    first, second = Endless(), Endless()
    mine: Any = {"headers": {"X-Mine": "1"}}
    with server(whole, first, whole, second) as agent:
        async with httpx2.AsyncClient(**mine) as http:
            client = AGUIClient(agent.url, http_client=http)
            assert (await client.run(ASK)).outcome == "success"
            async with client.run(ASK) as run:
                await anext(aiter(run))
            assert await gone(first.left)
            assert not http.is_closed
        with pytest.raises(TypeError, match="Client"):
            next(iter(client.run(ASK)))
        with httpx2.Client(**mine) as blocking:
            client = AGUIClient(agent.url, http_client=blocking)
            assert client.run(ASK).wait().outcome == "success"
            Blocking().leave(client.run(ASK), 1)
            assert await gone(second.left)
            assert not blocking.is_closed
            with pytest.raises(TypeError, match="AsyncClient"):
                await anext(aiter(client.run(ASK)))
    assert [asked.header("x-mine") for asked in agent.asked] == ["1"] * 4


def test_secrets_are_not_shown() -> None:
    scripts = [answering(200, "x"), answering(500, "x"), [STARTED], [STARTED, ERROR]]
    # A port that nobody listens on, and that no other test gets meanwhile.
    with socket.socket() as silent, server(*scripts) as agent:
        silent.bind(("127.0.0.1", 0))
        nobody = silent.getsockname()[1]
        errors: list[AgentError] = []
        for port in [*[agent.port] * 4, nobody]:
            url = f"http://user:s3cret@127.0.0.1:{port}/agent?token=s3cret#s3cret"
            client = AGUIClient(url, headers={"X-Key": "s3cret"}, retries=0)
            run = client.run(ASK)
            with pytest.raises(AgentError) as caught:
                run.wait()
            error = caught.value
            errors.append(error)
            shown = f"{client} {client!r} {run} {run!r} {error} {error!r} {vars(error)}"
            assert "s3cret" not in shown
            assert client.url == url
    assert [type(one).__name__.removesuffix("Error") for one in errors] == [
        *("NotAnEventStream", "AgentStatus", "StreamTruncated", "RunFailed", "AgentUnreachable")
    ]
    assert f"127.0.0.1:{nobody}/agent" in str(errors[-1])
    assert {asked.header("x-key") for asked in agent.asked} == {"s3cret"}


def test_the_user_of_a_url(caplog: pytest.LogCaptureFixture) -> None:
    """It is sent as a header: httpx2 logs the URL that it requests."""
    caplog.set_level(logging.DEBUG)
    with server(*[WHOLE] * 3) as agent:
        url = agent.url.replace("http://", "http://j%C3%BCrgen%3A:s3c%40ret@") + "?x=%20y#s3cret"
        AGUIClient(url).run(ASK).wait()
        AGUIClient(url, headers={"authorization": "Bearer b"}).run(ASK).wait()
        AGUIClient(agent.url).run(ASK).wait()
    assert "s3c" not in caplog.text
    assert f"{agent.port}/agent?x=%20y " in caplog.text
    basic, bearer, nobody = [asked.header("authorization") for asked in agent.asked]
    assert base64.b64decode(basic.removeprefix("Basic ")).decode() == "jürgen::s3c@ret"
    assert (bearer, nobody) == ("Bearer b", "")
    assert agent.asked[0].path == "/agent?x=%20y"


def test_what_http_cannot_carry_is_refused_and_not_shown() -> None:
    """Such as a key with the line end of its file: whatever would refuse it later would quote
    it."""
    no_urls = (
        "",
        "agent",
        "ftp://u:s3cret@h/",
        "http://u:s3/cret@h:x/",
        "http://",
        "http://h:s3cret/",
    )
    for url in no_urls:
        with pytest.raises(ValueError, match="not the URL of an agent") as caught:
            AGUIClient(url)
        assert "s3" not in f"{caught.value}{caught.value.__cause__}"
    wrong = ("X-Key", "s3cret\n"), ("X-Key", "s3cret é"), ("X-Key", " s3cret"), ("X Key", "s3cret")
    for name, value in wrong:
        with pytest.raises(ValueError, match=f"cannot carry the header '{name}'") as caught:
            AGUIClient("http://127.0.0.1/", headers={name: value})
        assert "s3" not in str(caught.value)


# So long that a client that waits for the end of the connection fails.
LIMITS = ClientLimits(run_timeout=PATIENCE)


class Lasting(Endless):
    """Answers, and keeps the connection open until its client closes it."""

    def __init__(self, answer: list[Any], *, pings: bool) -> None:
        super().__init__()
        self._answer, self._pings = frames(answer), pings

    def __call__(self, peer: Peer) -> None:
        peer.head()
        peer.write(self._answer)
        while self._pings and not peer.left(0.01):
            peer.write(b": ping\n\n")
        if self._pings or peer.left():
            self.left.set()


@both
def test_a_server_that_never_closes_the_connection(reader: Blocking) -> None:
    done, failed = Lasting(WHOLE, pings=True), Lasting([STARTED, ERROR], pings=False)
    given = Lasting(WHOLE, pings=True)
    mine: Any = httpx2.AsyncClient() if isinstance(reader, Awaiting) else httpx2.Client()
    with server(done, failed, given) as agent:
        client = AGUIClient(agent.url, limits=LIMITS, timeout=None)
        assert len(reader.read(client.run(ASK))) == len(WHOLE)
        assert done.left.wait(PATIENCE)
        with pytest.raises(RunFailedError):
            reader.read(client.run(ASK))
        assert failed.left.wait(PATIENCE)
        reader.read(AGUIClient(agent.url, http_client=mine, limits=LIMITS).run(ASK))
        assert given.left.wait(PATIENCE)
        assert not mine.is_closed


@both
def test_pings_do_not_prolong_a_run(reader: Blocking) -> None:
    lasting = Lasting([STARTED], pings=True)
    with server(lasting) as agent:
        client = AGUIClient(agent.url, limits=ClientLimits(run_timeout=0.2), timeout=None)
        with pytest.raises(RunLimitError, match=r"0\.2 s.*run_timeout") as caught:
            reader.read(client.run(ASK))
        assert caught.value.option == "run_timeout"
        assert lasting.left.wait(PATIENCE)


@both
def test_the_server_may_end_its_work(reader: Blocking) -> None:
    """It stores the thread once its client has the end; and a connection that is read to its end is
    used again."""
    stored, ports = list[str](), list[Any]()

    async def answer(request: Request) -> StreamingResponse:
        ports.append(request.client and request.client.port)
        return StreamingResponse(events(), media_type="text/event-stream")

    async def events() -> AsyncIterator[bytes]:
        yield frames(WHOLE)
        await asyncio.sleep(0.05)
        stored.append("thread")

    async def two_turns(url: str) -> None:
        async with httpx2.AsyncClient() as http:
            for _ in range(2):
                await AGUIClient(url, http_client=http).run(ASK)

    app = Starlette(routes=[Route("/agent", answer, methods=["POST"])])
    with serving(app) as served, httpx2.Client() as blocking:
        if isinstance(reader, Awaiting):
            asyncio.run(two_turns(served.url("/agent")))
        else:
            for _ in range(2):
                AGUIClient(served.url("/agent"), http_client=blocking).run(ASK).wait()
        wait_for(lambda: len(stored) == 2, "both threads are stored")
    assert ports[0] == ports[1]
