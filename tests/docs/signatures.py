"""An extension of griffe for the API reference: `**options: Unpack[...]` becomes the options that
it stands for.

griffe's own `unpack_typeddict` leaves out inherited options, and repeats those that the docstring
has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from griffe import (
    Attribute,
    Class,
    Expr,
    ExprName,
    ExprSubscript,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
)

# Where the defaults of options stand.
_DEFAULTS = {
    "langgraph_agui.compat.switches.AgentOptions": "langgraph_agui.runs.context.RunSettings"
}


class UnpackOptions(Extension):
    """Puts the keys of a `TypedDict` in the place of the `**options` that it types."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Change the signatures of a package when all of its modules are loaded."""
        for function in list(_functions(pkg)):
            for parameter in list(function.parameters):
                annotation = parameter.annotation
                if (
                    parameter.kind is ParameterKind.var_keyword
                    and isinstance(annotation, ExprSubscript)
                    and annotation.canonical_path.endswith(".Unpack")
                    and isinstance(annotation.slice, Expr)
                ):
                    del function.parameters[parameter.name]
                    for option in _options(pkg, annotation.slice.canonical_path):
                        function.parameters.add(option)


def _functions(module: Module | Class) -> Iterator[Function]:
    for member in module.members.values():
        if isinstance(member, Function):
            yield member
        elif isinstance(member, Module | Class):
            yield from _functions(member)


def _options(pkg: Module, path: str) -> Iterator[Parameter]:
    kind = pkg.modules_collection[path]
    settings = pkg.modules_collection[_DEFAULTS[path]].members if path in _DEFAULTS else {}
    for one in [*kind.mro(), kind]:
        for name, key in one.members.items():
            if isinstance(key, Attribute):
                default = settings[name].value if name in settings else "..."
                yield Parameter(
                    name,
                    annotation=_spelled_out(pkg, key.annotation),
                    kind=ParameterKind.keyword_only,
                    default=default,
                )


def _spelled_out(pkg: Module, annotation: Any) -> Any:
    """Return what a name of the package's own stands for, if it is that of a type alias."""
    if isinstance(annotation, ExprName) and annotation.canonical_path.startswith(f"{pkg.name}."):
        alias = pkg.modules_collection[annotation.canonical_path]
        if isinstance(alias, Attribute) and alias.value is not None:
            return alias.value
    return annotation
