"""The RFC 6902 patch from one JSON value to the next.

Made for state that an agent changes step by step. One walk over both values finds the differences, and the operations
name them as deep down as they can. Lists of one length are compared place by place; others share a beginning and an
end. Only `add`, `remove` and `replace` are used, and no path that clients refuse. The new value may be a live Python
object: the result never shares a dict or list with it, so user code may change it afterwards.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, Final, NamedTuple, TypeAlias, cast

from langgraph_agui.protocol.wire import JsonValue

# `op` (`add`, `remove` or `replace`), `path` and, unless it is a `remove`, `value`.
Operation: TypeAlias = dict[str, JsonValue]

# How deep plain data may be nested, and how deep changes are searched for.
MAX_LEVELS: Final = 64

_OPERATION: Final = 34  # characters of a replace without path and value
_NUMBER: Final = 8
_NOTHING: Final[Any] = object()
_ENCODE: Final = json.JSONEncoder().encode


class NotPlain(Exception):  # noqa: N818
    """The value is no plain JSON data; convert it with `to_jsonable` first."""


class _Change(NamedTuple):
    operations: list[Operation]
    value: JsonValue


def changes(
    before: JsonValue, after: object, key: str | None = None, *, owned: bool = False
) -> tuple[list[Operation], JsonValue]:
    """Return the operations that turn `before` into `after`, and the new value.

    The new value shares parts with `before`, and the operations share parts with the new value: all of it is read only.

    Args:
        before: JSON data that nobody changes any more. It is returned as the new value if nothing changed.
        after: The new value. Numbers are equal only if they are of one type.
        key: The key of the document that both are under; None if they are whole documents.
        owned: Whether `after` is JSON data that nobody changes, of any depth. Otherwise it must be plain (see `plain`),
            and the result shares no dict or list with it.

    Raises:
        NotPlain: `after` is not plain, and not `owned`.
    """
    change = _compare(before, after, key, 1, owned)
    if change is None:
        return [], before
    return _below("" if key is None else f"/{escaped(key)}", change.operations), change.value


def plain(value: object) -> JsonValue:
    """Return a copy of plain JSON data that shares no dict or list with it. Raises `NotPlain`.

    Plain are, by exact type, dicts with string keys, lists, strings without unpaired surrogates, integers of 64
    bits, finite floats, booleans and `None`, nested up to `MAX_LEVELS` deep.
    """
    return _copy(value, 1)


def escaped(key: str) -> str:
    """Return `key` as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def weigh(value: object, limit: int) -> int:
    """Return about how many characters JSON data takes as text. Counting stops at `limit`."""
    waiting: list[Any] = [value]
    total = 0
    while waiting and total < limit:
        item = waiting.pop()
        kind = type(item)
        if kind is str:
            total += len(item) + 2
        elif kind is dict:
            total += 2 + 4 * len(item)
            if total < limit:
                total += sum(map(len, item))
                waiting += item.values()
        elif kind is list:
            total += 2 + len(item)
            if total < limit:
                waiting += item
        elif kind is int:
            total += 1 + item.bit_length() * 3 // 10
        else:
            total += _NUMBER if kind is float else 4
    return total


def _compare(before: Any, after: Any, token: str | None, level: int, owned: bool) -> _Change | None:
    """Return the change of a value whose path ends in `token`; None if it is the same."""
    if before is after:
        return None
    kind = type(after)
    if kind is type(before):
        if kind is dict:
            return _compare_objects(before, after, token, level, owned)
        if kind is list:
            return _compare_lists(before, after, level, owned)
        if before == after:
            return None
    return _whole(after if owned else _copy(after, level))


def _compare_objects(
    before: dict[str, Any], after: dict[Any, Any], token: str | None, level: int, owned: bool
) -> _Change | None:
    if level > MAX_LEVELS:
        return _compare_deep(before, after, owned)
    edits: dict[str, _Change] = {}
    get, added = before.get, 0
    for key, new in after.items():
        if type(key) is not str:
            raise NotPlain("a key is no string")
        old: Any = get(key, _NOTHING)
        kind = type(new)
        if old is new or (kind is str and old == new):
            continue
        change: _Change | None
        if old is _NOTHING:
            added += 1
            if not owned:
                _check_text(key)
            change = _whole(new if owned else _copy(new, level + 1), "add")
        elif kind is dict and type(old) is dict:  # spares a call
            change = _compare_objects(old, new, key, level + 1, owned)
        elif kind is list and type(old) is list:
            change = _compare_lists(old, new, level + 1, owned)
        else:
            change = _compare(old, new, key, level + 1, owned)
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
    if any(_refused(token, key) for key in edits):
        return _whole(merged)
    return _container(merged, [(escaped(key), change) for key, change in edits.items()])


def _compare_lists(before: list[Any], after: list[Any], level: int, owned: bool) -> _Change | None:
    """Compare lists of one length place by place, others after what they have in common at both ends."""
    if level > MAX_LEVELS:
        return _compare_deep(before, after, owned)
    steps: list[tuple[str, _Change]] = []
    merged: list[JsonValue] | None = None
    common, end = min(len(before), len(after)), 0
    for place in range(common):
        old, new = before[place], after[place]
        kind = type(new)
        if old is new or (kind is str and old == new):
            continue
        change = (
            _compare_objects(old, new, "", level + 1, owned)
            if kind is dict and type(old) is dict
            else _compare(old, new, "", level + 1, owned)
        )
        if change is None:
            continue
        if not steps and len(before) != len(after):
            while end < common - place and _same(before[-1 - end], after[-1 - end]):
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
        merged.append(after[place] if owned else _copy(after[place], level + 1))
        steps.append((str(place) if end else "-", _whole(merged[-1], "add")))
    # Remove from the end, so that the other indices stay valid.
    steps += [(str(place), _removal()) for place in range(len(before) - end - 1, len(after) - end - 1, -1)]
    return _container([*merged, *before[len(before) - end :]], steps)


def _same(before: JsonValue, after: Any) -> bool:
    """Return whether both give the same JSON text; objects with another order of keys do not."""
    try:
        return _ENCODE(before) == _ENCODE(after)
    except (TypeError, ValueError, RecursionError):  # not plain JSON, or too deep
        return False


def _compare_deep(before: JsonValue, after: Any, owned: bool) -> _Change | None:
    if not owned:
        raise NotPlain("nested too deep")
    return None if _same(before, after) else _whole(after)


def _whole(value: JsonValue, name: str = "replace") -> _Change:
    return _Change([{"op": name, "path": "", "value": value}], value)


def _removal() -> _Change:
    return _Change([{"op": "remove", "path": ""}], _NOTHING)


def _container(value: JsonValue, steps: list[tuple[str, _Change]]) -> _Change:
    """Return the change of a container: the changes inside it, or the whole value if that is shorter."""
    operations = [one for token, change in steps for one in _below(f"/{token}", change.operations)]
    if len(operations) > 1:
        weight = weigh(operations, sys.maxsize)
        if _OPERATION + weigh(value, weight) < weight:
            return _whole(value)
    return _Change(operations, value)


def _below(path: str, operations: list[Operation]) -> list[Operation]:
    for operation in operations:
        operation["path"] = path + cast("str", operation["path"])
    return operations


def _refused(before: str | None, token: str) -> bool:
    """Return whether clients refuse a path with these two steps, as a guard against prototype pollution."""
    return token == "__proto__" or (before, token) == ("constructor", "prototype")  # noqa: S105


def _copy(value: Any, level: int) -> JsonValue:
    kind = type(value)
    if kind is not dict and kind is not list:
        return _leaf(value)
    if level > MAX_LEVELS:
        raise NotPlain("nested too deep")
    if kind is list:
        return [item if type(item) is str and item.isascii() else _copy(item, level + 1) for item in value]
    copy: dict[str, JsonValue] = value.copy()
    for key, item in value.items():
        if type(key) is not str or not key.isascii():
            _check_text(key)
        kind = type(item)
        if kind is dict or kind is list:
            copy[key] = _copy(item, level + 1)
        elif kind is str:
            if not item.isascii():
                _check_text(item)
        elif kind is not bool:
            _leaf(item)
    return copy


def _leaf(value: Any) -> JsonValue:
    kind = type(value)
    if kind is str:
        _check_text(value)
    elif kind is int:
        if not -(2**63) <= value < 2**63:
            raise NotPlain("an integer of more than 64 bits")
    elif kind is float:
        if not math.isfinite(value):
            raise NotPlain("not a finite number")
    elif kind is not bool and value is not None:
        raise NotPlain(f"an object of type {kind.__name__}")
    return cast("JsonValue", value)


def _check_text(text: Any) -> None:
    if type(text) is not str:
        raise NotPlain("a key is no string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotPlain("a text with an unpaired surrogate") from None
