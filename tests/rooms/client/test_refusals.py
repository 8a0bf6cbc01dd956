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
REFUSED: dict[str, tuple[list[Wire], str]] = {
    "text started twice": ([text()[0], text()[0]], "already-open"),
    "reasoning started twice": ([reasoning()[0], reasoning()[0]], "already-open"),
    "span started twice": ([event("REASONING_START", messageId="q")] * 2, "already-open"),
    "call started twice": ([call()[0], call()[0]], "already-open"),
    "text without a start": ([MIDDLE], "not-open"),
    "text after its end": ([*text(), MIDDLE], "not-open"),
    "arguments without a start": ([call("c", "{}")[1]], "not-open"),
    "reasoning without a start": ([reasoning("q", "x")[1]], "not-open"),
    "end without a start": ([text()[-1]], "not-open"),
    "end of another": ([*text("m")[:1], text("n")[-1]], "not-open"),
    "end of another kind": ([*text("m")[:1], reasoning("m")[-1]], "not-open"),
    "end of a chunk's text": (
        [event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), text()[-1]],
        "not-open",
    ),
    "chunk without an id": ([event("TOOL_CALL_CHUNK", delta="{}")], "chunk-without-id"),
    "chunk that contradicts": (
        [event("TEXT_MESSAGE_CHUNK", messageId="m"), event("TEXT_MESSAGE_CHUNK", name="Ann")],
        "chunk-mismatch",
    ),
    "another's continuation": ([text()[0], {**MIDDLE, "subagentRunId": "a"}], "owner-mismatch"),
    "more after the run": ([STARTED, FINISHED, *text()], "run-finished"),
    "run ends while text is open": ([STARTED, text()[0], FINISHED], "open-text-messages"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    wires, code = REFUSED[name]
    *before, last = parsed(wires)
    for start in [[], parsed([STARTED])] if wires[0] != STARTED else [[]]:
        chunks = MessageChunks()
        for one in [*start, *before]:
            refusal(chunks, one)
        with pytest.raises(ProtocolError) as caught:
            chunks.feed(last)
        assert caught.value.code == code
        assert caught.value.event is not None
        assert str(caught.value).startswith(("Unexpected ", "Cannot expand "))


@pytest.mark.parametrize(
    ("opened", "code", "what"),
    [
        (text()[:1], "open-text-messages", "text messages are still open: m"),
        (reasoning()[:1], "open-reasoning-messages", "reasoning messages are still open: q"),
        (call()[:1], "open-tool-calls", "tool calls are still open: c"),
        (
            [event("REASONING_START", messageId="q")],
            "open-reasoning-spans",
            "reasoning spans are still open: q",
        ),
    ],
)
def test_nothing_may_be_open_in_the_end(opened: list[Wire], code: str, what: str) -> None:
    for before in ([], [STARTED]):
        with pytest.raises(ProtocolError) as caught:
            message_of(*before, *opened)
        assert (caught.value.code, str(caught.value)) == (
            code,
            f"The stream ends too soon: {what}.",
        )
    message_of(*opened, ERROR)  # needs nothing closed before it


def test_what_chunk_events_opened_ends_with_the_stream() -> None:
    assert message_of(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")).text == "x"


@settings(max_examples=example_count(50, 150))
@given(st.integers(0, 2**32))
def test_refused_is_what_the_verifier_refuses(seed: int) -> None:
    chunks, verifier, taken = MessageChunks(), Verifier(), []
    for wire in Streams(Random(seed)).stream():
        try:
            one = parse_event(wire)
        except ProtocolError:
            return  # the schema's part
        if one is None or (
            not taken and one.type not in (EventType.RUN_STARTED, EventType.RUN_ERROR)
        ):
            continue
        taken.append(one)
        code = refusal(verifier, one)
        ours = refusal(chunks, one)
        assert ours == code
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
