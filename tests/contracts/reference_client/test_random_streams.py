"""Our verdict and outcome beside the reference client's: random streams, orderly, damaged and
malformed; patches.

What the two make differently on purpose is in `DIFFERENCES`, and nowhere else.
"""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.protocol import SSEDecoder
from tests.kit.deep import deep, example_count
from tests.kit.expect.agreement import Outcome, difference
from tests.kit.expect.differences import DIFFERENCES
from tests.kit.run.malformed_events import every_harm, examples, harmed_somewhere, in_context
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, in_run, message, state_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.processes.node_client import NodeClient

Case: TypeAlias = tuple[list[Wire], list[Wire], Any]


class Choices(Random):
    """Random choices that are read from bytes, of which Hypothesis knows how to make simpler ones;
    zeros in the end.

    Far cheaper than a draw for each choice: a stream is hundreds of them.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = iter(data)

    def getrandbits(self, k: int) -> int:
        size = (k + 7) // 8
        return int.from_bytes(next(self._data, 0) for _ in range(size)) >> (8 * size - k)

    def random(self) -> float:
        return self.getrandbits(16) / 2**16


choices = st.binary(min_size=320, max_size=320).map(Choices)


def case(random: Random) -> Case:
    """A stream with what the client held before it."""
    streams = Streams(random)
    events = streams.stream()
    if events and random.random() >= 0.6:
        events = harmed_somewhere(random, events)
    return events, streams.history(), streams.record()


@pytest.mark.timeout(600)  # a failure takes a while to shrink
@settings(max_examples=example_count(10, 25))
@given(cases=st.lists(choices.map(case), min_size=8, max_size=24))
def test_random_streams(node_client: NodeClient, cases: list[Case]) -> None:
    found = [
        (recorded, one)
        for recorded, one in zip(differences(node_client, cases), cases, strict=True)
        if recorded
    ]
    assert not found, f"{found[0][0]}\n{json.dumps(found[0][1])}"


def differences(client: NodeClient, cases: list[Case]) -> list[str | None]:
    """What sets us apart from the client, for each case."""
    runs = client.runs(
        {"events": events, "messages": history, "state": state, "paced": True}
        for events, history, state in cases
    )
    return [difference(Outcome(*one), run) for one, run in zip(cases, runs, strict=True)]


def test_the_examples_are_what_the_schema_says(node_client: NodeClient) -> None:
    streams = [in_context(wire, kind) for kind, wires in examples().items() for wire in wires]
    assert differences(node_client, [(stream, [], {}) for stream in streams]) == [None] * len(
        streams
    )
    for stream in streams:
        ours = Outcome(stream, [], {})
        assert (ours.error, ours.notes, ours.fold.warnings) == (None, [], []), stream


@deep
def test_every_field_of_every_event_harmed_in_every_way(node_client: NodeClient) -> None:
    cases = list(every_harm())
    runs = node_client.runs({"events": events, "paced": True} for _, events in cases)
    ours = [Outcome(events, [], {}) for _, events in cases]
    recorded = [
        (name, difference(*pair)) for (name, _), *pair in zip(cases, ours, runs, strict=True)
    ]
    assert [(name, one) for name, one in recorded if one] == []
    assert {one.error.code for one in ours if one.error} >= {"malformed-event", "owner-mismatch"}


FRAMES = [
    b"data: [DONE]",
    b"data: {",
    b"data: NaN",
    b'data: {"type":"RAW","event":NaN}',
    b'data: {"type":"RAW","event":1}{}',
    b'data: {"type":"CUSTOM","name":"n",\ndata: "value":1}',
    b'data:{"type":"CUSTOM","name":"n","value":"\xff\xc3"}',
    b'data: {"type":"CUSTOM","type":"RAW","event":1}',
    b'data: {"type":"CUSTOM","name":"n","value":"a\tb"}',
    b'data: {"type":"CUSTOM","name":"n","value":"\\ud83d"}',
    b'data:  {"type":"CUSTOM","name":"n","value":1}',
    b'dat: {"type":"CUSTOM"',
    b' data: {"type":"CUSTOM"',
    b"data",
    b"data:",
    b"data: ",
    b": comment",
    b"id: 1\nevent: x\nretry: 5",
    b"\n",
    b"",
    b'data: []\ndata: "x"',
    b"data: null",
    b'data: {"type":1}',
    b'data: {"type":""}',
    b"data: {}",
    b'\xef\xbb\xbfdata: {"type":"CUSTOM","name":"n","value":1}',
]


def body(random: Random) -> list[bytes]:
    """A response body in chunks: frames of a stream, odd ones among them, some without their
    end."""
    frames = [b"data: " + json.dumps(wire).encode() for wire in Streams(random).stream()]
    for _ in range(random.randint(0, 2)):
        frames.insert(random.randint(0, len(frames)), random.choice(FRAMES))
    ends = [random.choice([b"\n\n"] * 12 + [b"\n", b"", b"\n\n\n"]) for _ in frames]
    chunks: list[bytes] = []
    # Each frame ends a chunk, so that everything before a fault is applied when the fault comes.
    for whole in (frame + end for frame, end in zip(frames, ends, strict=True)):
        cuts = sorted(random.randint(0, len(whole)) for _ in range(random.randint(0, 2)))
        chunks += [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
    return chunks


@pytest.mark.timeout(600)
@settings(max_examples=example_count(5, 15))
@given(bodies=st.lists(choices.map(body), min_size=8, max_size=24))
def test_random_bodies(node_client: NodeClient, bodies: list[list[bytes]]) -> None:
    requests = [
        {"sseChunks": [base64.b64encode(chunk).decode() for chunk in chunks], "paced": True}
        for chunks in bodies
    ]
    for chunks, run in zip(bodies, node_client.runs(requests), strict=True):
        recorded = difference(Outcome(_read(chunks), [], {}), run)
        assert recorded is None, f"{recorded}\n{chunks}"


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_known_differences_are_still_there(name: str, node_client: NodeClient) -> None:
    one = DIFFERENCES[name]
    if isinstance(one.given, bytes):
        run, ours = node_client.run(sse=one.given.decode()), Outcome(_read([one.given]), [], {})
    else:
        run, ours = node_client.run(events=one.given), Outcome(one.given, [], {})
    assert str(difference(ours, run)).startswith(f"{one.kind}: ")


def _read(chunks: list[bytes]) -> Iterator[Wire]:
    decoder = SSEDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()
    decoder.feed(b"")


_STATE = {"l": [[1], [2]], "d": {"": 1, "0": 2}, "t": True, "n": None, "one": 1}
_PATCHES: list[list[Wire]] = [
    [{"op": "test", "path": "/one", "value": True}],
    [{"op": "test", "path": "/t", "value": 1}],
    [{"op": "test", "path": "/one", "value": 1.0}],
    [{"op": "test", "path": "/n", "value": None}],
    [{"op": "test", "path": "/z", "value": None}],
    [{"op": "test", "path": "/l", "value": [[1], [2]]}],
    [{"op": "test", "path": "/l", "value": [[1], [3]]}],
    [{"op": "test", "path": "/l", "value": [[1]]}],
    [{"op": "test", "path": "/l", "value": [[1], [2], []]}],
    [{"op": "test", "path": "/l", "value": {"0": [1], "1": [2]}}],
    [{"op": "test", "path": "/d", "value": {"0": 2, "": 1}}],
    [{"op": "test", "path": "/d", "value": {"0": 2}}],
    [{"op": "test", "path": "/d", "value": {"0": 2, "": 1, "z": 1}}],
    [{"op": "test", "path": "/l/00", "value": [1]}],
    [{"op": "test", "path": "/l/-", "value": [1]}],
    [{"op": "test", "path": "/l/01/0", "value": 2}],
    [{"op": "replace", "path": "/l/00/0", "value": 9}],
    [{"op": "replace", "path": "/l/1/0", "value": 9}],
    [{"op": "replace", "path": "/l/2", "value": 9}],
    [{"op": "replace", "path": "/d/", "value": 9}],
    [{"op": "replace", "path": "", "value": [1]}, {"op": "add", "path": "/-", "value": 2}],
    [{"op": "remove", "path": ""}],
    [{"op": "remove", "path": ""}, {"op": "add", "path": "/a", "value": 1}],
    [{"op": "remove", "path": "/l/0"}, {"op": "remove", "path": "/l/1"}],
    [{"op": "remove", "path": "/l/00"}],
    [{"op": "add", "path": "/l/00", "value": 9}],
    [{"op": "add", "path": "/l/", "value": 9}],
    [{"op": "add", "path": "/l/2", "value": 9}],
    [{"op": "add", "path": "/l/3", "value": 9}],
    [{"op": "add", "path": "/l/00/0", "value": 9}],
    [{"op": "add", "path": "/n/a", "value": 9}],
    [{"op": "add", "path": "/one/a/b", "value": 9}],
    [{"op": "move", "from": "/l/0", "path": "/l/9"}],
    [{"op": "move", "from": "/l/1", "path": "/l/0"}],
    [{"op": "move", "from": "/l/0", "path": "/l/00/0"}],
    [{"op": "move", "from": "/l", "path": "/l"}],
    [{"op": "move", "from": "/l", "path": "/l/0"}],
    [{"op": "move", "from": "/l/-", "path": "/z"}],
    [{"op": "move", "from": "/l", "path": ""}],
    [{"op": "move", "from": "/z", "path": "/y"}],
    [{"op": "copy", "from": "/l/0", "path": "/l/0"}],
    [{"op": "copy", "from": "/l/00", "path": "/z"}],
    [{"op": "copy", "from": "/l", "path": "/m"}, {"op": "add", "path": "/m/0/-", "value": 9}],
    [{"op": "copy", "from": "/l", "path": "/m"}, {"op": "add", "path": "/l/0/-", "value": 9}],
    [{"op": "copy", "from": "/d", "path": "/d/own"}],
    [{"op": "add", "path": "/__proto__", "value": 9}],
    [{"op": "add", "path": "/constructor/prototype", "value": 9}],
    [{"op": "add", "path": "/prototype", "value": 9}],
]


def test_patches_come_out_as_in_the_client(node_client: NodeClient) -> None:
    streams = [in_run(state_delta(*patch)) for patch in _PATCHES]
    recorded = differences(node_client, [(stream, [], _STATE) for stream in streams])
    assert [(patch, one) for patch, one in zip(_PATCHES, recorded, strict=True) if one] == []


def test_binary_content_that_holds_nothing(node_client: NodeClient) -> None:
    """Each such part draws a warning of its own."""
    parts = [
        {"type": "binary", "mimeType": "image/png", **fields}
        for fields in ({"data": None}, {"id": "f"}, {"data": ""})
    ]
    for some in (
        parts[:1],
        parts,
        [*parts, {"type": "binary", "mimeType": "image/png", "url": "u"}],
    ):
        echo = {
            "threadId": "t",
            "runId": "r",
            "messages": [message("user", "m", some)],
            "state": {},
        }
        stream = [{**STARTED, "input": echo}, FINISHED]
        assert differences(node_client, [(stream, [], {})]) == [None]


@pytest.mark.parametrize("value", [[], {}, False, True, 0, 1, [""]], ids=repr)
def test_binary_content_that_holds_something_else(node_client: NodeClient, value: object) -> None:
    part = {"type": "binary", "mimeType": "image/png", "data": value}
    echo = {"threadId": "t", "runId": "r", "messages": [message("user", "m", [part])], "state": {}}
    assert differences(node_client, [([{**STARTED, "input": echo}, FINISHED], [], {})]) == [None]
