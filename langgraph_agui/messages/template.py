"""Templates: a provider's own data as JSON with holes for words that the client holds anyway.

Content and kwargs of a message enter `VisibleText.to_template`. From the AG-UI message that the
client sends back, `VisibleText.from_template` fills the holes again. A hole is a list that begins
with a `"$"` string; the table is in docs/reference/reasoning-format.md. A template never changes a
value: what no hole describes exactly is written out.
"""

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

from langgraph_agui.kernel.seal import InvalidEnvelope
from langgraph_agui.protocol.json import canonical_json, json_key, parse_arguments, to_jsonable

# Characters from which a hole is shorter than the text itself.
_WORTH = 12

# Bytes of a digest that are kept.
_CHECK = 12

# With more reasoning texts than these, a message is not searched for their parts: each is short and
# stands alone.
_MANY = 64

# How often the text of a message may be repeated in it, on average: clients may write unsealed
# templates.
_REPEATS = 8


@dataclass(slots=True)
class VisibleText:
    """The visible text of one message, which holes stand for. It fills the templates of
    that message once.

    Attributes:
        text: The text of the message.
        reasoning: The texts of its reasoning messages.
        arguments: The raw arguments of its calls.
        media: The values of its media sources.
        blocks: The content of the envelopes of reasoning messages, by number.
        signatures: The content of the envelopes of calls, by number.
    """

    text: str = ""
    reasoning: Sequence[str] = ()
    arguments: Sequence[str] = ()
    media: Sequence[str] = ()
    blocks: dict[int, object] = field(default_factory=dict)
    signatures: dict[int, object] = field(default_factory=dict)
    _left: int = field(init=False)
    _objects: dict[str, int] | None = field(init=False, default=None)
    _whole: dict[str, list[object]] = field(init=False, default_factory=dict)
    _sources: list[tuple[str, list[object]]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Count the characters."""
        self._left = _REPEATS * sum(
            map(len, [self.text, *self.reasoning, *self.arguments, *self.media])
        )

    @property
    def check(self) -> str:
        """A digest of all the text: holes must not be filled with another.

        Of arguments only the value counts: front ends parse them and write them anew.
        """
        return _digest(
            [self.text, *self.reasoning, *map(canonical_json, self.arguments), *self.media]
        )

    def to_template(self, value: object) -> object:
        """Return `value` as a template. Other values become JSON as near as possible."""
        if isinstance(value, str):
            hole = self._hole(value) if len(value) >= _WORTH else None
            return hole if hole is not None and self._draw(value) else value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return ["$x", b64encode(value).decode()]
        if isinstance(value, dict):
            if (
                value
                and (number := self._same_arguments(value)) is not None
                and self._draw(self.arguments[number])
            ):
                return ["$j", number]
            return {json_key(key): self.to_template(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return escape_list([self.to_template(inner) for inner in value])
        return self.to_template(to_jsonable(value))

    def _same_arguments(self, value: dict[object, object]) -> int | None:
        """Return the call whose arguments `value` is, in the same spelling: `1 == True`, and dicts
        know no order.
        """
        if self._objects is None:  # once: a message may hold thousands of calls
            objects = [
                (_exact_text(parse_arguments(arguments)), number)
                for number, arguments in enumerate(self.arguments)
            ]
            self._objects = {text: number for text, number in reversed(objects) if text is not None}
        text = _exact_text(value) if self._objects else None
        return self._objects.get(text) if text is not None else None

    def _draw(self, words: str) -> bool:
        """Count `words` once more; return whether the message may hold them so often."""
        if len(words) > self._left:
            return False
        self._left -= len(words)
        return True

    def _hole(self, value: str) -> list[object] | None:
        """Return a hole for a text that is visible as a whole, or in a longer one, or that is
        longer itself.
        """
        if not self._sources:
            for mark, texts in (("$m", self.media), ("$a", self.arguments), ("$r", self.reasoning)):
                self._whole.update(
                    (words, [mark, number]) for number, words in reversed([*enumerate(texts)])
                )
            self._whole[self.text] = ["$t"]
            reasoning = self.reasoning if len(self.reasoning) <= _MANY else ()
            self._sources = [
                (self.text, ["$t"]),
                *((words, ["$r", at]) for at, words in enumerate(reasoning)),
            ]
        if hole := self._whole.get(value):
            return hole
        for words, hole in self._sources:
            if (at := words.find(value)) >= 0:
                return [*hole, at, at + len(value)]
        return self._sum(value)

    def _sum(self, value: str) -> list[object] | None:
        """Return a hole for text around whole visible texts, such as a model's `<think>` tags."""
        found = [
            (at, words, hole)
            for words, hole in self._sources
            if len(words) >= _WORTH and (at := value.find(words)) >= 0
        ]
        parts: list[object] = ["$+"]
        end = 0
        for at, words, hole in sorted(found, key=lambda place: place[0]):
            if at >= end:
                parts += [value[end:at], hole] if at > end else [hole]
                end = at + len(words)
        return [*parts, value[end:]] if len(parts) > 1 else None

    def from_template(self, template: object) -> object:
        """Return the value that `template` was made of.

        Raises:
            InvalidEnvelope: A hole has nothing to fill it, or the template repeats the text more
                often than is allowed.
        """
        try:
            return self._fill(template)
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            raise InvalidEnvelope from error

    def _fill(self, template: object) -> object:
        if isinstance(template, dict):
            return {key: self._fill(inner) for key, inner in template.items()}
        if not isinstance(template, list):
            return template
        if not template or not _is_mark(template[0]):
            return [self._fill(inner) for inner in template]
        return self._fill_hole(template[0], template[1:])

    def _fill_hole(self, mark: str, rest: list[object]) -> object:
        match mark, rest:
            case "$t", [*span]:
                return self._take(self.text, span)
            case "$r", [int(number), *span]:
                return self._take(_nth(self.reasoning, number), span)
            case "$a", [int(number)]:
                return self._take(_nth(self.arguments, number))
            case "$m", [int(number)]:
                return self._take(_nth(self.media, number))
            case "$j", [int(number)]:
                return json.loads(self._take(_nth(self.arguments, number)))
            case "$b", [int(number)]:
                return self._fill(self.blocks.pop(number))
            case "$s", [int(number)]:
                return self.signatures.pop(number)
            case "$x", [str(data)]:
                return b64decode(data, validate=True)
            case "$+", [*parts]:
                return "".join(cast("list[str]", [self._fill(part) for part in parts]))
            case "$=", [list(items)]:
                return [self._fill(item) for item in items]
        raise InvalidEnvelope

    def _take(self, words: str, span: Sequence[object] = ()) -> str:
        if span:
            start, end = span
            if not (type(start) is int and type(end) is int and 0 <= start <= end <= len(words)):
                raise InvalidEnvelope
            words = words[start:end]
        if not self._draw(words):
            raise InvalidEnvelope
        return words


def calls_digest(calls: Iterable[tuple[str, str]]) -> str:
    """Return a digest of the ids and names of calls: an envelope is for these."""
    return _digest([word for call in calls for word in call])


def _digest(words: Iterable[str]) -> str:
    digest = sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()
    return urlsafe_b64encode(digest[:_CHECK]).decode()


def escape_list(items: list[object]) -> list[object]:
    """Return the template of a list of these templates."""
    return ["$=", items] if items and _is_mark(items[0]) else items


def _exact_text(value: object) -> str | None:
    """Return `value` as JSON text; None if it is no JSON."""
    try:
        return json.dumps(value)
    except Exception:  # it may be any object
        return None


def _is_mark(value: object) -> bool:
    return isinstance(value, str) and value.startswith("$")


def _nth(sources: Sequence[str], number: int) -> str:
    if type(number) is not int or number < 0:
        raise InvalidEnvelope
    return sources[number]
