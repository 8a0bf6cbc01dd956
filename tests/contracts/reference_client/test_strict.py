"""The rules that AG-UI 1.0 gives producers and the reference client does not check."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ResumeEntry, RunAgentInput

from langgraph_agui.protocol import ProtocolError, Verifier, verify
from tests.kit.processes.node_client import NodeClient
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

HISTORY = [
    *[message("user", "u"), message("reasoning", "r0")],
    *[caller("a0", "old", "waiting", content="x"), message("tool", "t0", toolCallId="old")],
]
INPUT = RunAgentInput.model_validate(
    {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": HISTORY}
    | {"state": {"k": 1}, "tools": [{"name": "front", "description": "d"}]}
)
M, N, FRONT = {"parentMessageId": "m"}, {"parentMessageId": "n"}, {"name": "front"}
OPEN, CLOSED = text()
OTHER_RUN, OTHER_THREAD = {"runId": "z"}, {"threadId": "z"}
SPAN = [event(f"REASONING_{one}", messageId="s") for one in ("START", "END")]
CHUNK = event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="{}")
UNVERSIONED = event("RUN_STARTED", threadId="t", runId="r")
PARTS = message("assistant", "m", [{"type": "text", "text": "a"}])


def finished(**fields: Any) -> Wire:
    return {**FINISHED, **fields}


def pending(*ids: str) -> Wire:
    return ended("success", pendingToolCallIds=list(ids))


def interrupted(*ids: str) -> Wire:
    return ended("interrupt", interrupts=[{"id": id_, "reason": "x"} for id_ in ids])


def usage(*counts: int, **fields: Any) -> Wire:
    return dict(zip(("inputTokens", "outputTokens", "totalTokens"), counts, strict=False), **fields)


BROKEN: dict[str, list[list[Wire]]] = {
    "empty-stream": [[]],
    "truncated-stream": [[STARTED], [STARTED, *text()], [*in_run(), STARTED]],
    "malformed-event": [[{**STARTED, "protocolVersion": None}, FINISHED]],
    "protocol-version": [
        [{**UNVERSIONED, **one}, FINISHED] for one in ({}, {"protocolVersion": "1"})
    ],
    "thread-id": [
        [{**STARTED, **OTHER_THREAD}, finished(**OTHER_THREAD)],
        [STARTED, finished(**OTHER_THREAD)],
    ],
    "run-id": [[{**STARTED, **OTHER_RUN}, finished(**OTHER_RUN)], [STARTED, finished(**OTHER_RUN)]],
    "duplicate-interrupt": [[STARTED, interrupted("i", "j", "i")]],
    "pending-tool-calls": [
        in_run(*call()),
        [STARTED, *call("c"), *call("d"), pending("c")],
        [STARTED, *call("c"), *call("d"), pending("d", "c")],
        [STARTED, *call(), result(), pending("c")],
        [STARTED, *call(), pending("c"), STARTED, pending("c")],
    ],
    "frontend-tool-result": [
        [STARTED, *call(**FRONT), result(), ERROR],
        in_run(*call(**FRONT), result()),
    ],
    "restreamed-call": [
        in_run(*call("old")),
        [*in_run(*call(), result()), STARTED, *call()],
        in_run(snapshot(caller("n", "c")), *call()),
    ],
    "call-id-reused": [
        in_run(*call(**M), result(), *call(**N)),
        in_run(*call(**M), *call(**N), result()),
        in_run(*call(), result(), *call()),
        in_run(*call("old", **M)),
        in_run(*call("waiting", **M)),
        [*in_run(*call(**M), result()), STARTED, *call(**N)],
        in_run({**CHUNK, **M}, result(), CHUNK),
        in_run(snapshot(caller("m", "z"), caller("n", "z"))),
    ],
    "continued-message": [in_run(*text("m", "x"), *call(**M), result(), *text("m", "y"))],
    "restreamed-message": [
        in_run(*text("a0", "more")),
        in_run(*reasoning("r0", "more")),
        [*in_run(*text()), STARTED, *text()],
        in_run(snapshot(*HISTORY, message("assistant", "m")), *text()),
    ],
    "id-reused": [
        in_run(*reasoning("m"), *text("m")),
        in_run(*text("m"), *reasoning("m")),
        in_run(*text("t0")),
        in_run(*text("o"), *call(), result()),
        in_run(*call("c"), *call("d"), result("c"), result("d")),
        in_run(*text("m"), activity("m")),
        in_run(activity("m"), *text("m")),
        [STARTED, *text("c"), *call("c"), pending("c")],
        in_run(snapshot(message("user", "x"), message("user", "x"))),
        in_run(*reasoning("m"), snapshot(message("user", "m"))),
    ],
    "unknown-entity": [
        *[
            in_run(encrypted("z")),
            in_run(*SPAN, encrypted("s")),
            in_run(encrypted("a0", "tool-call")),
        ],
        *[in_run(activity("y"), encrypted("y")), in_run(encrypted("q"), *reasoning("q"))],
    ],
    "unknown-call": [in_run(result("z"))],
    "answered-call": [in_run(*call(), result(), result(message_id="o2")), in_run(result("old"))],
    "usage": [
        [STARTED, finished(usage=[usage(1, 2, 4)])],
        [STARTED, {**ERROR, "usage": [usage(0, 2, 4)]}],
        [STARTED, finished(usage=[usage(1, model="m"), usage(2, model="m")])],
    ],
    "client-warning": [
        in_run(state_delta({"op": "remove", "path": "/z"})),
        [STARTED, *call(parentMessageId="u"), pending("c")],
        in_run(OPEN, snapshot(*HISTORY), CLOSED),
    ],
    "non-conforming": [
        *[in_run(event("FUTURE")), [STARTED, finished(extra=1)], [STARTED, finished(result=None)]],
        *[in_run(*reasoning(role="assistant")), in_run(snapshot(PARTS))],
    ],
}

EARLIER = {"runId": "earlier"}
EMPTIED = [HISTORY[0], message("reasoning", "r0", ""), *HISTORY[2:]]
FINE: dict[str, list[Wire]] = {
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
    "call answered and taken back": in_run(*call(**FRONT, **M), result(), snapshot(*HISTORY)),
    "malformed frontend call answered": in_run(*call("c", "[]", **FRONT), result()),
    "both kinds": [STARTED, *call("c", **FRONT), *call("d"), result("d"), pending("c")],
    "interrupted with a call": [STARTED, *call(), interrupted("i", "j")],
    "cancelled with a call": [STARTED, *call(), ended("cancelled")],
    "closing snapshot": in_run(*text("m", "x"), snapshot(*HISTORY, message("assistant", "m"))),
    "state": in_run(state_delta({"op": "replace", "path": "/k", "value": 2})),
    "usage": [
        *[
            STARTED,
            finished(usage=[usage(1, 2, 3, model="m"), {**usage(1, model="n"), "totalTokens": 9}]),
        ]
    ],
    "thought taken back and said anew": in_run(snapshot(*EMPTIED), *reasoning("r0", "y")),
    "activity twice": in_run(activity("y"), activity("y")),
}


def refused(events: list[Wire], given: RunAgentInput | None = INPUT) -> str:
    with pytest.raises(ProtocolError) as caught:
        verify(events, strict=True, input=given)
    return caught.value.code


@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_rule_is_found_by_strict_only(code: str) -> None:
    for events in BROKEN[code]:
        assert refused(events) == code, events
        if code != "malformed-event":
            verify(events)


def test_conforming_streams_pass(node_client: NodeClient) -> None:
    for name, events in FINE.items():
        assert verify(events, strict=True, input=INPUT), name
    held = {"messages": HISTORY, "state": {"k": 1}, "threadId": "t"}
    for run in node_client.runs({"events": events, **held} for events in FINE.values()):
        assert (run.error, run.warnings) == (None, [])


def test_the_error_says_which_call_is_meant() -> None:
    with pytest.raises(ProtocolError, match="message 'm' has a call 'c' already"):
        verify(BROKEN["call-id-reused"][0], strict=True)


def test_the_input_decides_what_is_expected() -> None:
    """Answers may lead to the same call again, but its arguments must not come twice. A client of
    before 1.0 needs no outcome. Without input only the stream counts."""
    answer = ResumeEntry(interrupt_id="i", status="resolved", payload=True)
    answered = INPUT.model_copy(update={"resume": [answer]})
    assert refused(in_run(*call("waiting", **M)), answered) == "restreamed-call"
    old = INPUT.model_copy(update={"protocol_version": None})
    front = call(**FRONT)
    assert verify(in_run(*front), strict=True, input=old)
    assert refused([STARTED, *front, pending()], old) == "pending-tool-calls"
    assert refused([STARTED, *front, interrupted("i", "i")], old) == "duplicate-interrupt"
    other = {**OTHER_RUN, **OTHER_THREAD}
    assert verify([{**STARTED, **other}, finished(**other)], strict=True)
    assert refused([*in_run(), {**STARTED, "threadId": "z"}], None) == "thread-id"


def test_a_verifier_is_fed_step_by_step() -> None:
    verifier = Verifier(strict=True)
    chunk = event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")
    fed = [[one.type.value for one in verifier.feed(wire)] for wire in (STARTED, chunk)]
    assert fed == [["RUN_STARTED"], ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]]
    with pytest.raises(ProtocolError):
        verifier.finish()
    ends = [one.type.value for one in verifier.feed(FINISHED)]
    assert ends == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    verifier.finish()
