"""Every rejection of the reference client's schema, chunk and verify stages, judged by it and by
us."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from langgraph_agui.protocol import ProtocolError, verify
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
    from tests.kit.processes.node_client import ClientRun, NodeClient

TEXT = event("TEXT_MESSAGE_START", messageId="m")
TEXT_END = event("TEXT_MESSAGE_END", messageId="m")
CALL = event("TOOL_CALL_START", toolCallId="c", toolCallName="f")
SPAN = event("REASONING_START", messageId="q")
THOUGHT = event("REASONING_MESSAGE_START", messageId="q", role="reasoning")
STEP = event("STEP_STARTED", stepName="s")
SUB = event("SUBAGENT_STARTED", subagentRunId="a", name="n")
SUB_END = event("SUBAGENT_FINISHED", subagentRunId="a")
A: Wire = {"subagentRunId": "a"}
B: Wire = {"subagentRunId": "b"}

SEQUENCE: dict[str, tuple[list[Wire], str, str]] = {
    # name: (events, our code, what the client's error contains)
    "no start": ([TEXT], "run-not-started", "First event must be"),
    "finish first": ([FINISHED], "run-not-started", "First event must be"),
    "start twice": ([STARTED, STARTED], "run-active", "while a run is still active"),
    "after finish": ([*in_run(), TEXT], "run-finished", "has already finished"),
    "finish twice": ([*in_run(), FINISHED], "run-finished", "has already finished"),
    "after error": ([STARTED, ERROR, TEXT], "run-errored", "has already errored"),
    "error twice": ([STARTED, ERROR, ERROR], "run-errored", "has already errored"),
    "error after late error": ([*in_run(), ERROR, ERROR], "run-errored", "has already errored"),
    "text open": (in_run(TEXT, TEXT), "already-open", "already in progress"),
    "text content": (
        in_run(event("TEXT_MESSAGE_CONTENT", messageId="m", delta="")),
        "not-open",
        "No active text message",
    ),
    "text content late": (
        in_run(*text(), event("TEXT_MESSAGE_CONTENT", messageId="m", delta="")),
        "not-open",
        "No active text message",
    ),
    "text end": (in_run(TEXT_END), "not-open", "No active text message"),
    "call open": (in_run(CALL, CALL), "already-open", "already in progress"),
    "call args": (
        in_run(event("TOOL_CALL_ARGS", toolCallId="c", delta="")),
        "not-open",
        "No active tool call",
    ),
    "call end": (in_run(event("TOOL_CALL_END", toolCallId="c")), "not-open", "No active tool call"),
    "span open": (in_run(SPAN, SPAN), "already-open", "already in progress"),
    "span end": (
        in_run(event("REASONING_END", messageId="q")),
        "not-open",
        "No active reasoning span",
    ),
    "thought open": (in_run(THOUGHT, THOUGHT), "already-open", "already in progress"),
    "thought content": (
        in_run(SPAN, event("REASONING_MESSAGE_CONTENT", messageId="q", delta="")),
        "not-open",
        "No active reasoning message",
    ),
    "thought end": (
        in_run(event("REASONING_MESSAGE_END", messageId="q")),
        "not-open",
        "No active reasoning message",
    ),
    "step open": (in_run(STEP, STEP), "step-active", "is already active"),
    "step open in subagent": (
        in_run({**STEP, **A}, {**STEP, **A}),
        "step-active",
        "in subagent 'a'",
    ),
    "step end": (
        in_run(event("STEP_FINISHED", stepName="s")),
        "step-not-started",
        "was not started",
    ),
    "step end by other": (
        in_run(STEP, event("STEP_FINISHED", stepName="s", **A)),
        "owner-mismatch",
        "by whoever started it",
    ),
    "step end by empty owner": (
        in_run(STEP, event("STEP_FINISHED", stepName="s", subagentRunId="")),
        "owner-mismatch",
        "by whoever started it",
    ),
    "open step": (in_run(STEP), "open-steps", "steps are still active"),
    "open text": (in_run(TEXT), "open-text-messages", "text messages are still active"),
    "open thought": (
        in_run(THOUGHT),
        "open-reasoning-messages",
        "reasoning messages are still active",
    ),
    "open span": (in_run(SPAN), "open-reasoning-spans", "reasoning spans are still active"),
    "open call": (in_run(CALL), "open-tool-calls", "tool calls are still active"),
    "open subagent": (in_run(SUB), "open-subagents", "subagents are still active"),
    "open things in order": (
        in_run(SUB, CALL, SPAN, THOUGHT, TEXT, STEP),
        "open-steps",
        "steps are still",
    ),
    "text of another": (
        in_run(TEXT, event("TEXT_MESSAGE_CONTENT", messageId="m", delta="", **A), TEXT_END),
        "owner-mismatch",
        "does not match the message",
    ),
    "text end of another": (
        in_run({**TEXT, **A}, {**TEXT_END, **B}),
        "owner-mismatch",
        "does not match the message",
    ),
    "text reopened by another": (
        in_run(*text(), {**TEXT, **A}),
        "owner-mismatch",
        "does not match",
    ),
    "text restated for another": (
        in_run(snapshot(message("assistant", "m", **A)), {**TEXT, **B}),
        "owner-mismatch",
        "does not match",
    ),
    "text echoed for another": (
        [
            {
                **STARTED,
                "input": {
                    "threadId": "t",
                    "runId": "r",
                    "messages": [message("assistant", "m", **A)],
                },
            },
            {**TEXT, **B},
        ],
        "owner-mismatch",
        "does not match",
    ),
    "text under a result's id": (
        in_run(*call(), result(**A), event("TEXT_MESSAGE_START", messageId="o", **B)),
        "owner-mismatch",
        "does not match",
    ),
    "call of another": (
        in_run(CALL, event("TOOL_CALL_ARGS", toolCallId="c", delta="", **A)),
        "owner-mismatch",
        "does not match the tool call",
    ),
    "call restated for another": (
        in_run(
            snapshot(
                {
                    "id": "m",
                    "role": "assistant",
                    **A,
                    "toolCalls": [
                        {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
                    ],
                }
            ),
            {**CALL, **B},
        ),
        "owner-mismatch",
        "does not match the tool call",
    ),
    "thought of another": (
        in_run(THOUGHT, event("REASONING_MESSAGE_CONTENT", messageId="q", delta="", **A)),
        "owner-mismatch",
        "does not match the reasoning message",
    ),
    "thought in another's span": (
        in_run({**SPAN, **A}, {**THOUGHT, **B}),
        "owner-mismatch",
        "does not match",
    ),
    "span end of another": (
        in_run({**SPAN, **A}, event("REASONING_END", messageId="q", **B)),
        "owner-mismatch",
        "does not match",
    ),
    "activity of another": (
        in_run(
            event("ACTIVITY_SNAPSHOT", messageId="y", activityType="k", content={}),
            event("ACTIVITY_DELTA", messageId="y", activityType="k", patch=[], **A),
        ),
        "owner-mismatch",
        "does not match the activity",
    ),
    "encrypted message of another": (
        in_run(
            *reasoning(**A),
            event(
                "REASONING_ENCRYPTED_VALUE",
                subtype="message",
                entityId="q",
                encryptedValue="e",
                **B,
            ),
        ),
        "owner-mismatch",
        "does not match the message",
    ),
    "encrypted call of another": (
        in_run(
            *call(),
            event(
                "REASONING_ENCRYPTED_VALUE",
                subtype="tool-call",
                entityId="c",
                encryptedValue="e",
                **B,
            ),
        ),
        "owner-mismatch",
        "does not match the tool call",
    ),
    "call against its parent": (
        in_run(*text(), {**CALL, "parentMessageId": "m", **A}),
        "owner-mismatch",
        "does not match its parent message",
    ),
    "call reopened under another parent": (
        in_run(*text(**A), *call(**B), {**CALL, "parentMessageId": "m"}),
        "owner-mismatch",
        "is owned by",
    ),
    "subagent twice": (in_run(SUB, SUB), "subagent-active", "is already active"),
    "subagent again": (
        in_run(SUB, SUB_END, SUB),
        "subagent-reused",
        "has already finished in this run",
    ),
    "subagent of nobody": (
        in_run({**SUB, "parentSubagentRunId": "z"}),
        "subagent-parent-unknown",
        "has not been started in this run",
    ),
    "subagent end": (in_run(SUB_END), "subagent-not-active", "no active subagent"),
    "subagent error": (
        in_run(event("SUBAGENT_ERROR", subagentRunId="a", message="no")),
        "subagent-not-active",
        "no active subagent",
    ),
    "chunk without id": (
        in_run(event("TEXT_MESSAGE_CHUNK", delta="x")),
        "chunk-without-id",
        "must have a messageId",
    ),
    "call chunk without id": (
        in_run(event("TOOL_CALL_CHUNK", toolCallName="f")),
        "chunk-without-id",
        "must have a toolCallId",
    ),
    "call chunk without name": (
        in_run(event("TOOL_CALL_CHUNK", toolCallId="c")),
        "chunk-without-id",
        "must have a toolCallName",
    ),
    "thought chunk without id": (
        in_run(event("REASONING_MESSAGE_CHUNK", delta="x")),
        "chunk-without-id",
        "must have a messageId",
    ),
    "chunk after another kind": (
        in_run(
            event("TEXT_MESSAGE_CHUNK", messageId="m"), event("REASONING_MESSAGE_CHUNK", delta="x")
        ),
        "chunk-without-id",
        "must have a messageId",
    ),
    "chunk after a close": (
        in_run(
            event("TEXT_MESSAGE_CHUNK", messageId="m"), STEP, event("TEXT_MESSAGE_CHUNK", delta="x")
        ),
        "chunk-without-id",
        "must have a messageId",
    ),
    "chunk role changes": (
        in_run(
            event("TEXT_MESSAGE_CHUNK", messageId="m"), event("TEXT_MESSAGE_CHUNK", role="user")
        ),
        "chunk-mismatch",
        "chunk role 'user' does not match",
    ),
    "chunk name appears": (
        in_run(event("TEXT_MESSAGE_CHUNK", messageId="m"), event("TEXT_MESSAGE_CHUNK", name="n")),
        "chunk-mismatch",
        "chunk name 'n' does not match",
    ),
    "chunk tool changes": (
        in_run(
            event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f"),
            event("TOOL_CALL_CHUNK", toolCallName="g"),
        ),
        "chunk-mismatch",
        "chunk toolCallName 'g' does not match",
    ),
    "chunk parent appears": (
        in_run(
            event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f"),
            event("TOOL_CALL_CHUNK", parentMessageId="m"),
        ),
        "chunk-mismatch",
        "chunk parentMessageId 'm' does not match",
    ),
    "chunk of another": (
        in_run(
            event("TEXT_MESSAGE_CHUNK", messageId="m", **A),
            event("TEXT_MESSAGE_CHUNK", messageId="m", **B),
        ),
        "chunk-mismatch",
        "chunk subagentRunId 'b' does not match",
    ),
    "chunk of anyone": (
        in_run(
            event("TEXT_MESSAGE_CHUNK", messageId="m", **A),
            event("TEXT_MESSAGE_CHUNK", messageId="k", **B),
            event("TEXT_MESSAGE_CHUNK", delta="x"),
        ),
        "chunk-ambiguous",
        "Ambiguous TEXT_MESSAGE_CHUNK",
    ),
    "chunk closed by hand": (
        in_run(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), TEXT_END),
        "not-open",
        "No active text message",
    ),
}

START = event("TEXT_MESSAGE_START", messageId="m")
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
_INTERRUPT = {"id": "i", "reason": "r"}


def _without(wire: Wire, key: str) -> Wire:
    return {name: value for name, value in wire.items() if name != key}


MALFORMED: dict[str, Wire] = {
    "timestamp text": {**START, "timestamp": "1"},
    "timestamp float": {**START, "timestamp": 1.5},
    "timestamp bool": {**START, "timestamp": True},
    "timestamp huge": {**START, "timestamp": 2**53},
    "metadata null": {**START, "metadata": None},
    "metadata list": {**START, "metadata": []},
    "tag null": {**START, "subagentRunId": None},
    "name null": {**START, "name": None},
    "message id number": {**START, "messageId": 1},
    "message id missing": event("TEXT_MESSAGE_START"),
    "text role tool": {**START, "role": "tool"},
    "text role unknown": {**START, "role": "wizard"},
    "reasoning role missing": event("REASONING_MESSAGE_START", messageId="q"),
    "reasoning role user": event("REASONING_MESSAGE_START", messageId="q", role="user"),
    "delta missing": event("TEXT_MESSAGE_CONTENT", messageId="m"),
    "delta null": event("TEXT_MESSAGE_CONTENT", messageId="m", delta=None),
    "args object": event("TOOL_CALL_ARGS", toolCallId="c", delta={}),
    "chunk delta null": event("TEXT_MESSAGE_CHUNK", messageId="m", delta=None),
    "result object": result(content={}),
    "result null": result(content=None),
    "result role": result(role="assistant"),
    "result part text missing": result(content=[{"type": "text"}]),
    "result part metadata null": result(content=[{"type": "text", "text": "", "metadata": None}]),
    "result media metadata null": result(
        content=[{"type": "image", "source": {"type": "url", "value": "u"}, "metadata": None}]
    ),
    "result part is text": result(content=["x"]),
    "source is text": result(content=[{"type": "image", "source": "u"}]),
    "data source without mime": result(
        content=[{"type": "image", "source": {"type": "data", "value": "u"}}]
    ),
    "snapshot missing": event("STATE_SNAPSHOT"),
    "custom without value": event("CUSTOM", name="n"),
    "custom without name": event("CUSTOM", value=1),
    "raw without event": event("RAW"),
    "patch path relative": state_delta({"op": "add", "path": "a", "value": 1}),
    "patch path tilde": state_delta({"op": "add", "path": "/~2", "value": 1}),
    "patch path newline": state_delta(
        {"op": "remove", "path": "/a\n"}, {"op": "remove", "path": "x\n"}
    ),
    "patch add without value": state_delta({"op": "add", "path": "/a"}),
    "patch test without value": state_delta({"op": "test", "path": "/a"}),
    "patch move without from": state_delta({"op": "move", "path": "/a"}),
    "patch not a list": event("STATE_DELTA", delta={}),
    "patch of numbers": event("STATE_DELTA", delta=[1]),
    "arguments object": snapshot(
        {
            "id": "m",
            "role": "assistant",
            "toolCalls": [{**_CALL, "function": {"name": "f", "arguments": {}}}],
        }
    ),
    "call type missing": snapshot(
        {"id": "m", "role": "assistant", "toolCalls": [_without(_CALL, "type")]}
    ),
    "call type unknown": snapshot(
        {"id": "m", "role": "assistant", "toolCalls": [{**_CALL, "type": "x"}]}
    ),
    "calls null": snapshot({"id": "m", "role": "assistant", "toolCalls": None}),
    **{
        f"{role} content parts": snapshot(message(role, "m", [{"type": "text", "text": 1}]))
        for role in ("assistant", "system", "developer", "reasoning", "activity")
    },
    "assistant content null": snapshot(message("assistant", "m", None)),
    "user content missing": snapshot({"id": "m", "role": "user"}),
    "activity content text": snapshot(message("activity", "m", "x", activityType="k")),
    "message encrypted null": snapshot(message("user", "m", encryptedValue=None)),
    "messages null": event("MESSAGES_SNAPSHOT", messages=None),
    "message null": event("MESSAGES_SNAPSHOT", messages=[None]),
    "activity list": event("ACTIVITY_SNAPSHOT", messageId="y", activityType="k", content=[]),
    "activity replace null": event(
        "ACTIVITY_SNAPSHOT", messageId="y", activityType="k", content={}, replace=None
    ),
    "activity replace number": event(
        "ACTIVITY_SNAPSHOT", messageId="y", activityType="k", content={}, replace=1
    ),
    "encrypted subtype": event(
        "REASONING_ENCRYPTED_VALUE", subtype="reasoning", entityId="q", encryptedValue="e"
    ),
    "interrupts empty": {**FINISHED, "outcome": {"type": "interrupt", "interrupts": []}},
    "interrupts missing": {**FINISHED, "outcome": {"type": "interrupt"}},
    "interrupt without reason": {
        **FINISHED,
        "outcome": {"type": "interrupt", "interrupts": [{"id": "i"}]},
    },
    "interrupt tag null": {
        **FINISHED,
        "outcome": {"type": "interrupt", "interrupts": [{**_INTERRUPT, "subagentRunId": None}]},
    },
    "response schema bool": {
        **FINISHED,
        "outcome": {"type": "interrupt", "interrupts": [{**_INTERRUPT, "responseSchema": True}]},
    },
    "outcome list": {**FINISHED, "outcome": []},
    "outcome text": {**FINISHED, "outcome": "success"},
    "pending numbers": {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": [1]}},
    "usage null": {**FINISHED, "usage": None},
    "usage float": {**FINISHED, "usage": [{"inputTokens": 1.5}]},
    "usage negative": {**FINISHED, "usage": [{"inputTokens": -1}]},
    "usage count null": {**FINISHED, "usage": [{"inputTokens": None}]},
    "usage huge": {**FINISHED, "usage": [{"inputTokens": 2**53}]},
    "run id missing": _without(FINISHED, "runId"),
    "error without message": event("RUN_ERROR"),
    "error code number": event("RUN_ERROR", message="", code=1),
    "step without name": event("STEP_STARTED"),
    "subagent without id": event("SUBAGENT_STARTED", name="n"),
    "subagent without name": event("SUBAGENT_STARTED", subagentRunId="a"),
    "subagent parent null": event(
        "SUBAGENT_STARTED", subagentRunId="a", name="n", parentSubagentRunId=None
    ),
    "subagent error silent": event("SUBAGENT_ERROR", subagentRunId="a"),
    "suspended ids null": {**SUB_END, "outcome": {"type": "suspended", "interruptIds": None}},
}


@pytest.fixture(scope="module")
def client_runs(node_client: NodeClient) -> dict[str, ClientRun]:
    streams = {name: events for name, (events, _, _) in SEQUENCE.items()}
    streams |= {f"malformed {name}": [STARTED, wire] for name, wire in MALFORMED.items()}
    runs = node_client.runs([{"events": events, "threadId": "t"} for events in streams.values()])
    return dict(zip(streams, runs, strict=True))


@pytest.mark.parametrize("name", SEQUENCE)
def test_the_order_of_events_is_judged_as_by_the_client(
    name: str, client_runs: dict[str, ClientRun]
) -> None:
    events, code, client_text = SEQUENCE[name]
    error = client_runs[name].error
    assert error is not None
    assert client_text in error
    with pytest.raises(ProtocolError) as caught:
        verify(events)
    assert caught.value.code == code
    assert caught.value.event is not None
    assert str(caught.value)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_values_are_judged_as_by_the_client(
    name: str, client_runs: dict[str, ClientRun]
) -> None:
    assert client_runs[f"malformed {name}"].error is not None
    with pytest.raises(ProtocolError) as caught:
        verify([STARTED, MALFORMED[name]])
    assert caught.value.code == "malformed-event"


def test_every_rejection_has_a_prefix_that_passes() -> None:
    for name, (events, _, _) in SEQUENCE.items():
        fault = next(end for end in range(1, len(events) + 1) if not _passes(events[:end]))
        assert _passes(events[: fault - 1]), name


def _passes(events: list[Wire]) -> bool:
    try:
        verify(events)
    except ProtocolError:
        return False
    return True
