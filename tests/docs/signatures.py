"""An extension of griffe for the API reference, so that a signature says what may be given.

- `**options: Unpack[...]` becomes the options that it stands for. griffe's own `unpack_typeddict`
  leaves out inherited options, and repeats those that the docstring has. Other names than `options`
  stay: the `**switches` of an agent are for migration alone.
- A type alias of the package becomes the type that it stands for.

A page that a docstring names, as in `(guides/state.md)`, becomes a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import (
    Alias,
    Attribute,
    Class,
    Expr,
    ExprBinOp,
    ExprName,
    ExprSubscript,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
)


class SpelledOutSignatures(Extension):
    """Changes the signatures of a package when all of its modules are loaded."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Change them. griffe makes those of dataclasses afterwards, from the attributes."""
        for owner in _documented(pkg):
            owner.docstring.value = _PAGE.sub(r"([\1](../../\1.md))", owner.docstring.value)
        for member in list(_members(pkg)):
            if isinstance(member, Attribute):
                member.annotation = _spelled_out(pkg, member.annotation)
                continue
            for parameter in list(member.parameters):
                annotation = parameter.annotation
                if (
                    parameter.name == "options"
                    and isinstance(annotation, ExprSubscript)
                    and annotation.canonical_path.endswith(".Unpack")
                    and isinstance(annotation.slice, Expr)
                ):
                    del member.parameters[parameter.name]
                    for option in _options(pkg, annotation.slice.canonical_path):
                        member.parameters.add(option)
                else:
                    parameter.annotation = _spelled_out(pkg, annotation)


# The pages of the reference are in `reference/api`.
_PAGE = re.compile(r"\((?:docs/)?((?:[a-z]+/)?[a-z-]+)\.md\)")


def _documented(owner: Module | Class | Function | Attribute) -> Iterator[Any]:
    if owner.docstring is not None:
        yield owner
    for member in owner.members.values():
        if not isinstance(member, Alias):
            yield from _documented(member)


def _members(module: Module | Class) -> Iterator[Function | Attribute]:
    for member in module.members.values():
        if isinstance(member, Function | Attribute):
            yield member
        elif isinstance(member, Module | Class):
            yield from _members(member)


def _options(pkg: Module, path: str) -> Iterator[Parameter]:
    kind = pkg.modules_collection[path]
    for one in [*kind.mro(), kind]:
        for name, key in one.members.items():
            if isinstance(key, Attribute):
                yield Parameter(
                    name,
                    annotation=_spelled_out(pkg, key.annotation),
                    kind=ParameterKind.keyword_only,
                    default="...",
                )


def _spelled_out(pkg: Module, annotation: Any) -> Any:
    """Return an annotation with the types that aliases of the package stand for."""
    if isinstance(annotation, ExprBinOp):
        left, right = (_spelled_out(pkg, side) for side in (annotation.left, annotation.right))
        return ExprBinOp(left, annotation.operator, right)
    if isinstance(annotation, ExprName) and annotation.canonical_path.startswith(f"{pkg.name}."):
        named = pkg.modules_collection[annotation.canonical_path]
        named = named.final_target if isinstance(named, Alias) else named
        if isinstance(named, Attribute) and named.value is not None:
            return _spelled_out(pkg, named.value)
    return annotation
