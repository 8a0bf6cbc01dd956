"""What `AGUIClient` makes of answers, and whose connections are: who closes them and when, and what
of them is never shown. A run is over with its terminal event, whatever the server does then."""

from __future__ import annotations

import asyncio
import base64
import gzip
import logging
import pickle
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
    AgentStatusError,
    AgentUnreachableError,
    AGUIClient,
    ClientLimits,
    EventTooLargeError,
    NotAnEventStreamError,
    RunFailedError,
    StreamInvalidError,
    StreamTruncatedError,
)
from langgraph_agui.client.endpoint import retry_delay
from langgraph_agui.protocol import fold, verify
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Endless,
    Peer,
    Script,
    answering,
    both,
    frames,
    sending,
    server,
)
from tests.kit.processes.serving import serving
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    reasoning,
    result,
    state_delta,
    text,
)
from tests.kit.waiting import PATIENCE, wait_for

ASK = run_input(UserMessage(id="u", content="hi"), thread="t", state={"n": 0})
FAILED: Wire = {"message": "boom", "code": "E1", "metadata": {"x": 1}}
BOOM = event("RUN_ERROR", usage=[{"model": "m", "inputTokens": 3}], **FAILED)
WHOLE = in_run(
    *reasoning("q", "hm, ü"),
    *text("m", "a", "é😀"),
    *call("c", '{"x":', "1}", parentMessageId="m"),
    result("c"),
    event("STATE_SNAPSHOT", snapshot={"n": 1}),
    state_delta({"op": "add", "path": "/k", "value": [None]}),
)
HALF = [STARTED, *text("m", "a")[:2]]


def refused(reader: Blocking, client: AGUIClient) -> tuple[Any, list[Any], list[str]]:
    """The error of a run, as it comes out of pickle, what it holds, and the events before it."""
    seen: list[str] = []
    run = client.run(ASK)
    with pytest.raises(AgentError) as caught:
        reader.read(run, lambda one: seen.append(one.type.value))
    error = pickle.loads(pickle.dumps(caught.value))
    kept = [(type(one), str(one), vars(one)) for one in (error, caught.value)]
    assert kept[0] == kept[1]
    assert (dumped(error.messages), error.state) == (dumped(run.messages), run.state)
    return error, [message.content for message in error.messages], seen


def dripping(peer: Peer) -> None:
    peer.head()
    for byte in frames(WHOLE):
        peer.write(bytes([byte]))


ZIPPED = {"content_type": "Text/Event-Stream; charset=utf-8", "content_encoding": "gzip"}


@both
@pytest.mark.parametrize("script", [dripping, sending(gzip.compress(frames(WHOLE)), **ZIPPED)])
def test_a_whole_stream(reader: Blocking, script: Script) -> None:
    with server(script) as agent:
        run = AGUIClient(agent.url).run(ASK)
        events = reader.read(run)
    whole = fold(WHOLE, ASK.messages, ASK.state)
    assert events == verify(WHOLE)
    assert dumped(run.messages) == dumped(whole.messages)
    assert run.state == whole.state == {"n": 1, "k": [None]}
    assert (run.outcome, run.interrupts, run.pending_tool_call_ids) == ("success", [], [])
    with pytest.raises(RuntimeError, match="once"):
        reader.read(run)


def test_what_is_sent() -> None:
    headers = {"accept": "text/html", "CONTENT-TYPE": "text/plain", "X-Key": "k"}
    with server(WHOLE, WHOLE) as agent:
        AGUIClient(agent.url + "?tenant=1", headers=headers).run(ASK).wait()
        AGUIClient(f"http://127.0.0.1:{agent.port}/a%2Fb/?x=1").connect(ASK).wait()
    asked, connected = agent.asked
    assert (asked.method, asked.path) == ("POST", "/agent?tenant=1")
    kinds = [asked.header(name) for name in ("accept", "content-type", "x-key")]
    assert kinds == ["text/event-stream", "application/json", "k"]
    assert connected.path == "/a%2Fb/connect?x=1"
    about = {"threadId": "t", "runId": ASK.run_id, "protocolVersion": "1.0", "forwardedProps": {}}
    held = [{"id": "u", "role": "user", "content": "hi"}]
    assert asked.json == {**about, "messages": held, "state": {"n": 0}, "tools": [], "context": []}


@pytest.mark.parametrize("end", [[], [FINISHED]], ids=["in a run", "after its end"])
def test_a_run_that_fails(end: list[Wire]) -> None:
    stream = [STARTED, *text("m", "a"), *end, BOOM]
    with server(stream) as agent:
        error, contents, seen = refused(Blocking(), AGUIClient(agent.url))
    assert isinstance(error, RunFailedError)
    assert (contents, seen) == (["hi", "a"], [one["type"] for one in stream])
    assert (str(error), error.code, error.usage[0].input_tokens) == ("boom [E1]", "E1", 3)


def breaking(events: list[Wire]) -> Script:
    """Hangs up within a chunked answer."""
    head = b"content-type: text/event-stream\r\ntransfer-encoding: chunked"
    body = frames(events)
    return lambda peer: peer.write(
        b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%x\r\n%s\r\n" % (head, len(body), body)
    )


@both
def test_streams_that_end_too_early(reader: Blocking) -> None:
    silent = sending(frames(HALF), lasts=True)
    scripts = [breaking(HALF), [*in_run(), STARTED], silent]
    with server(*scripts) as agent:
        client = AGUIClient(agent.url, timeout=httpx2.Timeout(10, read=0.2))
        errors = [refused(reader, client)[:2] for _ in scripts]
    assert [type(one) for one, _ in errors] == [StreamTruncatedError] * 3
    assert [contents for _, contents in errors] == [["hi", "a"], ["hi"], ["hi", "a"]]
    assert "silent" in str(errors[2][0])
    assert len(agent.asked) == 3  # never again once an answer has begun


BREAKS = {
    "invalid-json": b"data: [DONE]\n\n",
    "not-an-object": b"data: [1]\n\n",
    "already-open": frames(text("m")),
    "frame-too-large": b"data: " + b"x" * 5000,
}


@pytest.mark.parametrize("code", BREAKS)
def test_a_stream_that_breaks_the_rules(code: str) -> None:
    """The error comes at once, though the agent goes on, and behind what came before it in the same
    bytes."""
    with server(sending(frames(HALF) + BREAKS[code], lasts=True)) as agent:
        client = AGUIClient(agent.url, limits=ClientLimits(max_event=1000))
        error, contents, seen = refused(Blocking(), client)
    assert type(error) is (EventTooLargeError if code == "frame-too-large" else StreamInvalidError)
    assert (error.code, contents) == (code, ["hi", "a"])
    assert seen == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]


@both
def test_http_errors(reader: Blocking) -> None:
    def broken(peer: Peer) -> None:
        peer.head(500, "text/plain", content_length="100")
        peer.write(b"half")

    busy = answering(409, '{"code": "conflict", "detail": "é"}', "application/json")
    unreadable = answering(422, '{"code"', "application/json")
    with server(busy, unreadable, answering(401, "x" * 100_000), broken) as agent:
        errors = [refused(reader, AGUIClient(agent.url))[0] for _ in range(4)]
    assert [type(one) for one in errors] == [AgentStatusError] * 4
    codes = [(one.status, one.code) for one in errors]
    assert codes == [(409, "conflict"), (422, None), (401, None), (500, None)]
    assert errors[0].payload == {"code": "conflict", "detail": "é"}
    assert [errors[1].body, errors[2].body, errors[3].body] == ['{"code"', "x" * 64 * 1024, "half"]
    assert [message.content for message in errors[3].messages] == ["hi"]
    assert len(agent.asked) == 4  # 500 and a broken body are no reason to ask again


def nothing(peer: Peer) -> None:
    """Hangs up without a word."""


AGAIN: dict[str, Script] = {
    "nothing": nothing,
    "reset": Peer.reset,
    **{str(status): answering(status, retry_after="0") for status in (429, 502, 503)},
    "no number": answering(503, retry_after="²"),
    "busy": answering(409, '{"code": "thread_busy"}', "application/json"),
}


@pytest.mark.parametrize("name", AGAIN)
def test_asking_again(name: str) -> None:
    reader = Awaiting() if name in ("reset", "503") else Blocking()
    with server(AGAIN[name], AGAIN[name], WHOLE, AGAIN[name]) as agent:
        assert len(reader.read(AGUIClient(agent.url).run(ASK))) == len(WHOLE)
        assert len(agent.asked) == 3
        assert agent.asked[0].body == agent.asked[2].body
        refused(reader, AGUIClient(agent.url, retries=0))
    assert len(agent.asked) == 4


@both
def test_an_agent_that_does_not_answer_in_time(reader: Blocking) -> None:
    """It may have begun, so nobody asks it again."""
    with server(Peer.left, WHOLE) as agent:
        error, *_ = refused(reader, AGUIClient(agent.url, timeout=0.2))
    assert (type(error), len(agent.asked)) == (AgentUnreachableError, 1)


def test_waiting_as_long_as_told() -> None:
    error = AgentStatusError("u", 503, "")
    assert retry_delay(0, error, "7") == 7
    assert retry_delay(0, error, "9" * 400) == 30
    assert 0.25 <= (retry_delay(1, error) or 0) <= 0.5
    assert retry_delay(0, AgentStatusError("u", 409, "")) is None


async def test_what_the_agent_can() -> None:
    known = answering(200, '{"identity": {"name": "a"}}', "application/json")
    scripts = [known, known, answering(200, "[]"), answering(404, "no")]
    with server(*scripts) as agent, httpx2.Client() as blocking:
        client = AGUIClient(agent.url + "/?q=1", headers={"X-Key": "k"})
        for one in (client, AGUIClient(agent.url, http_client=blocking)):
            can: Any = await one.capabilities()
            assert can.identity.name == "a"
        with pytest.raises(NotAnEventStreamError):
            await client.capabilities()
        with pytest.raises(AgentStatusError, match="404"):
            await client.capabilities()
    paths = [asked.path for asked in agent.asked]
    assert paths[:2] == ["/agent/capabilities?q=1", "/agent/capabilities"]
    assert agent.asked[0].header("x-key") == "k"
    with pytest.raises(AgentUnreachableError):
        await client.capabilities()


HELLO = in_run(*text("m", "Hello"))


async def gone(left: threading.Event) -> bool:
    return await asyncio.to_thread(left.wait, PATIENCE)


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
        peer.head(content_length=str(len(frames(HELLO))))
        peer.write(frames(HELLO))

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


def test_secrets_are_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """A user is sent as a header: httpx2 logs the URL that it requests."""
    caplog.set_level(logging.DEBUG)
    scripts = [answering(200, "x"), answering(500, "x"), [STARTED], [STARTED, ERROR]]
    # A port that nobody listens on, and that no other test gets meanwhile.
    with socket.socket() as silent, server(*scripts, HELLO, HELLO) as agent:
        silent.bind(("127.0.0.1", 0))
        nobody = silent.getsockname()[1]
        errors: list[AgentError] = []
        for port in [*[agent.port] * 4, nobody]:
            url = f"http://j%C3%BCrgen%3A:s3c%40ret@127.0.0.1:{port}/agent?x=%20y#s3cret"
            client = AGUIClient(url, headers={"X-Key": "s3cret"}, retries=0)
            run = client.run(ASK)
            with pytest.raises(AgentError) as caught:
                run.wait()
            error = caught.value
            errors.append(error)
            shown = f"{client} {client!r} {run} {run!r} {error} {error!r} {vars(error)}"
            assert "s3c" not in f"{shown} {caplog.text}"
            assert "%20y" not in shown
            assert client.url == url
        AGUIClient(url.replace(str(nobody), str(agent.port)), headers=BEARER).run(ASK).wait()
        AGUIClient(agent.url).run(ASK).wait()
    assert [type(one).__name__.removesuffix("Error") for one in errors] == [
        *("NotAnEventStream", "AgentStatus", "StreamTruncated", "RunFailed", "AgentUnreachable")
    ]
    assert f"127.0.0.1:{nobody}/agent" in str(errors[-1])
    assert f"{agent.port}/agent?x=%20y " in caplog.text
    assert (agent.asked[0].path, agent.asked[0].header("x-key")) == ("/agent?x=%20y", "s3cret")
    basic, *_, bearer, none = [asked.header("authorization") for asked in agent.asked]
    assert base64.b64decode(basic.removeprefix("Basic ")).decode() == "jürgen::s3c@ret"
    assert (bearer, none) == ("Bearer b", "")


BEARER = {"authorization": "Bearer b"}


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
    done, failed = Lasting(HELLO, pings=True), Lasting([STARTED, ERROR], pings=False)
    given = Lasting(HELLO, pings=True)
    mine: Any = httpx2.AsyncClient() if isinstance(reader, Awaiting) else httpx2.Client()
    with server(done, failed, given) as agent:
        client = AGUIClient(agent.url, limits=LIMITS, timeout=None)
        assert len(reader.read(client.run(ASK))) == len(HELLO)
        assert done.left.wait(PATIENCE)
        with pytest.raises(RunFailedError):
            reader.read(client.run(ASK))
        assert failed.left.wait(PATIENCE)
        reader.read(AGUIClient(agent.url, http_client=mine, limits=LIMITS).run(ASK))
        assert given.left.wait(PATIENCE)
        assert not mine.is_closed


@both
def test_the_server_may_end_its_work(reader: Blocking) -> None:
    """It stores the thread once its client has the end; and a connection that is read to its end is
    used again."""
    stored, ports = list[str](), list[Any]()

    async def answer(request: Request) -> StreamingResponse:
        ports.append(request.client and request.client.port)
        return StreamingResponse(events(), media_type="text/event-stream")

    async def events() -> AsyncIterator[bytes]:
        yield frames(HELLO)
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
