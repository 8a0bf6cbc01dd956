"""Public names that a package imports on their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, public: Mapping[str, str]) -> tuple[list[str], Callable[[str], object]]:
    """Return `__all__` and `__getattr__` of a package.

    Args:
        package: The package's full name.
        public: The names of each module, separated by spaces, by the module's name inside the package.
    """
    modules = {name: module for module, names in public.items() for name in names.split()}

    def get_attribute(name: str) -> object:
        if name in modules:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return [*modules], get_attribute
