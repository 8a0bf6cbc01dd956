"""Public names that a package imports on their first use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import lazy_loader

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


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package: the names that the stub beside
    `file` imports.

    A name is imported on its first use. If that needs an extra that is not installed, the error
    names the extra.

    Args:
        package: The package's full name.
        file: The package's `__init__.py`.
    """
    get, names, public = lazy_loader.attach_stub(package, file)

    def get_attribute(name: str) -> object:
        with named_extras():
            return get(name)

    return get_attribute, names, public


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
        raise ModuleNotFoundError(
            f"{package} is missing: pip install {remedy}", name=error.name
        ) from error
