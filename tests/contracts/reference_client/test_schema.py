"""What the schema stage lets pass, and at what price, beside the reference client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ag_ui.core import (
    CustomEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    UserMessage,
)

from langgraph_agui.protocol import ProtocolError, fold, parse_event, verify
from langgraph_agui.protocol.schema import examine
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    caller,
    ended,
    event,
    in_run,
    message,
    result,
    snapshot,
    state_delta,
    text,
)

if TYPE_CHECKING:
    from tests.kit.processes.node_client import ClientRun, NodeClient

IMAGE = {"type": "image", "source": {"type": "url", "value": "u"}}
WAV = {"type": "binary", "mimeType": "audio/wav", "data": "d"}
BINARY = {**WAV, "filename": "f"}
AUDIO = {"type": "audio", "source": {"type": "data", "value": "d", "mimeType": "audio/wav"}}
OTHER_AUDIO = {**AUDIO, "source": {**AUDIO["source"], "value": "e"}}
TWIN = {**AUDIO, "metadata": {"filename": "f", "more": 1}}
TEXT = {"type": "text", "text": "x"}
CUSTOM = event("CUSTOM", name="n", value=None)
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "", "z": 1}, "z": 1}
TOOL = {"name": "f", "description": ""}


def parts(*some: Wire) -> Wire:
    return snapshot(message("user", "m", list(some)))


def echoing(messages: tuple[Wire, ...] = (), **fields: object) -> Wire:
    given = {"threadId": "t", "runId": "r", "messages": list(messages), **fields}
    return {**STARTED, "input": given}


# Each event with the number of warnings that it costs.
TOLERATED: dict[str, tuple[Wire, int]] = {
    "clean": (CUSTOM, 0),
    "whole float": ({**CUSTOM, "timestamp": 3.0}, 0),
    "nulls in data": (event("RAW", event={"a": None}, metadata={"a": None}), 0),
    "unknown event": (event("THINKING", title="x"), 1),
    "unknown property": ({**CUSTOM, "value": {"x_y": 1}, "x_y": 1}, 1),
    "snake case twin": ({**text()[0], "message_id": "k"}, 1),
    "prototype property": ({**CUSTOM, "toString": 1, "constructor": 1}, 2),
    "tag on a snapshot": (snapshot(subagentRunId="a"), 1),
    "unknown role": (snapshot(message("wizard", "m"), message("user", "k")), 1),
    "role that is no text": (snapshot({"id": "m", "role": 1}), 1),
    "unknown part": (parts({"type": "scent"}, TEXT), 1),
    "unknown source": (parts({**IMAGE, "source": {"type": "beam"}, "id": 1}), 1),
    "unknown in a call": (snapshot(caller("m", CALL)), 2),
    "unknown operation": (state_delta({"op": "swap", "path": "/a"}), 1),
    "extra in an operation": (state_delta({"op": "add", "path": "/a", "value": 1, "why": 1}), 0),
    "unknown outcome": (ended("novelty", x=1), 1),
    "raw event null": ({**CUSTOM, "rawEvent": None}, 1),
    "result null": ({**FINISHED, "result": None}, 1),
    "outcome null": ({**FINISHED, "outcome": None, "result": None}, 2),
    "media metadata null": (parts({**IMAGE, "metadata": None}), 1),
    "binary": (parts(BINARY), 1),
    "binary by url": (parts({**BINARY, "data": "", "url": "u"}), 1),
    "binary with its twin": (parts(BINARY, TWIN), 1),
    "binary beside another": (parts(WAV, OTHER_AUDIO, {**TEXT, "mimeType": "a/b", "url": "u"}), 3),
    "binary by id only": (parts({"type": "binary", "mimeType": "a/b", "id": "i"}), 3),
    "binary without a kind": (parts({"type": "binary", "data": "d"}), 2),
    "binary in a result": (result(content=[BINARY]), 1),
    "input nulls": (
        echoing(
            forwardedProps=None,
            state=None,
            tools=[{**TOOL, "parameters": None}],
            resume=[{"interruptId": "i", "status": "resolved", "payload": None}],
        ),
        3,
    ),
    "input binary": (echoing((message("user", "m", [BINARY]),)), 1),
    "input unknowns": (echoing(z=1, tools=[{**TOOL, "z": 1}]), 2),
}


def stream_of(wire: Wire) -> list[Wire]:
    match wire["type"]:
        case "RUN_STARTED":
            return [wire, FINISHED]
        case "RUN_FINISHED":
            return [STARTED, wire]
        case "TEXT_MESSAGE_START":
            return in_run(wire, text()[1])
    return in_run(wire)


@pytest.fixture(scope="module")
def client_runs(node_client: NodeClient) -> dict[str, ClientRun]:
    streams = [stream_of(wire) for wire, _ in TOLERATED.values()]
    runs = node_client.runs({"events": stream, "threadId": "t"} for stream in streams)
    return dict(zip(TOLERATED, runs, strict=True))


@pytest.mark.parametrize("name", TOLERATED)
def test_the_unknown_and_the_retired_pass_with_warnings(
    name: str, client_runs: dict[str, ClientRun], caplog: pytest.LogCaptureFixture
) -> None:
    wire, warnings = TOLERATED[name]
    before, client = str(wire), client_runs[name]
    assert client.accepted, client.error
    assert len([one for one in client.warnings if one.startswith("[ag-ui]")]) == warnings
    ours = verify(stream_of(wire))
    assert [one.type.value for one in ours] == client.events
    assert [one.model_dump(by_alias=True) for one in fold(ours).messages] == client.messages
    assert len(caplog.records) == warnings
    assert str(wire) == before


def test_sdk_events_pass_as_they_are() -> None:
    echo = {"threadId": "t", "runId": "r", "messages": [UserMessage(id="m", content="x")]}
    for sent in (
        RunStartedEvent(thread_id="t", run_id="r", input=echo),
        TextMessageStartEvent(message_id="m"),
        TextMessageContentEvent(message_id="m", delta="half \ud83d"),
        CustomEvent(name="n", value=object()),
    ):
        assert examine(sent) == (sent, [])
    parsed, notes = examine(TextMessageStartEvent(message_id="m", subAgentRunId="a"))
    assert parsed == TextMessageStartEvent(message_id="m")
    assert notes == ["unknown /subAgentRunId in TEXT_MESSAGE_START, removed"]


@pytest.mark.parametrize("wire", [{}, {"type": ""}, {"type": 1}, {"type": None}])
def test_an_event_needs_a_type(wire: Wire) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_event(wire)
    assert caught.value.code == "no-event-type"


def test_the_place_of_the_fault_is_named() -> None:
    wrong = {**CALL, "function": {"name": "f", "arguments": 1}}
    place = "/messages/0/toolCalls/0/function/arguments: Input should be a valid string"
    with pytest.raises(ProtocolError, match=place) as caught:
        parse_event(snapshot(caller("m", wrong)))
    assert caught.value.event is not None
