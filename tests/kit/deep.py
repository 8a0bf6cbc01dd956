"""What `make test` leaves to CI and `make test-deep`: tests that search further along a way that
another test has gone.

A test is deep if everything it can find has a shallow test that finds the plain case of it. `deep`
marks a whole test or module. `each_value` marks the combinations of several parameters: each value
once is shallow, each two values together once are for `make test-deep` alone, and further
combinations are not tested. `representatives` chooses from the values of one parameter; with
`others_deep` the others are for `make test-deep` alone. `example_count` says how many random
examples a property is tested with.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
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


def example_count(shallow: int, deep: int) -> int:
    """How many examples a property is tested with."""
    return deep * DEPTH if DEPTH else shallow


def representatives(values: Iterable[T], *keys: Callable[[T], Hashable]) -> list[T]:
    """Return few of the values, with which each key has all of its own once."""
    given = list(values)
    kept = covering([[(number, key(value)) for number, key in enumerate(keys)] for value in given])
    return [given[index] for index in sorted(kept)]


def others_deep(values: Iterable[T], *keys: Callable[[T], Hashable]) -> list[T]:
    """Return representatives, and in `make test-deep` the other values too."""
    given = list(values)
    return given if ALL_VALUES else representatives(given, *keys)


def each_value(*names: str, also: Callable[..., bool] | None = None) -> pytest.MarkDecorator:
    """Leave out what is not needed for each parameter to have all of its values once.

    Args:
        names: The parameters that count; all if none is named.
        also: Takes the parameters by name, and is true for other combinations that are tested.
    """
    return pytest.mark.each_value(*names, also=also)


def drop_combinations(items: list[pytest.Item]) -> None:
    """Of the combinations of `each_value`, drop those that have nothing new."""
    dropped: set[pytest.Item] = set()
    tests: dict[Any, list[pytest.Function]] = {}
    for item in items:
        varied = isinstance(item, pytest.Function) and item.get_closest_marker("each_value")
        if varied and not item.get_closest_marker("deep"):
            tests.setdefault((item.parent, item.originalname), []).append(item)
    for group in tests.values():
        marker = group[0].get_closest_marker("each_value")
        assert marker is not None
        rows = [_values(item, marker.args) for item in group]
        kept = covering(rows)
        if ALL_VALUES:
            kept |= covering([[*map(frozenset, combinations(row, 2))] for row in rows])
        also = marker.kwargs["also"]
        for index, item in enumerate(group):
            if index not in kept and not (also and also(**item.callspec.params)):
                dropped.add(item)
    items[:] = [item for item in items if item not in dropped]


def _values(item: pytest.Function, names: Sequence[str]) -> list[Hashable]:
    """The values of its parameters; what cannot be hashed is known by its identity."""
    found: list[Hashable] = []
    for name, value in item.callspec.params.items():
        if not names or name in names:
            found.append((name, type(value), value if _hashable(value) else id(value)))
    return found


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def covering(rows: Sequence[Sequence[Hashable]]) -> set[int]:
    """Few rows that have every value of all rows; values come together in as many ways as that
    allows."""
    missing = {value for row in rows for value in row}
    used: Counter[Hashable] = Counter()
    kept: set[int] = set()
    while missing:
        best = max(
            range(len(rows)),
            key=lambda index: (
                len(missing.intersection(rows[index])),
                -sum(used[value] for value in rows[index]),
            ),
        )
        kept.add(best)
        used.update(rows[best])
        missing.difference_update(rows[best])
    return kept
