"""RFC 6902 patches over JSON data, applied all or nothing and without changing the original.

Written here and not taken from a package because the result must be the client's: for `test`, `1` is not `true`; paths
into `__proto__` are refused; and where the reference client's library is laxer than the RFC, so is this (odd spellings
of a list index such as `01`; a move or copy beyond the end of a list, which appends). One difference is left: patching
a document that is a bare scalar fails here, where the client may ignore it without a warning. What a patch does not
touch is shared with the original, so a small patch of a large document is cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph_agui.protocol.wire import json_equal

_LONGEST_INDEX = 16


class PatchError(ValueError):
    """A patch cannot be applied. The document stays as it was."""


def apply_patch(document: object, operations: Iterable[Mapping[str, object]]) -> object:
    """Return `document` with `operations` applied in order. Neither argument is changed.

    Args:
        document: JSON data.
        operations: Operations in wire form, valid by the schema.

    Raises:
        PatchError: A path does not exist, an index is out of range or a `test` fails.
    """
    patched = _Patched(document)
    for operation in operations:
        patched.apply(operation)
    return patched.root


class _Patched:
    """A document that is copied level by level where it is written to."""

    def __init__(self, document: object) -> None:
        self.root = document
        self._copies: dict[int, dict[str, object] | list[object]] = {}  # by id; writable

    def apply(self, operation: Mapping[str, object]) -> None:
        name, path = operation["op"], _tokens(operation["path"])
        match name:
            case "add":
                self._add(path, operation["value"], strict=True)
            case "replace":
                self._replace(path, operation["value"])
            case "remove":
                self._replace(path, remove=True)
            case "test":
                if not json_equal(self._get(path, exact=False), operation["value"]):
                    raise _error("the test does not hold", path)
            case _:
                self._transfer(_tokens(operation["from"]), path, keep=name == "copy")

    def _transfer(self, source: list[str], path: list[str], *, keep: bool) -> None:
        value = self._get(source, exact=True)
        if source == path and not keep:
            return
        if path:
            self._parent(path, exact=False)
        if keep:
            self._copies.clear()  # the value now stands in two places: neither may be written to in place
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
        node.insert(index, value)

    def _replace(self, path: list[str], value: object = None, *, remove: bool = False) -> None:
        """Replace or remove an existing value; a document that is removed becomes null."""
        if not path:
            self.root = value
            return
        container = self._parent(path, exact=True)
        key = _key(container, path[-1], path, exact=True)
        if remove:
            del container[key]
        else:
            container[key] = value


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
        # The client's guard against prototype pollution.
        if step == "__proto__" or (before, step) == ("constructor", "prototype"):
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
    return PatchError(f"{reason} at /{'/'.join(path)}" if path else reason)
