"""`compact`: fewer events, and the client holds the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from langgraph_agui.protocol import compact, fold, parse_event, verify
from tests.kit.run.random_answers import streams
from tests.kit.run.wire_events import event, in_run


def parsed(wires: list[Any]) -> list[Any]:
    return [one for wire in wires if (one := parse_event(wire)) is not None]


@given(streams())
def test_the_fold_is_the_same(wires: list[Any]) -> None:
    events = parsed(wires)
    fewer = compact(events)
    assert len(fewer) <= len(events)
    assert (fold(fewer).messages, fold(fewer).state) == (fold(events).messages, fold(events).state)
    assert compact(fewer) == fewer


def test_fragments_of_items_that_stream_at_once_are_joined() -> None:
    def args(call: str, delta: str) -> Any:
        return event("TOOL_CALL_ARGS", toolCallId=call, delta=delta)

    opened = [event("TOOL_CALL_START", toolCallId=call, toolCallName="look") for call in ("a", "b")]
    ended = [event("TOOL_CALL_END", toolCallId=call) for call in ("a", "b")]
    wires = in_run(
        *opened, args("a", '{"q"'), args("b", "{"), args("a", ": 1}"), args("b", "}"), *ended
    )
    fewer = compact(parsed(wires))
    verify(fewer)
    assert [one.delta for one in fewer if one.type == "TOOL_CALL_ARGS"] == ['{"q": 1}', "{}"]  # type: ignore[union-attr]
