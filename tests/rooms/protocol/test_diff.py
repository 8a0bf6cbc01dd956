"""Patches lead exactly where they should, and are as small as what an agent did."""

from __future__ import annotations

import copy
import json
import sys
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.protocol import to_jsonable
from langgraph_agui.protocol.diff import MAX_LEVELS, changes
from langgraph_agui.protocol.patch import apply_patch

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ["", "/", "~", "~1", "__proto__", "constructor", "prototype", "0", "-", "é", "🙂", "a", "b"]
NUMBERS = [0, 1, 1.5, -1, 2**53 - 1]
LEAVES = [None, True, False, *NUMBERS, "", "0", "true", "v", "🙂", "long text " * 20]


class Documents:
    """Draws JSON objects, and edits them as an agent might, in place."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = random.choice

    def some(self, most: int) -> range:
        return range(self.random.randint(0, most))

    def value(self, depth: int = 3) -> Any:
        kind = self.random.random()
        if depth and kind < 0.3:
            return {self.pick(KEYS): self.value(depth - 1) for _ in self.some(4)}
        if depth and kind < 0.6:
            make = self.pick([self.row, lambda: self.value(depth - 1), lambda: self.pick(LEAVES)])
            return [make() for _ in self.some(6)]
        return self.pick(LEAVES)

    def row(self) -> Any:
        done = self.pick([True, False, 1])
        return {"id": self.random.randint(0, 50), "text": self.pick(LEAVES), "done": done}

    def document(self) -> dict[str, Any]:
        return {self.pick(KEYS): self.value() for _ in self.some(5)}

    def edited(self, document: Any) -> Any:
        after = copy.deepcopy(document)
        for _ in self.some(4):
            self.edit(self.pick([*containers(after)]))
        return after

    def edit(self, node: Any) -> None:
        change = self.random.random()
        if isinstance(node, dict):
            if node and change < 0.25:
                del node[self.pick([*node])]
            else:
                node[self.pick([*node] if node and change < 0.7 else KEYS)] = self.value(2)
        elif change < 0.3 or not node:
            node.insert(self.random.randint(0, len(node)), self.pick([self.row, self.value])())
        elif change < 0.55:
            del node[self.random.randrange(len(node))]
        elif change < 0.65:
            self.random.shuffle(node)
        else:
            node[self.random.randrange(len(node))] = self.value(1)


def containers(value: Any) -> Iterator[Any]:
    """All dicts and lists in a value, itself first."""
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def exact(value: Any) -> str:
    """Text that is the same for the same JSON only: 1, 1.0 and true are three."""
    return json.dumps(value, sort_keys=True)


def nested(levels: int, innermost: Any = 0) -> Any:
    value: Any = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def rows(*ids: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"id": id_, "text": f"task number {id_}", "done": False, **fields} for id_ in ids]


def op(name: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **({"value": value[0]} if value else {})}


LONG = "a long text that stands for what an agent writes into its state"
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
MANY, PROTO = WORDS * 2, "__proto__"
MORE = [*WORDS, *range(100, 130)]
FEWER = [*WORDS[:4], *WORDS[6:], *range(100, 130)]
FRONTS = ["a", *WORDS, "b", "c", *WORDS]
EQUALS = [0, 1, 0, 2, 0]
DONE = rows(2, done=True)


def keys(new: int) -> Any:
    """Refused keys, and others beside and within them."""
    inner = {"constructor": {"a": {"prototype": new}}, "prototype": new}
    return {PROTO: LONG * 3, "a": {PROTO: 1, "b": new}, **inner}


def tables(*rows: int) -> Any:
    return {"t": [[*WORDS, n] for n in rows]}


def odd_keys(value: int) -> Any:
    return {"/": {"~": {"": {"-": {"é🙂": value}}}}}


ONE_TO_THREE = {"l": rows(1, 2, 3)}
REPLACED = {"a": {"x": 3, "y": 4}, "b": LONG}
IN_KEYS = [op("replace", f"/{at}", 2) for at in ("a/b", "constructor/a/prototype", "prototype")]


# What was, what is, and exactly the operations between them.
TYPICAL: dict[str, tuple[Any, Any, list[dict[str, Any]]]] = {
    "nothing": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "key order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    "append": ({"l": []}, {"l": [{"a": 1}]}, [op("add", "/l/-", {"a": 1})]),
    "append two": (
        {"l": rows(1)},
        {"l": rows(1, 4, 5)},
        [op("add", "/l/-", row) for row in rows(4, 5)],
    ),
    "add": ({"a": {"c": LONG}}, {"a": {"b": None, "c": LONG}}, [op("add", "/a/b", None)]),
    "remove": ({"a": {"b": 1, "c": LONG}}, {"a": {"c": LONG}}, [op("remove", "/a/b")]),
    "empty": ({"a": {"b": 1}}, {"a": {}}, [op("remove", "/a/b")]),
    "grow": ({"a": [{"t": LONG}]}, {"a": [{"t": LONG * 2}]}, [op("replace", "/a/0/t", LONG * 2)]),
    "true is not 1": ({"a": True, "b": LONG}, {"a": 1, "b": LONG}, [op("replace", "/a", 1)]),
    "false is not 0": ({"a": [0, LONG]}, {"a": [False, LONG]}, [op("replace", "/a/0", False)]),
    "other kind": ({"a": {"b": 1}}, {"a": ["b"]}, [op("replace", "/a", ["b"])]),
    "to null": ({"a": {"b": 1}}, {"a": None}, [op("replace", "/a", None)]),
    "odd keys": (odd_keys(0), odd_keys(1), [op("replace", "/~1/~0//-/é🙂", 1)]),
    "insert in front": ({"l": WORDS}, {"l": ["new", *WORDS]}, [op("add", "/l/0", "new")]),
    "insert at two places": ({"l": MANY}, {"l": FRONTS}, [op("replace", "/l", FRONTS)]),
    "insert in between": (
        {"l": MANY},
        {"l": FRONTS[1:]},
        [op("add", "/l/10", "b"), op("add", "/l/11", "c")],
    ),
    "remove several": ({"l": MORE}, {"l": FEWER}, [op("remove", "/l/5"), op("remove", "/l/4")]),
    "among equals": ({"l": EQUALS * 9}, {"l": [0, 1, 2, 0] + EQUALS * 8}, [op("remove", "/l/2")]),
    "field": (
        ONE_TO_THREE,
        {"l": [*rows(1), *DONE, *rows(3)]},
        [op("replace", "/l/1/done", True)],
    ),
    "remove an object": (ONE_TO_THREE, {"l": rows(2, 3)}, [op("remove", "/l/0")]),
    "another kind": ({"l": rows(1, 2)}, {"l": [*rows(1), 5]}, [op("replace", "/l/1", 5)]),
    "change and append": (
        {"l": rows(1, 2)},
        {"l": [*rows(1), *DONE, *rows(3)]},
        [op("replace", "/l/1/done", True), op("add", "/l/-", rows(3)[0])],
    ),
    "change and remove the last": (
        ONE_TO_THREE,
        {"l": [*rows(1), *DONE]},
        [op("replace", "/l/1/done", True), op("remove", "/l/2")],
    ),
    "move": (rows(1, 2, 3, 4), rows(2, 3, 1, 4), [op("replace", "", rows(2, 3, 1, 4))]),
    "tables": (tables(0, 1, 2, 3), tables(0, 1, 7, 3), [op("replace", "/t/2/10", 7)]),
    "more changes than it is worth": (
        {"a": {"x": 1, "y": 2}, "b": LONG},
        REPLACED,
        [op("replace", "/a", REPLACED["a"])],
    ),
    "all new": ({"a": 1, "b": 2, "c": 3}, {"x": 1, "y": 2}, [op("replace", "", {"x": 1, "y": 2})]),
    "refused key": (
        {"a": {"b": {PROTO: 1}}},
        {"a": {"b": {PROTO: 2}}},
        [op("replace", "/a/b", {PROTO: 2})],
    ),
    "refused pair": (
        {"constructor": {"prototype": 1, "b": 1}},
        {"constructor": {"b": 1}},
        [op("replace", "/constructor", {"b": 1})],
    ),
    "beside refused keys": (keys(1), keys(2), IN_KEYS),
    "the document": ([1], {"a": 1}, [op("replace", "", {"a": 1})]),
    "a scalar document": (True, 1, [op("replace", "", 1)]),
}


@pytest.mark.parametrize("name", TYPICAL)
def test_typical_changes_are_small(name: str) -> None:
    before, after, expected = copy.deepcopy(TYPICAL[name])
    operations, result = changes(before, after)
    assert exact(operations) == exact(expected)
    assert exact(result) == exact(after) == exact(apply_patch(before, operations))
    operations, result = changes(before, after, "do/c")
    assert exact(operations) == exact([{**one, "path": "/do~1c" + one["path"]} for one in expected])
    assert exact(result) == exact(after)


def test_paths_that_clients_refuse() -> None:
    one, two, inside, changed = ({PROTO: value} for value in (1, 2, {"a": 1}, {"a": 2}))
    more = ({**one, "a": 1}, {**two, "a": 2})
    for before, after in [(one, two), (one, {}), ({}, one), (inside, changed), more]:
        assert changes(before, after)[0] == [op("replace", "", after)]
        assert changes(before, after, "d")[0] == [op("replace", "/d", after)]
    assert changes(inside, copy.deepcopy(inside)) == ([], inside)
    found = changes({"prototype": 1}, {"prototype": 2}, "constructor")[0]
    assert found == [op("replace", "/constructor", {"prototype": 2})]


@given(seed=st.integers(0, 2**32))
def test_patches_lead_there_again_and_again(seed: int) -> None:
    draw = Documents(Random(seed))
    held: Any = draw.document()
    theirs: Any = copy.deepcopy(held)
    for _ in range(6):
        after = draw.edited(held) if draw.random.random() < 0.9 else draw.document()
        texts = exact(held), exact(after)
        operations, result = changes(held, after)
        assert exact(result) == texts[1]
        assert exact(apply_patch(held, operations)) == texts[1]
        theirs = jsonpatch.apply_patch(theirs, copy.deepcopy(operations))
        assert exact(theirs) == texts[1]
        assert (exact(held), exact(after)) == texts
        assert {one["op"] for one in operations} <= {"add", "remove", "replace"}
        assert len(operations) == 0 or texts[0] != texts[1]
        live = {id(node) for node in containers(after)}
        assert not live & {id(node) for node in containers([result, operations])}
        shared(held, result)
        held = result


def shared(before: Any, after: Any) -> None:
    """What is the same at the same keys is the same object."""
    if exact(before) == exact(after):
        assert after is before or not isinstance(after, (dict, list))
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            shared(before[key], after[key])


def test_an_inserted_row_costs_no_other_its_place() -> None:
    before = {"l": rows(1, 2, 3), "c": {}}
    after: Any = changes(before, {"l": [*rows(7), *rows(1, done=1), *rows(2, 3)], "c": {}})[1]
    assert (after["l"][3], after["c"]) == (before["l"][2], before["c"])
    assert (after["l"][3] is before["l"][2], after["c"] is before["c"]) == (True, True)


def test_the_result_shares_nothing_with_a_live_value() -> None:
    part = {"x": [1]}
    after: Any = {"a": part, "l": [part, part, {"id": 1, "p": part}], "n": {"m": {"k": part}}}
    text, known = exact(after), {"l": [{"x": []}] * 3, "n": {"m": {"k": {"x": []}}}}
    for before in ({}, {"l": [0, {"id": 1}], "n": {}}, known, 0):
        operations, result = changes(before, after)
        part["x"].append(2)
        part["y"] = after["l"]
        after["n"]["m"]["z"] = 1
        assert exact(result) == text == exact(apply_patch(before, operations))
        part["x"].pop()
        del part["y"], after["n"]["m"]["z"]


class Text(str):
    __slots__ = ()


class Word(StrEnum):
    A = "a"


CYCLE: list[Any] = []
CYCLE.append({"k": CYCLE})
NOT_PLAIN: list[Any] = [
    *((1,), {1}, b"", object(), Text("a"), Word.A, type("I", (int,), {})(1)),
    *(type("D", (dict,), {})(a=1), type("L", (list,), {})([1]), float("nan"), float("-inf")),
    *(2**63, -(2**63) - 1, "a\ud83d", {1: 1}, {None: 1}, {"\ude00": 1}, {Text("k"): 1}, CYCLE),
    nested(MAX_LEVELS + 1),
]
# Where it may stand: what was there before, and what holds it now.
BEFORE: list[Any] = [1, "a", {"k": 1}]
PLACES: list[tuple[Any, Any]] = [
    *((before, lambda odd: odd) for before in (0, [1], {"a": 1}, "a")),
    ({}, lambda odd: {"k": odd}),
    *(({"k": before}, lambda odd: {"k": odd}) for before in (*BEFORE, [1])),
    ([1, 2, 3], lambda odd: [1, odd, 3]),
    ([1, 2, 3], lambda odd: [1, 2, 3, odd]),
    ([1, 2, 3, 4], lambda odd: [0, 2, odd, 4]),
    (rows(1, 2, 3), lambda odd: rows(1, 2, 3, more=odd)),
    *((rows(1, 2, more=before), lambda odd: rows(1, 2, more=odd)) for before in BEFORE),
]


@pytest.mark.parametrize("odd", NOT_PLAIN, ids=lambda odd: type(odd).__name__)
def test_what_is_not_plain_is_converted_wherever_it_stands(odd: Any) -> None:
    for before, around in PLACES:
        after = around(odd)
        operations, result = changes(before, after)
        assert exact(result) == exact(to_jsonable(after)) == exact(apply_patch(before, operations))
        assert changes(result, after) == ([], result)


PLAIN = [None, True, 2**63 - 1, -(2**63), 1.5, "🙂", {"": "é"}, {"🙂": []}, nested(MAX_LEVELS)]


@pytest.mark.parametrize("value", PLAIN, ids=str)
def test_what_is_plain(value: Any) -> None:
    made, same = changes("other", value)[1], copy.deepcopy(value)
    assert exact(made) == exact(value)
    assert not {id(node) for node in containers(made)} & {id(node) for node in containers(value)}
    assert changes(value, same) == ([], value)
    assert changes([0, value], [0, value, 1])[0] == [op("add", "/-", 1)]


@pytest.mark.parametrize("levels", [MAX_LEVELS - 1, MAX_LEVELS, MAX_LEVELS + 1, 300])
def test_deep_data_of_our_own(levels: int) -> None:
    before, same, other = nested(levels, 1), nested(levels, 1), nested(levels, True)
    assert changes(before, same)[1] is before
    assert changes([before], [same]) == ([], [before])
    operations, result = changes(before, other)
    assert exact(result) == exact(other) == exact(apply_patch(before, operations))
    (operation,) = operations
    assert str(operation["path"]).count("/") == min(levels, MAX_LEVELS)
    assert changes([before, 1, 2], [same, same, 2])[1] == [before, same, 2]
    held, after = [before, 1, before, 2], [before, other, 3]
    operations, result = changes(held, after)
    assert exact(result) == exact(after) == exact(apply_patch(held, operations))


def effort(before: Any, after: Any) -> int:
    """How many calls, of Python and of C, it takes to find the changes."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert changes(before, after)[1] == after
    finally:
        sys.setprofile(None)
    return calls


def random_bits(size: int) -> list[int]:
    random = Random(size)
    return [random.randint(0, 1) for _ in range(size)]


def shuffled(size: int) -> tuple[Any, Any]:
    return [*range(size)], Random(1).sample(range(size), size)


def deep(size: int) -> tuple[Any, Any]:
    before, after = ([{"v": [place]} for place in range(size)] for _ in range(2))
    after[-1] = {"v": [True]}
    for _ in range(MAX_LEVELS - 4):
        before, after = [before], [after]
    return before, after


def bits(size: int) -> tuple[Any, Any]:
    return random_bits(size), random_bits(size + 1)[1:]


@pytest.mark.parametrize("make", [bits, shuffled, deep])
def test_four_times_as_much_takes_no_squared_effort(make: Any) -> None:
    assert effort(*make(8_000)) < 6 * effort(*make(2_000))


def test_two_deep_twins_take_no_doubled_effort_at_each_level() -> None:
    def twins(levels: int) -> tuple[Any, Any]:
        both: tuple[Any, Any] = (1, 2)
        for level in range(levels):
            both = [both[0], level], ["new", both[1], level, "old"]
        return both

    assert effort(*twins(MAX_LEVELS - 4)) < 20 * effort(*twins((MAX_LEVELS - 4) // 4))
