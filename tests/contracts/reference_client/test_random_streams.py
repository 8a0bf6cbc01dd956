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
from langgraph_agui.protocol.diff import changes
from tests.kit.deep import deep, example_count
from tests.kit.expect.agreement import Outcome, difference
from tests.kit.expect.differences import DIFFERENCES
from tests.kit.run.malformed_events import every_harm, examples, harmed_somewhere, in_context
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, event, in_run, message, state_delta
from tests.rooms.protocol.test_diff import TYPICAL, Documents, exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.kit.processes.node_client import NodeClient

Case: TypeAlias = tuple[list[Wire], list[Wire], Any]


class Choices(Random):
    """Random choices that are read from bytes, of which Hypothesis knows how to make simpler ones;
    zeros in the end. Far cheaper than a draw for each: a stream is hundreds of them."""

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


def differences(client: NodeClient, cases: Iterable[Case]) -> list[tuple[str, Any]]:
    """What sets us apart from the client, each with the stream."""
    given = list(cases)
    keys = ("events", "messages", "state")
    runs = client.runs({**dict(zip(keys, one, strict=True)), "paced": True} for one in given)
    found = [(difference(Outcome(*one), run), one) for one, run in zip(given, runs, strict=True)]
    return [(text, one) for text, one in found if text]


@pytest.mark.timeout(600)  # a failure takes a while to shrink
@settings(max_examples=example_count(10, 25))
@given(cases=st.lists(choices.map(case), min_size=8, max_size=24))
def test_random_streams(node_client: NodeClient, cases: list[Case]) -> None:
    assert differences(node_client, cases) == []


def test_the_examples_are_what_the_schema_says(node_client: NodeClient) -> None:
    streams = [in_context(wire, kind) for kind, wires in examples().items() for wire in wires]
    assert differences(node_client, [(stream, [], {}) for stream in streams]) == []
    for stream in streams:
        ours = Outcome(stream, [], {})
        assert (ours.error, ours.notes, ours.fold.warnings) == (None, [], []), stream


@deep
@pytest.mark.timeout(600)
def test_every_field_of_every_event_harmed_in_every_way(node_client: NodeClient) -> None:
    assert differences(node_client, [(events, [], {}) for _, events in every_harm()]) == []


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
        assert difference(Outcome(read(chunks), [], {}), run) is None, chunks


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_known_differences_are_still_there(name: str, node_client: NodeClient) -> None:
    one = DIFFERENCES[name]
    if isinstance(one.given, bytes):
        run, ours = node_client.run(sse=one.given.decode()), Outcome(read([one.given]), [], {})
    else:
        run, ours = node_client.run(events=one.given), Outcome(one.given, [], {})
    assert str(difference(ours, run)).startswith(f"{one.kind}: ")


def read(chunks: list[bytes]) -> Iterator[Wire]:
    decoder = SSEDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()
    decoder.feed(b"")


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
    streams = [in_run(state_delta(*patch)) for patch in patches()]
    assert differences(node_client, [(stream, [], STATE) for stream in streams]) == []


def test_changes_lead_clients_to_the_state(node_client: NodeClient) -> None:
    cases = [(before, after) for before, after, _ in TYPICAL.values() if isinstance(before, dict)]
    for seed in range(150):
        draw = Documents(Random(seed))
        held = draw.document()
        cases.append((held, draw.edited(held)))
    streams = [
        in_run(event("STATE_SNAPSHOT", snapshot=before), state_delta(*changes(before, after)[0]))
        for before, after in cases
    ]
    runs = node_client.runs({"events": stream} for stream in streams)
    for run, (_, after) in zip(runs, cases, strict=True):
        assert (run.error, run.warnings) == (None, [])
        assert exact(run.state) == exact(after)


def test_binary_content_that_holds_nothing_or_something_else(node_client: NodeClient) -> None:
    """Each such part draws a warning of its own."""
    odd: list[Any] = [None, "", [], {}, False, True, 0, 1, [""]]
    png = {"type": "binary", "mimeType": "image/png"}
    parts = [{**png, "data": None}, {**png, "id": "f"}, {**png, "data": ""}]
    contents = [*([{**png, "data": value}] for value in odd), parts, [*parts, {**png, "url": "u"}]]
    given = {"threadId": "t", "runId": "r", "state": {}}
    echoes = [{**given, "messages": [message("user", "m", content)]} for content in contents]
    streams = [[{**STARTED, "input": echo}, FINISHED] for echo in echoes]
    assert differences(node_client, [(stream, [], {}) for stream in streams]) == []
