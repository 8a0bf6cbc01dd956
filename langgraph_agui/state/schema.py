"""Reads the types of a state: which keys are private, and which JSON values fit a key.

Schemas (TypedDicts, dataclasses, pydantic models) and JSON values enter; Python values and problems
leave. Problems name places, never values, so they can be shown and logged.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from inspect import get_annotations
from types import GenericAlias
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    NewType,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from langchain_core.messages import BaseMessage
from langgraph.graph.message import add_messages
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from langgraph_agui.kernel.quoting import printable, quoted
from langgraph_agui.nodes import Private
from langgraph_agui.protocol.json import dump_json, plain_copy, to_jsonable

# Pydantic's types of errors whose text may quote the data or come from the application.
_QUOTING: Final = {
    "value_error",
    "assertion_error",
    "union_tag_invalid",
    "uuid_parsing",
    "timezone_offset",
    "mapping_type",
    "iteration_error",
    "get_attribute_error",
    "json_invalid",
    "datetime_object_invalid",
    "bytes_invalid_encoding",
}

_PLAIN: Final = frozenset(get_args(core_schema.ErrorType)) - _QUOTING
# How many problems a message describes.
_MAX_PROBLEMS: Final = 5


class Problem(NamedTuple):
    """A value that does not fit: its path, the key of the state first, and pydantic's text if that
    is safe to show.
    """

    path: tuple[str | int, ...]
    text: str = ""

    @property
    def key(self) -> str:
        """The key of the state; "" if the problem is about the whole state."""
        return str(self.path[0]) if self.path else ""


def describe(problems: Iterable[Problem], what: str = "does not fit") -> str:
    """Return one sentence per key of the state: `The state 'x' does not fit: place: reason`."""
    problems = sorted(problems, key=lambda problem: problem.key)
    sentences: dict[str, list[str]] = {}
    for problem in problems[:_MAX_PROBLEMS]:
        start = f"The state {quoted(problem.key)} {what}" if problem.path else f"The state {what}"
        place = ".".join(printable(str(part), 80) for part in problem.path[1:])[:200]
        reason = ": ".join(text for text in (place, problem.text) if text)
        sentences.setdefault(start, []).extend([reason] if reason else [])
    texts = [
        f"{start}: {'; '.join(reasons)}" if reasons else start
        for start, reasons in sentences.items()
    ]
    if len(problems) > _MAX_PROBLEMS:
        texts.append(f"And {len(problems) - _MAX_PROBLEMS} more")
    return ". ".join(texts)


# -- annotations ---------------------------------------------------------------------------------


class Unread(str):
    """The text of an annotation whose names cannot be found."""


def hints_of(schema: object) -> dict[str, object]:
    """Return the annotations of a schema by key; none for anything that has none."""
    if not hasattr(schema, "__annotations__"):
        return {}
    try:
        return get_type_hints(schema, include_extras=True)
    except Exception:  # an annotation may be any expression
        return _single_hints(schema)


def _single_hints(schema: object) -> dict[str, object]:
    """Return the annotations of a schema, each evaluated on its own."""
    found: dict[str, object] = {}
    for base in reversed(schema.__mro__ if isinstance(schema, type) else ()):
        for key, annotation in get_annotations(base).items():
            carrier = type(
                key, (), {"__annotations__": {key: annotation}, "__module__": base.__module__}
            )
            try:
                found[key] = get_type_hints(carrier, include_extras=True)[key]
            except Exception:  # as above
                found[key] = Unread(getattr(annotation, "__forward_arg__", annotation))
    return found


def is_private(hint: object) -> bool:
    """Return whether a key is hidden from clients: it is marked `Private`, or is a constant of the
    class.
    """
    for part in _parts(hint):
        if isinstance(part, type(Private)) or part is ClassVar:
            return True
        if isinstance(part, Unread) and re.search(r"\bPrivate\b", part):
            return True
    return False


def hides_reducer(hint: object) -> bool:
    """Return whether `Private` stands behind a reducer: LangGraph looks for the reducer in the last
    place.
    """
    found = (getattr(part, "__metadata__", ()) for part in _parts(hint))
    marked = next(
        (metadata for metadata in found if metadata and isinstance(metadata[-1], type(Private))), ()
    )
    return any(callable(one) and not isinstance(one, type) for one in marked[:-1])


def holds_messages(hint: object) -> bool:
    """Return whether a key holds messages: alone, in a collection or in the fields of a class."""
    waiting, seen = [hint], set[int]()
    while waiting:
        for part in _parts(waiting.pop()):
            if part is add_messages or (isinstance(part, type) and issubclass(part, BaseMessage)):
                return True
            if isinstance(part, type) and id(part) not in seen and "__annotations__" in vars(part):
                seen.add(id(part))
                waiting.extend(hints_of(part).values())
    return False


def _parts(hint: object) -> Iterator[object]:
    """Yield an annotation and all its parts."""
    pending = [hint]
    seen: dict[int, object] = {}  # keeps them alive, so that ids stay unique
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        if (origin := get_origin(part)) is not None:
            pending.extend((origin, *get_args(part)))
        if isinstance(part, list):  # the parameters of a Callable
            pending.extend(part)
        if isinstance(part, NewType):
            pending.append(part.__supertype__)
        if type(part).__name__ == "TypeAliasType":
            with suppress(Exception):  # an alias is evaluated only now
                pending.append(cast("Any", part).__value__)


def types_of(schema: object) -> "dict[str, KeyType]":
    """Return the type of each key of a schema."""
    config = ConfigDict(extra="allow")  # a TypedDict keeps the keys that its type does not name
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        config |= schema.model_config
    fields: Mapping[str, FieldInfo] = getattr(schema, "__pydantic_fields__", {})
    hints = hints_of(schema)
    for name, field in fields.items():
        hints[name] = _annotated(field.annotation, [field])
    return {key: KeyType(hint, config) for key, hint in hints.items()}


def _annotated(bare: object, metadata: Iterable[object]) -> object:
    """Return `bare` with metadata. Pydantic ignores metadata that it does not know: reducers,
    channels and markers.
    """
    kept: list[object] = []
    for item in metadata:
        if not isinstance(item, FieldInfo):
            kept.append(item)
            continue
        kept.extend(item.metadata)  # its alias and default belong to the key, not to the type
        if item.discriminator is not None:
            kept.append(Field(discriminator=item.discriminator))
    return Annotated[cast("Any", (bare, *kept))] if kept else bare


def _opened(hint: object) -> tuple[object, list[object]]:
    """Return the type in an annotation, and the metadata around it."""
    metadata: list[object] = []
    while (origin := get_origin(hint)) is not None:
        if origin is Annotated:
            hint, *outer = get_args(hint)
            metadata = [*outer, *metadata]
        elif getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly", "Final"):
            (hint,) = get_args(hint)
        else:
            break
    return hint, metadata


# -- values --------------------------------------------------------------------------------------


class KeyType:
    """The type of one key of a state.

    Args:
        hint: The key's annotation.
        config: The pydantic configuration to read it with.
    """

    def __init__(self, hint: object, config: ConfigDict) -> None:
        self._hint = hint
        self._config = config
        bare, metadata = _opened(hint)
        self._plain = not metadata and _is_plain(bare)

    def load(self, key: str, value: object) -> tuple[object, list[Problem]]:
        """Return the Python value of a JSON value at `key`, such as a date, and the problems if it
        does not fit.

        The value is returned as it is if pydantic does not understand the type.
        """
        if self._adapter is None:
            return to_jsonable(value), []
        if self._plain:
            with suppress(ValueError, TypeError):  # it does not fit, or is no JSON data
                (loaded,) = self._adapter.validate_python((plain_copy(value),), strict=True)
                return loaded, []
        try:
            (loaded,) = self._adapter.validate_json(f"[{dump_json(value)}]")
            return loaded, []
        except (PydanticUserError, PydanticUndefinedAnnotation):  # the type is not complete
            return value, []
        except Exception as error:
            found = _problems(error)
            return value, [Problem((key, *problem.path[1:]), problem.text) for problem in found]

    @property
    def readable(self) -> bool:
        """Whether pydantic understands the type."""
        return self._adapter is not None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any] | None:
        """An adapter of a tuple, because a TypedDict itself takes no configuration."""
        bare, metadata = _opened(self._hint)
        # LangGraph reads more forms of messages than pydantic does.
        if holds_messages(bare) or (bare in (Any, object) and not metadata):
            return None
        for hint in (_annotated(bare, metadata), bare):
            # Pydantic may have no schema for it, or not find the name of a type.
            with suppress(Exception):
                return TypeAdapter(GenericAlias(tuple, (hint,)), config=self._config)
        return None


def _is_plain(hint: object) -> bool:
    """Return whether JSON values are values of this type as they stand, so that none is
    converted.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is dict:
        return not arguments or (arguments[0] is str and _is_plain(arguments[1]))
    return hint in (Any, object, str, bool) or (origin is list and all(map(_is_plain, arguments)))


def misfits(validate: Callable[[], object]) -> list[Problem]:
    """Return the problems of a part of a state with its model, also with keys that are absent.

    Args:
        validate: Runs the model's validation.

    Returns:
        The problems; one with an empty path if the model refuses the state as a whole.
    """
    try:
        validate()
    except Exception as error:
        return _problems(error)
    return []


def _problems(error: Exception) -> list[Problem]:
    if not isinstance(error, ValidationError):
        return [Problem(())]  # raised by a validator, which may count on a key that is absent
    return [
        Problem(details["loc"], details["msg"] if details["type"] in _PLAIN else "")
        for details in error.errors(include_url=False, include_context=False, include_input=False)
    ]


# -- the agent's schema --------------------------------------------------------------------------


def keys_of(schema: type[BaseModel]) -> dict[str, str]:
    """Return the keys of a model's JSON form, each with the name of its field."""
    named = schema.model_config.get("populate_by_name") or schema.model_config.get(
        "validate_by_name"
    )
    found: dict[str, str] = {}
    for name, field in schema.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        found |= {choice: name for choice in choices if isinstance(choice, str)}
        if alias is None or named:
            found[name] = name
    return found


def state_json_schema(
    schema: type[BaseModel], shows: Callable[[str], bool] = lambda key: True
) -> dict[str, object]:
    """Return the JSON schema of a state that `schema` describes, without the keys that `shows`
    refuses.

    It is the schema of the model's input, by alias: output is checked by the same rules as
    input, and a key with a default may be absent.

    Raises:
        ValueError: A field is of a type that JSON schemas do not know.
    """
    hidden = {name for key, name in keys_of(schema).items() if not shows(key)}

    class ShownFields(GenerateJsonSchema):
        def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> dict[str, Any]:
            if schema.get("model_name") == root:
                schema = schema.copy()
                schema["fields"] = {
                    name: one for name, one in schema["fields"].items() if name not in hidden
                }
            return super().model_fields_schema(schema)

    root = schema.__name__
    try:
        return schema.model_json_schema(schema_generator=ShownFields)
    except PydanticInvalidForJsonSchema as error:
        raise ValueError(f"{root} has no JSON schema: {error.message}") from error
