"""Events that are copied from a first one are those that would have been constructed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent

from langgraph_agui.readers.sinks import EventSink, Unmerged

KINDS = [
    ("text", TextMessageContentEvent, "message_id"),
    ("reasoning", ReasoningMessageContentEvent, "message_id"),
    ("call", ToolCallArgsEvent, "tool_call_id"),
]


@pytest.mark.parametrize("subagent_id", [None, "tools:1"])
@pytest.mark.parametrize(("kind", "event", "key"), KINDS)
def test_a_fragment_is_an_event_like_any_other(
    kind: Any, event: Any, key: str, subagent_id: str | None
) -> None:
    recorded: list[Any] = []
    write = EventSink(Unmerged(recorded.append)).writer(kind, "id", subagent_id)
    write("one")
    write("two")
    owner = {} if subagent_id is None else {"subagent_run_id": subagent_id}
    made = [event(**{key: "id", "delta": delta, **owner}) for delta in ("one", "two")]
    assert recorded == made
    assert [one.model_dump_json(by_alias=True) for one in recorded] == [
        one.model_dump_json(by_alias=True) for one in made
    ]
    assert [one.model_fields_set for one in recorded] == [one.model_fields_set for one in made]
    assert [pickle.loads(pickle.dumps(one)) for one in recorded] == [
        copy.deepcopy(one) for one in made
    ]


def test_what_a_reader_does_with_one_event_does_not_touch_the_next() -> None:
    recorded: list[Any] = []
    write = EventSink(Unmerged(recorded.append)).writer("text", "id")
    write("one")
    recorded[0].metadata = {"mine": True}
    recorded[0].unknown = 1
    write("two")
    assert recorded[1] == TextMessageContentEvent(message_id="id", delta="two")
