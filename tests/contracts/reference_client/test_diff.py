"""Patches lead exactly where they should, are as small as what an agent did, and every client can
apply them."""

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
from langgraph_agui.protocol.json import size
from langgraph_agui.protocol.patch import apply_patch
from tests.kit.run.wire_events import event, in_run, state_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.processes.node_client import NodeClient

KEYS = [
    "",
    "/",
    "~",
    "~1",
    "__proto__",
    "constructor",
    "prototype",
    "0",
    "-",
    "é",
    "🙂",
    "a",
    "b",
    "id",
    "name",
]
LEAVES = [
    None,
    True,
    False,
    0,
    1,
    1.5,
    -1,
    2**53 - 1,
    "",
    "0",
    "true",
    "v",
    "naïve",
    "🙂",
    "long text " * 20,
]


class Documents:
    """Draws JSON objects, and edits them as an agent might, in place."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = random.choice

    def value(self, depth: int = 3) -> Any:
        kind = self.random.random()
        if depth and kind < 0.3:
            return {
                self.pick(KEYS): self.value(depth - 1) for _ in range(self.random.randint(0, 4))
            }
        if depth and kind < 0.6:
            make = self.pick([self.row, lambda: self.value(depth - 1), lambda: self.pick(LEAVES)])
            return [make() for _ in range(self.random.randint(0, 6))]
        return self.pick(LEAVES)

    def row(self) -> Any:
        return {
            "id": self.random.randint(0, 50),
            "text": self.pick(LEAVES),
            "done": self.pick([True, False, 1]),
        }

    def document(self) -> dict[str, Any]:
        return {self.pick(KEYS): self.value() for _ in range(self.random.randint(0, 5))}

    def edited(self, document: Any) -> Any:
        after = copy.deepcopy(document)
        for _ in range(self.random.randint(0, 4)):
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

# What was, what is, and exactly the operations between them.
TYPICAL: dict[str, tuple[Any, Any, list[dict[str, Any]]]] = {
    "nothing": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "key order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    "append": ({"l": [1]}, {"l": [1, 2]}, [op("add", "/l/-", 2)]),
    "append to nothing": ({"l": []}, {"l": [{"a": 1}]}, [op("add", "/l/-", {"a": 1})]),
    "append two": (
        {"l": rows(1, 2, 3)},
        {"l": rows(1, 2, 3, 4, 5)},
        [op("add", "/l/-", rows(4)[0]), op("add", "/l/-", rows(5)[0])],
    ),
    "set": ({"a": {"b": 1, "c": LONG}}, {"a": {"b": 2, "c": LONG}}, [op("replace", "/a/b", 2)]),
    "add": ({"a": {"c": LONG}}, {"a": {"b": None, "c": LONG}}, [op("add", "/a/b", None)]),
    "remove": ({"a": {"b": 1, "c": LONG}}, {"a": {"c": LONG}}, [op("remove", "/a/b")]),
    "empty": ({"a": {"b": 1}}, {"a": {}}, [op("remove", "/a/b")]),
    "grow": ({"a": [{"t": LONG}]}, {"a": [{"t": LONG + "!"}]}, [op("replace", "/a/0/t", LONG + "!")]),
    "true is not 1": ({"a": True, "b": LONG}, {"a": 1, "b": LONG}, [op("replace", "/a", 1)]),
    "false is not 0": ({"a": [0, LONG]}, {"a": [False, LONG]}, [op("replace", "/a/0", False)]),
    "other kind": ({"a": {"b": 1}}, {"a": ["b"]}, [op("replace", "/a", ["b"])]),
    "to null": ({"a": {"b": 1}}, {"a": None}, [op("replace", "/a", None)]),
    "odd keys": (
        {"/": {"~": {"": {"-": {"é🙂": 0}}}}},
        {"/": {"~": {"": {"-": {"é🙂": 1}}}}},
        [op("replace", "/~1/~0//-/é🙂", 1)],
    ),
    "insert in front": ({"l": WORDS}, {"l": ["new", *WORDS]}, [op("add", "/l/0", "new")]),
    "insert at two places": (
        {"l": WORDS * 2},
        {"l": ["a", *WORDS, "b", "c", *WORDS]},
        [op("replace", "/l", ["a", *WORDS, "b", "c", *WORDS])],
    ),
    "insert in between": (
        {"l": WORDS * 2},
        {"l": [*WORDS, "b", "c", *WORDS]},
        [op("add", "/l/10", "b"), op("add", "/l/11", "c")],
    ),
    "remove several": (
        {"l": [*WORDS, *range(100, 130)]},
        {"l": [*WORDS[:4], *WORDS[6:], *range(100, 130)]},
        [op("remove", "/l/5"), op("remove", "/l/4")],
    ),
    "among equals": ({"l": [0, 1, 0, 2, 0] * 9}, {"l": [0, 1, 2, 0] + [0, 1, 0, 2, 0] * 8}, [op("remove", "/l/2")]),
    "field of an object": (
        {"l": rows(1, 2, 3)},
        {"l": [*rows(1), *rows(2, done=True), *rows(3)]},
        [op("replace", "/l/1/done", True)],
    ),
    "remove an object": ({"l": rows(1, 2, 3)}, {"l": rows(2, 3)}, [op("remove", "/l/0")]),
    "another object": ({"l": rows(1, 2, 3)}, {"l": [*rows(1), 5, *rows(3)]}, [op("replace", "/l/1", 5)]),
    "change and append": (
        {"l": rows(1, 2)},
        {"l": [*rows(1), *rows(2, done=True), *rows(3)]},
        [op("replace", "/l/1/done", True), op("add", "/l/-", rows(3)[0])],
    ),
    "change and remove the last": (
        {"l": rows(1, 2, 3)},
        {"l": [*rows(1), *rows(2, done=True)]},
        [op("replace", "/l/1/done", True), op("remove", "/l/2")],
    ),
    "move": ({"l": rows(1, 2, 3, 4)}, {"l": rows(2, 3, 1, 4)}, [op("replace", "/l", rows(2, 3, 1, 4))]),
    "tables": (
        {"t": [[*WORDS, n] for n in range(5)]},
        {"t": [[*WORDS, n] for n in (0, 1, 7, 3, 4)]},
        [op("replace", "/t/2/10", 7)],
    ),
    "more changes than it is worth": ({"a": {"x": 1, "y": 2}, "b": LONG}, {"a": {"x": 3, "y": 4}, "b": LONG},
        [op("replace", "/a", {"x": 3, "y": 4})]),
    "all new": ({"a": 1, "b": 2, "c": 3}, {"x": 1, "y": 2}, [op("replace", "", {"x": 1, "y": 2})]),
    "refused key": ({"a": {"b": {"__proto__": 1}}}, {"a": {"b": {"__proto__": 2}}},
        [op("replace", "/a/b", {"__proto__": 2})]),
    "refused keys within": (
        {"a": {"__proto__": {"__proto__": {"x": 1}}}},
        {"a": {"__proto__": {"__proto__": {}}}},
        [op("replace", "/a", {"__proto__": {"__proto__": {}}})],
    ),
    "refused pair": (
        {"constructor": {"prototype": 1, "b": 1}},
        {"constructor": {"b": 1}},
        [op("replace", "/constructor", {"b": 1})],
    ),
    "beside refused keys": (
        {"__proto__": LONG * 3, "a": {"__proto__": 1, "b": 1}, "prototype": 1, "constructor": {"a": {"prototype": 1}}},
        {"__proto__": LONG * 3, "a": {"__proto__": 1, "b": 2}, "prototype": 2, "constructor": {"a": {"prototype": 2}}},
        [op("replace", "/a/b", 2), op("replace", "/prototype", 2), op("replace", "/constructor/a/prototype", 2)],
    ),
    "the document": ([1], {"a": 1}, [op("replace", "", {"a": 1})]),
    "a scalar document": (True, 1, [op("replace", "", 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPICAL)
def test_typical_changes_are_small(name: str) -> None:
    before, after, expected = copy.deepcopy(TYPICAL[name])
    operations, result = changes(before, after)
    assert exact(operations) == exact(expected)
    assert exact(result) == exact(after)
    assert exact(apply_patch(before, operations)) == exact(after)


@pytest.mark.parametrize("name", TYPICAL)
def test_a_part_of_the_document(name: str) -> None:
    before, after, expected = copy.deepcopy(TYPICAL[name])
    operations, result = changes(before, after, "do/c")
    assert exact(operations) == exact([{**one, "path": "/do~1c" + one["path"]} for one in expected])
    assert exact(result) == exact(after)


def test_paths_that_clients_refuse() -> None:
    none: dict[str, Any] = {}
    one, two, inside, changed = ({"__proto__": value} for value in (1, 2, {"a": 1}, {"a": 2}))
    for before, after in [
        (one, two),
        (one, none),
        (none, one),
        (inside, changed),
        ({**one, "a": 1}, {**two, "a": 2}),
    ]:
        assert changes(before, after)[0] == [op("replace", "", after)]
        assert changes(before, after, "d")[0] == [op("replace", "/d", after)]
    assert changes({"__proto__": {"a": 1}}, {"__proto__": {"a": 1}}) == (
        [],
        {"__proto__": {"a": 1}},
    )
    assert changes({"prototype": 1}, {"prototype": 2}, "constructor")[0] == [
        op("replace", "/constructor", {"prototype": 2})
    ]


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


def test_what_did_not_change_is_shared() -> None:
    before = {"a": {"b": [1]}, "l": rows(1, 2, 3), "c": {}}
    after = {"a": {"b": [1]}, "l": rows(9, 2, 3), "c": {"d": 1}}
    result: Any = changes(before, after)[1]
    assert result["a"] is before["a"]
    assert result["l"][1] is before["l"][1]
    assert changes(before, copy.deepcopy(before))[1] is before
    inserted: Any = changes(before, {**before, "l": [*rows(7), *rows(1, done=1), *rows(2, 3)]})[1]
    assert inserted["l"][3] is before["l"][2]


def test_the_result_shares_nothing_with_a_live_value() -> None:
    part = {"x": [1]}
    after: Any = {"a": part, "l": [part, part, {"id": 1, "p": part}], "n": {"m": {"k": part}}}
    text = exact(after)
    for before in (
        {},
        {"l": [0, {"id": 1}], "n": {}},
        {"l": [{"x": []}] * 3, "n": {"m": {"k": {"x": []}}}},
        0,
    ):
        operations, result = changes(before, after)
        part["x"].append(2)
        part["y"] = after["l"]
        after["n"]["m"]["z"] = 1
        assert exact(result) == text
        assert exact(apply_patch(before, operations)) == text
        part["x"].pop()
        del part["y"], after["n"]["m"]["z"]


class Text(str):
    __slots__ = ()


class Word(StrEnum):
    A = "a"


CYCLE: list[Any] = []
CYCLE.append({"k": CYCLE})
NOT_PLAIN: dict[str, Any] = {
    "tuple": (1,),
    "set": {1},
    "bytes": b"",
    "object": object(),
    "dict subclass": type("D", (dict,), {})(a=1),
    "list subclass": type("L", (list,), {})([1]),
    "text subclass": Text("a"),
    "integer subclass": type("I", (int,), {})(1),
    "enum": Word.A,
    "nan": float("nan"),
    "infinity": float("-inf"),
    "integer": 2**63,
    "negative integer": -(2**63) - 1,
    "surrogate": "a\ud83d",
    "number as key": {1: 1},
    "null as key": {None: 1},
    "surrogate in a key": {"\ude00": 1},
    "key subclass": {Text("k"): 1},
    "cycle": CYCLE,
    "deep": nested(MAX_LEVELS + 1),
}
# Where it may stand: what was there before, and what holds it now.
PLACES: dict[str, tuple[Any, Any]] = {
    "itself": (0, lambda odd: odd),
    "itself for a list": ([1], lambda odd: odd),
    "itself for an object": ({"a": 1}, lambda odd: odd),
    "itself for a text": ("a", lambda odd: odd),
    "added": ({}, lambda odd: {"k": odd}),
    "changed": ({"k": 1}, lambda odd: {"k": odd}),
    "changed text": ({"k": "a"}, lambda odd: {"k": odd}),
    "changed object": ({"k": {"k": 1}}, lambda odd: {"k": odd}),
    "changed list": ({"k": [1]}, lambda odd: {"k": odd}),
    "in a list": ([1, 2, 3], lambda odd: [1, odd, 3]),
    "appended": ([1, 2, 3], lambda odd: [1, 2, 3, odd]),
    "among others": ([1, 2, 3, 4], lambda odd: [0, 2, odd, 4]),
    "in a row": (rows(1, 2, 3), lambda odd: rows(1, 2, 3, more=odd)),
    "in a row that was so": (rows(1, 2, 3, more=1), lambda odd: rows(1, 2, 3, more=odd)),
    "in a row with such a text": (rows(1, 2, 3, more="a"), lambda odd: rows(1, 2, 3, more=odd)),
    "in a row with such an object": (rows(1, 2, more={"k": 1}), lambda odd: rows(1, 2, more=odd)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_is_not_plain_is_converted(name: str, place: str) -> None:
    before, around = PLACES[place]
    after = around(NOT_PLAIN[name])
    converted = to_jsonable(after)
    operations, result = changes(before, after)
    assert exact(result) == exact(converted) == exact(apply_patch(before, operations))
    assert changes(result, after) == ([], result)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**63 - 1,
        -(2**63),
        1.5,
        "🙂",
        {"": "é"},
        {"🙂": []},
        nested(MAX_LEVELS),
        [nested(63), nested(63)],
    ],
    ids=str,
)
def test_what_is_plain(value: Any) -> None:
    made = changes("other", value)[1]
    assert exact(made) == exact(value)
    assert not {id(node) for node in containers(made)} & {id(node) for node in containers(value)}
    assert changes(value, copy.deepcopy(value)) == ([], value)
    assert changes([0, value], [0, copy.deepcopy(value), 1] if size(value) < 99 else [0, value, 1])[
        0
    ] == [op("add", "/-", 1)]


@pytest.mark.parametrize("levels", [MAX_LEVELS - 1, MAX_LEVELS, MAX_LEVELS + 1, 300])
def test_deep_data_of_our_own(levels: int) -> None:
    before, same, other = nested(levels, 1), nested(levels, 1), nested(levels, True)
    assert changes(before, same) == ([], before)
    assert changes(before, same)[1] is before
    assert changes([before], [same]) == ([], [before])
    operations, result = changes(before, other)
    assert exact(result) == exact(other) == exact(apply_patch(before, operations))
    (operation,) = operations
    assert str(operation["path"]).count("/") == min(levels, MAX_LEVELS)
    assert changes([before, 1, 2], [same, same, 2])[1] == [before, same, 2]
    listed = changes([before, 1, before, 2], [before, other, 3])
    assert (
        exact(listed[1])
        == exact([before, other, 3])
        == exact(apply_patch([before, 1, before, 2], listed[0]))
    )


def effort(before: Any, after: Any) -> int:
    """How many calls, of Python and of C, it takes to find the changes."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        found = changes(before, after)[1]
    finally:
        sys.setprofile(None)
    assert found == after
    return calls


def bits(size: int) -> tuple[Any, Any]:
    random = Random(1)
    one, other = ([random.randint(0, 1) for _ in range(size)] for _ in range(2))
    return one, other


def shuffled(size: int) -> tuple[Any, Any]:
    return [*range(size)], Random(1).sample(range(size), size)


def deep(size: int) -> tuple[Any, Any]:
    before, after = ([{"v": [place]} for place in range(size)] for _ in range(2))
    after[-1] = {"v": [True]}
    for _ in range(MAX_LEVELS - 4):
        before, after = [before], [after]
    return before, after


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


def test_a_client_follows(node_client: NodeClient) -> None:
    requests, expected = [], []
    for seed in range(150):
        draw = Documents(Random(seed))
        held: Any = draw.document()
        stream = [event("STATE_SNAPSHOT", snapshot=held)]
        for _ in range(5):
            after = draw.edited(held)
            operations, held = changes(held, after)
            stream.append(state_delta(*operations))
        requests.append({"events": in_run(*stream)})
        expected.append(held)
    for run, state in zip(node_client.runs(requests), expected, strict=True):
        assert run.accepted
        assert run.warnings == []
        assert exact(run.state) == exact(state)


def test_a_client_follows_typical_changes(node_client: NodeClient) -> None:
    cases = [case for case in TYPICAL.values() if isinstance(case[0], (dict, list))]
    streams = [
        in_run(event("STATE_SNAPSHOT", snapshot=before), state_delta(*changes(before, after)[0]))
        for before, after, _ in cases
    ]
    for run, (_, after, _) in zip(
        node_client.runs({"events": one} for one in streams), cases, strict=True
    ):
        assert run.warnings == []
        assert exact(run.state) == exact(after)
