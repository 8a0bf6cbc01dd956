"""Our verdict and outcome beside the reference client's: streams of every kind, random ones, patches.

What the two make differently on purpose is in `DIFFERENCES`, and nowhere else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.protocol import ProtocolError, SSEDecoder, verify
from tests.contracts.reference_client.differences import DIFFERENCES
from tests.kit.deep import deep, example_count
from tests.kit.expect.agreement import Agreement, Outcome, difference
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.malformed_events import every_harm, examples, harmed_somewhere, in_context
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
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

randoms = st.randoms(use_true_random=True)


def case(random: Random) -> Any:
    """A stream with what the client held before it."""
    streams = Streams(random)
    events = streams.stream()
    if events and random.random() >= 0.6:
        events = harmed_somewhere(random, events)
    return events, streams.history(), streams.record()


def differences(client: NodeClient, cases: Iterable[Any]) -> list[tuple[str, Any]]:
    """What sets us apart from the client, each with the stream."""
    cases = [one if isinstance(one, tuple) else (one, [], {}) for one in cases]
    keys = ("events", "messages", "state")
    runs = client.runs({**dict(zip(keys, one, strict=True)), "paced": True} for one in cases)
    found = [(difference(Outcome(*one), run), one) for one, run in zip(cases, runs, strict=True)]
    return [(text, one) for text, one in found if text]


@pytest.mark.timeout(600)  # a failure takes a while to shrink
@settings(max_examples=example_count(10, 25))
@given(cases=st.lists(randoms.map(case), min_size=8, max_size=24))
def test_random_streams(node_client: NodeClient, cases: list[Any]) -> None:
    assert differences(node_client, cases) == []


def test_the_examples_are_what_the_schema_says(node_client: NodeClient) -> None:
    streams = [in_context(wire, kind) for kind, wires in examples().items() for wire in wires]
    assert differences(node_client, streams) == []
    for stream in streams:
        ours = Outcome(stream, [], {})
        assert (ours.error, ours.notes, ours.fold.warnings) == (None, [], []), stream


@deep
@pytest.mark.timeout(600)
def test_every_field_of_every_event_harmed_in_every_way(node_client: NodeClient) -> None:
    assert differences(node_client, (events for _, events in every_harm())) == []


FRAMES = [
    *[b"data: [DONE]", b"data: {", b"data: NaN", b'data: {"type":"RAW","event":NaN}'],
    *[b'data: {"type":"RAW","event":1}{}', b'data: {"type":"CUSTOM","name":"n",\ndata: "value":1}'],
    b'data:{"type":"CUSTOM","name":"n","value":"\xff\xc3"}',
    b'data: {"type":"CUSTOM","type":"RAW","event":1}',
    b'data: {"type":"CUSTOM","name":"n","value":"a\tb"}',
    b'data: {"type":"CUSTOM","name":"n","value":"\\ud83d"}',
    b'data:  {"type":"CUSTOM","name":"n","value":1}',
    *[b'dat: {"type":"CUSTOM"', b' data: {"type":"CUSTOM"', b"data", b"data:", b"data: "],
    *[b": comment", b"id: 1\nevent: x\nretry: 5", b"\n", b"", b'data: []\ndata: "x"'],
    *[b"data: null", b'data: {"type":1}', b'data: {"type":""}', b"data: {}"],
    b'\xef\xbb\xbfdata: {"type":"CUSTOM","name":"n","value":1}',
]


def framed(*wires: Wire) -> list[bytes]:
    return [b"data: " + json.dumps(wire).encode() for wire in wires]


def body(random: Random) -> list[bytes]:
    """A response body in chunks: frames of a stream, odd ones among them, some without their
    end."""
    frames = framed(*Streams(random).stream())
    for _ in range(random.randint(0, 2)):
        frames.insert(random.randint(0, len(frames)), random.choice(FRAMES))
    ends = [random.choice([b"\n\n"] * 12 + [b"\n", b"", b"\n\n\n"]) for _ in frames]
    chunks: list[bytes] = []
    # Each frame ends a chunk, so that everything before a fault is applied when the fault comes.
    for whole in (frame + end for frame, end in zip(frames, ends, strict=True)):
        cuts = sorted(random.randint(0, len(whole)) for _ in range(random.randint(0, 2)))
        chunks += [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
    return chunks


def read(chunks: list[bytes]) -> Iterator[Wire]:
    decoder = SSEDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()
    decoder.feed(b"")


def body_differences(client: NodeClient, bodies: list[list[bytes]]) -> list[tuple[str, Any]]:
    coded = [[base64.b64encode(chunk).decode() for chunk in chunks] for chunks in bodies]
    runs = client.runs({"sseChunks": chunks, "paced": True} for chunks in coded)
    outcomes = [Outcome(read(chunks), [], {}) for chunks in bodies]
    found = map(difference, outcomes, runs)
    return [(text, chunks) for text, chunks in zip(found, bodies, strict=True) if text]


@pytest.mark.timeout(600)
@settings(max_examples=example_count(3, 15))
@given(bodies=st.lists(randoms.map(body), min_size=8, max_size=24))
def test_random_bodies(node_client: NodeClient, bodies: list[list[bytes]]) -> None:
    assert body_differences(node_client, bodies) == []


def test_odd_frames(node_client: NodeClient) -> None:
    start, end = framed(STARTED, FINISHED)
    bodies = [[one + b"\n\n" for one in (start, frame, end)] for frame in FRAMES]
    assert body_differences(node_client, bodies) == []


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_known_differences_are_still_there(name: str, node_client: NodeClient) -> None:
    one = DIFFERENCES[name]
    if isinstance(one.given, bytes):
        run, ours = node_client.run(sse=one.given.decode()), Outcome(read([one.given]), [], {})
    else:
        run, ours = node_client.run(events=one.given), Outcome(one.given, [], {})
    assert str(difference(ours, run)).startswith(f"{one.kind}: ")


def test_the_stream_of_a_test_that_differs_is_named() -> None:
    agreement = Agreement()
    for stream in (in_run(*text("m", "fine")), [STARTED, event("NOVELTY")]):
        agreement.record(stream)
        agreement.record(stream)
    with pytest.raises(AssertionError, match=r"a_test_that_differs.*: warnings: ") as caught:
        agreement.compare(everything=True)
    assert ("fine" in str(caught.value), str(caught.value).count("NOVELTY")) == (False, 2)
    assert agreement.compare(everything=True) == 0


STATE = {"l": [[1], [2]], "d": {"": 1, "0": 2}, "t": True, "n": None, "one": 1}
PLACES = [
    *["", "/", "/l", "/l/", "/l/0", "/l/00", "/l/1/0", "/l/01/0", "/l/-", "/l/2", "/l/3", "/l/9"],
    *["/d", "/d/", "/d/own", "/n", "/n/a", "/one", "/one/a/b", "/t", "/z", "/l/0/-"],
    *["/__proto__", "/constructor/prototype", "/prototype"],
]
SOURCES = ["/l", "/l/0", "/l/00", "/l/-", "/l/1", "/d", "/z"]
VALUES = [9, True, 1, 1.0, None, [1], [[1], [2]], [[1], [3]], [[1]], [[1], [2], []], 2]
OBJECTS = [{"0": [1], "1": [2]}, {"0": 2, "": 1}, {"0": 2}, {"0": 2, "": 1, "z": 1}]


def patches() -> Iterator[list[Wire]]:
    def op(name: str, path: str, **fields: Any) -> Wire:
        return {"op": name, "path": path, **fields}

    for path in PLACES:
        yield from ([op("test", path, value=value)] for value in [*VALUES, *OBJECTS])
        yield from ([op(name, path, value=9)] for name in ("add", "replace"))
        yield [op("remove", path)]
        # What becomes the whole document, the client reads with other pointers.
        for other in SOURCES if path else ["/l", "/d"]:
            yield from ([op(name, path, **{"from": other})] for name in ("copy", "move"))
        yield [op("copy", "/m", **{"from": "/l"}), op("add", path, value=[9]), op("remove", "/m/0")]
    yield [op("copy", "/d/own", **{"from": ""})]
    yield [op("replace", "", value=[1]), op("add", "/-", value=2)]
    yield [op("remove", ""), op("add", "/a", value=1)]


def test_patches_come_out_as_in_the_client(node_client: NodeClient) -> None:
    assert (
        differences(node_client, ((in_run(state_delta(*one)), [], STATE) for one in patches()))
        == []
    )


IMAGE = {"type": "image", "source": {"type": "url", "value": "u"}}
PNG = {"type": "binary", "mimeType": "image/png"}
WAV = {"type": "binary", "mimeType": "audio/wav", "data": "d"}
BINARY = {**WAV, "filename": "f"}
AUDIO = {"type": "audio", "source": {"type": "data", "value": "d", "mimeType": "audio/wav"}}
OTHER_AUDIO = {**AUDIO, "source": {**AUDIO["source"], "value": "e"}}
TEXT = {"type": "text", "text": "x"}
CUSTOM = event("CUSTOM", name="n", value=None)
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "", "z": 1}, "z": 1}
TOOL, ANSWER = {"name": "f", "description": ""}, {"interruptId": "i", "status": "resolved"}


def parts(*some: Wire) -> list[Wire]:
    return in_run(snapshot(message("user", "m", list(some))))


def echoing(*messages: Wire, **fields: object) -> list[Wire]:
    echo = {"threadId": "t", "runId": "r", "messages": list(messages), **fields}
    return [{**STARTED, "input": echo}, FINISHED]


# What passes, though some of it is unknown or retired: with as many warnings as in the client.
TOLERATED: dict[str, list[Wire]] = {
    "whole float": in_run({**CUSTOM, "timestamp": 3.0}),
    "nulls in data": in_run(event("RAW", event={"a": None}, metadata={"a": None})),
    "unknown event": in_run(event("THINKING", title="x")),
    "unknown property": in_run({**CUSTOM, "value": {"x_y": 1}, "x_y": 1}),
    "snake case twin": in_run({**text()[0], "message_id": "k"}, text()[1]),
    "prototype property": in_run({**CUSTOM, "toString": 1, "constructor": 1}),
    "tag on a snapshot": in_run(snapshot(subagentRunId="a")),
    "unknown role": in_run(snapshot(message("wizard", "m"), message("user", "k"))),
    "role that is no text": in_run(snapshot({"id": "m", "role": 1})),
    "unknown part": parts({"type": "scent"}, TEXT),
    "unknown source": parts({**IMAGE, "source": {"type": "beam"}, "id": 1}),
    "unknown in a call": in_run(snapshot(caller("m", CALL))),
    "unknown operation": in_run(state_delta({"op": "swap", "path": "/a"})),
    "extra in an operation": in_run(state_delta({"op": "add", "path": "/a", "value": 1, "why": 1})),
    "unknown outcome": [STARTED, ended("novelty", x=1)],
    "nulls of before 1.0": [
        *[STARTED, {**CUSTOM, "rawEvent": None}, {**FINISHED, "outcome": None, "result": None}]
    ],
    "media metadata null": parts({**IMAGE, "metadata": None}),
    "binary": parts(BINARY),
    "binary by url": parts({**BINARY, "data": "", "url": "u"}),
    "binary with its twin": parts(BINARY, {**AUDIO, "metadata": {"filename": "f", "more": 1}}),
    "binary beside another": parts(WAV, OTHER_AUDIO, {**TEXT, "mimeType": "a/b", "url": "u"}),
    "binary by id only": parts({"type": "binary", "mimeType": "a/b", "id": "i"}),
    "binary without a kind": parts({"type": "binary", "data": "d"}),
    "binary in a result": in_run(*call(), result(content=[BINARY])),
    "input nulls": echoing(
        forwardedProps=None,
        state=None,
        tools=[{**TOOL, "parameters": None}],
        resume=[{**ANSWER, "payload": None}],
    ),
    "input unknowns": echoing(z=1, tools=[{**TOOL, "z": 1}]),
    "input binary": echoing(message("user", "m", [BINARY])),
    **{
        f"binary {data!r}": echoing(message("user", "m", [{**PNG, "data": data}]))
        for data in ("", False, 0)
    },
    "several odd binaries": parts({**PNG, "data": None}, {**PNG, "id": "f"}, {**PNG, "url": "u"}),
}


def test_the_unknown_and_the_retired_pass_with_the_same_warnings(node_client: NodeClient) -> None:
    before = str(TOLERATED)
    assert differences(node_client, TOLERATED.values()) == []
    assert {Outcome(stream, [], {}).error for stream in TOLERATED.values()} == {None}
    assert str(TOLERATED) == before


THOUGHT = event("REASONING_MESSAGE_CHUNK", delta="b")
CALLED = [*call("c", "{", "}", parentMessageId="m"), result("c")]


# Each item with its value; what follows has begun before the value that comes last of all.
@pytest.mark.parametrize(
    ("events", "value"),
    [
        pytest.param(text("m", "a", "b"), encrypted("m"), id="text"),
        pytest.param([*reasoning("m", "a"), *text("n", "c")], encrypted("m"), id="reasoning"),
        pytest.param(CALLED, encrypted("c", "tool-call"), id="call"),
        pytest.param(CALLED, encrypted("m"), id="message of a call"),
        pytest.param([{**THOUGHT, "messageId": "m"}, THOUGHT], encrypted("m"), id="chunks"),
    ],
)
def test_an_encrypted_value_counts_from_the_start_of_its_entity_on(
    events: list[Wire], value: Wire, node_client: NodeClient
) -> None:
    too_soon, *streams = (
        in_run(*events[:at], value, *events[at:]) for at in range(len(events) + 1)
    )
    assert differences(node_client, [too_soon, *streams]) == []
    for stream in streams:
        verify(stream, strict=True)
        assert json.dumps(Outcome(stream, [], {}).messages).count('"encryptedValue": "E"') == 1
    with pytest.raises(ProtocolError) as caught:
        verify(too_soon, strict=True)
    assert caught.value.code == "unknown-entity"
