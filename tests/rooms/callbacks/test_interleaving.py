"""However branches are cut and interleaved, a client holds the same messages."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableParallel

from tests.kit.models.scripted import Piece, Scripted, calling, part, text_chunk, thinking
from tests.kit.run.handlers import ReceivedEvents, without_ids

words = st.text('ab \n"é😀', min_size=1, max_size=8)


@st.composite
def cuts(draw: Any, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in pairwise([0, *places, len(text)])]


@st.composite
def branch(draw: Any, number: int) -> tuple[list[Piece], list[Piece]]:
    """What one model says: cut at random with turns of the event loop between, and in whole
    blocks."""
    thought, text, asked = draw(words), draw(words), json.dumps({"q": draw(words)})
    call_id = f"c{number}"
    chunks: list[Piece] = [thinking(piece, 0) for piece in draw(cuts(thought))]
    chunks += [
        thinking(signature=f"SIG{number}"),
        *(text_chunk(piece) for piece in draw(cuts(text))),
    ]
    chunks += [
        calling(part("look", "", call_id, 2)),
        *(calling(part(args=piece, index=2)) for piece in draw(cuts(asked))),
    ]
    paced: list[Piece] = []
    for chunk in chunks:
        paced += [*[0.0] * draw(st.integers(0, 3)), chunk]
    whole: list[Piece] = [thinking(thought, 0, signature=f"SIG{number}"), text_chunk(text)]
    return paced, [*whole, calling(part("look", asked, call_id, 2))]


@st.composite
def branches(draw: Any) -> list[tuple[list[Piece], list[Piece]]]:
    return [draw(branch(number)) for number in range(draw(st.integers(1, 4)))]


def received_from(turns: list[list[Piece]], **options: Any) -> list[dict[str, Any]]:
    received = ReceivedEvents(**options)
    models: Any = RunnableParallel(
        {str(number): Scripted(turn) for number, turn in enumerate(turns)}
    )
    asyncio.run(models.ainvoke("hi", received.config))
    dumps = without_ids(received.check())
    for call in (call for dump in dumps for call in dump.get("toolCalls") or ()):
        # whole ones are spelt anew
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return sorted(dumps, key=lambda dump: (dump["role"], json.dumps(dump)))


@given(branches())
def test_the_same_messages(drawn: list[tuple[list[Piece], list[Piece]]]) -> None:
    whole = received_from([whole for _, whole in drawn], stream_tokens=False)
    assert without_values(received_from([paced for paced, _ in drawn])) == without_values(whole)
    assert len(whole) == 2 * len(drawn)


def without_values(dumps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Opaque values name ids; whether there is one stays."""
    for dump in dumps:
        dump["encryptedValue"] = bool(dump.get("encryptedValue"))
        dump.pop("metadata", None)  # how long it thought
        for one in dump.get("toolCalls") or ():
            one["encryptedValue"] = bool(one.get("encryptedValue"))
    return dumps
