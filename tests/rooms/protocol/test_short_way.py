"""Most events are read a short way. It gives what the full way gives: the same event and notes, or
the same error."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from ag_ui.core import EventType
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.protocol import ProtocolError, SSEDecoder, schema
from langgraph_agui.protocol.json import refuse_constant
from langgraph_agui.protocol.schema import examine
from tests.kit.deep import example_count
from tests.kit.run.malformed_events import at, becomes, every_harm, examples, harmed, harms, places
from tests.kit.run.wire_events import Wire, event

EVENTS = examples()
OTHERS = [
    None,
    True,
    1.0,
    1.5,
    "1",
    2**53,
    10**400,
    "\ud83d",
    "assistant",
    *(kind.value for kind in EventType),
]


@st.composite
def objects(draw: Any) -> Wire:
    """An event with up to three values harmed, at any depth."""
    wire: Wire = draw(st.sampled_from(EVENTS[draw(st.sampled_from([*EVENTS]))]))
    for _ in range(draw(st.integers(0, 3))):
        if found := [path for path, _ in places(wire)]:
            path = draw(st.sampled_from(found))
            other = becomes(draw(st.sampled_from(OTHERS)))
            changes = [*harms(at(wire, path), path[-1]).values(), other]
            wire = harmed(wire, path, draw(st.sampled_from(changes)))
    return wire


def outcome(wire: Wire) -> object:
    """All that a caller can see: `repr` tells 1 from 1.0 and True."""
    try:
        made, notes = examine(wire)
    except ProtocolError as error:
        return error.code, str(error), repr(error.event)
    if made is None:
        return notes
    return repr(made), type(made), made.model_fields_set, made.model_extra, notes


def check(wire: Wire) -> None:
    short = outcome(wire)
    with patch.object(schema, "_plain_event", lambda *_: None):
        assert short == outcome(wire)


def test_every_event_is_read_as_the_full_way_reads_it() -> None:
    for wires in EVENTS.values():
        check(wires[0])
    for _, stream in every_harm():
        check(stream[-1])


@settings(max_examples=example_count(300, 5000))
@given(objects())
def test_any_object_is_read_as_the_full_way_reads_it(wire: Wire) -> None:
    check(wire)


@pytest.mark.parametrize(
    "kind", ["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"]
)
def test_what_streams_takes_the_short_way(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_conform", lambda *_: pytest.fail("the full way"))
    owner = {"toolCallId" if kind == "TOOL_CALL_ARGS" else "messageId": "i"}
    for more in ({}, {"subagentRunId": "a"}, {"timestamp": 7, "metadata": {"k": None}}):
        assert examine(event(kind, delta="x", **owner, **more))[1] == []


gaps = st.lists(st.sampled_from([*" \t\n1}\u2028", "\r\n", "data:"]), max_size=2).map("".join)


@settings(max_examples=example_count(300, 1000))
@given(
    st.tuples(gaps, gaps, st.sampled_from(["", ',"a":NaN', ',"a":[" \\n"]']), gaps),
    st.sampled_from(["", " ", "\t"]),
)
def test_a_frame_is_read_as_json_reads_it(found: tuple[str, str, str, str], before: str) -> None:
    """Blanks around the value and lines within it are JSON's, whoever has read it."""
    head, gap, field, tail = found
    lines = re.split(r"\r\n|\n", f'{head}{{"type":{gap}"A"{field}}}{tail}')
    body = "".join(f"data:{before}{line}\n" for line in lines) + "\n"
    wanted: Any = None
    with suppress(ValueError):
        wanted = json.loads(
            "\n".join(before + line for line in lines), parse_constant=refuse_constant
        )
    if isinstance(wanted, dict) and "type" in wanted:
        assert SSEDecoder().feed(body.encode()) == [wanted]
    else:
        with pytest.raises(ProtocolError):
            SSEDecoder().feed(body.encode())
