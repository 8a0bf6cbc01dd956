"""The RFC 6902 patch from one JSON value to the next.

Made for state that an agent changes step by step. One walk over both values finds the differences,
and the operations name them as deep down as they can. Lists of one length are compared place by
place; others share a beginning and an end. Only `add`, `remove` and `replace` are used, and no path
that clients refuse. The new value may be a live Python object: the result never shares a dict or
list with it, so user code may change it afterwards.
"""

from typing import Any, Final, NamedTuple, TypeAlias, cast

from langgraph_agui.protocol.json import (
    JsonValue,
    copy_json,
    is_larger,
    same,
    size,
    to_jsonable,
)

# `op` (`add`, `remove` or `replace`), `path` and, unless it is a `remove`, `value`.
Operation: TypeAlias = dict[str, JsonValue]

# How deep changes are searched for.
MAX_LEVELS: Final = 64

_OPERATION: Final = 34  # bytes of a replace without path and value
_NOTHING: Final[Any] = object()
_TYPES: Final = frozenset({dict, list, str, int, float, bool, type(None)})


class _Change(NamedTuple):
    operations: list[Operation]
    value: JsonValue


def changes(
    before: JsonValue, after: object, key: str | None = None
) -> tuple[list[Operation], JsonValue]:
    """Return the operations that turn `before` into `after`, and the new value.

    The new value shares parts with `before`, and the operations share parts with the new value: all
    of it is read only.

    Args:
        before: JSON data that nobody changes any more. It is returned as the new value if nothing
            changed.
        after: The new value, of any type: `to_jsonable` converts what JSON does not have. Numbers
            are equal only if they are of one type. The result shares no dict or list with it.
        key: The key of the document that both are under; None if they are whole documents.
    """
    try:
        change = _compare(before, after, key, 1)
    except Exception:  # no JSON data, or another thread changes it meanwhile
        change = _compare(before, to_jsonable(after), key, 1)
    if change is None:
        return [], before
    return _below("" if key is None else f"/{escaped(key)}", change.operations), change.value


def escaped(key: str) -> str:
    """Return `key` as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _compare(before: Any, after: Any, token: str | None, level: int) -> _Change | None:
    """Return the change of a value whose path ends in `token`; None if it is the same.

    Raises:
        TypeError: A value is no JSON data. So does `copy_json`, with other exceptions.
    """
    if before is after:
        return None
    kind = type(after)
    if kind not in _TYPES:
        raise TypeError("no JSON data")
    if kind is type(before):
        if kind is not dict and kind is not list:
            if before == after:
                return None
        elif level > MAX_LEVELS:
            return None if same(before, after) else _whole(copy_json(after))
        else:
            compare = _compare_objects if kind is dict else _compare_lists
            return compare(before, after, token, level)
    return _whole(copy_json(after))


def _compare_objects(
    before: dict[str, Any], after: dict[Any, Any], token: str | None, level: int
) -> _Change | None:
    edits: dict[str, _Change] = {}
    get, added = before.get, 0
    for key, new in after.items():
        if type(key) is not str:
            raise TypeError("a key is not a string")
        old: Any = get(key, _NOTHING)
        if old is new or (type(new) is str and old == new):
            continue
        change: _Change | None
        if old is _NOTHING:
            added += 1
            key.encode()  # raises for half of a surrogate pair
            change = _whole(copy_json(new), "add")
        else:
            change = _compare(old, new, key, level + 1)
        if change is not None:
            edits[key] = change
    if len(after) - added != len(before):
        edits.update((key, _removal()) for key in before if key not in after)
    return _edited(before, edits, token) if edits else None


def _edited(before: dict[str, JsonValue], edits: dict[str, _Change], token: str | None) -> _Change:
    """Return the change of an object from those of its values."""
    merged = before.copy()
    for key, change in edits.items():
        if change.value is _NOTHING:
            del merged[key]
        else:
            merged[key] = change.value
    if any(is_refused(token, key) for key in edits):
        return _whole(merged)
    return _container(merged, [(escaped(key), change) for key, change in edits.items()])


def _compare_lists(
    before: list[Any], after: list[Any], _: str | None, level: int
) -> _Change | None:
    """Compare lists of one length place by place, others after what they have in common at both
    ends.
    """
    steps: list[tuple[str, _Change]] = []
    merged: list[JsonValue] | None = None
    common, end = min(len(before), len(after)), 0
    for place in range(common):
        old, new = before[place], after[place]
        if old is new or (type(new) is str and old == new):
            continue
        change = _compare(old, new, "", level + 1)
        if change is None:
            continue
        if not steps and len(before) != len(after):
            while end < common - place and same(before[-1 - end], after[-1 - end]):
                end += 1
        if place >= common - end:
            break
        merged = merged or before[: common - end]
        merged[place] = change.value
        steps.append((str(place), change))
    if not steps and len(before) == len(after):
        return None
    merged = merged or before[: common - end]
    for place in range(common - end, len(after) - end):
        merged.append(copy_json(after[place]))
        steps.append((str(place) if end else "-", _whole(merged[-1], "add")))
    # Remove from the end, so that the other indices stay valid.
    steps += [
        (str(place), _removal()) for place in range(len(before) - end - 1, len(after) - end - 1, -1)
    ]
    return _container([*merged, *before[len(before) - end :]], steps)


def _whole(value: JsonValue, name: str = "replace") -> _Change:
    return _Change([{"op": name, "path": "", "value": value}], value)


def _removal() -> _Change:
    return _Change([{"op": "remove", "path": ""}], _NOTHING)


def _container(value: JsonValue, steps: list[tuple[str, _Change]]) -> _Change:
    """Return the change of a container: the changes inside it, or the whole value if that is
    shorter.
    """
    operations = [one for token, change in steps for one in _below(f"/{token}", change.operations)]
    if len(operations) > 1 and not is_larger(value, size(operations) - _OPERATION):
        return _whole(value)
    return _Change(operations, value)


def _below(path: str, operations: list[Operation]) -> list[Operation]:
    for operation in operations:
        operation["path"] = path + cast("str", operation["path"])
    return operations


def is_refused(before: str | None, token: str) -> bool:
    """Return whether clients refuse a path with these two steps, as a guard against prototype
    pollution.
    """
    return token == "__proto__" or (before, token) == ("constructor", "prototype")  # noqa: S105
