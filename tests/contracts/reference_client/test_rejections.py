"""Every rejection of the reference client's chunk and verify stages, and values of fields that its
schema refuses, judged by it and by us."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from langgraph_agui.protocol import ProtocolError, verify
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
    from tests.kit.processes.node_client import ClientRun, NodeClient

TEXT, TEXT_MORE, TEXT_END = text("m", "")
CALL, CALL_MORE, CALL_END = call("c", "")
THOUGHT, THOUGHT_MORE, THOUGHT_END = reasoning("q", "")
SPAN, SPAN_END = (event(f"REASONING_{one}", messageId="q") for one in ("START", "END"))
STEP, STEP_END = (event(f"STEP_{one}", stepName="s") for one in ("STARTED", "FINISHED"))
SUB = event("SUBAGENT_STARTED", subagentRunId="a", name="n")
SUB_END = event("SUBAGENT_FINISHED", subagentRunId="a")
SUB_ERROR = event("SUBAGENT_ERROR", subagentRunId="a", message="no")
CHUNK, CALL_CHUNK = event("TEXT_MESSAGE_CHUNK", delta="x"), event("TOOL_CALL_CHUNK")
OF_M, OF_C = {"messageId": "m"}, {"toolCallId": "c", "toolCallName": "f"}
A, B = {"subagentRunId": "a"}, {"subagentRunId": "b"}
UNDER_M = {"parentMessageId": "m"}
INPUT = {"threadId": "t", "runId": "r", "messages": [message("assistant", "m", **A)]}
DELTA = event("ACTIVITY_DELTA", messageId="y", activityType="k", patch=[], **A)

# Our code and the client's words, and the streams that are refused with them.
REFUSED: dict[tuple[str, str], dict[str, list[Wire]]] = {
    ("run-not-started", "First event must be"): {"no start": [TEXT], "finish first": [FINISHED]},
    ("run-active", "while a run is still active"): {"start twice": [STARTED, STARTED]},
    ("run-finished", "has already finished"): {
        "after finish": [*in_run(), TEXT],
        "finish twice": [*in_run(), FINISHED],
    },
    ("run-errored", "has already errored"): {
        "after error": [STARTED, ERROR, TEXT],
        "error twice": [STARTED, ERROR, ERROR],
        "error after late error": [*in_run(), ERROR, ERROR],
    },
    ("already-open", "already in progress"): {
        "text twice": in_run(TEXT, TEXT),
        "call twice": in_run(CALL, CALL),
        "span twice": in_run(SPAN, SPAN),
        "thought twice": in_run(THOUGHT, THOUGHT),
    },
    ("not-open", "No active "): {
        "text content": in_run(TEXT_MORE),
        "text content late": in_run(*text(), TEXT_MORE),
        "text end": in_run(TEXT_END),
        "call args": in_run(CALL_MORE),
        "call end": in_run(CALL_END),
        "span end": in_run(SPAN_END),
        "thought content": in_run(SPAN, THOUGHT_MORE),
        "thought end": in_run(THOUGHT_END),
        "chunk closed by hand": in_run({**CHUNK, **OF_M}, TEXT_END),
    },
    ("step-active", "is already active"): {"step twice": in_run(STEP, STEP)},
    ("step-active", "in subagent 'a'"): {"step of a": in_run({**STEP, **A}, {**STEP, **A})},
    ("step-not-started", "was not started"): {"step end": in_run(STEP_END)},
    ("owner-mismatch", "by whoever started it"): {
        "step end by other": in_run(STEP, {**STEP_END, **A}),
        "step end by empty owner": in_run(STEP, {**STEP_END, "subagentRunId": ""}),
    },
    ("open-steps", "steps are still active"): {
        "open step": in_run(STEP),
        "open things in order": in_run(SUB, CALL, SPAN, THOUGHT, TEXT, STEP),
    },
    ("open-text-messages", "text messages are still"): {"open text": in_run(TEXT)},
    ("open-reasoning-messages", "reasoning messages are still"): {"open thought": in_run(THOUGHT)},
    ("open-reasoning-spans", "reasoning spans are still"): {"open span": in_run(SPAN)},
    ("open-tool-calls", "tool calls are still"): {"open call": in_run(CALL)},
    ("open-subagents", "subagents are still"): {"open subagent": in_run(SUB)},
    ("owner-mismatch", "does not match|is owned by"): {
        "text": in_run(TEXT, {**TEXT_MORE, **A}, TEXT_END),
        "text end": in_run({**TEXT, **A}, {**TEXT_END, **B}),
        "text reopened": in_run(*text(), {**TEXT, **A}),
        "text restated": in_run(snapshot(message("assistant", "m", **A)), {**TEXT, **B}),
        "text echoed": [{**STARTED, "input": INPUT}, {**TEXT, **B}],
        "text under a result": in_run(*call(), result(message_id="m", **A), {**TEXT, **B}),
        "call": in_run(CALL, {**CALL_MORE, **A}),
        "call restated": in_run(snapshot(caller("m", "c", **A)), {**CALL, **B}),
        "call against its parent": in_run(*text(), {**CALL, **UNDER_M, **A}),
        "call under another parent": in_run(*text(**A), *call(**B), {**CALL, **UNDER_M}),
        "thought": in_run(THOUGHT, {**THOUGHT_MORE, **A}),
        "thought in a span": in_run({**SPAN, **A}, {**THOUGHT, **B}),
        "span end": in_run({**SPAN, **A}, {**SPAN_END, **B}),
        "activity": in_run(activity("y"), DELTA),
        "encrypted message": in_run(*reasoning(**A), encrypted("q", **B)),
        "encrypted call": in_run(*call(), encrypted("c", "tool-call", **B)),
    },
    ("subagent-active", "is already active"): {"subagent twice": in_run(SUB, SUB)},
    ("subagent-reused", "has already finished in"): {"subagent again": in_run(SUB, SUB_END, SUB)},
    ("subagent-parent-unknown", "has not been started in this run"): {
        "subagent of nobody": in_run({**SUB, "parentSubagentRunId": "z"})
    },
    ("subagent-not-active", "no active subagent"): {
        "subagent end": in_run(SUB_END),
        "subagent error": in_run(SUB_ERROR),
    },
    ("chunk-without-id", "must have a messageId"): {
        "text chunk": in_run(CHUNK),
        "thought chunk": in_run(event("REASONING_MESSAGE_CHUNK", delta="x")),
        "chunk after another kind": in_run(
            {**CHUNK, **OF_M}, event("REASONING_MESSAGE_CHUNK", delta="x")
        ),
        "chunk after a close": in_run({**CHUNK, **OF_M}, STEP, CHUNK),
    },
    ("chunk-without-id", "must have a toolCallId"): {
        "call chunk": in_run({**CALL_CHUNK, "toolCallName": "f"})
    },
    ("chunk-without-id", "must have a toolCallName"): {
        "nameless call chunk": in_run({**CALL_CHUNK, "toolCallId": "c"})
    },
    ("chunk-mismatch", r"chunk \w+ '\w+' does not match"): {
        "role changes": in_run({**CHUNK, **OF_M}, {**CHUNK, "role": "user"}),
        "name appears": in_run({**CHUNK, **OF_M}, {**CHUNK, "name": "n"}),
        "tool changes": in_run({**CALL_CHUNK, **OF_C}, {**CALL_CHUNK, "toolCallName": "g"}),
        "parent appears": in_run({**CALL_CHUNK, **OF_C}, {**CALL_CHUNK, **UNDER_M}),
        "owner changes": in_run({**CHUNK, **OF_M, **A}, {**CHUNK, **OF_M, **B}),
    },
    ("chunk-ambiguous", "Ambiguous TEXT_MESSAGE_CHUNK"): {
        "chunk of anyone": in_run({**CHUNK, **OF_M, **A}, {**CHUNK, "messageId": "k", **B}, CHUNK)
    },
    # `test_random_streams` harms every field; these are of kinds that a value may have.
    ("malformed-event", ""): {
        "timestamp": [STARTED, {**TEXT, "timestamp": 2**53}],
        "metadata": [STARTED, {**TEXT, "metadata": None}],
        "tag": [STARTED, {**TEXT, "subagentRunId": None}],
        "role": [STARTED, {**TEXT, "role": "tool"}],
        "delta": [STARTED, {**CHUNK, **OF_M, "delta": None}],
        "result": [STARTED, result(content=[{"type": "text"}])],
        "media": [STARTED, result(content=[{"type": "image", "source": {"type": "data"}}])],
        "snapshot": [STARTED, event("STATE_SNAPSHOT")],
        "path": [STARTED, state_delta({"op": "remove", "path": "x\n"})],
        "operation": [STARTED, state_delta({"op": "test", "path": "/a"})],
        "calls": [STARTED, snapshot({"id": "m", "role": "assistant", "toolCalls": None})],
        "parts": [STARTED, snapshot(message("system", "m", [{"type": "text", "text": 1}]))],
        "replace": [STARTED, activity("y", replace=None)],
        "interrupts": [STARTED, ended("interrupt", interrupts=[])],
        "outcome": [STARTED, {**FINISHED, "outcome": []}],
        "usage": [STARTED, {**FINISHED, "usage": [{"inputTokens": -1}]}],
    },
}
CASES = [
    pytest.param(code, words, name, id=f"{code}: {name}")
    for (code, words), streams in REFUSED.items()
    for name in streams
]


@pytest.fixture(scope="module")
def client_runs(node_client: NodeClient) -> dict[str, ClientRun]:
    streams = {str(one.id): REFUSED[one.values[0], one.values[1]][one.values[2]] for one in CASES}
    runs = node_client.runs([{"events": events, "threadId": "t"} for events in streams.values()])
    return dict(zip(streams, runs, strict=True))


@pytest.mark.parametrize(("code", "words", "name"), CASES)
def test_a_stream_is_refused_as_by_the_client(
    code: str, words: str, name: str, client_runs: dict[str, ClientRun]
) -> None:
    events = REFUSED[code, words][name]
    error = client_runs[f"{code}: {name}"].error
    assert error is not None
    assert re.search(words, error)
    with pytest.raises(ProtocolError) as caught:
        verify(events)
    assert caught.value.code == code
    assert caught.value.event is not None
    assert str(caught.value)
    verify(events[: events.index(caught.value.event)])
