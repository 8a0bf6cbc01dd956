"""Public names that a package imports on their first use."""

from collections.abc import Callable, Collection, Iterator
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
    package: str, file: str, hidden: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package. Its public names are those that the stub
    beside `file` imports.

    A name is imported on its first use. If that needs an extra that is not installed, the error
    names the extra. A star import, which asks for `__all__`, leaves such names out.

    Args:
        package: The package's full name.
        file: The package's `__init__.py`.
        hidden: Names that can be imported, but are not shown.
    """
    get, names, _ = lazy_loader.attach_stub(package, file)
    shown = [name for name in names() if name not in hidden]

    def get_attribute(name: str) -> object:
        if name == "__all__":
            return [one for one in shown if _is_there(get, one)]
        with named_extras():
            return get(name)

    return get_attribute, shown.copy


def _is_there(get: Callable[[str], object], name: str) -> bool:
    try:
        get(name)
    except ImportError:
        return False
    return True


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
