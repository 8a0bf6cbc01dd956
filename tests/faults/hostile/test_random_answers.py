"""Random bytes as the answer of an agent: an `AgentError` or events, however the bytes are cut."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_agui.client import AgentError, AGUIClient, AGUISession, ClientLimits
from langgraph_agui.protocol import ProtocolError, SSEDecoder
from tests.kit.deep import example_count
from tests.kit.processes.scripted_servers import Peer, frames, server
from tests.kit.run.malformed_events import harmed_somewhere
from tests.kit.run.random_streams import Streams

FRAGMENTS = [
    b"",
    b"\n",
    b"\r",
    b"\n\n",
    b"\xff",
    b"data:",
    b"\xef\xbb\xbf",
    b":",
    b"{",
    b'"',
    b"[" * 500,
]


def broken(random: Random) -> bytes:
    """The bytes of a stream, with fields that are something else or gone; some bytes replaced."""
    events = Streams(random).stream()
    for _ in range(random.randint(0, 3) if events else 0):
        events = harmed_somewhere(random, events)
    body = bytearray(frames(events))
    for _ in range(random.randint(0, 3)):
        at = random.randint(0, len(body))
        body[at : at + random.randint(0, 5)] = random.choice(FRAGMENTS)
    return bytes(body)


bodies = st.randoms(use_true_random=True).map(broken)
cuts = st.lists(st.integers(0, 5000), max_size=8)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    at = sorted(min(place, len(body)) for place in places)
    return [body[a:b] for a, b in pairwise([0, *at, len(body)])]


def decoded(chunks: list[bytes]) -> tuple[list[Any], str]:
    """The objects, and the code of the error."""
    decoder, found = SSEDecoder(2000), list[Any]()
    try:
        for chunk in chunks:
            found += decoder.feed(chunk)
        found += decoder.finish()
        decoder.feed(b"")
    except ProtocolError as error:
        return found, error.code
    return found, ""


@settings(max_examples=example_count(60, 750))
@given(body=bodies | st.binary(max_size=300), places=cuts)
@example(body=b"data: " + b"[" * 100_000 + b"\n\n", places=[])
@example(body=b'data: {"type": "RAW", "event": 1' + b"0" * 1990, places=[1000])
def test_it_does_not_matter_where_bytes_are_cut(body: bytes, places: list[int]) -> None:
    whole, code = decoded([body])
    pieces, other = decoded(cut(body, places))
    if "frame-too-large" in (code, other):  # only an unfinished frame is too large
        assert pieces[: len(whole)] == whole[: len(pieces)]
    else:
        assert (repr(pieces), other) == (repr(whole), code)


@settings(max_examples=example_count(15, 300), deadline=None)
@given(body=bodies, places=cuts)
def test_a_session_goes_on_after_any_answer(body: bytes, places: list[int]) -> None:
    """Over a socket: the next turn is sent, whatever the last one left."""

    def answer(peer: Peer) -> None:
        peer.head()
        for piece in cut(body, places):
            peer.write(piece)

    with server(answer, answer) as agent:
        session = AGUISession[Any](
            AGUIClient(agent.url, limits=ClientLimits(max_weight=10_000), retries=0)
        )
        for _ in range(2):
            open_ids = [one.id for one in session.interrupts]
            with suppress(AgentError):
                list(session.resume({}, cancel=open_ids) if open_ids else session.send("hi"))
        json.loads(session.to_json())
        assert len(agent.asked) >= 1
