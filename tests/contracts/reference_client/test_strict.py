"""The rules that AG-UI 1.0 gives producers and the reference client does not check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ag_ui.core import ResumeEntry, RunAgentInput

from langgraph_agui.protocol import ProtocolError, Verifier, verify
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    activity,
    call,
    caller,
    encrypted,
    ended,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    state_delta,
    text,
)

if TYPE_CHECKING:
    from tests.kit.processes.node_client import NodeClient

HISTORY = [
    message("user", "u"),
    message("reasoning", "r0"),
    caller("a0", "old", "waiting", content="x"),
    message("tool", "t0", toolCallId="old"),
]
FRONT = {"name": "front", "description": "d"}
INPUT = RunAgentInput.model_validate(
    {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": HISTORY}
    | {"state": {"k": 1}, "tools": [FRONT]}
)
M, N = {"parentMessageId": "m"}, {"parentMessageId": "n"}
OPEN, CLOSED = text()
SPAN = [event(f"REASONING_{one}", messageId="s") for one in ("START", "END")]
CHUNK = event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="{}")
TWINS = [caller("m", "z"), caller("n", "z")]
UNVERSIONED = event("RUN_STARTED", threadId="t", runId="r")


def finished(**fields: Any) -> Wire:
    return {**FINISHED, **fields}


def pending(*ids: str) -> Wire:
    return ended("success", pendingToolCallIds=list(ids))


def interrupted(*ids: str) -> Wire:
    return ended("interrupt", interrupts=[{"id": id_, "reason": "x"} for id_ in ids])


def usage(*counts: int, **fields: Any) -> Wire:
    return dict(zip(("inputTokens", "outputTokens", "totalTokens"), counts, strict=False), **fields)


BROKEN: dict[str, dict[str, list[Wire]]] = {
    "empty-stream": {"nothing": []},
    "truncated-stream": {
        "only a start": [STARTED],
        "cut off": [STARTED, *text()],
        "second run": [*in_run(), STARTED],
    },
    "malformed-event": {"null": [{**STARTED, "protocolVersion": None}, FINISHED]},
    "protocol-version": {
        "left out": [UNVERSIONED, FINISHED],
        "odd": [{**STARTED, "protocolVersion": "1.0.0"}, FINISHED],
    },
    "thread-id": {
        "start": [{**STARTED, "threadId": "z"}, finished(threadId="z")],
        "end": [STARTED, finished(threadId="z")],
    },
    "run-id": {
        "start": [{**STARTED, "runId": "z"}, finished(runId="z")],
        "end": [STARTED, finished(runId="z")],
    },
    "duplicate-interrupt": {"twins": [STARTED, interrupted("i", "j", "i")]},
    "pending-tool-calls": {
        "left out": in_run(*call()),
        "forgotten": [STARTED, *call("c"), *call("d"), pending("c")],
        "out of order": [STARTED, *call("c"), *call("d"), pending("d", "c")],
        "answered": [STARTED, *call(), result(), pending("c")],
        "of an earlier run": [STARTED, *call(), pending("c"), STARTED, pending("c")],
    },
    "frontend-tool-result": {
        "before a failure": [STARTED, *call(name="front"), result(), ERROR],
        "before the end": in_run(*call(name="front"), result()),
    },
    "restreamed-call": {
        "of the history": in_run(*call("old")),
        "of an earlier run": [*in_run(*call(), result()), STARTED, *call()],
        "of a snapshot": in_run(snapshot(caller("n", "c")), *call()),
    },
    "call-id-reused": {
        "of another answer": in_run(*call(**M), result(), *call(**N)),
        "of an open call": in_run(*call(**M), *call(**N), result()),
        "of an answered call": in_run(*call(), result(), *call()),
        "of the history": in_run(*call("old", **M)),
        "of an open call of the history": in_run(*call("waiting", **M)),
        "of an earlier run": [*in_run(*call(**M), result()), STARTED, *call(**N)],
        "in chunks": in_run({**CHUNK, **M}, result(), CHUNK),
        "twins in a snapshot": in_run(snapshot(*TWINS)),
    },
    "continued-message": {
        "after its result": in_run(*text("m", "x"), *call(**M), result(), *text("m", "y"))
    },
    "restreamed-message": {
        "text of the history": in_run(*text("a0", "more")),
        "thought of the history": in_run(*reasoning("r0", "more")),
        "of an earlier run": [*in_run(*text()), STARTED, *text()],
        "of a snapshot": in_run(snapshot(*HISTORY, message("assistant", "m")), *text()),
    },
    "id-reused": {
        "thought, text": in_run(*reasoning("m"), *text("m")),
        "text, thought": in_run(*text("m"), *reasoning("m")),
        "result, text": in_run(*text("t0")),
        "text, result": in_run(*text("o"), *call(), result()),
        "result, result": in_run(*call("c"), *call("d"), result("c"), result("d")),
        "text, activity": in_run(*text("m"), activity("m")),
        "activity, text": in_run(activity("m"), *text("m")),
        "message, call": [STARTED, *text("c"), *call("c"), pending("c")],
        "twins in a snapshot": in_run(snapshot(message("user", "x"), message("user", "x"))),
        "kind in a snapshot": in_run(*reasoning("m"), snapshot(message("user", "m"))),
    },
    "unknown-entity": {
        "nothing": in_run(encrypted("z")),
        "span": in_run(*SPAN, encrypted("s")),
        "no call": in_run(encrypted("a0", "tool-call")),
        "activity": in_run(activity("y"), encrypted("y")),
        "too soon": in_run(encrypted("q"), *reasoning("q")),
    },
    "unknown-call": {"result of nothing": in_run(result("z"))},
    "answered-call": {
        "twice": in_run(*call(), result(), result(message_id="o2")),
        "history": in_run(result("old")),
    },
    "usage": {
        "adds up": [STARTED, finished(usage=[usage(1, 2, 4)])],
        "of an error": [STARTED, {**ERROR, "usage": [usage(0, 2, 4)]}],
        "twice": [STARTED, finished(usage=[usage(1, model="m"), usage(2, model="m")])],
    },
    "client-warning": {
        "failing patch": in_run(state_delta({"op": "remove", "path": "/z"})),
        "parent that is no assistant": [STARTED, *call(parentMessageId="u"), pending("c")],
        "text dropped by a snapshot": in_run(OPEN, snapshot(*HISTORY), CLOSED),
    },
    "non-conforming": {
        "unknown event": in_run(event("FUTURE")),
        "unknown property": [STARTED, finished(extra=1)],
        "deprecated null": [STARTED, finished(result=None)],
        "role of a thought": in_run(*reasoning(role="assistant")),
        "parts of a text": in_run(
            snapshot(message("assistant", "m", [{"type": "text", "text": "a"}]))
        ),
    },
}

EARLIER = {"runId": "earlier"}
EMPTIED = [HISTORY[0], message("reasoning", "r0", ""), *HISTORY[2:]]
FINE: dict[str, list[Wire]] = {
    "empty run": in_run(),
    "replay": [{**STARTED, **EARLIER}, snapshot(*HISTORY), finished(**EARLIER), *in_run()],
    "failed run": [STARTED, OPEN, ERROR],
    "late failure": [*in_run(), ERROR],
    "failure first": [STARTED, ERROR, *in_run()],
    "text around a thought": in_run(*text("m", "a"), *reasoning("q", "b"), *text("m", "c")),
    "encrypted values": in_run(
        *[*reasoning("q", "hm"), encrypted("q"), *call(**M), encrypted("c", "tool-call")],
        *[result(), *text("m2", "done"), encrypted("m2")],
    ),
    "text joins the call's message": in_run(*call(**M), *text("m", "also"), result()),
    "call reopened in its run": in_run(*call("c", "{"), *call("c", "}"), result()),
    "call in chunks that other events close": in_run(
        {**CHUNK, "delta": "{"},
        event("CUSTOM", name="n", value=1),
        {**CHUNK, "delta": "}"},
        result(),
    ),
    "snapshot repeats a call": in_run(*call(**M), snapshot(*HISTORY, caller("m", "c")), result()),
    "history answered": in_run(result("waiting")),
    "frontend call": [STARTED, *call(name="front"), pending("c")],
    "frontend call answered and taken back": in_run(
        *call(name="front", **M), result(), snapshot(*HISTORY)
    ),
    "malformed frontend call answered": in_run(*call("c", "[]", name="front"), result()),
    "both kinds": [STARTED, *call("c", name="front"), *call("d"), result("d"), pending("c")],
    "interrupted with a call": [STARTED, *call(), interrupted("i", "j")],
    "cancelled with a call": [STARTED, *call(), ended("cancelled")],
    "closing snapshot": in_run(*text("m", "x"), snapshot(*HISTORY, message("assistant", "m"))),
    "state": in_run(state_delta({"op": "replace", "path": "/k", "value": 2})),
    "usage": [
        STARTED,
        finished(
            usage=[
                usage(1, 2, 3, provider="p", model="m"),
                {"provider": "q", "model": "m", "inputTokens": 1, "totalTokens": 9},
            ]
        ),
    ],
    "thought taken back and said anew": in_run(snapshot(*EMPTIED), *reasoning("r0", "y")),
    "activity twice": in_run(activity("y"), activity("y")),
}


def refused(events: list[Wire], given: RunAgentInput | None = INPUT) -> str:
    with pytest.raises(ProtocolError) as caught:
        verify(events, strict=True, input=given)
    return caught.value.code


@pytest.mark.parametrize(
    ("code", "name"), [(code, name) for code in BROKEN for name in BROKEN[code]]
)
def test_a_broken_rule_is_found_by_strict_only(code: str, name: str) -> None:
    assert refused(BROKEN[code][name]) == code
    if code != "malformed-event":
        verify(BROKEN[code][name])


@pytest.mark.parametrize("name", FINE)
def test_a_conforming_stream_passes(name: str, node_client: NodeClient) -> None:
    assert verify(FINE[name], strict=True, input=INPUT)
    held = {"messages": HISTORY, "state": {"k": 1}, "threadId": "t"}
    run = node_client.run(events=FINE[name], **held)
    assert (run.error, run.warnings) == (None, [])


def test_the_error_says_which_call_is_meant() -> None:
    with pytest.raises(ProtocolError, match="message 'm' has a call 'c' already"):
        verify(BROKEN["call-id-reused"]["of another answer"], strict=True)


def test_the_input_decides_what_is_expected() -> None:
    """Answers may lead to the same call again, but its arguments must not come twice. A client of
    before 1.0 needs no outcome. Without input only the stream counts."""
    answer = ResumeEntry(interrupt_id="i", status="resolved", payload=True)
    answered = INPUT.model_copy(update={"resume": [answer]})
    assert refused(in_run(*call("waiting", **M)), answered) == "restreamed-call"
    old = INPUT.model_copy(update={"protocol_version": None})
    front = call(name="front")
    assert verify(in_run(*front), strict=True, input=old)
    assert refused([STARTED, *front, pending()], old) == "pending-tool-calls"
    assert refused([STARTED, *front, interrupted("i", "i")], old) == "duplicate-interrupt"
    other = {"runId": "any", "threadId": "any"}
    assert verify([{**STARTED, **other}, finished(**other)], strict=True)
    assert refused([*in_run(), {**STARTED, "threadId": "z"}], None) == "thread-id"


def test_a_verifier_is_fed_step_by_step() -> None:
    verifier = Verifier(strict=True)

    def types(wire: Wire) -> list[str]:
        return [one.type.value for one in verifier.feed(wire)]

    assert types(STARTED) == ["RUN_STARTED"]
    opened = types(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"))
    assert opened == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    with pytest.raises(ProtocolError):
        verifier.finish()
    assert types(FINISHED) == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    verifier.finish()
