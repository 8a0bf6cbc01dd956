"""The wire form of SDK models and of any other Python value, and what the rest of the package
shares about it.

SDK objects and values of user code enter; plain JSON data leaves, without ever raising.
`ProtocolError` is what this package raises about streams.

AG-UI carries values of user code (state, metadata, raw events, custom values), and one object that
JSON does not have must not end a stream. Plain JSON data is copied unchanged. The rest becomes what
pydantic would make of it, or a *placeholder*, an object whose `__type__` names what it replaces:

================================================
===================================================== ``bytes``, ``bytearray``, ``memoryview``
``{"__type__": "bytes", "base64": "..."}`` an object that contains itself
``{"__type__": "cycle"}``, at the back-reference only more than ``MAX_DEPTH`` levels around a
non-JSON  ``{"__type__": "truncated"}`` value, or an integer Python refuses to print
anything else                                     ``{"__type__": "object", "class": "module.Name"}``
================================================
=====================================================

A placeholder never shows an object's contents or `repr`, which may contain secrets.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import marshal
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any, NoReturn, TypeAlias, cast
from uuid import UUID

from ag_ui.core import Event, Interrupt
from ag_ui.core.types import GeneratedBaseModel
from pydantic import BaseModel
from pydantic_core import from_json, to_json, to_jsonable_python

from langgraph_agui.kernel.quoting import printable

# What `json.loads` can return.
JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

# How deep values that are not plain JSON are followed.
MAX_DEPTH = 200

# Integers with more are not followed: Python refuses to print them (`sys.get_int_max_str_digits`).
_MAX_BITS = 14_000

_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SCALARS = (datetime, date, time, timedelta, UUID, Decimal, IPv4Address, IPv6Address)


class ProtocolError(Exception):
    """An AG-UI stream broke a rule that ends the run.

    Attributes:
        code: A short, stable kebab-case name of the broken rule.
        event: The offending event in its wire form; `None` if the fault is in the stream as a
            whole.

    `str(error)` is a sentence for people.
    """

    def __init__(self, code: str, message: str, event: Mapping[str, object] | None = None) -> None:
        super().__init__(printable(message, 1000))
        self.code = code
        self.event = event

    def __reduce__(
        self,
    ) -> tuple[type[ProtocolError], tuple[str, str, Mapping[str, object] | None]]:
        """Support pickling, which by default calls the constructor with the message alone."""
        return type(self), (self.code, str(self), self.event)


def wire_fields(model: GeneratedBaseModel) -> dict[str, object]:
    """Return the fields of `model` by their wire names, without pydantic's serializer.

    The keys are exactly those that the SDK would serialize: optional fields without a value are
    left out, required nulls and unknown extra fields stay. Nested models are not converted.
    """
    values = model.__dict__
    fields = {
        alias: value
        for name, alias, omittable in wire_layout(type(model))
        if (value := values.get(name)) is not None or not omittable
    }
    if model.model_extra:
        fields.update(model.model_extra)
    return fields


def refuse(code: str, event: Event, reason: str) -> NoReturn:
    """Raise the `ProtocolError` for an event that breaks a rule."""
    raise ProtocolError(code, f"Unexpected {event.type.value}: {reason}.", wire_fields(event))


@cache
def wire_layout(kind: type[GeneratedBaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """Return for each field of a model its name, its name on the wire, and whether it is left out
    when empty.
    """
    return tuple(
        (name, field.serialization_alias or name, not field.is_required() and field.default is None)
        for name, field in kind.model_fields.items()
    )


def has_expired(interrupt: Interrupt, now: datetime | None = None) -> bool:
    """Return whether `expires_at` has passed; such an interrupt can only be cancelled (AG-UI 1.0,
    interrupts).

    A time without a zone is UTC. An `expires_at` that is no ISO 8601 date is ignored.

    Args:
        interrupt: The open interrupt.
        now: The moment to compare with, with a zone; the current time by default.
    """
    try:
        end = datetime.fromisoformat(interrupt.expires_at or "")
    except ValueError:
        return False
    # Compare without converting: near the ends of the calendar, a conversion would overflow.
    return (end if end.tzinfo is not None else end.replace(tzinfo=UTC)) <= (
        now or datetime.now(UTC)
    )


# -- any value as JSON data ----------------------------------------------------------------------


def to_jsonable(value: object) -> JsonValue:
    """Return `value` as JSON data: a copy that shares nothing with it. Never raises.

    JSON data is not changed, integers beyond 2**53 included. An object that occurs twice is written
    twice; only a reference back to an enclosing object is a cycle. Pydantic models are dumped by
    alias, dataclasses by field, enums by value; sets become sorted lists. NaN and the infinities
    become `None`, keys become strings, and unpaired surrogates become U+FFFD (a pair split in two
    is joined).
    """
    try:
        return copy_json(value)
    except Exception:
        return _Walk().value(value)


def copy_json(value: Any) -> JsonValue:
    """Return a copy of JSON data that shares no dict or list with it. Raises if JSON does not have
    `value`.
    """
    kind = type(value)
    if (
        value is None
        or kind is bool
        or (kind is int and -(2**63) < value < 2**63)
        or (kind is str and value.isascii())
    ):
        return cast("JsonValue", value)
    text = _PLAIN.encode(value)
    if not text.isascii():
        text.encode()
    copy: JsonValue = json.loads(text)
    return copy


def own_json(value: object) -> tuple[JsonValue, bytes]:
    """Return what a client has sent as JSON data of our own, and as JSON text.

    JSON data is not changed. Other values, which only a caller in Python can send, become what
    pydantic makes of them.
    """
    try:
        text = to_json(value, inf_nan_mode="null")
        return from_json(text), text
    except ValueError:
        copy = to_jsonable(value)
        return copy, _PLAIN.encode(copy).encode()


# Two fast functions for JSON data that is our own. Version 2 of `marshal` writes equal bytes for
# equal data. It must not get other data first: where a value contains itself twice, it never ends.


def size_of(data: Any) -> int:
    """Return about how many bytes JSON data takes as text: nothing is escaped."""
    return len(marshal.dumps(data, 2))


def is_same(data: Any, value: Any) -> bool:
    """Return whether a value is surely equal to JSON data, with the same types and the same order
    of keys.

    It is a fast test before a slow one: what it does not know is not the same.
    """
    try:
        # `==` takes 1 for True, but makes sure that the value has no more in it than the data.
        return bool(data == value) and marshal.dumps(data, 2) == marshal.dumps(value, 2)
    except Exception:  # of a class of the application's
        return False


def json_equal(left: object, right: object) -> bool:
    """Return whether two JSON values are the same to a client in JavaScript: `True` is not `1`, but
    `1.0` is.
    """
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
        elif isinstance(one, bool) is not isinstance(other, bool) or not (
            one == other or _rounded(one, other)
        ):
            return False
    return True


def _rounded(one: object, other: object) -> bool:
    """Return whether two numbers are the same to JavaScript, which rounds large integers."""
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    try:
        return float(one) == float(other)
    except OverflowError:
        return False


def clean_text(text: str) -> str:
    """Return `text` fit for UTF-8: split surrogate pairs joined, unpaired ones replaced by
    U+FFFD.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Walk:
    """One walk over a value that is not plain JSON."""

    def __init__(self) -> None:
        self._path: set[int] = set()

    def value(self, value: object) -> JsonValue:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Enum):
            return self.value(value.value)
        if isinstance(value, str):
            return clean_text(str.__str__(value))
        if isinstance(value, int):
            return int(value) if value.bit_length() < _MAX_BITS else {"__type__": "truncated"}
        if isinstance(value, float):
            number = float(value)
            return number if math.isfinite(number) else None
        return self._container(value)

    def _container(self, value: object) -> JsonValue:
        identity = id(value)
        if identity in self._path:
            return {"__type__": "cycle"}
        if len(self._path) >= MAX_DEPTH:
            return {"__type__": "truncated"}
        self._path.add(identity)
        try:
            return self._open(value)
        except RecursionError:
            return {"__type__": "truncated"}
        except Exception:  # user code: a property, a serializer, an iterator
            return _unknown(value)
        finally:
            self._path.discard(identity)

    def _open(self, value: object) -> JsonValue:
        if isinstance(value, Mapping):
            return self._mapping(value.items())
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"__type__": "bytes", "base64": base64.b64encode(value).decode("ascii")}
        if isinstance(value, Set):
            return sorted((self.value(item) for item in value), key=_PLAIN.encode)
        if isinstance(value, Sequence):
            return [self.value(item) for item in value]
        if isinstance(value, GeneratedBaseModel):
            return self._mapping(wire_fields(value).items())
        if isinstance(value, BaseModel):
            return self._mapping(_model_items(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = (field.name for field in dataclasses.fields(value))
            return self._mapping(
                (name, getattr(value, name)) for name in names if hasattr(value, name)
            )
        if isinstance(value, PurePath):
            return self.value(str(value))
        if isinstance(value, _SCALARS):
            return self.value(to_jsonable_python(value))
        return _unknown(value)

    def _mapping(self, items: Iterable[tuple[object, object]]) -> JsonValue:
        result: dict[str, JsonValue] = {}
        for key, item in items:
            name = self._key(key)
            while name in result:  # 1 and "1" are one key in JSON: lose neither
                name += "'"
            result[name] = self.value(item)
        return result

    def _key(self, key: object) -> str:
        plain = self.value(key)
        if isinstance(plain, str):
            return plain
        return f"<{_name(key)}>" if isinstance(plain, dict) else _PLAIN.encode(plain)


def _model_items(model: BaseModel) -> Iterable[tuple[object, object]]:
    try:
        return model.model_dump(by_alias=True, warnings=False).items()
    except Exception:  # a cycle, or a serializer that fails: read the fields as they stand
        fields = type(model).model_fields
        shown = (
            name for name, field in fields.items() if not field.exclude and name in model.__dict__
        )
        extra = model.model_extra or {}
        return [(fields[name].alias or name, model.__dict__[name]) for name in shown] + [
            *extra.items()
        ]


def _name(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _unknown(value: object) -> JsonValue:
    return {"__type__": "object", "class": _name(value)}
