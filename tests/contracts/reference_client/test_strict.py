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
    call,
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

_OLD_CALL = {"id": "old", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_PENDING_CALL = {**_OLD_CALL, "id": "waiting"}
HISTORY = [
    message("user", "u"),
    message("reasoning", "r0"),
    {"id": "a0", "role": "assistant", "content": "x", "toolCalls": [_OLD_CALL, _PENDING_CALL]},
    message("tool", "t0", toolCallId="old"),
]
INPUT = RunAgentInput.model_validate(
    {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": HISTORY,
        "state": {"k": 1},
        "tools": [{"name": "front", "description": "d"}],
    }
)


def finished(**fields: Any) -> Wire:
    return {**FINISHED, **fields}


def pending(*ids: str) -> Wire:
    return finished(outcome={"type": "success", "pendingToolCallIds": list(ids)})


def interrupted(*ids: str) -> Wire:
    return finished(
        outcome={"type": "interrupt", "interrupts": [{"id": id_, "reason": "x"} for id_ in ids]}
    )


def encrypted(subtype: str, entity: str) -> Wire:
    return event("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue="e")


def activity(id_: str) -> Wire:
    return event("ACTIVITY_SNAPSHOT", messageId=id_, activityType="k", content={})


BROKEN: dict[str, tuple[list[Wire], str]] = {
    "nothing": ([], "empty-stream"),
    "only a start": ([STARTED], "truncated-stream"),
    "cut off": ([STARTED, *text()], "truncated-stream"),
    "second run cut off": ([*in_run(), STARTED], "truncated-stream"),
    "no version": ([{**STARTED, "protocolVersion": None}, FINISHED], "malformed-event"),
    "version left out": (
        [event("RUN_STARTED", threadId="t", runId="r"), FINISHED],
        "protocol-version",
    ),
    "odd version": ([{**STARTED, "protocolVersion": "1.0.0"}, FINISHED], "protocol-version"),
    "other thread": ([{**STARTED, "threadId": "z"}, finished(threadId="z")], "thread-id"),
    "other run": ([{**STARTED, "runId": "z"}, finished(runId="z")], "run-id"),
    "other thread at the end": ([STARTED, finished(threadId="z")], "thread-id"),
    "other run at the end": ([STARTED, finished(runId="z")], "run-id"),
    "interrupts alike": ([STARTED, interrupted("i", "j", "i")], "duplicate-interrupt"),
    "pending left out": (in_run(*call()), "pending-tool-calls"),
    "pending forgotten": ([STARTED, *call("c"), *call("d"), pending("c")], "pending-tool-calls"),
    "pending out of order": (
        [STARTED, *call("c"), *call("d"), pending("d", "c")],
        "pending-tool-calls",
    ),
    "pending though answered": ([STARTED, *call(), result(), pending("c")], "pending-tool-calls"),
    "pending of an earlier run": (
        [STARTED, *call(), pending("c"), STARTED, pending("c")],
        "pending-tool-calls",
    ),
    "frontend tool answered before a failure": (
        [STARTED, *call(name="front"), result(), ERROR],
        "frontend-tool-result",
    ),
    "frontend tool answered": (
        [STARTED, *call(name="front"), result(), FINISHED],
        "frontend-tool-result",
    ),
    "call of the history": (in_run(*call("old")), "restreamed-call"),
    "call of an earlier run": (
        [STARTED, *call(), result(), FINISHED, STARTED, *call()],
        "restreamed-call",
    ),
    "call of a snapshot": (
        in_run(
            snapshot({"id": "n", "role": "assistant", "toolCalls": [{**_OLD_CALL, "id": "c"}]}),
            *call(),
        ),
        "restreamed-call",
    ),
    "call id of another answer": (
        in_run(*call(parentMessageId="m"), result(), *call(parentMessageId="n")),
        "call-id-reused",
    ),
    "call id of an open call": (
        in_run(*call(parentMessageId="m"), *call(parentMessageId="n"), result()),
        "call-id-reused",
    ),
    "call id of an answered call": (in_run(*call(), result(), *call()), "call-id-reused"),
    "call id of the history": (in_run(*call("old", parentMessageId="m")), "call-id-reused"),
    "call id of an open call of the history": (
        in_run(*call("waiting", parentMessageId="m")),
        "call-id-reused",
    ),
    "call id of an earlier run": (
        [
            *in_run(*call(parentMessageId="m"), result()),
            STARTED,
            *call(parentMessageId="n"),
        ],
        "call-id-reused",
    ),
    "call id in chunks": (
        in_run(
            event(
                "TOOL_CALL_CHUNK",
                toolCallId="c",
                toolCallName="f",
                parentMessageId="m",
                delta="{}",
            ),
            result(),
            event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="{}"),
        ),
        "call-id-reused",
    ),
    "text after the result of its call": (
        in_run(*text("m", "x"), *call(parentMessageId="m"), result(), *text("m", "y")),
        "continued-message",
    ),
    "text of the history": (in_run(*text("a0", "more")), "restreamed-message"),
    "thought of the history": (in_run(*reasoning("r0", "more")), "restreamed-message"),
    "text of an earlier run": ([*in_run(*text()), STARTED, *text()], "restreamed-message"),
    "text of a snapshot": (
        in_run(snapshot(*HISTORY, message("assistant", "m")), *text()),
        "restreamed-message",
    ),
    "thought and text alike": (in_run(*reasoning("m"), *text("m")), "id-reused"),
    "text and thought alike": (in_run(*text("m"), *reasoning("m")), "id-reused"),
    "text under a result": (in_run(*text("t0")), "id-reused"),
    "result under a text": ([STARTED, *text("o"), *call(), result(), FINISHED], "id-reused"),
    "result under a result": (
        [STARTED, *call("c"), *call("d"), result("c"), result("d"), FINISHED],
        "id-reused",
    ),
    "activity under a text": (in_run(*text("m"), activity("m")), "id-reused"),
    "text under an activity": (in_run(activity("m"), *text("m")), "id-reused"),
    "call under a message": ([STARTED, *text("c"), *call("c"), pending("c")], "id-reused"),
    "snapshot with twins": (
        in_run(snapshot(message("user", "x"), message("user", "x"))),
        "id-reused",
    ),
    "snapshot with twin calls": (
        in_run(
            snapshot(
                *({"id": id_, "role": "assistant", "toolCalls": [_OLD_CALL]} for id_ in ("m", "n"))
            )
        ),
        "call-id-reused",
    ),
    "snapshot that changes kinds": (
        in_run(*reasoning("m"), snapshot(message("user", "m"))),
        "id-reused",
    ),
    "encrypted nothing": (in_run(encrypted("message", "z")), "unknown-entity"),
    "encrypted span": (
        in_run(
            event("REASONING_START", messageId="s"),
            event("REASONING_END", messageId="s"),
            encrypted("message", "s"),
        ),
        "unknown-entity",
    ),
    "encrypted no call": (in_run(encrypted("tool-call", "a0")), "unknown-entity"),
    "encrypted activity": (in_run(activity("y"), encrypted("message", "y")), "unknown-entity"),
    "encrypted too soon": (in_run(encrypted("message", "q"), *reasoning("q")), "unknown-entity"),
    "result of nothing": (in_run(result("z")), "unknown-call"),
    "result twice": (
        [STARTED, *call(), result(), result(message_id="o2"), FINISHED],
        "answered-call",
    ),
    "result of the history": (in_run(result("old")), "answered-call"),
    "usage adds up": (
        [STARTED, finished(usage=[{"inputTokens": 1, "outputTokens": 2, "totalTokens": 4}])],
        "usage",
    ),
    "usage of an error": (
        [STARTED, {**ERROR, "usage": [{"inputTokens": 0, "outputTokens": 2, "totalTokens": 4}]}],
        "usage",
    ),
    "usage twice": (
        [
            STARTED,
            finished(usage=[{"model": "m", "inputTokens": 1}, {"model": "m", "inputTokens": 2}]),
        ],
        "usage",
    ),
    "failing patch": (in_run(state_delta({"op": "remove", "path": "/z"})), "client-warning"),
    "parent that is no assistant": (
        [STARTED, *call(parentMessageId="u"), pending("c")],
        "client-warning",
    ),
    "text dropped by a snapshot": (
        in_run(
            event("TEXT_MESSAGE_START", messageId="m"),
            snapshot(*HISTORY),
            event("TEXT_MESSAGE_END", messageId="m"),
        ),
        "client-warning",
    ),
    "unknown event": (in_run(event("FUTURE")), "non-conforming"),
    "unknown property": ([STARTED, finished(extra=1)], "non-conforming"),
    "deprecated null": ([STARTED, finished(result=None)], "non-conforming"),
}

FINE: dict[str, list[Wire]] = {
    "empty run": in_run(),
    "replay before the run": [
        {**STARTED, "runId": "earlier"},
        snapshot(*HISTORY),
        finished(runId="earlier"),
        *in_run(),
    ],
    "failed run": [STARTED, event("TEXT_MESSAGE_START", messageId="m"), ERROR],
    "late failure": [*in_run(), ERROR],
    "failure first": [STARTED, ERROR, *in_run()],
    "text around a thought": in_run(*text("m", "a"), *reasoning("q", "b"), *text("m", "c")),
    "call, result, text": in_run(
        *reasoning("q", "hm"),
        encrypted("message", "q"),
        *call(parentMessageId="m"),
        encrypted("tool-call", "c"),
        result(),
        *text("m2", "done"),
        encrypted("message", "m2"),
    ),
    "text joins the call's message": in_run(
        *call(parentMessageId="m"), *text("m", "also"), result()
    ),
    "call reopened in its run": in_run(*call("c", "{"), *call("c", "}"), result()),
    "call in chunks that other events close": in_run(
        event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="{"),
        event("CUSTOM", name="n", value=1),
        event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="}"),
        result(),
    ),
    "call of a message that a snapshot repeats": in_run(
        *call(parentMessageId="m"),
        snapshot(
            *HISTORY, {"id": "m", "role": "assistant", "toolCalls": [{**_OLD_CALL, "id": "c"}]}
        ),
        result(),
    ),
    "history answered": in_run(result("waiting")),
    "frontend call": [STARTED, *call(name="front"), pending("c")],
    "frontend call answered and taken back": in_run(
        *call(parentMessageId="m", name="front"), result(), snapshot(*HISTORY)
    ),
    "malformed frontend call answered": in_run(*call("c", "[]", name="front"), result()),
    "both kinds of call": [
        STARTED,
        *call("c", name="front"),
        *call("d"),
        result("d"),
        pending("c"),
    ],
    "interrupted with a call": [STARTED, *call(), interrupted("i", "j")],
    "cancelled with a call": [STARTED, *call(), finished(outcome={"type": "cancelled"})],
    "closing snapshot": in_run(*text("m", "x"), snapshot(*HISTORY, message("assistant", "m"))),
    "state": in_run(state_delta({"op": "replace", "path": "/k", "value": 2})),
    "usage": [
        STARTED,
        finished(
            usage=[
                {
                    "provider": "p",
                    "model": "m",
                    "inputTokens": 1,
                    "outputTokens": 2,
                    "totalTokens": 3,
                },
                {"provider": "q", "model": "m", "inputTokens": 1, "totalTokens": 9},
            ]
        ),
    ],
    "thought taken back and said anew": in_run(
        snapshot(
            *(message("reasoning", "r0", "") if held["id"] == "r0" else held for held in HISTORY)
        ),
        *reasoning("r0", "y"),
    ),
    "activity twice": in_run(activity("y"), activity("y")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found_by_strict_only(name: str) -> None:
    events, code = BROKEN[name]
    with pytest.raises(ProtocolError) as caught:
        verify(events, strict=True, input=INPUT)
    assert caught.value.code == code
    if code != "malformed-event":
        verify(events)


@pytest.mark.parametrize("name", FINE)
def test_a_conforming_stream_passes(name: str) -> None:
    assert verify(FINE[name], strict=True, input=INPUT)


def test_the_error_says_which_call_is_meant() -> None:
    with pytest.raises(ProtocolError, match="message 'm' has a call 'c' already"):
        verify(
            in_run(*call(parentMessageId="m"), result(), *call(parentMessageId="n")), strict=True
        )


def test_answers_may_lead_to_the_same_call() -> None:
    """A call that they are about is no other one, wherever it is announced. But its arguments must
    not come twice."""
    answered = INPUT.model_copy(
        update={"resume": [ResumeEntry(interrupt_id="i", status="resolved", payload=True)]}
    )
    with pytest.raises(ProtocolError) as caught:
        verify(in_run(*call("waiting", parentMessageId="m")), strict=True, input=answered)
    assert caught.value.code == "restreamed-call"


def test_a_client_of_before_1_0_needs_no_outcome() -> None:
    old = INPUT.model_copy(update={"protocol_version": None})
    assert verify(in_run(*call(name="front")), strict=True, input=old)
    for last, code in (
        (pending(), "pending-tool-calls"),
        (interrupted("i", "i"), "duplicate-interrupt"),
    ):
        with pytest.raises(ProtocolError) as caught:
            verify([STARTED, *call(name="front"), last], strict=True, input=old)
        assert caught.value.code == code


def test_the_client_finds_nothing_in_conforming_streams(node_client: NodeClient) -> None:
    requests = [
        {"events": events, "messages": HISTORY, "state": {"k": 1}, "threadId": "t"}
        for events in FINE.values()
    ]
    for name, run in zip(FINE, node_client.runs(requests), strict=True):
        assert run.accepted, name
        assert run.warnings == [], name


def test_without_input_only_the_stream_counts() -> None:
    verify(
        [{**STARTED, "runId": "any", "threadId": "any"}, finished(runId="any", threadId="any")],
        strict=True,
    )
    with pytest.raises(ProtocolError) as caught:
        verify([*in_run(), {**STARTED, "threadId": "z"}], strict=True)
    assert caught.value.code == "thread-id"


def test_a_verifier_is_fed_step_by_step() -> None:
    verifier = Verifier(strict=True)
    assert [one.type for one in verifier.feed(STARTED)] == ["RUN_STARTED"]
    opened = verifier.feed(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"))
    assert [one.type for one in opened] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    with pytest.raises(ProtocolError):
        verifier.finish()
    assert [one.type for one in verifier.feed(FINISHED)] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    verifier.finish()
