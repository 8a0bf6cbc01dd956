"""What the fold promises beside equality with the client, to which `test_random_streams` holds
it."""

from __future__ import annotations

import copy
from random import Random

import jsonpatch
import pytest
from ag_ui.core import UserMessage
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.protocol import ProtocolError, fold
from langgraph_agui.protocol.patch import PatchError, apply_patch
from tests.kit.run.random_streams import Streams
from tests.kit.run.wire_events import event, message, snapshot, state_delta, text


def test_what_is_said_in_pieces_is_one_text() -> None:
    first = event("TEXT_MESSAGE_CHUNK", messageId="m", delta="a")
    second = event("TEXT_MESSAGE_CHUNK", delta="b")
    assert fold([first, second]).messages[0].content == "ab"
    with pytest.raises(ProtocolError):
        fold([second])
    assert fold(text("m", "\ud83d", "\ude42")).messages[0].content == "🙂"
    opened, grown, closed = text("m", "a")
    taken = snapshot(message("assistant", "m", "A"))  # what follows adds to it
    assert fold([opened, grown, taken, grown, closed]).messages[0].content == "Aa"


def test_a_message_that_does_not_change_is_the_same_object() -> None:
    held = UserMessage(id="u", content="x")
    folded = fold(text("m", "a"), [held])
    assert folded.messages[0] is held
    assert folded.messages[1] is folded.messages[1]


def test_nothing_that_was_given_is_changed() -> None:
    history = [UserMessage(id="u", content="x", metadata={"a": 1})]
    state = {"k": {"l": [1]}}
    before = copy.deepcopy((history, state))
    stream = [
        event("TEXT_MESSAGE_START", messageId="u", metadata={"b": 2}),
        event("TEXT_MESSAGE_CONTENT", messageId="u", delta="!"),
        state_delta(
            {"op": "add", "path": "/k/l/-", "value": 2}, {"op": "copy", "from": "/k", "path": "/m"}
        ),
        state_delta({"op": "add", "path": "/m/l/-", "value": 3}),
    ]
    folded = fold(stream, history, state)
    assert folded.messages[0].content == "x!"
    assert folded.messages[0].metadata == {"a": 1, "b": 2}
    assert folded.state == {"k": {"l": [1, 2]}, "m": {"l": [1, 2, 3]}}
    assert (history, state) == before


@given(seed=st.integers(0, 2**32))
def test_patches_agree_with_an_independent_implementation(seed: int) -> None:
    streams = Streams(Random(seed))
    document, before = streams.record(), None
    operations = [streams.operation() for _ in range(3)]
    before = copy.deepcopy((document, operations))
    try:
        ours = apply_patch(document, operations)
    except PatchError:
        ours = None
    assert (document, operations) == before
    try:
        theirs = jsonpatch.apply_patch(document, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return  # the client is laxer in some corners, and so are we
    if not any(operation["op"] == "test" for operation in operations):  # where it takes 1 for true
        assert ours == theirs


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/z/z", "value": 1},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "add", "path": "/l/" + "9" * 5000, "value": 1},
        {"op": "add", "path": "/__proto__/x", "value": 1},
        {"op": "add", "path": "/constructor/prototype", "value": 1},
        {"op": "remove", "path": "/l/-"},
        {"op": "replace", "path": "/z", "value": 1},
        {"op": "test", "path": "/t", "value": 1},
        {"op": "move", "from": "/l", "path": "/l/0/0"},
    ],
)
def test_a_patch_applies_whole_or_not_at_all(operation: dict[str, object]) -> None:
    state = {"l": [[]], "t": True}
    folded = fold(
        [event("STATE_DELTA", delta=[{"op": "add", "path": "/n", "value": 1}, operation])],
        state=state,
    )
    assert folded.state is state
    assert len(folded.warnings) == 1
    assert folded.warnings[0].startswith("STATE_DELTA")
