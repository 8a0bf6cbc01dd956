"""Patches that are built to cost more than they weigh on the wire: random ones, and those that
did."""

from __future__ import annotations

import copy
import json
from collections import deque
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from langgraph_agui.protocol import ProtocolError, fold
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.json import is_larger, size
from langgraph_agui.protocol.patch import (
    Allowance,
    Document,
    PatchError,
    TooHeavyError,
    apply_patch,
)
from tests.kit.deep import example_count
from tests.kit.run.wire_events import Wire, event, state_delta

LIMIT = 20_000

keys = st.sampled_from(["", "a", "b", "0", "-", "a~1b", "~0", "__proto__"])
pointers = st.lists(keys, max_size=4).map(lambda steps: "".join(f"/{step}" for step in steps))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
operations = st.one_of(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace", "test"]), "path": pointers, "value": documents}
    ),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["copy", "copy", "move"]), "path": pointers, "from": pointers}
    ),
    st.builds(lambda path: {"op": "remove", "path": path}, pointers),
)


def copied(*paths: tuple[str, str]) -> list[Wire]:
    return [{"op": "copy", "from": source, "path": path} for source, path in paths]


DOUBLING = copied(*(("", f"/k{n}") for n in range(60)))
COPY_AND_MOVE = [
    one
    for n in range(60)
    for one in (*copied(("/a", "/b")), {"op": "move", "from": "/b", "path": f"/a/m{n}"})
]
COPY_AND_REMOVE = [*copied(("/a", "/b")), {"op": "remove", "path": "/b"}] * 20_000
COPY_AND_WRITE = [*copied(("/c", "/d")), {"op": "replace", "path": "/e/0", "value": 1}] * 20_000
ROOT: Wire = {"op": "add", "path": "", "value": {"a": []}}
NARROW: Any = {"a": {"x": "text"}, "c": 1, "e": [0] * 1000}


@settings(max_examples=example_count(60, 750))
@given(document=documents, patches=st.lists(st.lists(operations, max_size=6), max_size=8))
@example(document=NARROW, patches=[DOUBLING])
@example(document=NARROW, patches=[[one] for one in DOUBLING])
@example(document=NARROW, patches=[COPY_AND_MOVE])
@example(document=[1], patches=[copied(("", "/-"), ("", "/0"), ("", "/-")) * 20])
@example(document="x" * 1000, patches=[[ROOT, *copied(("/a", "/b"))]])
def test_no_series_of_patches_makes_a_heavy_document(
    document: Any, patches: list[list[Wire]]
) -> None:
    held, before = Document(document, Allowance(LIMIT)), copy.deepcopy(document)
    for patch in patches:
        value = held.value
        as_it_was = json.dumps(value)
        try:
            held.patch(patch)
        except PatchError:
            assert held.value is value
        assert json.dumps(value) == as_it_was
        assert not is_larger(held.value, 2 * LIMIT)
    assert document == before


@settings(max_examples=example_count(60, 750))
@given(document=documents, patch=st.lists(operations, max_size=6))
def test_what_is_light_enough_is_patched_as_ever(document: Any, patch: list[Wire]) -> None:
    """One patch does what its operations do one by one."""
    step_by_step = document
    try:
        for operation in patch:
            step_by_step = apply_patch(step_by_step, [operation])
    except PatchError:
        with pytest.raises(PatchError):
            apply_patch(document, patch)
    else:
        assert json.dumps(apply_patch(document, patch)) == json.dumps(step_by_step)


@pytest.mark.parametrize("patch", [DOUBLING, COPY_AND_MOVE, COPY_AND_REMOVE, COPY_AND_WRITE])
def test_copies_are_paid_for_whatever_becomes_of_them(patch: list[Wire]) -> None:
    with pytest.raises(TooHeavyError):
        Document(NARROW, Allowance(LIMIT)).patch(patch)


@pytest.mark.parametrize("op", ["add", "remove"])
def test_the_front_of_a_long_list_is_not_moved_without_end(op: str) -> None:
    operation = {"op": op, "path": "/0", "value": 1}
    with pytest.raises(TooHeavyError):
        Document([0] * 30_000, Allowance(LIMIT * 100)).patch([operation] * 10_000)
    Document([0] * 100, Allowance(LIMIT)).patch([operation] * 90)


def test_a_patch_that_fails_has_used_its_allowance() -> None:
    held, reasons = Document({"a": "x" * 1000}, Allowance(LIMIT)), []
    for _ in range(100):
        with pytest.raises(PatchError) as caught:
            held.patch([*copied(("/a", "/b")), {"op": "remove", "path": "/nowhere"}])
        reasons.append(str(caught.value))
    assert held.value == {"a": "x" * 1000}
    assert {*reasons[:10]} == {"there is nothing at /nowhere"}
    assert {*reasons[50:]} == {"too much was copied"}


def grown(document: Any, operation: Wire) -> int:
    """How often it could be applied, at most a thousand times."""
    held, count = Document(document, Allowance(LIMIT)), 0
    with suppress(TooHeavyError):
        for count in range(1001):  # noqa: B007
            held.patch([operation])
    return count


def test_small_additions_count_and_replacements_do_not_add_up() -> None:
    assert 30 < grown([], {"op": "add", "path": "/-", "value": "x" * 500}) < 100
    assert grown({"a": ""}, {"op": "replace", "path": "/a", "value": "x" * 500}) == 1000


def test_an_applications_own_state_may_hold_what_json_does_not() -> None:
    held = Document({1: (), "l": [object()], None: {2.5}}, Allowance(LIMIT))
    patched: Any = held.patch([{"op": "add", "path": "/l/-", "value": 1}, *copied(("/l", "/m"))])
    assert patched["m"][1] == 1


def activity(*operations: Wire, id_: str = "a") -> Wire:
    return event("ACTIVITY_DELTA", messageId=id_, activityType="x", patch=list(operations))


BEGUN = [
    event("ACTIVITY_SNAPSHOT", messageId=id_, activityType="x", content=NARROW) for id_ in "ab"
]


@pytest.mark.parametrize(
    "events",
    [
        [event("STATE_SNAPSHOT", snapshot=NARROW), state_delta(*DOUBLING)],
        [event("STATE_SNAPSHOT", snapshot=NARROW), *(state_delta(one) for one in DOUBLING)],
        [*BEGUN, *(activity(one) for one in DOUBLING)],
        # A new snapshot, or another activity, does not give anything back.
        [event("STATE_SNAPSHOT", snapshot=NARROW), state_delta(*copied(("/e", "/f")))] * 5000,
        [*BEGUN, activity(*copied(("/e", "/f"))), activity(*copied(("/e", "/f")), id_="b")] * 2000,
    ],
    ids=["state", "state, one by one", "activity", "snapshots", "activities"],
)
def test_a_stream_ends_where_its_documents_become_too_heavy(events: list[Wire]) -> None:
    made = Fold(max_weight=5 * LIMIT)
    with pytest.raises(ProtocolError) as caught:
        deque(map(made.feed, events), maxlen=0)
    assert caught.value.code == "document-too-heavy"
    assert caught.value.event is not None


def test_a_patched_activity_can_be_replaced_and_patched_again() -> None:
    add = {"op": "add", "path": "/e/-", "value": 1}
    made = fold([*BEGUN, activity(add), activity(add), BEGUN[0], activity(add)])
    assert [len(message.content["e"]) for message in made.messages] == [1001, 1000]  # type: ignore[union-attr,index,call-overload]


def test_a_large_state_is_not_measured_for_each_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"rows": [{"name": "x" * 20} for _ in range(2000)]}
    measured: list[int] = []

    def measuring(value: object, **options: Any) -> bytes:
        measured.append(size(value))
        return to_json(value, **options)

    monkeypatch.setattr("langgraph_agui.protocol.patch.to_json", measuring)
    made = Fold(state=state)
    for n in range(500):
        made.feed(state_delta({"op": "replace", "path": f"/rows/{n}/name", "value": "y"}))
    assert len(measured) == 500
    assert sum(measured) < size(state)


def moved_down(name: str, levels: int) -> list[Wire]:
    """Operations that put more levels around a value of the document."""
    around: Wire = {"op": "add", "path": "/t", "value": {}}
    steps = [(f"/{name}", "/t/a"), ("/t", f"/{name}")]
    return [around, *({"op": "move", "from": a, "path": b} for a, b in steps)] * levels


@pytest.mark.parametrize("levels", [0, 100, 300, 1500])
def test_copies_cost_the_same_however_deep_they_are(levels: int) -> None:
    document = Document({"deep": "x" * 1000}, Allowance(LIMIT))
    document.patch(moved_down("deep", levels))
    copies = LIMIT // (1002 + levels * len('{"a":}'))
    for n in range(copies - 1):
        document.patch(copied(("/deep", f"/k{n}")))
    with pytest.raises(TooHeavyError):
        document.patch(copied(("/deep", "/k"), ("/deep", "/k")))


def test_copies_of_what_is_not_unicode_cost_something() -> None:
    document = Document({"a": "\ud800" * 1000}, Allowance(LIMIT))
    with pytest.raises(TooHeavyError):
        document.patch(copied(*(("/a", f"/k{n}") for n in range(20))))
