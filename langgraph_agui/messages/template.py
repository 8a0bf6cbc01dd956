"""Values with holes: a provider's own data, written without repeating what the client holds anyway.

A message's content and kwargs go in, templates come out (`Seen.pack`); the AG-UI message that the client sends back
fills the holes again (`Seen.fill`). A template is JSON in which a list that begins with a `"$"` string is a hole; the
table is in docs/reasoning.md. Packing never changes a value: what no hole describes exactly is written out.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from pydantic_core import PydanticSerializationError, to_jsonable_python

_WORTH = 12
"""Characters from which a hole is shorter than the text itself."""


class Damaged(Exception):  # noqa: N818  # a state of the data, not a fault of the program
    """A template does not fit what the client sent with it."""


@dataclass(slots=True)
class Seen:
    """What a client sees of one message: the words that holes stand for.

    `reasoning` are the texts of its reasoning messages, `arguments` the raw arguments of its calls, `media` the
    values of its media sources. `blocks` and `signatures` are what the envelopes of reasoning and calls held, by the
    same numbers.
    """

    text: str = ""
    reasoning: Sequence[str] = ()
    arguments: Sequence[str] = ()
    media: Sequence[str] = ()
    blocks: dict[int, object] = field(default_factory=dict)
    signatures: dict[int, object] = field(default_factory=dict)

    @property
    def check(self) -> int:
        """A checksum of all the words: holes must not be filled with others."""
        words = "\0".join([self.text, *self.reasoning, *self.arguments, *self.media])
        return crc32(words.encode("utf-8", "surrogatepass"))

    def pack(self, value: object) -> object:
        """Return `value` as a template. What is not JSON comes as near as JSON can."""
        if isinstance(value, str):
            return self._pack_text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes | bytearray):
            return ["$x", b64encode(value).decode()]
        if isinstance(value, Mapping):
            for number, arguments in enumerate(self.arguments):
                if value and same_json(value, parsed(arguments)):
                    return ["$j", number]
            return {str(key): self.pack(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return listed([self.pack(inner) for inner in value])
        try:
            return self.pack(to_jsonable_python(value, fallback=repr))
        except (PydanticSerializationError, ValueError, RecursionError):
            return repr(value)

    def _pack_text(self, value: str) -> object:
        if len(value) < _WORTH:
            return value
        if value == self.text:
            return ["$t"]
        for mark, sources in (("$r", self.reasoning), ("$a", self.arguments), ("$m", self.media)):
            for number, words in enumerate(sources):
                if value == words:
                    return [mark, number]
        return self._pack_slice(value) or self._pack_sum(value) or value

    def _pack_slice(self, value: str) -> list[object] | None:
        if (at := self.text.find(value)) >= 0:
            return ["$t", at, at + len(value)]
        for number, words in enumerate(self.reasoning):
            if (at := words.find(value)) >= 0:
                return ["$r", number, at, at + len(value)]
        return None

    def _pack_sum(self, value: str) -> list[object] | None:
        """Text around whole words: a model's `<think>` tags, for example."""
        sources: list[tuple[str, list[object]]] = [(self.text, ["$t"])]
        sources += [(words, ["$r", number]) for number, words in enumerate(self.reasoning)]
        found = [
            (at, words, hole) for words, hole in sources if len(words) >= _WORTH and (at := value.find(words)) >= 0
        ]
        parts: list[object] = ["$+"]
        end = 0
        for at, words, hole in sorted(found, key=lambda place: place[0]):
            if at >= end:
                parts += [value[end:at], hole] if at > end else [hole]
                end = at + len(words)
        return [*parts, value[end:]] if len(parts) > 1 else None

    def fill(self, template: object) -> object:
        """Return the value that `template` was packed from.

        Raises:
            Damaged: A hole has nothing to fill it.
        """
        if isinstance(template, dict):
            return {key: self.fill(inner) for key, inner in template.items()}
        if not isinstance(template, list):
            return template
        if not template or not _is_mark(template[0]):
            return [self.fill(inner) for inner in template]
        try:
            return self._fill_hole(template[0], template[1:])
        except (LookupError, TypeError, ValueError) as error:
            raise Damaged from error

    def _fill_hole(self, mark: str, rest: list[object]) -> object:
        match mark, rest:
            case "$t", [*span]:
                return _cut(self.text, span)
            case "$r", [int(number), *span]:
                return _cut(self.reasoning[number], span)
            case "$a", [int(number)]:
                return self.arguments[number]
            case "$m", [int(number)]:
                return self.media[number]
            case "$j", [int(number)]:
                return json.loads(self.arguments[number])
            case "$b", [int(number)]:
                return self.fill(self.blocks[number])
            case "$s", [int(number)]:
                return self.signatures[number]
            case "$x", [str(data)]:
                return b64decode(data, validate=True)
            case "$+", [*parts]:
                return "".join(str(self.fill(part)) for part in parts)
            case "$=", [list(items)]:
                return [self.fill(item) for item in items]
        raise Damaged


def listed(items: list[object]) -> list[object]:
    """The template of a list of these templates."""
    return ["$=", items] if items and _is_mark(items[0]) else items


def parsed(arguments: str) -> object:
    """The JSON value of a call's arguments; None if they are not JSON. No arguments are an empty object."""
    try:
        value: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value


def same_json(one: object, other: object) -> bool:
    """Whether both are written the same: `1 == True` in Python, and dicts know no order."""
    if one != other:
        return False
    try:
        return json.dumps(one) == json.dumps(other)
    except (TypeError, ValueError):
        return False


def _is_mark(value: object) -> bool:
    return isinstance(value, str) and value.startswith("$")


def _cut(words: str, span: list[object]) -> str:
    if not span:
        return words
    start, end = span
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= len(words)):
        raise Damaged
    return words[start:end]
