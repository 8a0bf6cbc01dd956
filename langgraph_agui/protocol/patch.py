"""RFC 6902 patches over JSON data, applied all or nothing and without touching the original.

Written here rather than taken from a package because the outcome must be the client's: ``test`` tells ``1``
from ``true``, paths into ``__proto__`` are refused, and where the reference client's library is laxer than the RFC, so
is this (odd spellings of a list index such as ``01``; a move or copy beyond the end of a list, which appends). One
difference is left: patching a document that is a bare scalar fails here, where the client may ignore it without
a warning. What a patch does not touch is shared with the original, so a small patch of a large document is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from langgraph_agui.protocol.jsonable import json_equal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_INDEX = 16


class PatchError(ValueError):
    """A patch cannot be applied; nothing of it was."""


def apply_patch(document: object, operations: Iterable[Mapping[str, object]]) -> object:
    """Return ``document`` with ``operations``, in wire form and valid by the schema, applied in order.

    Neither argument is changed. Raises :class:`PatchError` when a path does not exist, an index is out of
    range or a ``test`` fails.
    """
    patched = _Patched(document)
    for operation in operations:
        patched.apply(operation)
    return patched.root


class _Patched:
    """A document that is copied level by level where it is written to."""

    def __init__(self, document: object) -> None:
        self.root = document
        self._own: dict[int, dict[str, object] | list[object]] = {}

    def apply(self, operation: Mapping[str, object]) -> None:
        name, path = operation["op"], _tokens(operation["path"])
        match name:
            case "add":
                self._add(path, operation["value"], strict=True)
            case "replace":
                self._replace(path, operation["value"])
            case "remove":
                self._remove(path)
            case "test":
                if not json_equal(self._get(path, exact=False), operation["value"]):
                    _fail("the test does not hold", path)
            case _:
                self._transfer(_tokens(operation["from"]), path, keep=name == "copy")

    def _transfer(self, source: list[str], path: list[str], *, keep: bool) -> None:
        value = self._get(source, exact=True)
        if source == path and not keep:
            return
        if path:
            self._parent(path, exact=False)
        if keep:
            self._own.clear()  # the value now stands in two places: neither may be written to in place
        elif path:
            self._remove(source)
        self._add(path, value, strict=False)

    def _get(self, path: list[str], *, exact: bool) -> object:
        node = self.root
        for token in path:
            if isinstance(node, dict) and token in node:
                node = node[token]
            elif isinstance(node, list) and (index := _index(token, node, exact=exact)) < len(node):
                node = node[index]
            else:
                _fail("there is nothing", path)
        return node

    def _parent(self, path: list[str], *, exact: bool) -> dict[str, object] | list[object]:
        """Return the container of ``path``, made writable together with everything above it."""
        node = self.root = self._writable(self.root, path)
        for token in path[:-1]:
            if isinstance(node, list):
                index = _index(token, node, exact=exact)
                if index >= len(node):
                    _fail("there is nothing", path)
                child = node[index] = self._writable(node[index], path)
            else:
                child = node[token] = self._writable(node.get(token), path)
            node = child
        return node

    def _writable(self, node: object, path: list[str]) -> dict[str, object] | list[object]:
        if id(node) in self._own:
            return self._own[id(node)]
        if not isinstance(node, (dict, list)):
            _fail("there is no object or list", path)
        copy = node.copy()
        self._own[id(copy)] = copy
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
            _fail("the index is out of range", path)
        node.insert(index, value)

    def _replace(self, path: list[str], value: object) -> None:
        if not path:
            self.root = value
            return
        node = self._existing(path)
        if isinstance(node, dict):
            node[path[-1]] = value
        else:
            node[int(path[-1])] = value

    def _remove(self, path: list[str]) -> None:
        if not path:
            self.root = None
            return
        node = self._existing(path)
        if isinstance(node, dict):
            del node[path[-1]]
        else:
            del node[int(path[-1])]

    def _existing(self, path: list[str]) -> dict[str, object] | list[object]:
        node, last = self._parent(path, exact=True), path[-1]
        if last not in node if isinstance(node, dict) else _index(last, node, exact=True) >= len(node):
            _fail("there is nothing", path)
        return node


def _tokens(pointer: object) -> list[str]:
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in str(pointer).split("/")[1:]]
    for before, step in zip(["", *tokens], tokens, strict=False):
        # The client's guard against prototype pollution.
        if step == "__proto__" or (before, step) == ("constructor", "prototype"):
            _fail("the path is refused by clients", tokens)
    return tokens


def _index(token: str, items: list[object], *, exact: bool) -> int:
    if token == "-":  # noqa: S105
        return len(items)
    if token and not (token.isascii() and token.isdigit() and len(token) < _LONGEST_INDEX):
        _fail("a list index is a number", [token])
    index = int(token or "0")
    if exact and token != str(index):
        _fail("there is nothing", [token])
    return index


def _fail(reason: str, path: list[str]) -> NoReturn:
    raise PatchError(f"{reason} at /{'/'.join(path)}" if path else reason)
