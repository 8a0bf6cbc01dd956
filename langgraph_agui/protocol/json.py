"""JSON data: any Python value as such, its equality and size, and JSON text from elsewhere.

AG-UI carries values of user code (state, metadata, raw events, custom values), and one object that
JSON does not have must not end a stream. So `to_jsonable` copies plain JSON data unchanged, and
converts the rest: objects become what pydantic makes of them, or a *placeholder*, an object whose
`__type__` names the replaced value:

- `bytes`, `bytearray`, `memoryview`: `{"__type__": "bytes", "base64": "..."}`;
- an object that contains itself: `{"__type__": "cycle"}`, at the back-reference only;
- in a value that is not all JSON data, or has more levels than Python follows, what is deeper than
  `MAX_DEPTH` levels, and an integer that Python refuses to print: `{"__type__": "truncated"}`;
- anything else: `{"__type__": "object", "class": "module.Name"}`.

A placeholder never shows an object's contents or `repr`, which may contain secrets.
"""

import dataclasses
import json
import marshal
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from itertools import accumulate
from math import isfinite, isinf
from pathlib import PurePath
from typing import Any, Final, NoReturn, TypeAlias, cast

from ag_ui.core.types import GeneratedBaseModel
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from langgraph_agui.protocol.limits import InputLimits
from langgraph_agui.protocol.wire import ProtocolError, wire_fields

# The types that `json.loads` returns.
JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

# How many levels of a value are followed that is not all JSON data.
MAX_DEPTH = 200

# Python refuses to print longer integers (`sys.get_int_max_str_digits`).
_MAX_BITS = 14_000

_TEXT: Final = frozenset({str})
_SIMPLE: Final = frozenset({str, int, bool, type(None)})

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SPACED = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


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
        return _walked(value)


def dump_json(value: object) -> str:
    """Return any value as JSON text, with a space after each comma and colon. Never raises."""
    try:
        text = _SPACED.encode(value)
    except Exception:
        text = _SPACED.encode(to_jsonable(value))
    return clean_text(text)


def copy_json(value: Any) -> JsonValue:
    """Return a copy of JSON data that shares no dict or list with it. Raises if JSON does not have
    `value`.
    """
    kind = type(value)
    if value is None or kind is bool or (kind is int and -(2**63) <= value < 2**63):
        return cast("JsonValue", value)
    if kind is str:
        if not value.isascii():
            value.encode()  # which raises for half of a surrogate pair
        return cast("JsonValue", value)
    text = _COMPACT.encode(value)
    if not text.isascii():
        text.encode()
    copy: JsonValue = json.loads(text)
    return copy


def plain_copy(data: Any, levels: int = MAX_DEPTH) -> JsonValue:
    """Return a copy of JSON data, as `json.loads` makes it, that shares no dict or list with it.

    Quick, because texts are shared. Raises `TypeError` for anything else, for NaN, and for more
    `levels`.
    """
    kind = type(data)
    if not levels:
        raise TypeError("too many levels")
    if kind is dict:
        if not _TEXT.issuperset(map(type, data)):
            raise TypeError("a key is not a text")
        return {
            key: value if type(value) in _SIMPLE else plain_copy(value, levels - 1)
            for key, value in data.items()
        }
    if kind is list:
        return [
            value if type(value) in _SIMPLE else plain_copy(value, levels - 1) for value in data
        ]
    if kind in _SIMPLE or (kind is float and isfinite(data)):
        return cast("JsonValue", data)
    raise TypeError("no JSON data")


@dataclasses.dataclass(slots=True)
class _Level:
    """A dict or list on the way to JSON data.

    Attributes:
        value: The value that is converted. While it is held, no other object has its id.
        names: The names of its items; None if it is a list.
        rest: The items that are not converted yet.
        done: The other items, converted.
    """

    value: object
    names: list[str] | None
    rest: Iterator[object]
    done: list[JsonValue] = dataclasses.field(default_factory=list)

    def result(self) -> JsonValue:
        if self.names is not None:
            return dict(zip(self.names, self.done, strict=True))
        if isinstance(self.value, Set):
            return sorted(self.done, key=_COMPACT.encode)
        return self.done


def _walked(value: object) -> JsonValue:
    """Return a value that JSON does not have as JSON data. It is followed without recursion: how
    deep must not depend on the stack of the caller.
    """
    levels = [_Level(None, None, iter([value]))]
    around: set[int] = set()  # the ids of the values that contain the item
    while True:
        level = levels[-1]
        for item in level.rest:
            converted = _entered(item, around)
            if isinstance(converted, _Level):
                levels.append(converted)
                around.add(id(item))
                break
            level.done.append(converted)
        else:
            levels.pop()
            if not levels:
                return level.done[0]
            around.remove(id(level.value))
            levels[-1].done.append(level.result())


def _entered(value: object, around: Collection[int]) -> "JsonValue | _Level":
    """Return a value without parts as JSON data, or the level that any other value opens."""
    if issubclass(type(value), dict | list | tuple):
        return _opened_level(value, around)
    try:
        return copy_json(value)
    except Exception:
        return _opened_level(value, around)


def _opened_level(value: object, around: Collection[int]) -> "JsonValue | _Level":
    if id(value) in around:
        return {"__type__": "cycle"}
    if len(around) >= MAX_DEPTH:
        return {"__type__": "truncated"}
    try:
        opened = _opened(value)
        if isinstance(opened, dict):
            return _Level(value, _names(opened), iter(opened.values()))
        return _Level(value, None, iter(opened)) if isinstance(opened, list) else copy_json(opened)
    except RecursionError:
        return {"__type__": "truncated"}
    except Exception:  # of user code: a property, a serializer, an iterator
        return _placeholder(value)


def _opened(value: object) -> object:
    """Return the dict, list or scalar that JSON has for a value. Parts of it are not converted."""
    match value:
        case Enum():
            return _opened(value.value)
        case str():
            return clean_text(str.__str__(value))
        case PurePath():
            return clean_text(str(value))
        case int() if value.bit_length() >= _MAX_BITS:
            return {"__type__": "truncated"}
        case bytes() | bytearray() | memoryview():
            return {"__type__": "bytes", "base64": b64encode(value).decode()}
        case Mapping():
            return dict(value.items())
        case Set() | Sequence():
            return list(value)
        case GeneratedBaseModel():
            return wire_fields(value)
        case BaseModel():
            return _model_fields(value)
        case Iterator():  # pydantic would consume it
            return _placeholder(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    return to_jsonable_python(value, inf_nan_mode="null", fallback=_placeholder)


def _model_fields(model: BaseModel) -> dict[str, object]:
    try:
        return model.model_dump(by_alias=True, warnings=False)
    except Exception:  # a cycle, or a serializer that fails: take the fields as they stand
        fields = {
            field.serialization_alias or name: model.__dict__[name]
            for name, field in type(model).model_fields.items()
            if not field.exclude and name in model.__dict__
        }
        return fields | (model.model_extra or {})


def _names(keys: Iterable[object]) -> list[str]:
    """Return the names that JSON has for the keys of a dict.

    It has one name for 1 and "1": the later key gets another. (Where JSON has all of a value,
    `copy_json` keeps only the later item.)
    """
    names: dict[str, None] = {}
    for key in keys:
        name = clean_text(json_key(key))
        while name in names:
            name += "'"
        names[name] = None
    return list(names)


def json_key(key: object) -> str:
    """Return the name that JSON has for a key of a dict."""
    plain = str.__str__(key) if isinstance(key, str) else to_jsonable(key)
    if isinstance(plain, str):
        return plain
    return f"<{_class_of(key)}>" if isinstance(plain, dict) else _COMPACT.encode(plain)


def _placeholder(value: object) -> JsonValue:
    return {"__type__": "object", "class": _class_of(value)}


def _class_of(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


# -- text that UTF-8 has -------------------------------------------------------------------------


def clean_text(text: str) -> str:
    """Return `text` fit for UTF-8: split surrogate pairs joined, unpaired ones replaced by
    U+FFFD.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(value: object) -> object:
    """Return JSON data fit for every store: `clean_text` in all keys and texts, and U+FFFD in the
    place of each U+0000.
    """
    if isinstance(value, str):
        return clean_text(value).replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return dict(zip(map(clean_json, value), map(clean_json, value.values()), strict=True))
    return [*map(clean_json, value)] if isinstance(value, list) else value


# -- equality ------------------------------------------------------------------------------------


def same(data: Any, value: Any) -> bool:
    """Return whether a value is JSON data too and the same to Python: of the same types, with its
    keys in the same order.

    Args:
        data: JSON data.
        value: Any value.
    """
    try:
        # `==` alone takes 1 for True. The form 0 of `marshal` has types and order, and nothing
        # else; it refuses classes of the application, and values that contain themselves.
        return bool(data == value) and marshal.dumps(data, 0) == marshal.dumps(value, 0)
    except Exception:  # raised by a class of the application
        return False


def same_for_clients(one: object, other: object) -> bool:
    """Return whether two JSON values are the same to a client in JavaScript: `True` is not `1`, but
    `1.0` is, and large integers are rounded.
    """
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            if left.keys() != right.keys():
                return False
            pairs.extend((left[key], right[key]) for key in left)
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif isinstance(left, bool) is not isinstance(right, bool) or not (
            left == right or _rounded(left, right)
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


def canonical_json(text: str) -> str:
    """Return the arguments of a call in one spelling: equal for values that are
    `same_for_clients`. No arguments are an empty object, and text that is not JSON stays as it is.
    """
    try:
        value = json.loads(text or "{}", parse_int=float)
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (RecursionError, ValueError):
        return text


def same_arguments(one: str, other: str) -> bool:
    """Return whether the arguments of two calls are `same_for_clients`, in whichever spelling."""
    return one == other or canonical_json(one) == canonical_json(other)


# -- size ----------------------------------------------------------------------------------------


def size(value: object) -> int:
    """Return how many bytes a value takes as JSON text. Never raises."""
    try:
        return len(to_json(value, inf_nan_mode="null", fallback=_placeholder))
    except Exception:  # a cycle, half of a surrogate pair, or more levels than pydantic takes
        return len(dump_json(value).encode())


def is_larger(data: JsonValue, limit: int) -> bool:
    """Return whether the `size_up_to` of JSON data is above `limit`."""
    return size_up_to(data, limit) > limit


def size_up_to(data: JsonValue, limit: int) -> int:
    """Return the `size` of JSON data of any depth; some number above `limit` if it is larger,
    without measuring more than that of it. Escaped characters count as one.
    """
    left = limit
    pending: list[JsonValue] = [data]
    while pending and left >= 0:
        part = pending.pop()
        if isinstance(part, dict | list):
            left -= 1 + max(len(part), 1)  # brackets and commas
            if left < len(part):
                return limit + 1
            pending += part
            if isinstance(part, dict):
                left -= len(part)  # colons
                pending += part.values()
        elif isinstance(part, str) and (part.isascii() or left < len(part)):
            left -= 2 + len(part)
        else:
            left -= size(part)
    return limit - left


# -- JSON text from elsewhere --------------------------------------------------------------------

# JSON in a text is parsed in the event loop.
IN_TEXT: Final = InputLimits(max_bytes=1_000_000, max_values=50_000)

# Bytes that are looked at without a break: other threads wait so long.
_CHUNK: Final = 128 * 1024

# Characters of the longest integer of 64 bits.
_INTEGER: Final = 20

# Brackets as steps between levels: 1 up, 255 (-1 as a signed byte) down. All else is left out.
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def parse_json(text: str | bytes, limits: InputLimits = IN_TEXT) -> JsonValue:
    """Return the value of JSON text that a client has sent; too much is refused, unparsed.

    Integers of more than 64 bits become doubles, as they are for JavaScript.

    Args:
        text: The text; bytes are UTF-8.
        limits: The most bytes, levels and values; `max_items` does not count. The default is for
            JSON in a text of an input: a million bytes, 50,000 values, 100 levels.

    Raises:
        ValueError: It is not JSON.
        ProtocolError: It is too much, or an integer is too large for a double (`too-large`).
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if len(data) > limits.max_bytes:
        raise too_large(f"The JSON has {len(data)} bytes", limits.max_bytes, "max_bytes")
    check_json(data, limits, "The JSON")
    return read_json(data.decode("utf-8-sig"))


def check_json(text: bytes, limits: InputLimits, what: str = "The input", before: int = 0) -> int:
    """Check JSON text before it is parsed; return how many values it holds, with the `before`, and
    at most that. `what` names it in errors.

    Raises:
        ProtocolError: It is nested too deeply, or holds too many values (`too-large`).
    """
    depth, deepest, values = 0, 0, before
    for piece in _outside_strings(text):
        values += (
            sum(map(piece.count, (b",", b"[", b"{"))) - piece.count(b"[]") - piece.count(b"{}")
        )
        steps = memoryview(piece.translate(_STEPS, _NO_BRACKETS)).cast("b")
        deepest = max(deepest, max(accumulate(steps, initial=depth)))
        depth += sum(steps)
    if deepest > limits.max_depth:
        raise too_large(f"{what} is nested {deepest} levels deep", limits.max_depth, "max_depth")
    if values > limits.max_values:
        raise too_large(f"{what} holds {values} JSON values", limits.max_values, "max_values")
    return values


def _outside_strings(text: bytes) -> Iterator[bytes]:
    """Yield the text outside of strings, piece by piece."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside = False
    for start in range(0, len(plain), _CHUNK):
        pieces = plain[start : start + _CHUNK].split(b'"')
        yield b"".join(pieces[inside::2])
        inside ^= len(pieces) % 2 == 0


def too_large(found: str, limit: int, name: str) -> ProtocolError:
    """Return the error for a value beyond the limit `name`."""
    return ProtocolError("too-large", f"{found}; at most {limit} are allowed ({name}).")


def read_json(text: str) -> JsonValue:
    """Return the value of JSON text that `check_json` has checked.

    Integers of more than 64 bits become doubles, as they are for JavaScript: checkpointers take no
    others.

    Raises:
        ValueError: It is not JSON.
        ProtocolError: An integer is too large for a double (`too-large`).
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=refuse_constant, parse_int=_read_integer)
    except RecursionError as error:
        raise ValueError("It has more levels than Python follows.") from error
    return value


def refuse_constant(name: str) -> NoReturn:
    """Refuse `NaN` and the infinities, which Python takes for JSON."""
    raise ValueError(f"{name} is not JSON")


def _read_integer(digits: str) -> int | float:
    if len(digits) <= _INTEGER and -(2**63) <= (number := int(digits)) < 2**64:
        return number
    if isinf(double := float(digits)):
        raise ProtocolError(
            "too-large", f"An integer of {len(digits)} digits is too large for a double."
        )
    return double


def parse_arguments(arguments: str) -> object:
    """Return the JSON value of a call's arguments; None if they are no JSON. No arguments are an
    empty object.

    JSON can spell half of a surrogate pair. No checkpointer takes one in a key, so that counts as
    no JSON. Line breaks within a text count as JSON: some models write them, and LangChain takes
    them.
    """
    hook = _utf8_keys if "\\u" in arguments else None
    try:
        value: object = json.loads(
            arguments if arguments.strip() else "{}", strict=False, object_pairs_hook=hook
        )
    except (ValueError, RecursionError):
        return None
    return value


def are_whole(arguments: str) -> bool:
    """Return whether the arguments of a call that was streamed to its end are a JSON object.

    LangChain's parser completes those that broke off: a tool would run with half of a path or an
    amount.
    """
    return isinstance(parse_arguments(arguments), dict)


def broke_off(arguments: str) -> bool:
    """Return whether the arguments of a call broke off, if its run or its model has ended before
    somebody answered it: a call that has not begun to have arguments looks like one without any.
    """
    try:
        json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return True
    return False


def _utf8_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for key, _ in pairs:
        key.encode()
    return dict(pairs)
