"""Whether JSON values are the same, as a client in JavaScript would say."""

from __future__ import annotations

from collections.abc import Mapping


def json_equal(left: object, right: object) -> bool:
    """Return whether two JSON values are the same to clients: ``True`` is not ``1``, but ``1.0`` is."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            pairs.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) is not isinstance(other, bool) or not (one == other or _rounded(one, other)):
            return False
    return True


def _rounded(one: object, other: object) -> bool:
    """Return whether two numbers are one to JavaScript, which rounds large integers and sends others back."""
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    try:
        return float(one) == float(other)
    except OverflowError:
        return False
