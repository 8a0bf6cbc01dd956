"""Random bytes as the answer of an agent: an `AgentError` or events, however the bytes are cut."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

from ag_ui.core import UserMessage
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_agui.client import AgentError, AGUIClient, AGUISession, ClientLimits
from langgraph_agui.client.agent import RemoteRun
from langgraph_agui.protocol import ProtocolError, SSEDecoder
from langgraph_agui.protocol.json import to_jsonable
from tests.faults.hostile.test_patches import documents, operations
from tests.kit.deep import example_count
from tests.kit.processes.scripted_servers import Blocking, Peer, frames, server
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.random_answers import streams
from tests.kit.run.wire_events import Wire, activity, event, in_run

LIMITS = ClientLimits(max_weight=10_000)
CLIENT = AGUIClient("http://127.0.0.1:1/agent", limits=LIMITS)
ASK = run_input(UserMessage(id="u", content="hi"), thread="t")

odd = st.sampled_from(
    ["", "u", "m", "\x00", "\ud800", "a\x1b[2J\n", "x" * 3000, *(0, -1, 1.5, 10**400, True, None)]
) | st.sampled_from([[], {}, ["a"], {"id": "m"}])
fragments = st.sampled_from(
    [b"", b"\n", b"\r", b"\n\n", b"\xff", b"data:", b"\xef\xbb\xbf", b":", b"{", b'"', b"[" * 500]
)
patches = st.lists(operations, max_size=4)
extras = st.one_of(
    patches.map(lambda patch: event("STATE_DELTA", delta=patch)),
    patches.map(
        lambda patch: event("ACTIVITY_DELTA", messageId="u", activityType="x", patch=patch)
    ),
    documents.map(lambda value: event("STATE_SNAPSHOT", snapshot=value)),
    documents.map(lambda value: activity("v", content=value)),
)


@st.composite
def broken(draw: Any) -> list[Wire]:
    """The events of a run, with patches between them and some fields replaced, repeated or gone."""
    events = [dict(one) for one in draw(streams())]
    for extra in draw(st.lists(extras, max_size=3)):
        events.insert(draw(st.integers(0, len(events))), extra)
    for _ in range(draw(st.integers(0, 3))):
        if events:
            one = draw(st.sampled_from(events))
            key = draw(st.sampled_from([*one, "outcome", "metadata", "unknown\x1b"]))
            if draw(st.booleans()):
                one[key] = draw(odd)
            else:
                one.pop(key, None)
    return in_run(*events)


@st.composite
def bodies(draw: Any) -> bytes:
    """The bytes of a broken run, some of them replaced."""
    body = bytearray(frames(draw(broken())))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 5))] = draw(fragments)
    return bytes(body)


cuts = st.lists(st.integers(0, 5000), max_size=8)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    at = sorted(min(place, len(body)) for place in places)
    return [body[a:b] for a, b in pairwise([0, *at, len(body)])]


def decoded(chunks: list[bytes]) -> tuple[list[Any], str]:
    """The objects, and the code of the error."""
    decoder, found = SSEDecoder(2000), []
    try:
        for chunk in chunks:
            found += decoder.feed(chunk)
        found += decoder.finish()
        decoder.feed(b"")
    except ProtocolError as error:
        return found, error.code
    return found, ""


@settings(max_examples=example_count(60, 750))
@given(body=bodies() | st.binary(max_size=300), places=cuts)
@example(body=b"data: " + b"[" * 100_000 + b"\n\n", places=[])
@example(body=b'data: {"type": "RAW", "event": 1' + b"0" * 1990, places=[1000])
def test_it_does_not_matter_where_bytes_are_cut(body: bytes, places: list[int]) -> None:
    whole, code = decoded([body])
    pieces, other = decoded(cut(body, places))
    if "frame-too-large" in (code, other):  # only an unfinished frame is too large
        assert pieces[: len(whole)] == whole[: len(pieces)]
    else:
        assert (repr(pieces), other) == (repr(whole), code)


def fed(run: RemoteRun, chunks: list[bytes | None]) -> list[Any]:
    events: list[Any] = []
    try:
        for chunk in chunks:
            events.extend(run._feed(chunk))
        run._check_end()
    except AgentError as error:
        run.broken(error)
    return events


@settings(max_examples=example_count(100, 1250))
@given(body=bodies(), places=cuts)
def test_random_streams_end_as_runs_or_as_errors(body: bytes, places: list[int]) -> None:
    run = CLIENT.run(ASK)
    fed(run, [*cut(body, places), None])
    whole = CLIENT.run(ASK)
    fed(whole, [body, None])
    assert dumped(run.messages) == dumped(whole.messages)
    assert (to_jsonable(run.state), run.outcome) == (to_jsonable(whole.state), whole.outcome)
    held = {"messages": run.messages, "state": run.state}
    json.dumps(to_jsonable(run.input.model_copy(update=held)))
    assert run.open_call_ids is not None


@settings(max_examples=example_count(8, 75), deadline=None)
@given(body=bodies(), places=cuts)
def test_a_session_goes_on_after_any_answer(body: bytes, places: list[int]) -> None:
    """Over a socket: the next turn is sent, whatever the last one left."""

    def answer(peer: Peer) -> None:
        peer.head()
        for piece in cut(body, places):
            peer.write(piece)

    with server(answer, answer) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, limits=LIMITS, retries=0))
        for _ in range(2):
            open_ids = [one.id for one in session.interrupts]
            with suppress(AgentError):
                turn = session.resume({}, cancel=open_ids) if open_ids else session.send("hi")
                Blocking().read(turn)
        json.loads(session.to_json())
        assert len(agent.asked) >= 1
