"""Looking into what a provider was sent."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from tests.kit.models.cases import seen_as
from tests.kit.models.loops import after, before, loop


def sent_back(provider: str, body: object) -> str:
    """What of the reasoning of the tool loop number 0 is in a later request."""
    received = [*strings(body)]
    first, second = (any(text in string for string in received) for text in (before(0), after(0)))
    values = [value for turn in loop(provider, 0) for value in seen_as(provider, turn).opaque]
    kept = [any(form in string for form in forms(value) for string in received) for value in values]
    assert all(kept) or not any(kept), "some values come back, some do not"
    return _KEPT[first, second, any(kept)]


_KEPT = {
    (True, True, True): "words and values",
    (True, False, True): "values and signed words",
    (True, True, False): "words",
    (False, True, False): "words, but not beside calls",
    (False, False, False): "nothing",
}


@cache
def forms(value: str) -> tuple[str, ...]:
    """A value as it is, as base64, and as what it is the base64 of."""
    found = {value, b64encode(value.encode()).decode(), urlsafe_b64encode(value.encode()).decode()}
    try:
        inner = b64decode(value, validate=True).decode()
    except ValueError:
        return tuple(found)
    return (*found, inner)


def strings(value: object) -> Iterator[str]:
    """All strings in JSON, also of JSON in strings."""
    if isinstance(value, str):
        yield value
        yield from strings(parsed(value))
    for inner in inside(value):
        yield from strings(inner)


def parsed(text: str) -> object:
    if text[:1] not in "{[":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def keys(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
    for inner in inside(value):
        yield from keys(inner)


def types(value: object) -> Iterator[Any]:
    if isinstance(value, Mapping) and "type" in value:
        yield value["type"]
    for inner in inside(value):
        yield from types(inner)


def inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()
