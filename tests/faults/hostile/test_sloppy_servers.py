"""Servers that are sloppy about AG-UI, SSE or HTTP: every client says what is wrong, or reads on.

None of them may hang, raise an error of another kind, or lose the answer without a word.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable, Sequence
from itertools import cycle
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
from tests.kit.processes.scripted_servers import SSE, Script, answering, frames, sending, server
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    encrypted,
    event,
    in_run,
    message,
    result,
    snapshot,
    state_delta,
    text,
)
from tests.kit.waiting import PATIENCE

WORD = "Héllo"
HELLO = text("m", WORD)
WHOLE = frames(in_run(*HELLO))
LIMITS = ClientLimits(run_timeout=PATIENCE)
Answers = Script | list[Wire]


def answer(head: str, data: bytes) -> Script:
    """Answers with headers of its own."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {SSE}\r\n{head}\r\n\r\n"
    return lambda peer: peer.write(head.encode() + data)


def chunked(*pieces: bytes) -> Script:
    """Each piece is an HTTP chunk of its own."""
    coded = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return answer("transfer-encoding: chunked", coded + b"0\r\n\r\n")


def on_lines(events: Sequence[Wire]) -> bytes:
    """The JSON of each event on several lines."""
    texts = [json.dumps(one, indent=1).replace("\n", "\ndata: ") for one in events]
    return "".join(f"data: {one}\n\n" for one in texts).encode()


def before(*events: Wire) -> list[Wire]:
    return in_run(*events, *HELLO)


def after(*events: Wire) -> list[Wire]:
    return [STARTED, *HELLO, *events]


def ending(**fields: Any) -> list[Wire]:
    return after({**FINISHED, **fields})


ACCENT = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in before()).encode()
PLACE = ACCENT.index("é".encode()) + 1
FIELDS = b":\n\n" + WHOLE.replace(b"data:", b": c\nevent: m\nid: 3\nretry: 9\ndata:")
ROBOT = snapshot(message("robot", "r"), message("assistant", "m", WORD))

# The answer, and what a warning says.
READ: dict[str, tuple[Answers, str]] = {
    "CRLF": (sending(WHOLE.replace(b"\n", b"\r\n")), ""),
    "CR": (sending(WHOLE.replace(b"\n", b"\r")), ""),
    "a byte order mark": (sending(b"\xef\xbb\xbf" + WHOLE), ""),
    "comments and other fields": (sending(FIELDS), ""),
    "data on several lines": (sending(on_lines(before())), ""),
    "data without a space": (sending(WHOLE.replace(b"data: ", b"data:")), ""),
    "no blank line at the end": (sending(WHOLE.rstrip(b"\n")), ""),
    "a character cut in two": (chunked(ACCENT[:PLACE], ACCENT[PLACE:]), ""),
    "gzip": (sending(gzip.compress(WHOLE), content_encoding="gzip"), ""),
    "an encoding nobody knows": (sending(WHOLE, content_encoding="x"), ""),
    "less than Content-Length": (answer("content-length: 99999", WHOLE), ""),
    "HTTP 206": (answering(206, WHOLE.decode(), SSE), ""),
    "an empty delta": (in_run(*text("m", "", WORD, "")), ""),
    "one message id twice": (in_run(*text("m", WORD[:2]), *text("m", WORD[2:])), ""),
    "an unknown event": (before(event("FOO", x=1)), "FOO"),
    "an event of before 1.0": (before(event("THINKING_START")), "THINKING_START"),
    "an unknown outcome": (ending(outcome={"type": "paused"}), "unknown /outcome"),
    "null": (ending(outcome=None, result=None), "deprecated null in outcome"),
    "a patch that does not fit": (
        before(state_delta({"op": "replace", "path": "/a/b", "value": 1})),
        "nothing at /a/b",
    ),
    "an unknown operation": (before(state_delta({"op": "frob", "path": "/a"})), "frob"),
    "an unknown role in a snapshot": (in_run(*HELLO, ROBOT), "role 'robot'"),
    "a result of no call": (before(result("nobody's")), ""),
    "an encrypted value of nothing": (before(encrypted("nothing")), ""),
    "ids of another run": (ending(runId="z"), ""),
    "two ends": (after(FINISHED, FINISHED), "behind the end of the run"),
    "two ends in two chunks": (chunked(WHOLE, frames([FINISHED])), "behind the end"),
    "words behind the end": (chunked(WHOLE, frames(text("n"))), "behind the end"),
    "[DONE] behind the end": (chunked(WHOLE, b"data: [DONE]\n\n"), "not JSON"),
    "half an event behind the end": (sending(WHOLE + b'data: {"type'), ""),
}

SNAKE = {"type": "RUN_STARTED", "thread_id": "t", "run_id": "r"}
NO_ID = {"type": "interrupt", "interrupts": [{"reason": "x"}]}
PACKED = gzip.compress(WHOLE)
ENDED, NO_DATA = "ended before its run did", "`data:` line"

# For each error: the answer, and what is said.
REFUSED: dict[type[AgentError], dict[str, tuple[Answers, str]]] = {
    StreamInvalidError: {
        "no RUN_STARTED": ([*HELLO, FINISHED], "begins with RUN_STARTED"),
        "a text that does not end": (after(text("n")[0], FINISHED), "open: n"),
        "a call that does not end": (after(call()[0], FINISHED), "calls are still open: c"),
        "arguments of no call": (after(call("c", "{}")[1]), "tool call 'c' is not open"),
        "a call begun twice": (after(call()[0], *call()), "'c' is already open"),
        "role null": ([STARTED, {**HELLO[0], "role": None}], "/role is null"),
        "an unknown role": ([STARTED, {**HELLO[0], "role": "robot"}], "/role"),
        "null text": (after({**HELLO[1], "delta": None}), "/delta"),
        "no type": (sending(b'data: {"error": "no"}\n\n'), "carries no event type"),
        "type null": ([STARTED, {"type": None}], "carries no event type"),
        "snake_case": ([SNAKE], "/threadId is missing"),
        "ids that are numbers": ([{**STARTED, "runId": 5}], "/runId"),
        "a patch that is none": (after(event("STATE_DELTA", delta={})), "/delta: Input should be"),
        "no message id": (after(snapshot({"role": "user"})), "/messages/0/id is missing"),
        "usage that is none": (ending(usage={"inputTokens": 3}), "/usage"),
        "no interrupt id": (ending(outcome=NO_ID), "/outcome/interrupts/0/id is missing"),
        "a result that is an object": (after(*call(), result("c", content={})), "/content"),
        "two events in a frame": (sending(WHOLE.replace(b"}\n\nd", b"}\nd")), "not JSON"),
        "NaN": (sending(b'data: {"type": "RAW", "event": NaN}\n\n'), "NaN is not JSON"),
    },
    StreamTruncatedError: {
        "no end": (after(), ENDED),
        "no bytes": (sending(b""), "RUN_STARTED"),
        "cut within an event": (sending(WHOLE[:-20]), ENDED),
        "gzip that is cut": (sending(PACKED[:-12], content_encoding="gzip"), ENDED),
        "gzip that is none": (sending(WHOLE, content_encoding="gzip"), "Encoding says"),
        "chunks that are none": (
            answer("transfer-encoding: chunked", b"zz\r\n" + WHOLE),
            "broke off",
        ),
        "UTF-16": (sending(WHOLE.decode().encode("utf-16")), NO_DATA),
        "lines of JSON": (sending(WHOLE.replace(b"data: ", b"")), NO_DATA),
        "HTML as a stream": (sending(b"<html>log in</html>"), NO_DATA),
    },
    RunFailedError: {
        "only a failure": ([ERROR], "no"),
        "an end, and a failure": (after(FINISHED, ERROR), "no"),
        "a failure, and an end": (after(ERROR, FINISHED), ""),
    },
    NotAnEventStreamError: {
        "JSON": (
            answering(200, json.dumps(before()), "application/json"),
            "application/json, not an AG-UI event stream",
        ),
        "HTML": (answering(200, "<p>", "text/html"), "text/html"),
    },
    AgentStatusError: {
        "HTTP 404": (answering(404, "<p>no</p>", "text/html"), "HTTP 404"),
        "a redirect without an address": (answering(307), "HTTP 307"),
    },
    AgentUnreachableError: {
        "no HTTP": (lambda peer: peer.write(b"SSH-2.0-x\r\n\r\n"), "illegal status line"),
    },
}
KEPT = {"cut within an event", "gzip that is cut"}
"""Of these bytes, a session keeps the words before the fault, as of all events before one."""


def client(url: str) -> AGUIClient:
    return AGUIClient(url, limits=LIMITS, retries=0)


def streamed(url: str) -> str:
    async def read() -> list[str]:
        model = AGUIChatModel(url=url, limits=LIMITS, retries=0)
        return [chunk.text async for chunk in model.astream("hi")]

    return "".join(asyncio.run(read()))


def answer_of_node(url: str) -> str:
    made = RemoteAgent(client(url)).invoke({"messages": "hi"})["messages"]
    return "".join(one.text for one in made)


def invoked(url: str) -> str:
    return str(AGUIChatModel(url=url, limits=LIMITS, retries=0).invoke("hi").text)


Ask = Callable[[str], str]
OTHERS = [invoked, streamed, answer_of_node]
SAID = [(name, kind, *row) for kind, rows in REFUSED.items() for name, row in rows.items()]


@pytest.mark.parametrize(("name", "ask"), zip(READ, cycle(OTHERS), strict=False))
def test_a_client_reads_on(name: str, ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    """A session, and one of the other clients."""
    script, warning = READ[name]
    with server(script, script) as agent:
        turn = AGUISession[Any](client(agent.url)).send("hi").wait()
        logged = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
        assert ask(agent.url) == WORD
    assert (turn.outcome, turn.text) == ("success", WORD)
    assert warning in "\n".join(logged)
    assert bool(warning) == bool(logged)


@pytest.mark.parametrize(
    ("name", "kind", "script", "reason", "ask"),
    [(*row, ask) for row, ask in zip(SAID, cycle(OTHERS), strict=False)],
)
def test_a_client_says_what_is_wrong(
    name: str, kind: type[AgentError], script: Answers, reason: str, ask: Ask
) -> None:
    with server(script, script) as agent:
        session = AGUISession[Any](client(agent.url))
        for caught in (pytest.raises(kind), pytest.raises(kind)):
            with caught as info:
                session.send("hi").wait() if not agent.asked else ask(agent.url)
            assert type(info.value) is kind
            assert reason in str(info.value)
    keeps = script[1:4] == HELLO if isinstance(script, list) else name in KEPT
    assert (WORD in [one.content for one in session.messages]) == keeps
