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
    event,
    in_run,
    message,
    result,
    snapshot,
    state_delta,
)

if TYPE_CHECKING:
    from tests.kit.processes.node_client import ClientRun, NodeClient

_PART = {"type": "image", "source": {"type": "url", "value": "u"}}
_BINARY = {"type": "binary", "mimeType": "audio/wav", "data": "d", "filename": "f"}
_INPUT = {"threadId": "t", "runId": "r", "messages": []}

TOLERATED: dict[str, tuple[Wire, int]] = {
    # name: (event, how many warnings it costs)
    "clean": (event("CUSTOM", name="n", value=None), 0),
    "whole float": (event("CUSTOM", name="n", value=None, timestamp=3.0), 0),
    "nulls in data": (event("RAW", event={"a": None}, metadata={"a": None}), 0),
    "unknown event": (event("THINKING", title="x"), 1),
    "unknown property": (event("CUSTOM", name="n", value={"x_y": 1}, x_y=1), 1),
    "snake case twin": ({**event("TEXT_MESSAGE_START", messageId="m"), "message_id": "k"}, 1),
    "prototype property": (event("CUSTOM", name="n", value=1, toString=1, constructor=1), 2),
    "tag on a snapshot": (snapshot(subagentRunId="a"), 1),
    "unknown role": (snapshot(message("wizard", "m"), message("user", "k")), 1),
    "role that is no text": (snapshot({"id": "m", "role": 1}), 1),
    "unknown part": (
        snapshot(message("user", "m", [{"type": "scent"}, {"type": "text", "text": "x"}])),
        1,
    ),
    "unknown source": (
        snapshot(message("user", "m", [{**_PART, "source": {"type": "beam"}, "id": 1}])),
        1,
    ),
    "unknown in a call": (
        snapshot(
            {
                "id": "m",
                "role": "assistant",
                "toolCalls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": "", "z": 1},
                        "z": 1,
                    }
                ],
            }
        ),
        2,
    ),
    "unknown operation": (state_delta({"op": "swap", "path": "/a"}), 1),
    "extra in an operation": (state_delta({"op": "add", "path": "/a", "value": 1, "why": 1}), 0),
    "unknown outcome": ({**FINISHED, "outcome": {"type": "novelty", "x": 1}}, 1),
    "raw event null": (event("CUSTOM", name="n", value=None, rawEvent=None), 1),
    "result null": ({**FINISHED, "result": None}, 1),
    "outcome null": ({**FINISHED, "outcome": None, "result": None}, 2),
    "media metadata null": (snapshot(message("user", "m", [{**_PART, "metadata": None}])), 1),
    "binary": (snapshot(message("user", "m", [_BINARY])), 1),
    "binary by url": (snapshot(message("user", "m", [{**_BINARY, "data": "", "url": "u"}])), 1),
    "binary with its twin": (
        snapshot(
            message(
                "user",
                "m",
                [
                    _BINARY,
                    {
                        "type": "audio",
                        "source": {"type": "data", "value": "d", "mimeType": "audio/wav"},
                        "metadata": {"filename": "f", "more": 1},
                    },
                ],
            )
        ),
        1,
    ),
    "binary beside another": (
        snapshot(
            message(
                "user",
                "m",
                [
                    {"type": "binary", "mimeType": "audio/wav", "data": "d"},
                    {
                        "type": "audio",
                        "source": {"type": "data", "value": "e", "mimeType": "audio/wav"},
                    },
                    {"type": "text", "text": "x", "mimeType": "a/b", "url": "u"},
                ],
            )
        ),
        3,
    ),
    "binary by id only": (
        snapshot(message("user", "m", [{"type": "binary", "mimeType": "a/b", "id": "i"}])),
        3,
    ),
    "binary without a kind": (snapshot(message("user", "m", [{"type": "binary", "data": "d"}])), 2),
    "binary in a result": (result(content=[_BINARY]), 1),
}
STARTS: dict[str, tuple[Wire, int]] = {
    "input nulls": (
        {
            **STARTED,
            "input": {
                **_INPUT,
                "forwardedProps": None,
                "state": None,
                "tools": [{"name": "f", "description": "", "parameters": None}],
                "resume": [{"interruptId": "i", "status": "resolved", "payload": None}],
            },
        },
        3,
    ),
    "input binary": (
        {**STARTED, "input": {**_INPUT, "messages": [message("user", "m", [_BINARY])]}},
        1,
    ),
    "input unknowns": (
        {
            **STARTED,
            "input": {**_INPUT, "z": 1, "tools": [{"name": "f", "description": "", "z": 1}]},
        },
        2,
    ),
}


def _stream(wire: Wire) -> list[Wire]:
    if wire["type"] in ("RUN_STARTED", "RUN_FINISHED"):
        return [wire, FINISHED] if wire["type"] == "RUN_STARTED" else [STARTED, wire]
    closing = (
        [event("TEXT_MESSAGE_END", messageId="m")] if wire["type"] == "TEXT_MESSAGE_START" else []
    )
    return in_run(wire, *closing)


@pytest.fixture(scope="module")
def client_runs(node_client: NodeClient) -> dict[str, ClientRun]:
    cases = TOLERATED | STARTS
    runs = node_client.runs(
        {"events": _stream(wire), "threadId": "t"} for wire, _ in cases.values()
    )
    return dict(zip(cases, runs, strict=True))


@pytest.mark.parametrize("name", [*TOLERATED, *STARTS])
def test_the_unknown_and_the_retired_pass_with_warnings(
    name: str, client_runs: dict[str, ClientRun], caplog: pytest.LogCaptureFixture
) -> None:
    wire, warnings = (TOLERATED | STARTS)[name]
    client = client_runs[name]
    assert client.accepted, client.error
    assert len([text for text in client.warnings if text.startswith("[ag-ui]")]) == warnings, (
        client.warnings
    )
    ours = verify(_stream(wire))
    assert [item.type.value for item in ours] == client.events
    assert [one.model_dump(by_alias=True) for one in fold(ours).messages] == client.messages
    assert len(caplog.records) == warnings


def test_an_argument_is_never_changed() -> None:
    wire, _ = TOLERATED["binary with its twin"]
    before = str(wire)
    parse_event(wire)
    assert str(wire) == before


def test_sdk_events_pass_as_they_are() -> None:
    events = [
        RunStartedEvent(
            thread_id="t",
            run_id="r",
            input={"threadId": "t", "runId": "r", "messages": [UserMessage(id="m", content="x")]},
        ),
        TextMessageStartEvent(message_id="m"),
        TextMessageContentEvent(message_id="m", delta="half \ud83d"),
        CustomEvent(name="n", value=object()),
    ]
    for sent in events:
        assert examine(sent) == (sent, [])


def test_a_misspelt_field_of_an_sdk_event_is_noted() -> None:
    parsed, notes = examine(TextMessageStartEvent(message_id="m", subAgentRunId="a"))
    assert parsed == TextMessageStartEvent(message_id="m")
    assert notes == ["unknown /subAgentRunId in TEXT_MESSAGE_START, removed"]


@pytest.mark.parametrize("wire", [{}, {"type": ""}, {"type": 1}, {"type": None}])
def test_an_event_needs_a_type(wire: Wire) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_event(wire)
    assert caught.value.code == "no-event-type"


def test_the_place_of_the_fault_is_named() -> None:
    with pytest.raises(
        ProtocolError,
        match="/messages/0/toolCalls/0/function/arguments: Input should be a valid string",
    ) as caught:
        parse_event(
            snapshot(
                {
                    "id": "m",
                    "role": "assistant",
                    "toolCalls": [
                        {"id": "c", "type": "function", "function": {"name": "f", "arguments": 1}}
                    ],
                }
            )
        )
    assert caught.value.event is not None
