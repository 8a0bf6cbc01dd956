"""What the AG-UI 1.0 schema says about a value, read once from the SDK's generated models.

The models themselves are laxer than the schema: they take nulls for optional fields, coerce, keep unknown
fields and default the discriminators. A *shape* says what is on the wire. :func:`strip` removes what a shape
does not describe, :func:`check` finds the first value that it describes differently; both follow the
reference client's enforcement stage.
"""

from __future__ import annotations

import logging
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

from ag_ui.core import BaseEvent, Event, RunAgentInput
from ag_ui.core.types import GeneratedBaseModel
from annotated_types import Ge, Le, MinLen
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from langgraph_agui.protocol.compat import modernise
from langgraph_agui.protocol.wire import ProtocolError, wire_fields

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts."""

    accepts: Callable[[object], bool]
    expected: str


@dataclass(frozen=True, slots=True)
class Field:
    """A property of an object; an optional one may be absent, which null is not."""

    shape: Shape
    required: bool
    nullable: bool


@dataclass(frozen=True, slots=True)
class Record:
    """An object with described properties; an ``open`` one keeps others too."""

    fields: dict[str, Field]
    open: bool


@dataclass(frozen=True, slots=True)
class Array:
    """A list of one shape."""

    item: Shape
    minimum: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """A union whose members are told apart by one property."""

    key: str
    members: dict[str, Record]


@dataclass(frozen=True, slots=True)
class TextOr:
    """A string, or else a list."""

    array: Array


Shape: TypeAlias = Leaf | Record | Array | Tagged | TextOr


class MalformedError(Exception):
    """A described value is not what the schema says; ``str()`` names the place."""


class _Drop:
    """Says that a value is of a kind nobody knows and goes as a whole."""


DROP: Final = _Drop()


def strip(value: object, shape: Shape, path: str, removed: list[str]) -> object:
    """Return ``value`` without what ``shape`` does not describe; ``removed`` gets the paths of what went.

    Values of a wrong kind stay for :func:`check`. Returns :data:`DROP` for a member of a union that is not
    known: its list loses the element, an optional property goes, a required one takes its object along.
    """
    match shape:
        case Record() if (fields := _mapping(value)) is not None:
            return _strip_record(fields, shape, path, removed)
        case Array() if isinstance(value, (list, tuple)):
            return _strip_array(value, shape, path, removed)
        case TextOr() if isinstance(value, (list, tuple)):
            return _strip_array(value, shape.array, path, removed)
        case Tagged() if (fields := _mapping(value)) is not None:
            tag = fields.get(shape.key)
            member = shape.members.get(tag) if isinstance(tag, str) else None
            return DROP if member is None else _strip_record(fields, member, path, removed)
    return value


def _strip_record(fields: Mapping[str, object], shape: Record, path: str, removed: list[str]) -> object:
    result: dict[str, object] = {}
    for key, value in fields.items():
        field = shape.fields.get(key)
        if field is None:
            if shape.open:
                result[key] = value
            else:
                removed.append(f"{path}/{key}")
            continue
        mark = len(removed)
        kept = strip(value, field.shape, f"{path}/{key}", removed)
        if kept is not DROP:
            result[key] = kept
            continue
        del removed[mark:]
        if field.required:
            return DROP
        removed.append(f"{path}/{key}")
    return result


def _strip_array(items: Iterable[object], shape: Array, path: str, removed: list[str]) -> list[object]:
    result = []
    for index, item in enumerate(items):
        mark = len(removed)
        kept = strip(item, shape.item, f"{path}/{index}", removed)
        if kept is DROP:
            removed[mark:] = [f"{path}/{index}"]
        else:
            result.append(kept)
    return result


def check(value: object, shape: Shape, path: str) -> None:
    """Raise :class:`MalformedError` for the first part of a stripped ``value`` that contradicts ``shape``."""
    match shape:
        case Leaf():
            if not shape.accepts(value):
                raise MalformedError(f"{path or '/'} is not {shape.expected}")
        case Record():
            _check_record(value, shape, path)
        case Array():
            _check_array(value, shape, path)
        case TextOr():
            if not isinstance(value, str):
                _check_array(value, shape.array, path)
        case Tagged():
            tag = value.get(shape.key) if isinstance(value, dict) else None
            member = shape.members.get(tag) if isinstance(tag, str) else None
            if member is None:
                raise MalformedError(f"{path or '/'} is not an object")
            _check_record(value, member, path)


def _check_record(value: object, shape: Record, path: str) -> None:
    if not isinstance(value, dict):
        raise MalformedError(f"{path or '/'} is not an object")
    for key, field in shape.fields.items():
        if key not in value:
            if field.required:
                raise MalformedError(f"{path}/{key} is missing")
        elif value[key] is None and not field.required:
            if not field.nullable:
                raise MalformedError(f"{path}/{key} is null; an optional field without a value is left out")
        else:
            check(value[key], field.shape, f"{path}/{key}")


def _check_array(value: object, shape: Array, path: str) -> None:
    if not isinstance(value, list):
        raise MalformedError(f"{path} is not a list")
    if len(value) < shape.minimum:
        raise MalformedError(f"{path} holds fewer than {shape.minimum} items")
    for index, item in enumerate(value):
        check(item, shape.item, f"{path}/{index}")


def _mapping(value: object) -> Mapping[str, object] | None:
    if isinstance(value, GeneratedBaseModel):
        return wire_fields(value)
    return value if isinstance(value, Mapping) else None


_ANYTHING = Leaf(lambda value: True, "anything")
_TEXT = Leaf(lambda value: isinstance(value, str), "a string")
_FLAG = Leaf(lambda value: isinstance(value, bool), "a boolean")
_DICT = Leaf(lambda value: isinstance(value, Mapping), "an object")


def _literal(choices: tuple[object, ...]) -> Leaf:
    names = tuple(str.__str__(choice) for choice in choices if isinstance(choice, str))
    return Leaf(lambda value: isinstance(value, str) and value in names, f"one of {', '.join(names)}")


def _integer(low: float, high: float) -> Leaf:
    def accepts(value: object) -> bool:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool) and low <= value <= high  # type: ignore[operator]

    return Leaf(accepts, f"an integer from {low} to {high}")


def _pattern(pattern: str) -> Leaf:
    compiled = re.compile(pattern.removeprefix("^").removesuffix("$"))
    return Leaf(lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None, "a JSON pointer")


def _shape(annotation: Any, metadata: Iterable[object] = ()) -> Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        constraints = arguments[1].metadata if isinstance(arguments[1], FieldInfo) else arguments[1:]
        return _shape(arguments[0], constraints)
    if origin is Union or origin is types.UnionType:
        members = [argument for argument in arguments if argument is not type(None)]
        return _shape(members[0], metadata) if len(members) == 1 else _union(members)
    if origin is list:
        minimum = next((rule.min_length for rule in metadata if isinstance(rule, MinLen)), 0)
        return Array(_shape(arguments[0]), minimum)
    if origin is Literal:
        return _literal(arguments)
    if isinstance(annotation, type) and issubclass(annotation, GeneratedBaseModel):
        return record_of(annotation)
    return _leaf(annotation, origin, metadata)


def _leaf(annotation: Any, origin: Any, metadata: Iterable[object]) -> Leaf:
    if annotation is int:
        low = next((rule.ge for rule in metadata if isinstance(rule, Ge)), -(2**53) + 1)
        high = next((rule.le for rule in metadata if isinstance(rule, Le)), 2**53 - 1)
        return _integer(float(str(low)), float(str(high)))
    if annotation is str:
        pattern = next((found for rule in metadata if (found := getattr(rule, "pattern", None))), None)
        return _pattern(pattern) if pattern else _TEXT
    if annotation is bool:
        return _FLAG
    if origin is dict:
        return _DICT
    if annotation is Any:
        return _ANYTHING
    raise TypeError(f"the AG-UI models use an annotation that has no shape here: {annotation}")


def _union(members: list[Any]) -> Shape:
    if members[0] is str:
        return TextOr(Array(_shape(get_args(members[1])[0]), 0))
    first = members[0].model_fields
    key = next(name for name in ("type", "role", "op") if name in first)
    return Tagged(key, {_tag(member, key): record_of(member) for member in members})


def _tag(model: type[GeneratedBaseModel], key: str) -> str:
    return str.__str__(get_args(model.model_fields[key].annotation)[0])


@cache
def record_of(model: type[GeneratedBaseModel]) -> Record:
    """Return the shape of one of the SDK's models."""
    fields = {}
    for name, info in model.model_fields.items():
        required = info.is_required() or info.default is not None
        # The state of an input is the one optional field that may be null.
        nullable = model is RunAgentInput and name == "state"
        fields[info.alias or name] = Field(_shape(info.annotation, info.metadata), required, nullable)
    return Record(fields, open="op" in model.model_fields)


EVENTS: Final[dict[str, type[GeneratedBaseModel]]] = {
    _tag(model, "type"): model for model in get_args(get_args(Event)[0])
}
"""Every event type that AG-UI 1.0 knows, with its model."""


def parse_event(event: Mapping[str, object] | BaseEvent) -> Event | None:
    """Return ``event``, a wire object or an SDK event, as a conforming SDK event.

    ``None`` stands for an event whose type AG-UI 1.0 does not know. Unknown properties, and list elements or
    optional values of an unknown kind, are removed at any depth, never inside open payloads; spellings from
    before 1.0 are read as the reference client does. Each of these is logged as one warning. A malformed value
    of a known field raises :class:`ProtocolError` (``malformed-event``): a wrong type, a missing field, a null
    where the field is merely optional. An integer may be spelt ``1.0``, as everywhere in JSON.
    """
    parsed, notes = examine(event)
    log_notes(notes)
    return parsed


def examine(event: Mapping[str, object] | BaseEvent) -> tuple[Event | None, list[str]]:
    """Do as :func:`parse_event`, but return what it would log."""
    notes: list[str] = []
    wire = modernise(wire_fields(event) if isinstance(event, BaseEvent) else event, notes)
    kind = wire.get("type")
    if not isinstance(kind, str) or not kind:
        raise ProtocolError("no-event-type", "Invalid event: it carries no event type.", wire)
    kind = str.__str__(kind)
    model = EVENTS.get(kind)
    if model is None:
        return None, [*notes, f"unknown type {kind!r}, dropped"]
    shape = record_of(model)
    removed: list[str] = []
    kept = strip(wire, shape, "", removed)
    notes += [f"unknown {path} in {kind}, removed" for path in removed]
    try:
        check(kept, shape, "")
        return cast("Event", model.model_validate(kept)), notes
    except (MalformedError, ValidationError) as error:
        raise ProtocolError("malformed-event", f"Malformed {kind}: {error}", wire) from error


def log_notes(notes: Iterable[str]) -> None:
    """Log what :func:`examine` noted, one warning each."""
    for note in notes:
        _log.warning("AG-UI: %s", note)
