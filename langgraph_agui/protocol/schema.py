"""A consumer's schema stage: unknown parts are removed, malformed ones end the run (AG-UI 1.0, enforcement).

Wire objects and SDK events enter; conforming SDK objects leave. The SDK's generated models are laxer than the AG-UI
schema: they take nulls for optional fields, coerce, keep unknown fields and default the discriminators. So a *shape* is
read once from each model, and values are compared with it as the reference client does. Before that, spellings from
before AG-UI 1.0 are replaced by theirs of 1.0. Not covered is the `THINKING_*` family: its events are of unknown type.
"""

from __future__ import annotations

import logging
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from ag_ui.core import BaseEvent, Event, RunAgentInput
from ag_ui.core.types import GeneratedBaseModel
from annotated_types import Ge, Le, MinLen
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from langgraph_agui.protocol.wire import ProtocolError, wire_fields

logger = logging.getLogger(__name__)

Wire: TypeAlias = Mapping[str, object]
Model = TypeVar("Model", bound=GeneratedBaseModel)


class MalformedError(Exception):
    """A value is not what the schema says; `str()` names the place."""


def parse_event(event: Wire | BaseEvent) -> Event | None:
    """Return a wire object or an SDK event as a conforming SDK event; None if AG-UI 1.0 does not know its type.

    Unknown properties, and list elements or optional values of an unknown kind, are removed at any depth, but never
    inside open payloads. Spellings from before 1.0 are read as the reference client reads them. Each of these is logged
    as one warning. An integer may be spelt `1.0`, as everywhere in JSON.

    Raises:
        ProtocolError: A known field is malformed (`malformed-event`): a wrong type, a missing field, a null where the
            field is merely optional. Or the event has no type (`no-event-type`).
    """
    parsed, notes = examine(event)
    log_notes(notes)
    return parsed


def examine(event: Wire | BaseEvent) -> tuple[Event | None, list[str]]:
    """Do the same as `parse_event`, but return the warnings instead of logging them."""
    notes: list[str] = []
    wire = _modernise(wire_fields(event) if isinstance(event, BaseEvent) else event, notes)
    kind = wire.get("type")
    if not isinstance(kind, str) or not kind:
        raise ProtocolError("no-event-type", "Invalid event: it carries no event type.", wire)
    kind = str.__str__(kind)
    model = _EVENTS.get(kind)
    if model is None:
        return None, [*notes, f"unknown type {kind!r}, dropped"]
    try:
        return cast("Event", conform(wire, model, kind, notes)), notes
    except MalformedError as error:
        raise ProtocolError("malformed-event", f"Malformed {kind}: {error}", wire) from error


def log_notes(notes: Iterable[str]) -> None:
    """Log each warning that `examine` returned."""
    for note in notes:
        logger.warning("AG-UI: %s", note)


def conform(wire: Wire, model: type[Model], name: str, notes: list[str]) -> Model:
    """Return a wire object as the SDK's `model`, without its unknown parts; these are added to `notes`.

    Raises:
        MalformedError: The object is not what the schema says.
    """
    walk = _Walk()
    kept = walk.conform(wire, _record_of(model), "")
    notes += [f"unknown {path} in {name}, removed" for path in walk.removed]
    if kept is _DROP:
        raise MalformedError("/ is not an object")
    if walk.error is not None:
        raise MalformedError(walk.error)
    try:
        return model.model_validate(kept)
    except ValidationError as error:
        places = ", ".join("/" + "/".join(str(step) for step in detail["loc"]) for detail in error.errors())
        raise MalformedError(f"{places} cannot be read") from error


# -- shapes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value without parts."""

    accepts: Callable[[object], bool]
    expected: str


@dataclass(frozen=True, slots=True)
class _Field:
    """A property of an object; an optional one may be absent, which null is not."""

    shape: _Shape
    required: bool
    nullable: bool


@dataclass(frozen=True, slots=True)
class _Record:
    """An object with described properties; an `open` one keeps others too."""

    fields: dict[str, _Field]
    open: bool


@dataclass(frozen=True, slots=True)
class _Array:
    """A list of one shape; with `or_text`, a string is accepted as well."""

    item: _Shape
    minimum: int = 0
    or_text: bool = False


@dataclass(frozen=True, slots=True)
class _Tagged:
    """A union of objects that one property tells apart."""

    key: str
    members: dict[str, _Record]


_Shape: TypeAlias = _Leaf | _Record | _Array | _Tagged

_DROP: Final = object()
"""Stands for a value of an unknown kind, which goes as a whole."""


@dataclass(slots=True)
class _Walk:
    """One comparison of a value with its shape: the paths that were removed, and the first error in the rest."""

    removed: list[str] = field(default_factory=list)
    error: str | None = None

    def conform(self, value: object, shape: _Shape, path: str) -> object:
        """Return `value` without what `shape` does not describe.

        `_DROP` stands for a member of a union that is not known: its list loses the element, an optional property goes,
        a required one takes its object along.
        """
        if isinstance(shape, _Leaf):
            if not shape.accepts(value):
                self._fail(f"{path or '/'} is not {shape.expected}")
            return value
        if isinstance(shape, _Array):
            return self._array(value, shape, path)
        fields = wire_fields(value) if isinstance(value, GeneratedBaseModel) else value
        if not isinstance(fields, Mapping):
            self._fail(f"{path or '/'} is not an object")
            return value
        if isinstance(shape, _Record):
            return self._record(fields, shape, path)
        tag = fields.get(shape.key)
        member = shape.members.get(tag) if isinstance(tag, str) else None
        return _DROP if member is None else self._record(fields, member, path)

    def _record(self, values: Wire, shape: _Record, path: str) -> object:
        result: dict[str, object] = {}
        for key, value in values.items():
            place, known = f"{path}/{key}", shape.fields.get(key)
            if known is None and not shape.open:
                self.removed.append(place)
            elif known is None or (value is None and not known.required):
                if known is not None and not known.nullable:
                    self._fail(f"{place} is null; an optional field without a value is left out")
                result[key] = value
            elif (kept := self._part(value, known.shape, place)) is not _DROP:
                result[key] = kept
            elif known.required:
                return _DROP
            else:
                self.removed.append(place)
        for key, known in shape.fields.items():
            if known.required and key not in values:
                self._fail(f"{path}/{key} is missing")
        return result

    def _array(self, value: object, shape: _Array, path: str) -> object:
        if not isinstance(value, list | tuple):
            if not (shape.or_text and isinstance(value, str)):
                self._fail(f"{path} is not a list")
            return value
        result = []
        for index, item in enumerate(value):
            kept = self._part(item, shape.item, f"{path}/{index}")
            if kept is _DROP:
                self.removed.append(f"{path}/{index}")
            else:
                result.append(kept)
        if len(result) < shape.minimum:
            self._fail(f"{path} holds fewer than {shape.minimum} items")
        return result

    def _part(self, value: object, shape: _Shape, path: str) -> object:
        """Do the same as `conform`, and forget what was found inside a part that is dropped."""
        removed, error = len(self.removed), self.error
        kept = self.conform(value, shape, path)
        if kept is _DROP:
            del self.removed[removed:]
            self.error = error
        return kept

    def _fail(self, reason: str) -> None:
        self.error = self.error or reason


@cache
def _record_of(model: type[GeneratedBaseModel]) -> _Record:
    fields = {}
    for name, info in model.model_fields.items():
        required = info.is_required() or info.default is not None
        # The state of an input is the one optional field that may be null.
        nullable = model is RunAgentInput and name == "state"
        fields[info.alias or name] = _Field(_shape_of(info.annotation, info.metadata), required, nullable)
    return _Record(fields, open="op" in model.model_fields)


def _shape_of(annotation: Any, metadata: Sequence[object] = ()) -> _Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        constraints = arguments[1].metadata if isinstance(arguments[1], FieldInfo) else arguments[1:]
        return _shape_of(arguments[0], constraints)
    if origin is Union or origin is types.UnionType:
        members = [argument for argument in arguments if argument is not type(None)]
        return _shape_of(members[0], metadata) if len(members) == 1 else _union_of(members)
    if origin is list:
        return _Array(_shape_of(arguments[0]), next((one.min_length for one in metadata if isinstance(one, MinLen)), 0))
    if isinstance(annotation, type) and issubclass(annotation, GeneratedBaseModel):
        return _record_of(annotation)
    return _leaf_of(annotation, origin, metadata)


def _union_of(members: list[Any]) -> _Shape:
    if members[0] is str:
        return _Array(_shape_of(get_args(members[1])[0]), or_text=True)
    key = next(name for name in ("type", "role", "op") if name in members[0].model_fields)
    return _Tagged(key, {_tag(member, key): _record_of(member) for member in members})


def _tag(model: type[GeneratedBaseModel], key: str) -> str:
    return str.__str__(get_args(model.model_fields[key].annotation)[0])


def _leaf_of(annotation: Any, origin: Any, metadata: Sequence[object]) -> _Leaf:
    if origin is Literal:
        names = {str.__str__(choice) for choice in get_args(annotation)}
        return _Leaf(lambda value: isinstance(value, str) and value in names, f"one of {', '.join(sorted(names))}")
    if annotation is str:
        pattern = next((found for rule in metadata if (found := getattr(rule, "pattern", None))), None)
        if pattern is None:
            return _Leaf(lambda value: isinstance(value, str), "a string")
        compiled = re.compile(pattern.removeprefix("^").removesuffix("$"))
        return _Leaf(lambda value: isinstance(value, str) and bool(compiled.fullmatch(value)), "a JSON pointer")
    if annotation is int:
        low = next((rule.ge for rule in metadata if isinstance(rule, Ge)), -(2**53) + 1)
        high = next((rule.le for rule in metadata if isinstance(rule, Le)), 2**53 - 1)
        return _integer(float(str(low)), float(str(high)))
    if annotation is bool:
        return _Leaf(lambda value: isinstance(value, bool), "a boolean")
    if origin is dict:
        return _Leaf(lambda value: isinstance(value, Mapping), "an object")
    if annotation is Any:
        return _Leaf(lambda value: True, "anything")
    raise TypeError(f"the AG-UI models use an annotation that has no shape here: {annotation}")


def _integer(low: float, high: float) -> _Leaf:
    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (isinstance(value, int) or value.is_integer()) and low <= value <= high

    return _Leaf(accepts, f"an integer from {low} to {high}")


_EVENTS: Final[dict[str, type[GeneratedBaseModel]]] = {
    _tag(model, "type"): model for model in get_args(get_args(Event)[0])
}
"""Every event type that AG-UI 1.0 knows, with its model."""


# -- spellings from before AG-UI 1.0 ----------------------------------------------------------------------------------

_MEDIA: Final = ("image", "audio", "video", "document")
_NULLABLE: Final[Mapping[object, Sequence[str]]] = {
    "RUN_FINISHED": ("result", "outcome"),
    "SUBAGENT_FINISHED": ("result",),
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
}
"""The fields that could be null, by event type."""


def _modernise(event: Wire, notes: list[str]) -> Wire:
    """Return `event` with retired spellings replaced, each named in `notes`; the argument stays as it is."""
    kind = event.get("type")
    event = _without_nulls(event, ("rawEvent", *(_NULLABLE.get(kind, ()) if isinstance(kind, str) else ())), notes)
    if kind == "MESSAGES_SNAPSHOT":
        event = _mapped(event, "messages", _modern_message, notes)
    elif kind == "RUN_STARTED" and isinstance(run_input := event.get("input"), Mapping):
        event = {**event, "input": modernise_input(run_input, notes)}
    return event


def modernise_input(run_input: Wire, notes: list[str]) -> Wire:
    """Return a `RunAgentInput` with retired spellings replaced, each named in `notes`."""
    run_input = _without_nulls(run_input, ("forwardedProps",), notes)
    run_input = _mapped(run_input, "tools", lambda tool, notes: _without_nulls(tool, ("parameters",), notes), notes)
    run_input = _mapped(run_input, "resume", lambda entry, notes: _without_nulls(entry, ("payload",), notes), notes)
    return _mapped(run_input, "messages", _modern_message, notes)


def _modern_message(message: Wire, notes: list[str]) -> Wire:
    message = _mapped(message, "content", _modern_part, notes)
    parts = message.get("content")
    if not isinstance(parts, list) or not any(_is_binary(part) for part in parts):
        return message
    notes.append("deprecated binary content, read as media parts")
    notes += ["binary content without data or url" for part in parts if _is_binary(part) and _source(part) is None]
    media = [_as_media(part) if _is_binary(part) else part for part in parts]
    # A sender may have added the modern form itself, next to the old one.
    kept = [
        new
        for old, new in zip(parts, media, strict=True)
        if new is old or not any(_covers(part, new) for part in parts)
    ]
    return {**message, "content": kept}


def _modern_part(part: Wire, notes: list[str]) -> Wire:
    return _without_nulls(part, ("metadata",), notes) if part.get("type") in _MEDIA else part


def _is_binary(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "binary"


def _as_media(part: Wire) -> Wire:
    mime, source = part.get("mimeType"), _source(part)
    if not isinstance(mime, str) or source is None:
        return part  # a bare file id has no 1.0 form; the part is removed later
    kind = next((kind for kind in _MEDIA[:3] if mime.startswith(f"{kind}/")), "document")
    name = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    return {"type": kind, "source": {"type": source, "value": part[source], "mimeType": mime}, **name}


def _source(part: Wire) -> str | None:
    """Return the field that holds a binary part's content: one that counts as true in JavaScript."""
    return next((name for name in ("data", "url") if part.get(name) not in (None, "", 0)), None)


def _covers(part: object, new: object) -> bool:
    """Return whether `part` has everything that `new` has."""
    if isinstance(new, Mapping):
        return isinstance(part, Mapping) and all(_covers(part.get(key), new[key]) for key in new)
    return type(part) is type(new) and part == new


def _mapped(holder: Wire, key: str, change: Callable[[Wire, list[str]], Wire], notes: list[str]) -> Wire:
    items = holder.get(key)
    if not isinstance(items, list | tuple):
        return holder
    return {**holder, key: [change(item, notes) if isinstance(item, Mapping) else item for item in items]}


def _without_nulls(holder: Wire, keys: Sequence[str], notes: list[str]) -> Wire:
    nulls = [key for key in keys if key in holder and holder[key] is None]
    notes += [f"deprecated null in {key}, read as absent" for key in nulls]
    return {key: value for key, value in holder.items() if key not in nulls} if nulls else holder
