"""Public names that a package imports on their first use."""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Final

# The extra that brings each package.
_EXTRAS: Final = {
    "ag_ui_a2ui_toolkit": "a2ui",
    "fastapi": "fastapi",
    "httpx2": "client",
    "langchain": "middleware",
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    "redis": "redis",
}


def lazy_names(package: str, file: str) -> tuple[Callable[[], list[str]], Callable[[str], object]]:
    """Return `__dir__` and `__getattr__` of a package. Its `__all__` leaves out names whose extra is not installed.

    The public names are those that its stub, the `.pyi` beside it, imports (Scientific Python's SPEC 1).

    Args:
        package: The package's full name.
        file: The package's `__init__.py`.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_bytes())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    modules = {one.name: node.module or "" for node in imports for one in node.names if node.module != package}

    def get_attribute(name: str) -> object:
        if name in modules:
            with named_extras():
                return getattr(import_module(modules[name]), name)
        if name == "__all__":  # all of them are about to be imported
            return [one for one in modules if _is_there(modules[one])]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return lambda: sorted({*vars(sys.modules[package]), *modules}), get_attribute


@contextmanager
def named_extras() -> Iterator[None]:
    """Import packages of extras inside: the error for a missing one names its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _EXTRAS:
            remedy = f'"langgraph-agui[{_EXTRAS[package]}]"'
        elif package.startswith("langchain_"):  # a provider's
            remedy = package.replace("_", "-")
        else:
            raise
        raise ModuleNotFoundError(f"{package} is missing: pip install {remedy}", name=error.name) from error


def _is_there(module: str) -> bool:
    with suppress(ImportError):
        return bool(import_module(module))
    return False
