"""What `AGUIClient` makes of answers: whole streams, broken ones, and others than streams."""

from __future__ import annotations

import asyncio
import gzip
import logging
import pickle
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from ag_ui.core import UserMessage

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
    Peer,
    Script,
    answering,
    frames,
    recording,
    server,
)
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    reasoning,
    result,
    text,
)

ASK = run_input(UserMessage(id="u", content="hi"), thread="t", state={"n": 0})
ERROR = event(
    "RUN_ERROR",
    message="boom",
    code="E1",
    usage=[{"model": "m", "inputTokens": 3}],
    metadata={"x": 1},
)
WHOLE = in_run(
    *reasoning("q", "hm, ü"),
    *text("m", "a", "é😀"),
    *call("c", '{"x":', "1}", parentMessageId="m"),
    result("c"),
    event("STATE_SNAPSHOT", snapshot={"n": 1}),
    event("STATE_DELTA", delta=[{"op": "add", "path": "/k", "value": [None]}]),
)

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


def refused(reader: Blocking, client: AGUIClient) -> tuple[AgentError, list[str]]:
    """The error of a run, as it comes out of pickle, and the types of the events before it."""
    seen: list[str] = []
    run = client.run(ASK)
    with pytest.raises(AgentError) as caught:
        reader.read(run, lambda one: seen.append(one.type.value))
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is type(caught.value)
    assert str(error) == str(caught.value)
    assert vars(error) == vars(caught.value)
    assert dumped(error.messages) == dumped(run.messages)
    assert error.state == run.state
    return error, seen


def contents_of(error: AgentError) -> list[Any]:
    return [message.content for message in error.messages]


@both
@pytest.mark.parametrize(
    "shape", ["one", "bytes", "crlf", "cr", "gzip", "no blank line at the end"]
)
def test_a_whole_stream(reader: Blocking, shape: str) -> None:
    body = frames(WHOLE).replace(b"data: ", b": a comment\nevent: x\ndata: ", 1)
    if shape in ("crlf", "cr"):
        body = body.replace(b"\n", b"\r\n" if shape == "crlf" else b"\r")
    elif shape == "no blank line at the end":
        body = body.rstrip(b"\n")

    def script(peer: Peer) -> None:
        if shape == "gzip":
            peer.head(content_type="Text/Event-Stream; charset=utf-8", content_encoding="gzip")
            peer.write(gzip.compress(body))
            return
        peer.head()
        for place in range(0, len(body), size := 1 if shape == "bytes" else len(body)):
            peer.write(body[place : place + size])

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


@both
def test_what_is_sent(reader: Blocking) -> None:
    with server(recording(*WHOLE)) as agent:
        headers = {"accept": "text/html", "CONTENT-TYPE": "text/plain", "X-Key": "k"}
        reader.read(AGUIClient(agent.url + "?tenant=1", headers=headers).run(ASK))
    (asked,) = agent.asked
    assert (asked.method, asked.path) == ("POST", "/agent?tenant=1")
    assert asked.header("accept") == "text/event-stream"
    assert asked.header("content-type") == "application/json"
    assert asked.header("x-key") == "k"
    assert asked.json == {
        "threadId": "t",
        "runId": ASK.run_id,
        "protocolVersion": "1.0",
        "messages": [{"id": "u", "role": "user", "content": "hi"}],
        "state": {"n": 0},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


@both
def test_several_runs_in_one_stream(reader: Blocking) -> None:
    first = in_run(*call("c1", "{}"), *text("a", "one"))
    with server(
        recording(
            *first, STARTED, *call("c2", "{}"), *text("b", "two"), {**FINISHED, "result": [1]}
        )
    ) as agent:
        run = AGUIClient(agent.url).run(ASK)
        reader.read(run)
    assert [message.id for message in run.messages] == ["u", "c1", "a", "c2", "b"]
    assert (run.pending_tool_call_ids, run.result) == (["c2"], [1])


@both
@pytest.mark.parametrize(
    "stream", [[STARTED, *text("m", "a"), ERROR], [*in_run(*text("m", "a")), ERROR]]
)
def test_a_run_that_fails(reader: Blocking, stream: Sequence[Wire]) -> None:
    """Also after it had finished."""
    with server(recording(*stream)) as agent:
        error, seen = refused(reader, AGUIClient(agent.url))
    assert isinstance(error, RunFailedError)
    assert seen == [one["type"] for one in stream]
    assert (str(error), error.code, error.usage[0].input_tokens) == ("boom [E1]", "E1", 3)
    assert contents_of(error) == ["hi", "a"]


def breaking(body: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: "
            b"chunked\r\n\r\n"
        )
        if body:
            peer.write(b"%x\r\n%s\r\n" % (len(body), body))

    return script


def ending(body: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.head()
        peer.write(body)

    return script


HALF = frames([STARTED, *text("m", "a")[:2]])


@both
@pytest.mark.parametrize("way", [ending, breaking])
@pytest.mark.parametrize(
    ("body", "contents"),
    [
        (b"", ["hi"]),
        (b": ping\n\n", ["hi"]),
        (HALF, ["hi", "a"]),
        (frames([*in_run(), STARTED]), ["hi"]),
    ],
    ids=["empty", "comments", "half", "a second run"],
)
def test_a_stream_that_ends_too_early(
    reader: Blocking, way: Any, body: bytes, contents: list[str]
) -> None:
    with server(way(body), recording(*WHOLE)) as agent:
        error, _ = refused(reader, AGUIClient(agent.url))
    assert type(error) is StreamTruncatedError
    assert contents_of(error) == contents
    assert len(agent.asked) == 1  # never again once an answer has begun


@both
def test_a_connection_that_breaks_after_the_end(reader: Blocking) -> None:
    with server(breaking(frames(WHOLE))) as agent:
        run = AGUIClient(agent.url).run(ASK)
        assert len(reader.read(run)) == len(WHOLE)
    assert run.outcome == "success"


@both
def test_an_agent_that_falls_silent(reader: Blocking) -> None:
    def script(peer: Peer) -> None:
        peer.head()
        peer.write(HALF)
        assert peer.left()

    with server(script) as agent:
        error, _ = refused(reader, AGUIClient(agent.url, timeout=httpx2.Timeout(10, read=0.2)))
    assert type(error) is StreamTruncatedError
    assert "silent" in str(error)
    assert contents_of(error) == ["hi", "a"]


@both
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (b"data: nonsense\n\n", "invalid-json"),
        (b"data: [DONE]\n\n", "invalid-json"),
        (b"data: [1]\n\n", "not-an-object"),
        (b'data: {"x": 1}\n\n', "no-event-type"),
        (frames([event("TEXT_MESSAGE_CONTENT", messageId="m")]), "malformed-event"),
        (frames(text("m")), "already-open"),
        (b"data: " + b"x" * 5000, "frame-too-large"),
    ],
)
def test_a_stream_that_breaks_the_rules(reader: Blocking, fault: bytes, code: str) -> None:
    """The error comes at once, though the agent goes on, and behind what came before it in the same
    bytes."""

    def script(peer: Peer) -> None:
        peer.head()
        peer.write(HALF + fault)
        assert peer.left()

    with server(script) as agent:
        error, seen = refused(reader, AGUIClient(agent.url, limits=ClientLimits(max_event=1000)))
    assert type(error) is (EventTooLargeError if code == "frame-too-large" else StreamInvalidError)
    assert error.code == code
    assert contents_of(error) == ["hi", "a"]
    assert seen == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]


@both
def test_the_unknown_is_skipped(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    patch = event("STATE_DELTA", delta=[{"op": "remove", "path": "/nowhere"}])
    odd = [event("BRAND_NEW", x=1), {**text("m")[0], "colour": "red"}, *text("m", "a")[1:], patch]
    with caplog.at_level(logging.WARNING), server(recording(*in_run(*odd))) as agent:
        run = AGUIClient(agent.url).run(ASK)
        events = reader.read(run)
    assert events == verify(in_run(*text("m", "a"), patch))
    assert run.state == ASK.state
    recorded = "\n".join(
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    )
    assert recorded.count("\n") == 2, recorded
    assert "BRAND_NEW" in recorded
    assert "colour" in recorded
    assert "patch fails" in recorded


@both
def test_answers_that_are_no_streams(reader: Blocking) -> None:
    def endless(peer: Peer) -> None:
        peer.head(content_type="application/x-ndjson")
        peer.write(frames([STARTED]))
        assert peer.left()  # nobody waits for the rest

    with server(
        endless, answering(204, content_type=""), answering(200, "{}", "text/event-streams")
    ) as agent:
        for kind in ("x-ndjson", "no content type", "text/event-streams"):
            error, seen = refused(reader, AGUIClient(agent.url))
            assert type(error) is NotAnEventStreamError
            assert kind in str(error)
            assert (contents_of(error), seen) == (["hi"], [])


@both
def test_http_errors(reader: Blocking) -> None:
    def broken(peer: Peer) -> None:
        peer.head(500, "text/plain", content_length="100")
        peer.write(b"half")

    with server(
        answering(409, '{"code": "conflict", "detail": "é"}', "application/json"),
        answering(422, '{"code"', "application/json"),
        answering(401, "x" * 100_000),
        broken,
    ) as agent:
        client = AGUIClient(agent.url)
        busy, unreadable, long, half = (refused(reader, client)[0] for _ in range(4))
    assert isinstance(busy, AgentStatusError)
    assert (busy.status, busy.code, busy.payload) == (
        409,
        "conflict",
        {"code": "conflict", "detail": "é"},
    )
    assert isinstance(unreadable, AgentStatusError)
    assert (unreadable.status, unreadable.code, unreadable.body) == (422, None, '{"code"')
    assert isinstance(long, AgentStatusError)
    assert len(long.body) == 64 * 1024
    assert isinstance(half, AgentStatusError)
    assert (half.status, half.body) == (500, "half")
    assert contents_of(half) == ["hi"]
    assert len(agent.asked) == 4  # 500 and a broken body are no reason to ask again


def nothing(peer: Peer) -> None:
    """Hangs up without a word."""


def reset(peer: Peer) -> None:
    peer.reset()


@both
@pytest.mark.parametrize(
    "first",
    [
        nothing,
        reset,
        *(answering(status, retry_after="0") for status in (429, 502, 503)),
        answering(503, retry_after="²"),
        answering(409, '{"code": "thread_busy"}', "application/json"),
    ],
    ids=["nothing", "reset", "429", "502", "503", "no number", "busy"],
)
def test_asking_again(reader: Blocking, first: Script) -> None:
    with server(first, first, recording(*WHOLE)) as agent:
        run = AGUIClient(agent.url).run(ASK)
        assert len(reader.read(run)) == len(WHOLE)
    assert len(agent.asked) == 3
    assert agent.asked[0].body == agent.asked[2].body


@both
@pytest.mark.parametrize(
    "first", [nothing, reset, answering(503, retry_after="0"), answering(504), answering(500)]
)
def test_not_asking_again(reader: Blocking, first: Script) -> None:
    with server(first, recording(*WHOLE)) as agent:
        error, _ = refused(reader, AGUIClient(agent.url, retries=0))
    assert type(error) in (AgentUnreachableError, AgentStatusError)
    assert len(agent.asked) == 1


@both
def test_an_agent_that_does_not_answer_in_time(reader: Blocking) -> None:
    """It may have begun, so nobody asks it again."""

    def script(peer: Peer) -> None:
        assert peer.left()

    with server(script, recording(*WHOLE)) as agent:
        error, _ = refused(reader, AGUIClient(agent.url, timeout=0.2))
    assert type(error) is AgentUnreachableError
    assert len(agent.asked) == 1


def test_waiting_as_long_as_told() -> None:
    error = AgentStatusError("u", 503, "")
    assert retry_delay(0, error, "7") == 7
    assert retry_delay(0, error, "9" * 400) == 30
    assert 0.25 <= (retry_delay(1, error) or 0) <= 0.5
    assert retry_delay(0, AgentStatusError("u", 409, "")) is None


async def test_what_the_agent_can() -> None:
    scripts = [answering(200, '{"identity": {"name": "a"}}', "application/json")] * 2
    with (
        server(*scripts, answering(200, "[]"), answering(404, "no")) as agent,
        httpx2.Client() as blocking,
    ):
        client = AGUIClient(agent.url + "/?q=1", headers={"X-Key": "k"})
        for one in (client, AGUIClient(agent.url, http_client=blocking)):
            recorded = await one.capabilities()
            assert recorded.identity is not None
            assert recorded.identity.name == "a"
        with pytest.raises(NotAnEventStreamError):
            await client.capabilities()
        with pytest.raises(AgentStatusError, match="404"):
            await client.capabilities()
    assert {asked.path for asked in agent.asked} == {
        "/agent/capabilities?q=1",
        "/agent/capabilities",
    }
    assert agent.asked[0].header("x-key") == "k"
    with pytest.raises(AgentUnreachableError):
        await client.capabilities()


@both
def test_connect_has_a_route_of_its_own(reader: Blocking) -> None:
    with server(recording(*WHOLE)) as agent:
        reader.read(AGUIClient(f"http://127.0.0.1:{agent.port}/a%2Fb/?x=1").connect(ASK))
    assert agent.asked[0].path == "/a%2Fb/connect?x=1"


async def test_runs_at_once_share_a_client_and_nothing_else() -> None:
    with server(*(recording(*in_run(*text("m", str(number)))) for number in range(4))) as agent:
        client = AGUIClient(agent.url)

        async def one() -> Any:
            run = client.run(ASK)
            events = [event async for event in run]
            return events[2].delta, run.messages[-1].content  # type: ignore[union-attr]

        recorded = await asyncio.gather(*(one() for _ in range(4)))
    assert sorted(recorded) == [(str(number), str(number)) for number in range(4)]
