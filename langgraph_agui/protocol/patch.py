"""RFC 6902 patches over JSON data, applied all or nothing and without changing the original.

Written here and not taken from a package because the result must be the client's: for `test`, `1`
is not `true`; paths into `__proto__` are refused; and where the reference client's library is laxer
than the RFC, so is this (odd spellings of a list index such as `01`; a move or copy beyond the end
of a list, which appends). One difference is left: patching a document that is a bare scalar fails
here, where the client may ignore it without a warning. The result shares with the original all
that a patch does not touch, so a small patch of a large document is cheap.

A `copy` shares too, so a few kilobytes of patches can name a document of any size, which only its
reader would pay for. An `Allowance` bounds that: patches may write much only if they are long.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic_core import to_json

from langgraph_agui.protocol.diff import is_refused
from langgraph_agui.protocol.json import JsonValue, same_for_clients, size_up_to

# Bytes of JSON that a document may have after a patch, and that patches may copy in all.
MAX_WEIGHT: Final = 32 * 1024 * 1024

_LONGEST_INDEX: Final = 16
# To move this many elements of a list by one place costs as much as to copy one byte.
_MOVES_PER_BYTE: Final = 32
# How much of a path an error shows.
_MAX_SHOWN: Final = 100


class PatchError(ValueError):
    """A patch cannot be applied. The document stays as it was."""


class TooHeavyError(PatchError):
    """A patch makes a heavier document, or copies more, than the limit allows."""


def apply_patch(document: object, operations: Iterable[Mapping[str, object]]) -> object:
    """Return `document` with `operations` applied in order. Neither argument is changed.

    Args:
        document: JSON data.
        operations: Operations in wire form, valid by the schema.

    Raises:
        PatchError: A path does not exist, an index is out of range, a `test` fails or the result is
            too heavy.
    """
    return Document(document, Allowance()).patch(operations)


class Allowance:
    """The budget of a series of patches.

    Args:
        max_weight: Bytes of JSON that each document may have, and that they may copy in all. Copies
            count for good: each costs work, though it may be removed again.
    """

    __slots__ = ("_left", "max_weight")

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self.max_weight = self._left = max_weight

    def spend(self, cost: int) -> None:
        """Count a copy. Raises `TooHeavyError` if it is too much."""
        self._left -= cost
        if self._left < 0:
            raise TooHeavyError("too much was copied")


class Document:
    """JSON data that patches change one after the other, as long as it stays light enough.

    A patch costs as much as it writes: the whole is measured only when patches have written as much
    as it may have.

    Args:
        value: JSON data.
        allowance: The budget of the patches, also of other documents.

    Attributes:
        value: The data now. It is replaced, never changed.
    """

    __slots__ = ("_allowance", "_written", "value")

    def __init__(self, value: object, allowance: Allowance) -> None:
        self.value = value
        self._allowance = allowance
        self._written = 0  # bytes since the whole was measured

    def patch(self, operations: Iterable[Mapping[str, object]]) -> object:
        """Apply a patch, all or nothing, and return the new value.

        Raises:
            TooHeavyError: The result is too heavy, or too much was copied.
            PatchError: As in `apply_patch`.
        """
        patched = _Patched(self.value, self._allowance)
        for operation in operations:
            patched.apply(operation)
        written = self._written + patched.written
        if written > self._allowance.max_weight:
            if _size(patched.root, self._allowance) > self._allowance.max_weight:
                raise TooHeavyError("it is too heavy")
            written = 0
        self.value, self._written = patched.root, written
        return self.value


class _Patched:
    """A document that is copied level by level where it is written to.

    Args:
        document: JSON data.
        allowance: The budget of the patch.

    Attributes:
        written: The bytes of JSON that were written.
    """

    def __init__(self, document: object, allowance: Allowance) -> None:
        self.root = document
        self.written = 0
        self._allowance = allowance
        self._copies: dict[int, dict[str, object] | list[object]] = {}  # by id; writable

    def apply(self, operation: Mapping[str, object]) -> None:
        name, path = operation["op"], _tokens(operation["path"])
        match name:
            case "add":
                self._add(path, self._counted(operation["value"]), strict=True)
            case "replace":
                self._replace(path, self._counted(operation["value"]))
            case "remove":
                self._replace(path, remove=True)
            case "test":
                if not same_for_clients(self._get(path, exact=False), operation["value"]):
                    raise _error("the test does not hold", path)
            case _:
                self._transfer(_tokens(operation["from"]), path, keep=name == "copy")

    def _counted(self, value: object) -> object:
        self.written += _size(value, self._allowance)
        return value

    def _transfer(self, source: list[str], path: list[str], *, keep: bool) -> None:
        value = self._get(source, exact=True)
        if source == path and not keep:
            return
        if path:
            self._parent(path, exact=False)
        if keep:
            copied = _size(value, self._allowance)
            self.written += copied
            # The value now stands in two places, and neither may be written to in place: what was
            # copied to be written to is copied again.
            self._allowance.spend(copied + sum(map(len, self._copies.values())))
            self._copies.clear()
        elif path:
            self._replace(source, remove=True)
        self._add(path, value, strict=False)

    def _get(self, path: list[str], *, exact: bool) -> object:
        node: Any = self.root
        for token in path:
            node = node[_key(node, token, path, exact=exact)]
        return node

    def _parent(self, path: list[str], *, exact: bool) -> dict[str, object] | list[object]:
        """Return the container of `path`, made writable together with everything above it."""
        node = self.root = self._writable(self.root, path)
        for token in path[:-1]:
            key = _key(node, token, path, exact=exact)
            child = node[key] = self._writable(node[key], path)
            node = child
        return node

    def _writable(self, node: object, path: list[str]) -> dict[str, object] | list[object]:
        if id(node) in self._copies:
            return self._copies[id(node)]
        if not isinstance(node, dict | list):
            raise _error("there is no object or list", path)
        copy = node.copy()
        self._copies[id(copy)] = copy
        return copy

    def _add(self, path: list[str], value: object, *, strict: bool) -> None:
        if not path:
            self.root = value
            return
        node = self._parent(path, exact=strict)
        if isinstance(node, dict):
            node[path[-1]] = value
            return
        index = _index(path[-1], node, exact=False)
        if strict and index > len(node):
            raise _error("the index is out of range", path)
        self._allowance.spend((len(node) - index) // _MOVES_PER_BYTE)
        node.insert(index, value)

    def _replace(self, path: list[str], value: object = None, *, remove: bool = False) -> None:
        """Replace or remove an existing value; a document that is removed becomes null."""
        if not path:
            self.root = value
            return
        container = self._parent(path, exact=True)
        key = _key(container, path[-1], path, exact=True)
        if remove:
            if isinstance(container, list):
                self._allowance.spend((len(container) - key) // _MOVES_PER_BYTE)
            del container[key]
        else:
            container[key] = value


def _size(value: object, allowance: Allowance) -> int:
    """Return how many bytes a value takes as JSON text: all its levels count, as patches move parts
    up again.
    """
    try:
        return len(to_json(value, inf_nan_mode="null"))
    except Exception:  # more levels than pydantic takes, or half of a surrogate pair
        return size_up_to(cast("JsonValue", value), allowance.max_weight)


def _key(node: object, token: str, path: list[str], *, exact: bool) -> Any:
    """Return the key or the index of the value in `node` that `token` names."""
    if isinstance(node, dict) and token in node:
        return token
    if isinstance(node, list) and (index := _index(token, node, exact=exact)) < len(node):
        return index
    raise _error("there is nothing", path)


def _tokens(pointer: object) -> list[str]:
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in str(pointer).split("/")[1:]]
    for before, step in zip(["", *tokens], tokens, strict=False):
        if is_refused(before, step):
            raise _error("the path is refused by clients", tokens)
    return tokens


def _index(token: str, items: list[object], *, exact: bool) -> int:
    if token == "-":  # noqa: S105
        return len(items)
    if token and not (token.isascii() and token.isdigit() and len(token) < _LONGEST_INDEX):
        raise _error("a list index is a number", [token])
    index = int(token or "0")
    if exact and token != str(index):
        raise _error("there is nothing", [token])
    return index


def _error(reason: str, path: list[str]) -> PatchError:
    place = "/".join(["", *path])[:_MAX_SHOWN]
    return PatchError(f"{reason} at {place}" if path else reason)
