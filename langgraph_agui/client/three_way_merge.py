"""Merge JSON data: the user changed a view of a document, and the change is applied to the document itself.

In: the document, and the view before and after the change. Out: the document with that change and no other.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque

from langgraph_agui.protocol.jsonable import JsonValue, json_equal


def three_way_merge(document: JsonValue, before: JsonValue, after: JsonValue) -> JsonValue:
    """Return `document` with the changes from `before` to `after`.

    Keys that only the document has stay. So they do in the elements of a list that keeps its length, whether an element
    stays, moves or changes in its place. In a list that becomes longer or shorter, elements that stay or move are those
    of the document; the others are as in `after`, because nothing tells which element they were.
    """
    if json_equal(before, after):
        return document
    match document, before, after:
        case list(), list(), list() if len(document) == len(before):
            return _merge_lists(document, before, after)
        case dict(), dict(), dict():
            merged = {key: value for key, value in document.items() if key in after or key not in before}
            for key, value in after.items():
                if key not in before or not json_equal(before[key], value):
                    merged[key] = three_way_merge(document.get(key), before.get(key), value)
            return merged
        case _:
            return after


def _merge_lists(document: list[JsonValue], before: list[JsonValue], after: list[JsonValue]) -> list[JsonValue]:
    # For each index in `after`, the index in `before` that its element comes from.
    pairs = enumerate(zip(before, after, strict=False))
    source = {index: index for index, (old, new) in pairs if json_equal(old, new)}
    moved: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, old in enumerate(before):
        if index not in source:
            moved[json.dumps(old, sort_keys=True)].append(index)
    for index, new in enumerate(after):
        if index not in source and (origins := moved[json.dumps(new, sort_keys=True)]):
            source[index] = origins.popleft()
    used = set(source.values())
    merged: list[JsonValue] = []
    for index, new in enumerate(after):
        if index in source:
            merged.append(document[source[index]])
        elif len(before) == len(after) and index not in used:
            merged.append(three_way_merge(document[index], before[index], new))
        else:
            merged.append(new)
    return merged
