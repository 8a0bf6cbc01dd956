"""Events to bytes and back: the SDK's reading, any chunking, and values that some encoder chokes
on."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    MessagesSnapshotEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError

from langgraph_agui.protocol import ProtocolError, SSEDecoder, decode, encode, parse_event
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import FINISHED, STARTED, event, sse

randoms = st.randoms(use_true_random=True)


def payload(frame: bytes) -> Any:
    """The JSON of a frame, strictly read."""
    assert (frame[:6], frame[-2:], frame.count(b"\n")) == (b"data: ", b"\n\n", 2)
    return json.loads(frame[6:], parse_constant=lambda name: pytest.fail(name))


@given(random=randoms)
def test_encoding_reads_as_the_sdk_writes(random: Random) -> None:
    for wire in Streams(random).stream():
        try:
            sent = parse_event(wire)
            written = sent and sent.model_dump_json(by_alias=True)
        except (ProtocolError, PydanticSerializationError):  # the SDK writes no half a pair
            continue
        if sent is not None:
            assert payload(encode(sent)) == json.loads(str(written))


def test_required_and_extra_nulls_stay_and_optional_ones_go() -> None:
    empty = {"type": "STATE_SNAPSHOT", "snapshot": None}
    assert payload(encode(StateSnapshotEvent(snapshot=None))) == empty
    fields: Any = {"name": "n", "value": {"a": None}, "extra": None}
    assert payload(encode(CustomEvent(**fields))) == {"type": "CUSTOM", **fields}


def test_encoding_never_fails(node_client: NodeClient) -> None:
    cycle, deep = list[Any](), list[Any]()
    cycle.append(cycle)
    for _ in range(100_000):
        deep = [deep]
    odd = [object(), [float("nan"), -float("inf")], b"\xff\x00", "half \ud83d", 10**5000]
    keys = {1: 1, None: 2, (1, 2): 3, object(): 5, 1.5: 6, "\ud83d": 7}
    for value in (cycle, deep, [deep, object()], *odd, keys, ValueError("secret")):
        held = AssistantMessage(id="m", content="x", metadata={"v": value})
        sent = [
            RunStartedEvent(thread_id="t", run_id="r", raw_event=value, metadata={"v": value}),
            StateSnapshotEvent(snapshot={"v": value}),
            CustomEvent(name="half \ud83d", value=value),
            MessagesSnapshotEvent(messages=[held]),
            RunFinishedEvent(thread_id="t", run_id="r"),
        ]
        assert [payload(encode(one))["type"] for one in sent] == [one.type.value for one in sent]
        body = b"".join(map(encode, sent))
        assert b"secret" not in body
        client = node_client.run(sse=body.decode(), threadId="t")
        assert (client.error, client.warnings) == (None, [])
        assert [one["content"] for one in client.messages] == ["x"]


def read(*chunks: bytes) -> list[dict[str, Any]]:
    decoder = SSEDecoder()
    return [*(one for chunk in chunks for one in decoder.feed(chunk)), *decoder.finish()]


@given(random=randoms, cuts=st.lists(st.integers(0, 4000)), crlf=st.booleans())
def test_any_chunking_decodes_alike(random: Random, cuts: list[int], crlf: bool) -> None:
    wires = [wire for _ in range(3) for wire in Streams(random).stream()]
    body = b": hello\n\n" + sse(*wires).replace(b"data: ", b"id: 1\nevent: x\ndata: ")
    if crlf:
        body = body.replace(b"\n", b"\r\n")
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    assert read(*(body[start:end] for start, end in pairwise(places))) == wires


def test_frames_are_read_as_server_sent_events() -> None:
    assert read(b'data: {"type":\ndata:"A"}\n\n') == [{"type": "A"}]
    assert read(b'data: {"type":"A"}') == [{"type": "A"}]
    assert read('\ufeffdata: {"type":"é"}\n\n'.encode()) == [{"type": "é"}]
    assert read(b'data: {"type":"\xc3', b'\xa9"}\n', b"\n") == [{"type": "é"}]
    assert read(b'data: {"type":"A"}\r\rdata: {"type":"B"}\r\r') == [{"type": "A"}, {"type": "B"}]
    assert read(b"event: x\n\n: ping\n\n\n\n") == read() == []
    feed = SSEDecoder().feed  # a frame is read as soon as it is complete
    assert [feed(one) for one in (b'data: {"type":"A"}\n', b"\n")] == [[], [{"type": "A"}]]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        *((data, "invalid-json") for data in ("[DONE]", '{"type":"RAW","event":NaN}')),
        *((data, "not-an-object") for data in ("[]", "null", '"x"')),
        *((data, "no-event-type") for data in ("{}", '{"type":1}', '{"type":""}')),
    ],
)
def test_what_stands_before_a_bad_frame_is_not_lost(data: str, code: str) -> None:
    body = sse(STARTED) + f"data: {data}\n\n".encode()
    decoder = SSEDecoder()
    assert decoder.feed(body) == [STARTED]
    with pytest.raises(ProtocolError) as caught:
        decoder.feed(b"")
    assert caught.value.code == code
    events = decode([body])
    assert next(events).type == "RUN_STARTED"
    with pytest.raises(ProtocolError):
        next(events)


def test_an_endless_frame_is_refused_and_a_long_one_is_not() -> None:
    frame = sse(event("RAW", event="x" * 5000))
    decoder = SSEDecoder(max_frame=1000)
    assert len(decoder.feed(frame + frame)) == 2  # complete frames may be long
    assert [decoder.feed(one) for one in (b"data: ", *[b"x"] * 994)] == [[]] * 995
    with pytest.raises(ProtocolError) as caught:
        decoder.feed(b"x")
    assert caught.value.code == "frame-too-large"


def test_decode_yields_conforming_events() -> None:
    body = sse(STARTED, event("FUTURE"), {**FINISHED, "x": 1})
    assert [type(one) for one in decode([body])] == [RunStartedEvent, RunFinishedEvent]
    with pytest.raises(ProtocolError) as caught:
        list(decode([sse(event("RUN_ERROR"))]))
    assert caught.value.code == "malformed-event"
