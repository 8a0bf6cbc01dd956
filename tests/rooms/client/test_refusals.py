"""Streams that break a rule are refused, by the verifier's rules."""

from __future__ import annotations

from random import Random

import pytest
from ag_ui.core import Event, EventType
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.client import MessageChunks
from langgraph_agui.protocol import ProtocolError, Verifier, parse_event
from tests.behaviour.client.adding import encrypted, message_of, parsed
from tests.kit.deep import example_count
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, call, event, reasoning, text

MIDDLE: Wire = event("TEXT_MESSAGE_CONTENT", messageId="m", delta="x")
CHUNK = event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")
REFUSED: dict[str, list[list[Wire]]] = {
    "already-open": [[text()[0]] * 2, [reasoning()[0]] * 2, [call()[0]] * 2],
    "not-open": [[MIDDLE], [*text(), MIDDLE], [text("m")[0], text("n")[-1]], [CHUNK, text()[-1]]],
    "chunk-without-id": [[event("TOOL_CALL_CHUNK", delta="{}")]],
    "chunk-mismatch": [[CHUNK, event("TEXT_MESSAGE_CHUNK", name="Ann")]],
    "owner-mismatch": [[text()[0], {**MIDDLE, "subagentRunId": "a"}]],
    "run-finished": [[STARTED, FINISHED, *text()]],
    "open-text-messages": [[STARTED, text()[0], FINISHED]],
}


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str) -> None:
    for wires in REFUSED[code]:
        *before, last = parsed(wires)
        for start in [[], parsed([STARTED])] if wires[0] != STARTED else [[]]:
            chunks = MessageChunks()
            for one in [*start, *before]:
                refusal(chunks, one)
            with pytest.raises(ProtocolError, match=r"^(Unexpected|Cannot expand) ") as caught:
                chunks.feed(last)
            assert (caught.value.code, caught.value.event is None) == (code, False)


@pytest.mark.parametrize(
    ("opened", "code", "what"),
    [
        (text()[0], "open-text-messages", "text messages are still open: m"),
        (reasoning()[0], "open-reasoning-messages", "reasoning messages are still open: q"),
        (call()[0], "open-tool-calls", "tool calls are still open: c"),
    ],
)
def test_nothing_may_be_open_in_the_end(opened: Wire, code: str, what: str) -> None:
    for before in ([], [STARTED]):
        with pytest.raises(ProtocolError, match=f"^The stream ends too soon: {what}.$") as caught:
            message_of(*before, opened)
        assert caught.value.code == code
    message_of(opened, ERROR)  # needs nothing closed before it
    assert message_of(CHUNK).text == "x"  # what chunk events opened ends with the stream


@settings(max_examples=example_count(50, 150))
@given(st.integers(0, 2**32))
def test_refused_is_what_the_verifier_refuses(seed: int) -> None:
    chunks, verifier, taken = MessageChunks(), Verifier(), []
    for wire in Streams(Random(seed)).stream():
        try:
            one = parse_event(wire)
        except ProtocolError:
            return  # the schema's part
        begins = one and one.type in (EventType.RUN_STARTED, EventType.RUN_ERROR)
        if one is None or not (taken or begins):
            continue
        taken.append(one)
        code = refusal(verifier, one)
        assert refusal(chunks, one) == code
        if code is not None:
            return


def refusal(judge: MessageChunks | Verifier, one: Event) -> str | None:
    try:
        judge.feed(one)
    except ProtocolError as error:
        return error.code
    return None


def test_a_value_of_nothing_known_is_no_error() -> None:
    chunks = MessageChunks()
    wires = [encrypted("m"), *text("m"), encrypted("m", subtype="tool-call"), encrypted("n")]
    said = [chunk for one in parsed(wires) for chunk in chunks.feed(one)]
    assert "encrypted_value" not in str([*said, *chunks.finish()])
