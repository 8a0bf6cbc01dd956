"""Events that are copied from a first one are those that would have been constructed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent

from langgraph_agui.translate.event_sinks import EventSink

KINDS = [
    ("text", TextMessageContentEvent, "message_id"),
    ("reasoning", ReasoningMessageContentEvent, "message_id"),
    ("call", ToolCallArgsEvent, "tool_call_id"),
]


@pytest.mark.parametrize("lane", [None, "tools:1"])
@pytest.mark.parametrize(("kind", "event", "key"), KINDS)
def test_a_fragment_is_an_event_like_any_other(kind: Any, event: Any, key: str, lane: str | None) -> None:
    told: list[Any] = []
    write = EventSink(told.append).writer(kind, "id", lane)
    write("one")
    write("two")
    owner = {} if lane is None else {"subagent_run_id": lane}
    made = [event(**{key: "id", "delta": delta, **owner}) for delta in ("one", "two")]
    assert told == made
    assert [one.model_dump_json(by_alias=True) for one in told] == [one.model_dump_json(by_alias=True) for one in made]
    assert [one.model_fields_set for one in told] == [one.model_fields_set for one in made]
    assert [pickle.loads(pickle.dumps(one)) for one in told] == [copy.deepcopy(one) for one in made]


def test_what_a_reader_does_with_one_event_does_not_touch_the_next() -> None:
    told: list[Any] = []
    write = EventSink(told.append).writer("text", "id")
    write("one")
    told[0].metadata = {"mine": True}
    told[0].unknown = 1
    write("two")
    assert told[1] == TextMessageContentEvent(message_id="id", delta="two")
