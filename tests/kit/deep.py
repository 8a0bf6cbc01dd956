"""Marks for what `make test` leaves to CI and `make test-deep`: tests that search further along a
way that another test has gone, or that take long.

A test is deep if everything it can find has a shallow test that finds the plain case of it. `deep`
marks a test or a module. `together` joins several parameters, so that each value has its turn; only
`make test-deep` has each two values together. `firsts` chooses from the values of one parameter;
with `others_deep` the others are for `make test-deep` alone. `example_count` says how many random
examples a property is tested with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import cycle, islice
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

DEPTH = int(os.environ.get("TEST_DEPTH", "0"))
"""0 is `make test`, 1 is CI, 4 is `make test-deep`: so many times the random examples."""

ALL_VALUES = DEPTH > 1
"""Whether values are tested beyond each once."""

REPEATS = DEPTH <= 4
"""Whether the random examples are the same each time."""

deep = pytest.mark.deep

_PLAIN = (str, int, float, bool, type(None))


def example_count(shallow: int, deep: int) -> int:
    """How many examples a property is tested with."""
    return deep * DEPTH if DEPTH else shallow


def firsts(values: Iterable[T], *keys: Callable[[T], Hashable]) -> list[T]:
    """Return the values with which one of the keys is new."""
    seen: set[Hashable] = set()
    kept: list[T] = []
    for value in values:
        found = {(number, key(value)) for number, key in enumerate(keys)}
        if found - seen:
            kept.append(value)
            seen |= found
    return kept


def others_deep(values: Iterable[T], *keys: Callable[[T], Hashable]) -> list[T]:
    """Return the `firsts`, and in `make test-deep` the other values too."""
    return [*values] if ALL_VALUES else firsts(values, *keys)


def together(*marks: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Join several `parametrize`: the longest goes through its values once, and the others through
    theirs again and again. In `make test-deep`, each two values come together.
    """
    names = [name for mark in marks for name in _names(mark)]
    values = [_values(mark) for mark in marks]
    if ALL_VALUES and len(values) > 1:
        from allpairspy import AllPairs

        rows = [[*row] for row in AllPairs(values)]
    else:
        longest = max(map(len, values))
        rows = [[*row] for row in islice(zip(*map(cycle, values), strict=False), longest)]
    return pytest.mark.parametrize(names, [_joined(row) for row in rows])


def _names(mark: pytest.MarkDecorator) -> list[str]:
    names = mark.args[0]
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]


def _values(mark: pytest.MarkDecorator) -> list[Any]:
    """The values of a `parametrize`, each as `pytest.param` with its id."""
    ids, found = mark.kwargs.get("ids"), list[Any]()
    for number, value in enumerate(mark.args[1]):
        if not hasattr(value, "marks"):
            value = pytest.param(*(value if len(_names(mark)) > 1 else (value,)))
        own = value.id
        if ids is not None:
            own = "-".join(map(ids, value.values)) if callable(ids) else [*ids][number]
        elif own is None and all(isinstance(one, _PLAIN) for one in value.values):
            own = "-".join(map(str, value.values))
        found.append(pytest.param(*value.values, marks=value.marks, id=own))
    return found


def _joined(row: Sequence[Any]) -> Any:
    ids = [one.id for one in row]
    return pytest.param(
        *(value for one in row for value in one.values),
        marks=[mark for one in row for mark in one.marks],
        id="-".join(ids) if None not in ids else None,
    )
