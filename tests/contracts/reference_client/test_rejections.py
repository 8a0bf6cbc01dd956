"""Every rejection of the reference client's chunk and verify stages, and values of fields that its
schema refuses, judged by it and by us."""

from __future__ import annotations

import pytest
from ag_ui.core import CustomEvent, TextMessageContentEvent, TextMessageStartEvent

from langgraph_agui.protocol import ProtocolError, parse_event, verify
from langgraph_agui.protocol.schema import examine
from tests.contracts.reference_client.test_verdicts import CALL as MADE
from tests.contracts.reference_client.test_verdicts import differences
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

TEXT, TEXT_MORE, TEXT_END = text("m", "")
CALL, CALL_MORE, CALL_END = call("c", "")
THOUGHT, THOUGHT_MORE, THOUGHT_END = reasoning("q", "")
SPAN, SPAN_END = (event(f"REASONING_{one}", messageId="q") for one in ("START", "END"))
STEP, STEP_END = (event(f"STEP_{one}", stepName="s") for one in ("STARTED", "FINISHED"))
SUB = event("SUBAGENT_STARTED", subagentRunId="a", name="n")
SUB_END = event("SUBAGENT_FINISHED", subagentRunId="a")
CHUNK = event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")
CALL_CHUNK = event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f")
NAMELESS, THINKING = (
    event("TEXT_MESSAGE_CHUNK", delta="x"),
    event("REASONING_MESSAGE_CHUNK", delta="x"),
)
A, B, UNDER_M = {"subagentRunId": "a"}, {"subagentRunId": "b"}, {"parentMessageId": "m"}
ECHO = {"threadId": "t", "runId": "r", "messages": [message("assistant", "m", **A)]}
DELTA = event("ACTIVITY_DELTA", messageId="y", activityType="k", patch=[], **A)

REFUSED: dict[str, list[list[Wire]]] = {
    "run-not-started": [[TEXT], [FINISHED]],
    "run-active": [[STARTED, STARTED]],
    "run-finished": [[*in_run(), TEXT], [*in_run(), FINISHED]],
    "run-errored": [[STARTED, ERROR, TEXT], [STARTED, ERROR, ERROR], [*in_run(), ERROR, ERROR]],
    "already-open": [in_run(one, one) for one in (TEXT, CALL, SPAN, THOUGHT)],
    "not-open": [
        *(in_run(one) for one in (TEXT_MORE, TEXT_END, CALL_MORE, CALL_END, SPAN_END, THOUGHT_END)),
        *(in_run(*text(), TEXT_MORE), in_run(SPAN, THOUGHT_MORE), in_run(CHUNK, TEXT_END)),
    ],
    "step-active": [in_run(STEP, STEP), in_run({**STEP, **A}, {**STEP, **A})],
    "step-not-started": [in_run(STEP_END)],
    "open-steps": [in_run(STEP), in_run(SUB, CALL, SPAN, THOUGHT, TEXT, STEP)],
    "open-text-messages": [in_run(TEXT)],
    "open-reasoning-messages": [in_run(THOUGHT)],
    "open-reasoning-spans": [in_run(SPAN)],
    "open-tool-calls": [in_run(CALL)],
    "open-subagents": [in_run(SUB)],
    "owner-mismatch": [
        in_run(STEP, {**STEP_END, **A}),
        in_run(STEP, {**STEP_END, "subagentRunId": ""}),
        in_run(TEXT, {**TEXT_MORE, **A}, TEXT_END),
        in_run({**TEXT, **A}, {**TEXT_END, **B}),
        in_run(*text(), {**TEXT, **A}),
        in_run(snapshot(message("assistant", "m", **A)), {**TEXT, **B}),
        [{**STARTED, "input": ECHO}, {**TEXT, **B}],
        in_run(*call(), result(message_id="m", **A), {**TEXT, **B}),
        in_run(CALL, {**CALL_MORE, **A}),
        in_run(snapshot(caller("m", "c", **A)), {**CALL, **B}),
        in_run(*text(), {**CALL, **UNDER_M, **A}),
        in_run(*text(**A), *call(**B), {**CALL, **UNDER_M}),
        in_run(THOUGHT, {**THOUGHT_MORE, **A}),
        in_run({**SPAN, **A}, {**THOUGHT, **B}),
        in_run({**SPAN, **A}, {**SPAN_END, **B}),
        in_run(activity("y"), DELTA),
        in_run(*reasoning(**A), encrypted("q", **B)),
        in_run(*call(), encrypted("c", "tool-call", **B)),
    ],
    "subagent-active": [in_run(SUB, SUB)],
    "subagent-reused": [in_run(SUB, SUB_END, SUB)],
    "subagent-parent-unknown": [in_run({**SUB, "parentSubagentRunId": "z"})],
    "subagent-not-active": [in_run(SUB_END), in_run(event("SUBAGENT_ERROR", message="no", **A))],
    "chunk-without-id": [
        *(
            in_run(NAMELESS),
            in_run(THINKING),
            in_run(CHUNK, THINKING),
            in_run(CHUNK, STEP, NAMELESS),
        ),
        in_run(event("TOOL_CALL_CHUNK", toolCallName="f")),
        in_run(event("TOOL_CALL_CHUNK", toolCallId="c")),
    ],
    "chunk-mismatch": [
        in_run(CHUNK, {**NAMELESS, "role": "user"}),
        in_run(CHUNK, {**NAMELESS, "name": "n"}),
        in_run(CALL_CHUNK, event("TOOL_CALL_CHUNK", toolCallName="g")),
        in_run(CALL_CHUNK, event("TOOL_CALL_CHUNK", **UNDER_M)),
        in_run({**CHUNK, **A}, {**CHUNK, **B}),
    ],
    "chunk-ambiguous": [in_run({**CHUNK, **A}, {**CHUNK, "messageId": "k", **B}, NAMELESS)],
    # `test_verdicts` harms every field; these are of kinds that a value may have.
    "malformed-event": [
        [STARTED, {**TEXT, "timestamp": 2**53}],
        [STARTED, {**TEXT, "metadata": None}],
        [STARTED, {**TEXT, "role": "tool"}],
        [STARTED, result(content=[{"type": "image", "source": {"type": "data"}}])],
        [STARTED, event("STATE_SNAPSHOT")],
        [STARTED, state_delta({"op": "remove", "path": "x\n"})],
        [STARTED, state_delta({"op": "test", "path": "/a"})],
        [STARTED, snapshot({"id": "m", "role": "assistant", "toolCalls": None})],
        [STARTED, snapshot(message("system", "m", [{"type": "text", "text": 1}]))],
        [STARTED, ended("interrupt", interrupts=[])],
        [STARTED, {**FINISHED, "usage": [{"inputTokens": -1}]}],
    ],
}


@pytest.mark.parametrize("code", REFUSED)
def test_streams_are_refused_as_by_the_client(code: str, node_client: NodeClient) -> None:
    assert differences(node_client, REFUSED[code]) == []
    for events in REFUSED[code]:
        with pytest.raises(ProtocolError) as caught:
            verify(events)
        assert (caught.value.code, bool(str(caught.value))) == (code, True), events
        assert caught.value.event is not None
        verify(events[: events.index(caught.value.event)])


def test_events_of_the_sdk_pass_as_they_are() -> None:
    for sent in (
        TextMessageContentEvent(message_id="m", delta="half \ud83d"),
        CustomEvent(name="n", value=object()),
    ):
        assert examine(sent) == (sent, [])
    cleaned, notes = examine(TextMessageStartEvent(message_id="m", subAgentRunId="a"))
    assert cleaned == TextMessageStartEvent(message_id="m")
    assert notes == ["unknown /subAgentRunId in TEXT_MESSAGE_START, removed"]


@pytest.mark.parametrize("wire", [{}, {"type": ""}, {"type": 1}, {"type": None}])
def test_an_event_needs_a_type(wire: Wire) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_event(wire)
    assert caught.value.code == "no-event-type"


def test_the_place_of_the_fault_is_named() -> None:
    wrong = snapshot(caller("m", {**MADE, "function": {"name": "f", "arguments": 1}}))
    place = "/messages/0/toolCalls/0/function/arguments: Input should be a valid string"
    with pytest.raises(ProtocolError, match=place) as caught:
        parse_event(wrong)
    assert caught.value.event is not None
