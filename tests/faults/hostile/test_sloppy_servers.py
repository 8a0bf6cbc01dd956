"""Servers that are sloppy about AG-UI, SSE or HTTP: every client says what is wrong, or reads on.

None of them may hang, raise an error of another kind, or lose the answer without a word.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable
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
    event,
    in_run,
    result,
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


def before(*events: Wire) -> list[Wire]:
    return in_run(*events, *HELLO)


def after(*events: Wire) -> list[Wire]:
    return [STARTED, *HELLO, *events]


ACCENT = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in before()).encode()
PLACE = ACCENT.index("é".encode()) + 1
NOWHERE = {"op": "replace", "path": "/a/b", "value": 1}

# The answer, and what a warning says.
READ: dict[str, tuple[Answers, str]] = {
    "no blank line at the end": (sending(WHOLE.rstrip(b"\n")), ""),
    "a character cut in two": (chunked(ACCENT[:PLACE], ACCENT[PLACE:]), ""),
    "gzip": (sending(gzip.compress(WHOLE), content_encoding="gzip"), ""),
    "an encoding nobody knows": (sending(WHOLE, content_encoding="x"), ""),
    "less than Content-Length": (answer("content-length: 99999", WHOLE), ""),
    "HTTP 206": (answering(206, WHOLE.decode(), SSE), ""),
    "one message id twice": (in_run(*text("m", WORD[:2]), *text("m", WORD[2:])), ""),
    "an unknown event": (before(event("FOO", x=1)), "FOO"),
    "a patch that does not fit": (before(state_delta(NOWHERE)), "nothing at /a/b"),
    "a result of no call": (before(result("nobody's")), ""),
    "ids of another run": (after({**FINISHED, "runId": "z"}), ""),
    "two ends": (after(FINISHED, FINISHED), "behind the end of the run"),
    "words behind the end": (chunked(WHOLE, frames(text("n"))), "behind the end"),
    "[DONE] behind the end": (chunked(WHOLE, b"data: [DONE]\n\n"), "not JSON"),
    "half an event behind the end": (sending(WHOLE + b'data: {"type'), ""),
}

SNAKE = {"type": "RUN_STARTED", "thread_id": "t", "run_id": "r"}
PACKED = gzip.compress(WHOLE)
ENDED, NO_DATA = "ended before its run did", "`data:` line"
NO_CHUNKS = answer("transfer-encoding: chunked", b"zz\r\n" + WHOLE)

# What is said of each answer, by an error of which class.
REFUSED: dict[str, tuple[type[AgentError], Answers, str]] = {
    "no RUN_STARTED": (StreamInvalidError, [*HELLO, FINISHED], "begins with RUN_STARTED"),
    "a text that does not end": (StreamInvalidError, after(text("n")[0], FINISHED), "open: n"),
    "snake_case": (StreamInvalidError, [SNAKE], "/threadId is missing"),
    "no JSON": (StreamInvalidError, sending(WHOLE.replace(b"}\n\nd", b"}\nd")), "not JSON"),
    "no end": (StreamTruncatedError, after(), ENDED),
    "no bytes": (StreamTruncatedError, sending(b""), "RUN_STARTED"),
    "cut within an event": (StreamTruncatedError, sending(WHOLE[:-20]), ENDED),
    "cut gzip": (StreamTruncatedError, sending(PACKED[:-12], content_encoding="gzip"), ENDED),
    "no gzip": (StreamTruncatedError, sending(WHOLE, content_encoding="gzip"), "Encoding says"),
    "no chunks": (StreamTruncatedError, NO_CHUNKS, "broke off"),
    "UTF-16": (StreamTruncatedError, sending(WHOLE.decode().encode("utf-16")), NO_DATA),
    "lines of JSON": (StreamTruncatedError, sending(WHOLE.replace(b"data: ", b"")), NO_DATA),
    "only a failure": (RunFailedError, [ERROR], "no"),
    "an end, and a failure": (RunFailedError, after(FINISHED, ERROR), "no"),
    "a failure, and an end": (RunFailedError, after(ERROR, FINISHED), ""),
    "HTML": (NotAnEventStreamError, answering(200, "<p>", "text/html"), "text/html, not an AG-UI"),
    "HTTP 404": (AgentStatusError, answering(404, "<p>no</p>", "text/html"), "HTTP 404"),
    "a redirect without an address": (AgentStatusError, answering(307), "HTTP 307"),
    "SSH": (AgentUnreachableError, lambda peer: peer.write(b"SSH-2.0-x\r\n\r\n"), "illegal status"),
}
KEPT = {"cut within an event", "cut gzip"}
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


@pytest.mark.parametrize(("name", "ask"), zip(READ, cycle(OTHERS), strict=False))
def test_a_client_reads_on(name: str, ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    """A session, and one of the other clients."""
    script, warning = READ[name]
    with server(script, script) as agent:
        turn = AGUISession[Any](client(agent.url)).send("hi").wait()
        logged = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
        assert ask(agent.url) == WORD
    assert (turn.outcome, turn.text) == ("success", WORD)
    assert (warning in "\n".join(logged), bool(logged)) == (True, bool(warning))


@pytest.mark.parametrize(("name", "ask"), zip(REFUSED, cycle(OTHERS), strict=False))
def test_a_client_says_what_is_wrong(name: str, ask: Ask) -> None:
    kind, script, reason = REFUSED[name]
    with server(script, script) as agent:
        session = AGUISession[Any](client(agent.url))
        for say in (lambda: session.send("hi").wait(), lambda: ask(agent.url)):
            with pytest.raises(kind) as info:
                say()
            assert (type(info.value), reason in str(info.value)) == (kind, True)
    keeps = script[1:4] == HELLO if isinstance(script, list) else name in KEPT
    assert (WORD in [one.content for one in session.messages]) == keeps
