"""A change to one view of JSON data, made to the data itself.

In: the data, and what a view of it was like before and after the change. Out: the data with that change and no other.
"""

from __future__ import annotations

import json
from collections import deque

from langgraph_agui.protocol.jsonable import JsonValue, json_equal


def changed(held: JsonValue, before: JsonValue, now: JsonValue) -> JsonValue:
    """Return `held` with what has changed from `before` to `now`.

    Keys that neither of them has stay, also in the elements of lists: those that stayed or moved are those of `held`,
    others change in their place. In a list that became longer or shorter, no place tells which element was changed:
    the others are as they are in `now`.
    """
    if json_equal(before, now):
        return held
    if isinstance(held, list) and isinstance(before, list) and isinstance(now, list) and len(held) == len(before):
        return _changed_list(held, before, now)
    if not (isinstance(held, dict) and isinstance(before, dict) and isinstance(now, dict)):
        return now
    kept = {key: value for key, value in held.items() if key in now or key not in before}
    keys = [key for key in now if key not in before or not json_equal(before[key], now[key])]
    return {**kept, **{key: changed(held.get(key), before.get(key), now[key]) for key in keys}}


def _changed_list(held: list[JsonValue], before: list[JsonValue], now: list[JsonValue]) -> list[JsonValue]:
    places: dict[str, deque[int]] = {}
    for place, one in enumerate(before):
        places.setdefault(_written(one), deque()).append(place)
    stayed = [place for place, (one, other) in enumerate(zip(before, now, strict=False)) if json_equal(one, other)]
    source = dict(zip(stayed, stayed, strict=True))
    taken = set(stayed)
    for place in (place for place in range(len(now)) if place not in source):
        free = places.get(_written(now[place]), deque())
        while free and free[0] in taken:
            free.popleft()
        if free:
            source[place] = free.popleft()
            taken.add(source[place])
    in_place = len(before) == len(now)
    return [
        held[source[place]]
        if place in source
        else changed(held[place], before[place], one)
        if in_place and place not in taken
        else one
        for place, one in enumerate(now)
    ]


def _written(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
