"""Which elements of two lists correspond, for a patch that leads from one to the other.

Objects are recognised by a field that tells them apart (``id`` if they have one), everything else by its whole value;
what stays in order corresponds, and the elements in between are paired by position.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

    from langgraph_agui.protocol.jsonable import JsonValue

_TELLING = ("id", "key", "name")
_CANONICAL = json.JSONEncoder(sort_keys=True).encode


def aligned(olds: list[JsonValue], news: list[JsonValue]) -> list[tuple[int, int]]:
    """Return which elements correspond, in order, by their places in both lists."""
    field = _telling_field(olds, news)
    lefts, rights = ([_token(item, field) for item in side] for side in (olds, news))
    pairs: list[tuple[int, int]] = []
    anchors = [(-1, -1), *_in_order(lefts, rights), (len(olds), len(news))]
    for (i, j), (stop, until) in pairwise(anchors):
        pairs += zip(range(i + 1, stop), range(j + 1, until), strict=False)
        pairs.append((stop, until))
    return pairs[:-1]


def _telling_field(olds: list[JsonValue], news: list[JsonValue]) -> str | None:
    """Return the field by which the objects of both lists are best told apart and found again, if there is one."""
    sides = [[item for item in side if isinstance(item, dict)] for side in (olds, news)]
    best, most = None, 0
    for field in dict.fromkeys([*_TELLING, *sides[0][0]]) if all(sides) else ():
        left, right = (_tellings(side, field) for side in sides)
        common = len(left & right)
        if common and field in _TELLING:
            return field
        if common > most:
            best, most = field, common
    return best


def _tellings(items: list[dict[str, JsonValue]], field: str) -> set[JsonValue]:
    """Return the values of a field, none at all unless they are different names (or numbers, where it is an id)."""
    values: set[JsonValue] = set()
    for item in items:
        value = item.get(field)
        if not (type(value) is str or (type(value) is int and field in _TELLING)) or value in values:
            return set()
        values.add(value)
    return values


def _token(value: JsonValue, field: str | None) -> Hashable:
    """Return what is equal for elements that are taken for the same."""
    if isinstance(value, dict) and field is not None:
        return dict, value[field]
    if isinstance(value, (dict, list)):
        try:
            return list, _CANONICAL(value)
        except RecursionError:
            return object()
    return type(value), value


class _Row(NamedTuple):
    old: int
    new: int
    shorter: _Row | None


def _in_order(lefts: list[Hashable], rights: list[Hashable]) -> list[tuple[int, int]]:
    """Return the longest row of places with equal tokens; the n-th of several equal ones is matched with the n-th."""
    places: dict[Hashable, list[int]] = {}
    for place in range(len(lefts) - 1, -1, -1):
        places.setdefault(lefts[place], []).append(place)
    # The longest increasing subsequence: the lowest end that a row of each length has, and the row itself.
    lowest: list[int] = []
    rows: list[_Row] = []
    for j, token in enumerate(rights):
        if waiting := places.get(token):
            i = waiting.pop()
            length = bisect_left(lowest, i)
            row = _Row(i, j, rows[length - 1] if length else None)
            lowest[length : length + 1] = [i]
            rows[length : length + 1] = [row]
    found: list[tuple[int, int]] = []
    end = rows[-1] if rows else None
    while end is not None:
        found.append((end.old, end.new))
        end = end.shorter
    return found[::-1]
