"""What `make test` leaves to `make test-deep`: tests that search further along a way that another test has gone.

A test is deep if everything it can find has a shallow test that would find the plain case of it. `deep` marks a whole
test or module, and `first_of_each` the values of a parameter of which one stands for many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

deep = pytest.mark.deep

DEPTH = int(os.environ.get("TEST_DEPTH", "0"))
"""0 is `make test` and 1 is `make test-deep`, which draw the same examples each time; above, others and more."""


def first_of_each(values: Iterable[T], key: Callable[[T], Hashable], also: Iterable[T] = ()) -> list[Any]:
    """Parameters: the first value of each key, and those in `also`, for `make test`; the others are deep."""
    kept, parameters, more = set[Hashable](), list[Any](), list(also)
    for value in values:
        shallow = value in more or key(value) not in kept
        kept.add(key(value))
        parameters.append(pytest.param(value, marks=() if shallow else deep))
    return parameters


def example_count(shallow: int, deep: int) -> int:
    """How many examples a property is tested with."""
    return deep * DEPTH if DEPTH else shallow
