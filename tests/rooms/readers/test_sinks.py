"""Fragments become the content events that would have been constructed, and nobody who gets an
event can spoil what comes later."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from ag_ui.core import (
    ReasoningMessageContentEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.protocol import encode
from langgraph_agui.readers.sinks import EventSink, own_copy
from langgraph_agui.readers.subscription import Subscription
from tests.kit.deep import example_count

KINDS = [
    ("text", TextMessageContentEvent, "message_id"),
    ("reasoning", ReasoningMessageContentEvent, "message_id"),
    ("call", ToolCallArgsEvent, "tool_call_id"),
]


@pytest.mark.parametrize(("kind", "event", "key"), KINDS)
def test_a_fragment_is_an_event_like_any_other(kind: Any, event: Any, key: str) -> None:
    for owner in (None, "tools:1"):
        recorded: list[Any] = []
        sink, block = EventSink(recorded.append), Block(kind, "id", 0, subagent_run_id=owner)
        sink.fragment(block, "one")
        sink.fragment(block, "two")
        made = [
            event(**{key: "id", "delta": delta, "subagent_run_id": owner})
            for delta in ("one", "two")
        ]
        assert recorded == made
        texts = [[one.model_dump_json(by_alias=True) for one in each] for each in (recorded, made)]
        assert texts[0] == texts[1]
        assert pickle.loads(pickle.dumps(recorded)) == copy.deepcopy(made)


def test_what_a_reader_does_with_one_event_does_not_touch_the_next() -> None:
    recorded: list[Any] = []
    sink, block = EventSink(recorded.append), Block("text", "id", 0)
    sink.fragment(block, "one")
    recorded[0].metadata = {"mine": True}
    recorded[0].unknown = 1
    sink.fragment(block, "two")
    assert recorded[1] == TextMessageContentEvent(message_id="id", delta="two")


def test_what_a_reader_does_with_a_state_touches_no_other_copy() -> None:
    """The log keeps what was emitted, and the next patches are made from it."""
    snapshot = StateSnapshotEvent(snapshot={"a": [1]})
    delta = StateDeltaEvent(delta=[{"op": "add", "path": "/a/1", "value": {"b": 2}}])
    for event in (snapshot, delta):
        mine: Any = own_copy(event)
        assert mine == event
        assert mine is not event
    own_copy(snapshot).snapshot["a"].append(2)  # type: ignore[attr-defined]
    own_copy(delta).delta[0].value["b"] = 3  # type: ignore[attr-defined]
    assert snapshot.snapshot == {"a": [1]}
    assert delta.delta[0].value == {"b": 2}


@given(
    st.sampled_from(KINDS),
    st.text(min_size=1) | st.just('"delta":"text'),
    st.lists(st.text(min_size=1), min_size=1, max_size=4),
    st.none() | st.text(min_size=1),
)
@settings(max_examples=example_count(50, 75), deadline=None)
async def test_a_frame_is_that_of_the_event(
    kind: Any, block_id: str, texts: list[str], owner: str | None
) -> None:
    name, event, key = kind
    reader, block = Subscription(1_000_000), Block(name, block_id, 0, subagent_run_id=owner)
    async with reader:
        for text in texts:
            reader.fragment(block, text)
            made = event(**{key: block_id, "delta": text, "subagent_run_id": owner})
            assert await reader.take_frames() == encode(made)
