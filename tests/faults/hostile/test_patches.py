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


@settings(max_examples=example_count(25, 750))
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


FRONT = [{"op": op, "path": "/0", "value": 1} for op in ("add", "remove")]


@pytest.mark.parametrize(
    ("document", "allowed", "patch"),
    [
        *(
            (NARROW, LIMIT, one)
            for one in (DOUBLING, COPY_AND_MOVE, COPY_AND_REMOVE, COPY_AND_WRITE)
        ),
        *(([0] * 30_000, LIMIT * 100, [one] * 10_000) for one in FRONT),
        ({"a": "\ud800" * 1000}, LIMIT, copied(*(("/a", f"/k{n}") for n in range(20)))),
    ],
)
def test_work_is_paid_for_whatever_becomes_of_it(
    document: Any, allowed: int, patch: list[Wire]
) -> None:
    """Copies, and the rest of a list that is moved."""
    with pytest.raises(TooHeavyError):
        Document(document, Allowance(allowed)).patch(patch)


def test_the_front_of_a_short_list_may_move() -> None:
    for one in FRONT:
        Document([0] * 100, Allowance(LIMIT)).patch([one] * 90)


def test_a_patch_that_fails_has_used_its_allowance() -> None:
    held, patch = Document({"a": "x" * 1000}, Allowance(LIMIT)), copied(("/a", "/b"), ("/z", "/b"))
    for number in range(100):
        with pytest.raises(PatchError) as caught:
            held.patch(patch)
        if number < 10 or number > 50:
            said = "there is nothing at /z" if number < 10 else "too much was copied"
            assert str(caught.value) == said
    assert held.value == {"a": "x" * 1000}


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


@pytest.mark.parametrize("levels", [0, 1500])
def test_copies_cost_the_same_however_deep_they_are(levels: int) -> None:
    document = Document({"deep": "x" * 1000}, Allowance(LIMIT))
    around: Wire = {"op": "add", "path": "/t", "value": {}}
    steps = [("/deep", "/t/a"), ("/t", "/deep")]
    document.patch([around, *({"op": "move", "from": a, "path": b} for a, b in steps)] * levels)
    for n in range(LIMIT // (1002 + levels * len('{"a":}')) - 1):
        document.patch(copied(("/deep", f"/k{n}")))
    with pytest.raises(TooHeavyError):
        document.patch(copied(("/deep", "/k"), ("/deep", "/k")))
