"""Checks of options, when they are given: the errors say what was expected, and how it is written.

In: the name of an option, its value, and its annotation. Out: a `TypeError` or a `ValueError`.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from itertools import product
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

# How errors name the classes of `collections.abc`.
_PLAIN_NAMES: Final[Mapping[object, str]] = {
    Callable: "function",
    Collection: "list",
    Mapping: "dict",
    Sequence: "list",
}


def check_choice(name: str, value: object, choices: object) -> None:
    """Check that the option `name` has one of the values in `choices`, a `Literal`.

    Raises:
        ValueError: It has another value.
    """
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


def check_names(
    owner: str,
    given: Collection[str],
    known: Collection[str],
    spellings: Mapping[str, str] | None = None,
) -> None:
    """Check that `owner` takes all options that it is given.

    Args:
        owner: The class or function, for the error.
        given: The names of the options that it was given.
        known: The names of those that it takes.
        spellings: How an option is written that was probably meant, by names; by default those in
            `known`, as they stand.

    Raises:
        TypeError: It does not take one of them.
    """
    for name in sorted(set(given).difference(known)):
        meant = {one: repr(one) for one in known} if spellings is None else spellings
        close = get_close_matches(name, meant, 1)
        hint = f": did you mean {meant[close[0]]}?" if close else ""
        raise TypeError(f"{owner} takes no option {name!r}{hint}")


def check_type(name: str, value: object, annotation: object, written: str | None = None) -> None:
    """Check that the option `name` is of one of the classes in `annotation`; anything fits one that
    is not of classes. The items of a list are checked too.

    Args:
        name: The option; behind the class and a dot, if it is in a group.
        value: Its value.
        annotation: Its annotation.
        written: How a value is written; by default the first class that is none of Python's own,
            with the options that `value` has for it.

    Raises:
        TypeError: It is of another class.
    """
    if (wrong := _mismatch(value, annotation)) is not None:
        line = written or _line(annotation, value)
        raise TypeError(f"{name} must be {wrong[0]}, not {wrong[1]}{_hint(name, line)}")
    if not isinstance(value, Collection) or isinstance(value, str | Mapping):
        return
    kinds = [kind for kind in _kinds(annotation) if get_origin(kind) in (Collection, Sequence)]
    for item, kind in product(value, kinds):
        [inner] = get_args(kind)
        if (wrong := _mismatch(item, inner)) is not None:
            line = _line(kind, item)
            raise TypeError(
                f"{name} must be a list of {wrong[0]}, not of {wrong[1]}{_hint(name, line)}"
            )


def check_fields(group: object) -> None:
    """Check the fields of a dataclass by their annotations.

    Raises:
        TypeError: One is of another class.
        ValueError: One has a value that it cannot have.
    """
    owner = type(group).__name__
    for name, annotation in _hints(type(group)).items():  # type: ignore[arg-type]  # has a hash
        check = check_choice if get_origin(annotation) is Literal else check_type
        check(f"{owner}.{name}", getattr(group, name), annotation)


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """Return the annotations of a class, resolved once: each agent has options of the same classes,
    and each interrupt a question.
    """
    return get_type_hints(cls)


def _mismatch(value: object, annotation: object) -> tuple[str, str] | None:
    """Return the names of the classes in an annotation, and that of a value's class, if the value
    is of none of them; None if it fits.
    """
    kinds = _kinds(annotation)
    origins = [get_origin(kind) or kind for kind in kinds]
    classes = tuple(one for one in origins if isinstance(one, type))
    if len(classes) < len(kinds) or _is_one(value, classes):
        return None
    given = _names([type(value)], *classes)
    if isinstance(value, type):
        given = f"the class {value.__name__}"
    return _names(classes, type(value)), given


def _kinds(annotation: object) -> tuple[object, ...]:
    """Return the members of a union; anything else alone."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _is_one(value: object, classes: tuple[type[Any], ...]) -> bool:
    """Return whether a value is of one of the classes. A text is no list of its letters, True is no
    number, and an integer is a float.
    """
    if isinstance(value, str | bytes | bool):
        strict = tuple(one for one in classes if one is not int and one not in _PLAIN_NAMES)
        return issubclass(type(value), strict)
    return isinstance(value, classes) or (float in classes and isinstance(value, int))


def _names(classes: Collection[type[Any]], *others: type[Any]) -> str:
    """Return the names of classes, with their packages if one of the others has the same name."""
    known = [one for one in classes if one is not type(None)] or [*classes]
    same = {one.__name__ for one in set(others).difference(known)}
    is_same = bool(same.intersection(one.__name__ for one in known))
    package = [f"{one.__module__.partition('.')[0]}." if is_same else "" for one in known]
    names = [_PLAIN_NAMES.get(one, one.__name__) for one in known]
    return " or ".join(map("".join, zip(package, names, strict=True)))


def _hint(name: str, line: str | None) -> str:
    """Return the end of an error: how the option is written."""
    if line is None:
        return ""
    owner, _, option = name.rpartition(".")
    return f": write {owner}({option}={line})" if owner else f": write {option}={line}"


def _line(annotation: object, value: object) -> str | None:
    """Return how a value is written that fits; None if it is of one of Python's own classes."""
    for kind in _kinds(annotation):
        cls = get_origin(kind) or kind
        if cls in (Collection, Sequence):
            [item] = get_args(kind)
            if isinstance(value, str) and str in _kinds(item):
                return f"[{value!r}]"
            line = _line(item, value)
            return f"[{line}]" if line else None
        if isinstance(cls, type) and _is_foreign(cls):
            return _written(cls, value)
    return None


def _is_foreign(cls: type[Any]) -> bool:
    """Return whether a class is none of Python's own."""
    return cls.__module__.partition(".")[0] not in sys.stdlib_module_names


def _written(cls: type[Any], value: object) -> str:
    """Return how an object of a class is made of a value: of a mapping, by its keys; of a function,
    by its name. The values of options may be secret.
    """
    name, parts = _names([cls], type(value)), []
    function = getattr(value, "__name__", None)
    if isinstance(function, str) and not isinstance(value, type):
        return f"{name}({function})"
    for field, annotation in _fields(cls).items():
        if isinstance(value, Mapping) and field in value:
            parts.append(f"{field}=...")
        elif _takes(annotation, value):
            parts.append(f"{field}={_written(annotation, value)}")
    return f"{name}({', '.join(parts) or '...'})"


def _fields(cls: type[Any]) -> dict[str, Any]:
    """Return the annotations of a dataclass's fields; none of another class's."""
    if not is_dataclass(cls):
        return {}
    hints = _hints(cls)
    return {one.name: hints[one.name] for one in fields(cls) if one.init}


def _takes(annotation: Any, value: object) -> bool:
    """Return whether a field takes a group of options that a value is, or has options for."""
    options = _fields(annotation) if isinstance(annotation, type) else {}
    if isinstance(value, Mapping):
        return bool(options.keys() & value.keys())
    return bool(options) and isinstance(value, annotation)
