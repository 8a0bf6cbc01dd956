"""Connections: who closes them and when, whose they are, where they lead, and what of them is never
shown."""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
import threading
from typing import Any

import httpx2
import pytest
from ag_ui.core import UserMessage

from langgraph_agui.client import (
    AgentError,
    AgentUnreachableError,
    AGUIClient,
    StreamTruncatedError,
)
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Endless,
    Peer,
    answering,
    frames,
    recording,
    server,
)
from tests.kit.run.agents import run_input
from tests.kit.run.wire_events import STARTED, event, in_run, text
from tests.kit.waiting import PATIENCE

ASK = run_input(UserMessage(id="u", content="hi"), thread="t")
WHOLE = in_run(*text("m", "a"))

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


@both
def test_leaving_a_block_closes_the_connection(reader: Blocking) -> None:
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        assert len(reader.leave(run, 2)) == 2
        assert endless.left.wait(PATIENCE)
    assert run.outcome is None
    assert [message.id for message in run.messages] == ["u", "m"]


async def test_cancelling_closes_the_connection() -> None:
    endless, begun = Endless(), asyncio.Event()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)

        async def read() -> None:
            async for one in run:
                if one.type.value == "TEXT_MESSAGE_CONTENT":
                    begun.set()

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(endless.left.wait, PATIENCE)
    assert [message.content for message in run.messages] == ["hi", "a"]


async def test_cancelling_before_the_answer() -> None:
    asked, left = threading.Event(), threading.Event()

    def silent(peer: Peer) -> None:
        asked.set()
        if peer.left():
            left.set()

    with server(silent) as agent:
        task = asyncio.ensure_future(anext(aiter(AGUIClient(agent.url).run(ASK))))
        assert await asyncio.to_thread(asked.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(left.wait, PATIENCE)


async def test_a_break_and_aclose() -> None:
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        async for _ in run:
            break
        await run.aclose()
        assert await asyncio.to_thread(endless.left.wait, PATIENCE)
        await run.aclose()


def test_a_bare_break_out_of_for() -> None:
    """Leaves at once, though the run is still at hand."""
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        for _ in run:
            break
        assert endless.left.wait(PATIENCE)
        run.close()
        with pytest.raises(RuntimeError, match="once"):
            iter(run)


async def test_a_bare_break_out_of_async_for() -> None:
    """Leaves with the next turn of the loop, though the run is still at hand."""
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        async for _ in run:
            break
        assert await asyncio.to_thread(endless.left.wait, PATIENCE)
        await run.aclose()


async def test_reading_to_the_end() -> None:
    with server(recording(*WHOLE), recording(*WHOLE), recording(STARTED)) as agent:
        client = AGUIClient(agent.url)
        run = await client.run(ASK)
        again = await asyncio.to_thread(client.run(ASK).wait)
        assert (run.outcome, again.outcome) == ("success", "success")
        assert run.messages == again.messages
        with pytest.raises(StreamTruncatedError):
            await client.run(ASK)


def test_close_in_the_loop() -> None:
    endless = Endless()
    with server(endless) as agent:
        run = AGUIClient(agent.url).run(ASK)
        events = iter(run)
        next(events)
        run.close()
        assert endless.left.wait(PATIENCE)
        assert list(events) == []


async def test_a_given_client_is_used_and_left_open() -> None:
    def twice(peer: Peer) -> None:
        peer.head(content_length=str(len(frames(WHOLE))))
        peer.write(frames(WHOLE))

    with server(twice, twice) as agent:
        async with httpx2.AsyncClient(headers={"X-Mine": "1"}) as http:
            run = AGUIClient(agent.url, http_client=http).run(ASK)
            assert len([one async for one in run]) == len(WHOLE)
            assert not http.is_closed
        with httpx2.Client(headers={"X-Mine": "1"}) as blocking:
            assert len(list(AGUIClient(agent.url, http_client=blocking).run(ASK))) == len(WHOLE)
            assert not blocking.is_closed
            with pytest.raises(TypeError, match="AsyncClient"):
                await anext(aiter(AGUIClient(agent.url, http_client=blocking).run(ASK)))
        with pytest.raises(TypeError, match="Client"):
            next(iter(AGUIClient(agent.url, http_client=http).run(ASK)))
    assert [asked.header("x-mine") for asked in agent.asked] == ["1", "1"]


async def test_leaving_closes_the_connection_of_a_given_client_too() -> None:
    first, second = Endless(), Endless()
    with server(first, second) as agent:
        async with httpx2.AsyncClient() as http:
            async with AGUIClient(agent.url, http_client=http).run(ASK) as run:
                await anext(aiter(run))
            assert await asyncio.to_thread(first.left.wait, PATIENCE)
        with httpx2.Client() as blocking:
            with AGUIClient(agent.url, http_client=blocking).run(ASK) as held:
                events = iter(held)
                next(events)
            assert await asyncio.to_thread(second.left.wait, PATIENCE)


def failure(reader: Blocking, client: AGUIClient) -> AgentError:
    with pytest.raises(AgentError) as caught:
        reader.read(client.run(ASK))
    return caught.value


def shown(*things: object) -> str:
    return "".join(f"{thing} {thing!r} {vars(thing)}" for thing in things)


@both
def test_secrets_are_not_shown(reader: Blocking) -> None:
    secret = "s3cret"
    # A port that nobody listens on, and that no other test gets meanwhile.
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    nobody = silent.getsockname()[1]
    scripts = [
        answering(200, "x"),
        answering(500, "x"),
        recording(STARTED),
        recording(STARTED, event("RUN_ERROR", message="x")),
    ]
    with silent, server(*scripts) as agent:
        things: list[Any] = []
        for port in [agent.port] * len(scripts) + [nobody]:
            url = f"http://user:{secret}@127.0.0.1:{port}/agent?token={secret}#{secret}"
            client = AGUIClient(url, headers={"X-Key": secret}, retries=0)
            error = failure(reader, client)
            things += [
                error,
                str(client),
                repr(client),
                str(client.run(ASK)),
                repr(client.run(ASK)),
            ]
            assert client.url == url
    assert [type(one).__name__ for one in things[::5]] == [
        "NotAnEventStreamError",
        "AgentStatusError",
        "StreamTruncatedError",
        "RunFailedError",
        "AgentUnreachableError",
    ]
    assert isinstance(things[-5], AgentUnreachableError)
    assert f"127.0.0.1:{nobody}/agent" in str(things[-5])
    assert secret not in "".join(f"{thing} {thing!r}" for thing in things)
    assert all(secret not in shown(error) for error in things[::5])
    assert {asked.header("x-key") for asked in agent.asked} == {secret}


@both
def test_the_user_of_a_url(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    """It is sent as a header: httpx2 logs the URL that it requests."""
    caplog.set_level(logging.DEBUG)
    with server(*[recording(*WHOLE)] * 3) as agent:
        url = agent.url.replace("http://", "http://j%C3%BCrgen%3A:s3c%40ret@") + "?x=%20y#s3cret"
        reader.read(AGUIClient(url).run(ASK))
        reader.read(AGUIClient(url, headers={"authorization": "Bearer b"}).run(ASK))
        reader.read(AGUIClient(agent.url).run(ASK))
    assert "s3c" not in caplog.text
    assert f"{agent.port}/agent?x=%20y " in caplog.text
    basic, bearer, nobody = [asked.header("authorization") for asked in agent.asked]
    assert base64.b64decode(basic.removeprefix("Basic ")).decode() == "jürgen::s3c@ret"
    assert (bearer, nobody) == ("Bearer b", "")
    assert agent.asked[0].path == "/agent?x=%20y"


@pytest.mark.parametrize(
    "url",
    ["", "agent", "ftp://u:s3cret@h/", "http://u:s3/cret@h:x/", "http://", "http://h:s3cret/"],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(ValueError, match="not the URL of an agent") as caught:
        AGUIClient(url)
    assert "s3" not in f"{caught.value}{caught.value.__cause__}"


@pytest.mark.parametrize(
    "headers",
    [{"X-Key": "s3cret\n"}, {"X-Key": "s3cret é"}, {"X-Key": " s3cret"}, {"X Key": "s3cret"}],
)
def test_headers_that_http_cannot_carry(headers: dict[str, str]) -> None:
    """Such as a key with the line end of its file: whatever would refuse it later would quote
    it."""
    with pytest.raises(ValueError, match=r"cannot carry the header 'X.Key'") as caught:
        AGUIClient("http://127.0.0.1/", headers=headers)
    assert "s3cret" not in str(caught.value)
