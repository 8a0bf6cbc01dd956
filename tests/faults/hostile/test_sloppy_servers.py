"""Servers that are sloppy about AG-UI, SSE or HTTP: every client says what is wrong, or reads on.

Each case goes to a session, a chat model and a node. None of them may hang, raise an error of
another kind, or lose the answer without a word.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from langgraph_agui.client import (
    AgentError,
    AgentStatusError,
    AgentUnreachableError,
    AGUIChatModel,
    AGUIClient,
    AGUISession,
    ClientLimits,
    NotAnEventStreamError,
    RemoteAgent,
    RunFailedError,
    StreamInvalidError,
    StreamTruncatedError,
)
from tests.kit.deep import together
from tests.kit.processes.scripted_servers import (
    SSE,
    Peer,
    Script,
    answering,
    frames,
    recording,
    server,
)
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    message,
    result,
    snapshot,
    state_delta,
    text,
)
from tests.kit.waiting import PATIENCE

HELLO = text("m", "Hello")
WHOLE = frames(in_run(*HELLO))
LIMITS = ClientLimits(run_timeout=PATIENCE)


def body(data: bytes, content_type: str = SSE, **headers: str) -> Script:
    def script(peer: Peer) -> None:
        peer.head(content_type=content_type, **headers)
        peer.write(data)

    return script


def answer(head: str, data: bytes) -> Script:
    """Answers with headers of its own."""

    def script(peer: Peer) -> None:
        peer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {SSE}\r\n{head}\r\n\r\n".encode() + data)

    return script


def chunked(*pieces: bytes) -> Script:
    """Each piece is an HTTP chunk of its own."""
    coded = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return answer("transfer-encoding: chunked", coded + b"0\r\n\r\n")


def on_lines(events: Sequence[Wire]) -> bytes:
    """The JSON of each event on several lines."""
    texts = [json.dumps(one, indent=1).replace("\n", "\ndata: ") for one in events]
    return "".join(f"data: {one}\n\n" for one in texts).encode()


def plain(events: Sequence[Wire]) -> bytes:
    return "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in events).encode()


ACCENT = plain(in_run(*text("m", "Héllo")))
PLACE = ACCENT.index("é".encode()) + 1

# The answer, and what a warning says.
READ: dict[str, tuple[Script, str, str]] = {
    "CRLF": (body(WHOLE.replace(b"\n", b"\r\n")), "Hello", ""),
    "CR": (body(WHOLE.replace(b"\n", b"\r")), "Hello", ""),
    "a byte order mark": (body(b"\xef\xbb\xbf" + WHOLE), "Hello", ""),
    "comments and other fields": (
        body(b":\n\n" + WHOLE.replace(b"data:", b": c\nevent: m\nid: 3\nretry: 9\ndata:")),
        "Hello",
        "",
    ),
    "data on several lines": (body(on_lines(in_run(*HELLO))), "Hello", ""),
    "data without a space": (body(WHOLE.replace(b"data: ", b"data:")), "Hello", ""),
    "no blank line at the end": (body(WHOLE.rstrip(b"\n")), "Hello", ""),
    "a character cut in two": (chunked(ACCENT[:PLACE], ACCENT[PLACE:]), "Héllo", ""),
    "gzip": (body(gzip.compress(WHOLE), content_encoding="gzip"), "Hello", ""),
    "an encoding nobody knows": (body(WHOLE, content_encoding="x"), "Hello", ""),
    "less than Content-Length": (answer("content-length: 99999", WHOLE), "Hello", ""),
    "HTTP 206": (answering(206, WHOLE.decode(), SSE), "Hello", ""),
    "no role": (recording(*in_run(*HELLO)), "Hello", ""),
    "an empty delta": (recording(*in_run(*text("m", "", "Hello", ""))), "Hello", ""),
    "one message id twice": (recording(*in_run(*text("m", "Hel"), *text("m", "lo"))), "Hello", ""),
    "an unknown event": (recording(*in_run(event("FOO", x=1), *HELLO)), "Hello", "FOO"),
    "events of before 1.0": (
        recording(*in_run(event("THINKING_START"), event("THINKING_END"), *HELLO)),
        "Hello",
        "THINKING_START",
    ),
    "an unknown outcome": (
        recording(STARTED, *HELLO, {**FINISHED, "outcome": {"type": "paused"}}),
        "Hello",
        "unknown /outcome",
    ),
    "null outcome and result": (
        recording(STARTED, *HELLO, {**FINISHED, "outcome": None, "result": None}),
        "Hello",
        "deprecated null in outcome",
    ),
    "a patch that does not fit": (
        recording(*in_run(state_delta({"op": "replace", "path": "/a/b", "value": 1}), *HELLO)),
        "Hello",
        "nothing at /a/b",
    ),
    "an unknown operation": (
        recording(*in_run(state_delta({"op": "frob", "path": "/a"}), *HELLO)),
        "Hello",
        "frob",
    ),
    "an unknown role in a snapshot": (
        recording(
            *in_run(*HELLO, snapshot(message("robot", "r"), message("assistant", "m", "Hello")))
        ),
        "Hello",
        "role 'robot'",
    ),
    "a result of no call": (recording(*in_run(result("nobody's"), *HELLO)), "Hello", ""),
    "an encrypted value of nothing": (
        recording(
            *in_run(
                event(
                    "REASONING_ENCRYPTED_VALUE",
                    subtype="message",
                    entityId="nothing",
                    encryptedValue="x",
                ),
                *HELLO,
            )
        ),
        "Hello",
        "",
    ),
    "ids of another run": (recording(STARTED, *HELLO, {**FINISHED, "runId": "z"}), "Hello", ""),
    "two ends": (recording(*in_run(*HELLO), FINISHED), "Hello", "behind the end of the run"),
    "two ends in two chunks": (chunked(WHOLE, frames([FINISHED])), "Hello", "behind the end"),
    "words behind the end": (chunked(WHOLE, frames(text("n"))), "Hello", "behind the end"),
    "[DONE] behind the end": (chunked(WHOLE, b"data: [DONE]\n\n"), "Hello", "not JSON"),
    "half an event behind the end": (body(WHOLE + b'data: {"type'), "Hello", ""),
}


INVALID, TRUNCATED = StreamInvalidError, StreamTruncatedError

# The error, what it says, and whether the session keeps the words before it.
REFUSED: dict[str, tuple[Script, type[AgentError], str, bool]] = {
    "no RUN_STARTED": (recording(*HELLO, FINISHED), INVALID, "begins with RUN_STARTED", False),
    "no end": (recording(STARTED, *HELLO), TRUNCATED, "ended before its run did", True),
    "no bytes": (body(b""), TRUNCATED, "RUN_STARTED", False),
    "only a failure": (recording(ERROR), RunFailedError, "no", False),
    "an end, and a failure": (recording(*in_run(*HELLO), ERROR), RunFailedError, "no", True),
    "a failure, and an end": (
        recording(STARTED, *HELLO, ERROR, FINISHED),
        RunFailedError,
        "",
        True,
    ),
    "a text that does not end": (
        recording(STARTED, *HELLO[:2], FINISHED),
        INVALID,
        "open: m",
        True,
    ),
    "a call that does not end": (
        recording(STARTED, *HELLO, *call("c", "{}")[:2], FINISHED),
        INVALID,
        "tool calls are still open: c",
        True,
    ),
    "arguments of no call": (
        recording(STARTED, *HELLO, call("c", "{}")[1], FINISHED),
        INVALID,
        "TOOL_CALL_ARGS: tool call 'c' is not open",
        True,
    ),
    "a text begun twice": (
        recording(STARTED, *HELLO[:2], HELLO[0], FINISHED),
        INVALID,
        "'m' is already open",
        True,
    ),
    "a call begun twice": (
        recording(STARTED, *HELLO, call()[0], *call(), FINISHED),
        INVALID,
        "'c' is already open",
        True,
    ),
    "role null": (recording(STARTED, {**HELLO[0], "role": None}), INVALID, "/role is null", False),
    "an unknown role": (recording(STARTED, {**HELLO[0], "role": "robot"}), INVALID, "/role", False),
    "null text": (
        recording(STARTED, *HELLO, event("TEXT_MESSAGE_CONTENT", messageId="m", delta=None)),
        INVALID,
        "/delta",
        True,
    ),
    "no type": (body(b'data: {"error": "no"}\n\n'), INVALID, "carries no event type", False),
    "type null": (recording(STARTED, {"type": None}), INVALID, "carries no event type", False),
    "snake_case": (
        recording({"type": "RUN_STARTED", "thread_id": "t", "run_id": "r"}),
        INVALID,
        "/threadId is missing",
        False,
    ),
    "ids that are numbers": (recording({**STARTED, "runId": 5}), INVALID, "/runId", False),
    "a patch that is none": (
        recording(STARTED, *HELLO, event("STATE_DELTA", delta={"a": 1})),
        INVALID,
        "/delta: Input should be a valid list",
        True,
    ),
    "a message without an id": (
        recording(STARTED, *HELLO, snapshot({"role": "assistant", "content": "x"})),
        INVALID,
        "/messages/0/id is missing",
        True,
    ),
    "usage that is none": (
        recording(STARTED, *HELLO, {**FINISHED, "usage": {"inputTokens": 3}}),
        INVALID,
        "/usage",
        True,
    ),
    "an interrupt without an id": (
        recording(
            STARTED,
            *HELLO,
            {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"reason": "x"}]}},
        ),
        INVALID,
        "/outcome/interrupts/0/id is missing",
        True,
    ),
    "a result that is an object": (
        recording(STARTED, *HELLO, *call("c", "{}"), result("c", content={"a": 1})),
        INVALID,
        "/content",
        True,
    ),
    "cut within an event": (body(WHOLE[:-20]), TRUNCATED, "ended before its run did", True),
    "gzip that is cut": (
        body(gzip.compress(WHOLE)[:-12], content_encoding="gzip"),
        TRUNCATED,
        "ended before its run did",
        True,
    ),
    "gzip that is none": (body(WHOLE, content_encoding="gzip"), TRUNCATED, "Encoding says", False),
    "chunks that are none": (
        answer("transfer-encoding: chunked", b"zz\r\n" + WHOLE),
        TRUNCATED,
        "broke off",
        False,
    ),
    "UTF-16": (body(WHOLE.decode().encode("utf-16")), TRUNCATED, "`data:` line", False),
    "lines of JSON": (body(WHOLE.replace(b"data: ", b"")), TRUNCATED, "`data:` line", False),
    "HTML as a stream": (body(b"<html>log in</html>"), TRUNCATED, "`data:` line", False),
    "two events in a frame": (body(WHOLE.replace(b"}\n\nd", b"}\nd")), INVALID, "not JSON", False),
    "NaN": (
        body(b'data: {"type": "STATE_SNAPSHOT", "snapshot": NaN}\n\n'),
        INVALID,
        "NaN is not JSON",
        False,
    ),
    "JSON": (
        answering(200, json.dumps(in_run(*HELLO)), "application/json"),
        NotAnEventStreamError,
        "application/json, not an AG-UI event stream",
        False,
    ),
    "HTML": (answering(200, "<p>", "text/html"), NotAnEventStreamError, "text/html", False),
    "HTTP 404": (answering(404, "<p>no</p>", "text/html"), AgentStatusError, "HTTP 404", False),
    "a redirect without an address": (answering(307), AgentStatusError, "HTTP 307", False),
    "no HTTP": (
        lambda peer: peer.write(b"SSH-2.0-x\r\n\r\n"),
        AgentUnreachableError,
        "illegal status line",
        False,
    ),
}


def client(url: str) -> AGUIClient:
    return AGUIClient(url, limits=LIMITS, retries=0)


def model(url: str) -> AGUIChatModel:
    return AGUIChatModel(url=url, limits=LIMITS, retries=0)


def streamed(url: str) -> str:
    async def read() -> list[str]:
        return [chunk.text async for chunk in model(url).astream("hi")]

    return "".join(asyncio.run(read()))


def answer_of_node(url: str) -> str:
    made = RemoteAgent(client(url)).invoke({"messages": "hi"})["messages"]
    return "".join(one.text for one in made)


def invoked(url: str) -> str:
    return str(model(url).invoke("hi").text)


others = pytest.mark.parametrize("ask", [invoked, streamed, answer_of_node])


@pytest.mark.parametrize("name", READ)
def test_a_session_reads_on(name: str, caplog: pytest.LogCaptureFixture) -> None:
    script, words, warning = READ[name]
    with server(script) as agent:
        turn = AGUISession[Any](client(agent.url)).send("hi").wait()
    assert turn.outcome == "success"
    assert turn.text == words
    logged = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert warning in "\n".join(logged)
    assert bool(warning) == bool(logged)


@together(others, pytest.mark.parametrize("name", READ))
def test_models_and_nodes_read_on(name: str, ask: Callable[[str], str]) -> None:
    script, words, _ = READ[name]
    with server(script) as agent:
        assert ask(agent.url) == words


@pytest.mark.parametrize("name", REFUSED)
def test_a_session_says_what_is_wrong(name: str) -> None:
    script, kind, reason, keeps = REFUSED[name]
    with server(script) as agent:
        session = AGUISession[Any](client(agent.url))
        with pytest.raises(kind) as caught:
            session.send("hi").wait()
    assert type(caught.value) is kind
    assert reason in str(caught.value)
    assert ("Hello" in [one.content for one in session.messages]) == keeps


@together(others, pytest.mark.parametrize("name", REFUSED))
def test_models_and_nodes_say_what_is_wrong(name: str, ask: Callable[[str], str]) -> None:
    script, kind, reason, _ = REFUSED[name]
    with server(script) as agent, pytest.raises(kind) as caught:
        ask(agent.url)
    assert type(caught.value) is kind
    assert reason in str(caught.value)
