"""The schema stage: unknown parts are removed, malformed ones end the run (AG-UI 1.0, enforcement).

Wire objects and SDK events enter; conforming SDK objects leave. The SDK's generated models are
laxer than the AG-UI schema: they take nulls for optional fields, keep unknown fields and default
the discriminators. So a *shape* is read once from each model, and values are cut to it as the
reference client does; then pydantic validates them in strict mode. Before that, `old_spellings`
replaces what 1.0 spells in another way. Not covered is the `THINKING_*` family: its events are of
unknown type.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from ag_ui import core as agui
from ag_ui.core import Event
from ag_ui.core.types import GeneratedBaseModel
from pydantic import ValidationError

from langgraph_agui.kernel.quoting import printable, quoted
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.protocol.old_spellings import Wire, modern_event, modern_input
from langgraph_agui.protocol.wire import ProtocolError, wire_fields

logger = run_logger(__name__)

Model = TypeVar("Model", bound=GeneratedBaseModel)

# How many warnings are logged about one event, and how many are shown of those about one input.
_MOST_NOTES: Final = 20
_SHOWN: Final = 5


def parse_event(event: Wire | agui.BaseEvent) -> Event | None:
    """Return a wire object or an SDK event as a conforming SDK event; None if AG-UI 1.0 does not
    know its type.

    Unknown properties, and list elements or optional values of an unknown kind, are removed at any
    depth, but never inside open payloads. Spellings from before 1.0 are read, also some that the
    reference client refuses. Each of these is logged as one warning. An integer may be spelt `1.0`,
    as everywhere in JSON.

    Raises:
        ProtocolError: A known field is malformed (`malformed-event`): a wrong type, a missing
            field, a null where the field is merely optional. Or the event has no type
            (`no-event-type`).
    """
    parsed, notes = examine(event)
    log_notes(notes)
    return parsed


def examine(event: Wire | agui.BaseEvent) -> tuple[Event | None, list[str]]:
    """Do the same as `parse_event`, but return the warnings instead of logging them."""
    wire = wire_fields(event) if isinstance(event, agui.BaseEvent) else event
    kind = wire.get("type")
    model = _EVENTS.get(kind) if isinstance(kind, str) else None
    if model is not None and (plain := _plain_event(wire, model)) is not None:
        return plain, []
    notes: list[str] = []
    wire = modern_event(wire, notes)
    if not isinstance(kind, str) or not kind:
        raise ProtocolError("no-event-type", "Invalid event: it carries no event type.", wire)
    kind = str.__str__(kind)
    if model is None:
        return None, [*notes, f"unknown type {kind!r}, dropped"]
    return cast("Event", _conform(wire, model, kind, "malformed-event", notes)), notes


def _plain_event(wire: Wire, model: type[GeneratedBaseModel]) -> Event | None:
    """Return an event that pydantic can judge alone, as most of a stream can; None for any other,
    valid or not.
    """
    shape = _object_of(model)
    try:
        is_plain = shape.required <= wire.keys() <= shape.plain and None not in wire.values()
        return model.__pydantic_validator__.validate_python(wire, strict=True) if is_plain else None
    except Exception:  # it is malformed, or a value of user code cannot be compared
        return None


def parse_input(value: Wire, notes: list[str] | None = None) -> agui.RunAgentInput:
    """Return a client's input as a `RunAgentInput`, as a producer must read it (AG-UI 1.0, run
    input).

    Absent lists and objects count as empty. Unknown members, roles and content parts are removed
    with a warning, so that a newer client is served. The warnings are logged, and added to `notes`.

    Raises:
        ProtocolError: A value is malformed (`malformed-input`).
    """
    notes = [] if notes is None else notes
    try:
        return _read_input(value, notes)
    finally:
        if notes:
            logger.warning("AG-UI: %s", summary(notes))
            count_dropped("input", len(notes))


def _read_input(value: Wire, notes: list[str]) -> agui.RunAgentInput:
    wire = {**_ABSENT, **modern_input(value, notes)}
    if wire["state"] is None:
        wire["state"] = {}
    return _conform(wire, agui.RunAgentInput, "RunAgentInput", "malformed-input", notes)


def known_messages(messages: object) -> list[agui.Message]:
    """Return messages as SDK objects; each may be one already, or a wire object.

    Unknown and malformed ones are logged and left out: one bad message must not cost the client its
    conversation.

    Args:
        messages: A list of messages, a `MessagesSnapshotEvent`, or an object with a `messages`
            member.
    """
    if isinstance(messages, Mapping):
        messages = messages.get("messages", ())
    if isinstance(messages, agui.MessagesSnapshotEvent):
        messages = messages.messages
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes):
        logger.warning("A %s has no AG-UI messages and was left out.", type(messages).__name__)
        count_dropped("input")
        return []
    known: list[agui.Message] = []
    notes: list[str] = []
    for message in messages:
        if isinstance(message, _MESSAGE_TYPES):
            known.append(cast("agui.Message", message))
        elif isinstance(message, Mapping):
            try:
                known += _read_input(
                    {"threadId": "", "runId": "", "messages": [message]}, notes
                ).messages
            except ProtocolError as error:
                notes.append(f"a message was left out: {error}")
        else:
            notes.append(f"a {type(message).__name__} is not a message and was left out")
    if notes:
        logger.warning("AG-UI: %s", summary(notes))
        count_dropped("input", len(notes))
    return known


def messages_in(text: str | bytes) -> list[Mapping[str, object]]:
    """Return the messages in JSON text: a list of them, or an object with a `messages` member.

    Raises:
        ValueError: It is something else.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"Expected AG-UI messages, or a JSON list of them; this text is not JSON: {error}"
        ) from error
    listed = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError(
            f"Expected AG-UI messages, or a JSON list of them; this JSON is "
            f"{printable(str(value), 80)!r}"
        )
    return listed


def log_notes(notes: Sequence[str]) -> None:
    """Log each warning that `examine` returned, but not thousands."""
    for note in notes[:_MOST_NOTES]:
        logger.warning("AG-UI: %s", printable(note))
    if len(notes) > _MOST_NOTES:
        logger.warning("AG-UI: and %d more of these", len(notes) - _MOST_NOTES)


def summary(notes: Sequence[str]) -> str:
    """Return the first warnings about a client's input, in one line."""
    first = "; ".join(map(printable, notes[:_SHOWN]))
    return f"{first}; … ({len(notes)} in all)" if len(notes) > _SHOWN else first


def _conform(wire: Wire, model: type[Model], name: str, code: str, notes: list[str]) -> Model:
    """Return a wire object as the SDK's `model`, without its unknown parts; these are added to
    `notes`.
    """
    walk = _Walk()
    kept = walk.cut(wire, _object_of(model), "")
    notes += [f"unknown {path} in {name}, removed" for path in walk.removed]
    try:
        if not walk.errors:
            return model.model_validate(kept, strict=True)
        reason = walk.errors[0]
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = f"{_pointer(kept, first['loc'])}: {first['msg']}"
    raise ProtocolError(code, f"Malformed {name}: {reason}", wire)


def _pointer(value: Any, location: Sequence[str | int]) -> str:
    """Return the path of an error. Pydantic's location also names members of unions, which are no
    steps.
    """
    path = ""
    for number, step in enumerate(location, 1):
        if isinstance(value, Mapping) and (step in value or number == len(location)):
            path, value = f"{path}/{step}", value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            path, value = f"{path}/{step}", value[step]
    return path


# -- shapes --------------------------------------------------------------------------------------


class _Object(NamedTuple):
    """The objects of one model. An `open` one keeps properties that the model does not have."""

    fields: dict[str, _Field]
    open: bool
    required: frozenset[str]
    plain: frozenset[str]  # fields that pydantic judges alone, if not null


class _Field(NamedTuple):
    """A property; an optional one may be absent, which null is not."""

    shape: _Shape
    required: bool
    nullable: bool


class _List(NamedTuple):
    """A list of one shape."""

    item: _Shape


class _Union(NamedTuple):
    """A union of objects that one property distinguishes."""

    key: str
    members: dict[str, _Object]


# The parts of a value that pydantic does not judge alone; None if there are none.
_Shape: TypeAlias = _Object | _List | _Union | type[int] | None

# Stands for a value of an unknown kind, which goes as a whole.
_DROP: Final = object()


class _Walk:
    """One comparison of a value with its shape: the paths that were removed, and the errors in the
    rest.
    """

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.errors: list[str] = []

    def cut(self, value: object, shape: _Shape, path: str) -> object:
        """Return `value` without fields that `shape` does not describe.

        `_DROP` stands for a member of a union that is not known: its list loses the element, an
        optional property goes, a required one takes its object along. A value of a wrong type is
        left to pydantic.
        """
        if shape is int:
            return int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(shape, _List):
            return self._list(value, shape, path) if isinstance(value, list | tuple) else value
        if shape is None:
            return value
        fields = wire_fields(value) if isinstance(value, GeneratedBaseModel) else value
        if not isinstance(fields, Mapping):
            return value
        member: _Object | None
        if isinstance(shape, _Union):
            tag = fields.get(shape.key)
            member = shape.members.get(tag) if isinstance(tag, str) else None
        else:
            member = cast("_Object", shape)
        removed, errors = len(self.removed), len(self.errors)
        kept = _DROP if member is None else self._object(fields, member, path)
        if kept is _DROP:  # the values inside are gone
            del self.removed[removed:], self.errors[errors:]
        return kept

    def _object(self, values: Wire, shape: _Object, path: str) -> object:
        result: dict[str, object] = {}
        for key, value in values.items():
            known = shape.fields.get(key)
            if known is None:
                kept = value if shape.open else _DROP
            else:
                if value is None and not known.nullable:
                    self.errors.append(
                        f"{path}/{key} is null; an optional field without a value is left out"
                    )
                kept = (
                    value if known.shape is None else self.cut(value, known.shape, f"{path}/{key}")
                )
            if kept is not _DROP:
                result[key] = kept
            elif known is not None and known.required:
                return _DROP
            else:
                self.removed.append(f"{path}/{key}")
        for key, known in shape.fields.items():
            if known.required and key not in values:
                self.errors.append(f"{path}/{key} is missing")
        return result

    def _list(self, values: Iterable[object], shape: _List, path: str) -> object:
        result = []
        for index, item in enumerate(values):
            kept = self.cut(item, shape.item, f"{path}/{index}")
            if kept is _DROP:
                self.removed.append(f"{path}/{index}{_unknown_tag(item, shape.item)}")
            else:
                result.append(kept)
        return result


def _unknown_tag(item: object, shape: _Shape) -> str:
    """Return the value that makes an item one of an unknown kind, and the kinds that are known."""
    tag = item.get(shape.key) if isinstance(shape, _Union) and isinstance(item, Mapping) else None
    if not isinstance(shape, _Union) or not isinstance(tag, str) or tag in shape.members:
        return ""
    return f" ({shape.key} {quoted(tag)}, not {', '.join(shape.members)})"


@cache
def _object_of(model: type[GeneratedBaseModel]) -> _Object:
    fields = {}
    for name, info in model.model_fields.items():
        required = info.is_required() or info.default is not None
        # The state of an input is the one optional field that may be null.
        nullable = required or (model is agui.RunAgentInput and name == "state")
        fields[info.alias or name] = _Field(_shape_of(info.annotation), required, nullable)
    named = frozenset(name for name, one in fields.items() if one.required)
    plain = frozenset(name for name, one in fields.items() if one.shape in (None, int))
    return _Object(fields, "op" in model.model_fields, named, plain)


def _shape_of(annotation: Any) -> _Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape_of(arguments[0])
    if origin is list:
        return _List(_shape_of(arguments[0]))
    if origin is Union or origin is types.UnionType:
        members = [one for one in arguments if one not in (type(None), str)]
        if len(members) > 1:
            key = next(name for name in ("type", "role", "op") if name in members[0].model_fields)
            return _Union(key, {_tag(member, key): _object_of(member) for member in members})
        return _shape_of(members[0]) if members else None
    if isinstance(annotation, type) and issubclass(annotation, GeneratedBaseModel):
        return _object_of(annotation)
    return int if annotation is int else None


def _tag(model: type[GeneratedBaseModel], key: str) -> str:
    return str.__str__(get_args(model.model_fields[key].annotation)[0])


_MESSAGE_TYPES: tuple[type, ...] = get_args(get_args(agui.Message)[0])
# The values of absent members of the input.
_ABSENT: Wire = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}

# Every event type that AG-UI 1.0 knows, with its model.
_EVENTS: Final[dict[str, type[GeneratedBaseModel]]] = {
    _tag(model, "type"): model for model in get_args(get_args(Event)[0])
}
