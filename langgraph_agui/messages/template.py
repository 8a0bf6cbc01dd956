"""Templates: a provider's own data as JSON, with holes for strings that the client holds anyway.

Fields of a message enter `VisibleText.to_template`. From the AG-UI messages that the client sends
back, `VisibleText.from_template` fills the holes again. A hole stands for a whole string or for the
arguments of a call, and is a string that begins with `$`:

    "$3"     the string number 3
    "$j0"    the arguments of call number 0, as a JSON value
    "$x..."  bytes, in base64
    "$$..."  a string that begins with `$` itself, after one more `$`

All else stands for itself (docs/reference/reasoning-format.md).
"""

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from langgraph_agui.kernel.seal import InvalidEnvelope
from langgraph_agui.protocol.json import canonical_json, json_key, parse_arguments, to_jsonable

_HOLE = re.compile(r"\$(j?)([0-9]+)", re.ASCII)

# Characters from which a string becomes a hole.
_WORTH = 8

# Bytes of a digest that are kept.
_DIGEST = 12

# How often a message may repeat its visible text, on average: clients may write unsealed templates.
_REPEATS = 8

_NO_JSON = ""


class Call(NamedTuple):
    """A call as the client sees it, or (`id` alone) the call that a result answers."""

    id: str
    name: str = ""
    arguments: str = ""


class VisibleText:
    """The strings of one message that its client holds. It makes or fills one template.

    Args:
        text: The text of the message.
        reasoning: Its reasoning messages: id and text of each.
        calls: Its calls.
        media: The values of its media sources.

    Attributes:
        text: The text of the message.
        digest: A digest of all of this: holes must not be filled with another message's. Of
            arguments only the value counts, because front ends parse them and write them anew.
    """

    def __init__(
        self,
        text: str,
        reasoning: Sequence[tuple[str, str]] = (),
        calls: Sequence[Call] = (),
        media: Sequence[str] = (),
    ) -> None:
        self.text = text
        self._strings = [text, *_flat(reasoning), *_flat(calls), *media]
        self._arguments = [call.arguments for call in calls]
        self._left = _REPEATS * sum(map(len, self._strings))
        self._numbers: dict[str, int] | None = None
        self._objects: dict[str, int] = {}
        canonical = [call._replace(arguments=canonical_json(call.arguments)) for call in calls]
        seen = json.dumps([text, [*reasoning], canonical, [*media]], separators=(",", ":"))
        self.digest = urlsafe_b64encode(sha256(seen.encode()).digest()[:_DIGEST]).decode()

    def to_template(self, value: object) -> object:
        """Return `value` as a template. Other values become JSON as near as possible."""
        if self._numbers is None:
            self._number()
        if isinstance(value, str):
            return self._string(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return "$x" + b64encode(value).decode()
        if isinstance(value, dict):
            call = self._objects.get(_spelling(value)) if value and self._objects else None
            if call is not None and self._draw(self._arguments[call]):
                return f"$j{call}"
            return {json_key(key): self.to_template(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.to_template(inner) for inner in value]
        return self.to_template(to_jsonable(value))

    def _number(self) -> None:
        """Number the strings and the arguments. Of equal ones the first counts."""
        numbered = reversed([*enumerate(self._strings)])
        self._numbers = {string: number for number, string in numbered if len(string) >= _WORTH}
        # By their spelling: `1 == True`, and dicts know no order.
        calls = reversed([*enumerate(map(parse_arguments, self._arguments))])
        self._objects = {_spelling(one): number for number, one in calls if isinstance(one, dict)}
        self._objects.pop(_NO_JSON, None)

    def _string(self, value: str) -> str:
        number = (self._numbers or {}).get(value)
        if number is not None and self._draw(value):
            return f"${number}"
        return "$" + value if value.startswith("$") else value

    def _draw(self, string: str) -> bool:
        """Count a string once more; return whether the message may hold it so often."""
        if len(string) > self._left:
            return False
        self._left -= len(string)
        return True

    def from_template(self, template: object) -> object:
        """Return the value that `template` was made of.

        Raises:
            InvalidEnvelope: A hole has nothing to fill it, or the template repeats the text more
                often than is allowed.
        """
        try:
            return self._filled(template)
        except (LookupError, RecursionError, ValueError) as error:
            raise InvalidEnvelope from error

    def _filled(self, template: object) -> object:
        if isinstance(template, dict):
            return {key: self._filled(inner) for key, inner in template.items()}
        if isinstance(template, list):
            return [self._filled(inner) for inner in template]
        if not isinstance(template, str) or not template.startswith("$"):
            return template
        if template.startswith("$$"):
            return template[1:]
        if template.startswith("$x"):
            return b64decode(template[2:], validate=True)
        return self._hole(template)

    def _hole(self, hole: str) -> object:
        if (match := _HOLE.fullmatch(hole)) is None:
            raise InvalidEnvelope
        is_json, number = match.groups()
        string = (self._arguments if is_json else self._strings)[int(number)]
        if not self._draw(string):
            raise InvalidEnvelope
        return json.loads(string) if is_json else string


def _flat(entities: Sequence[tuple[str, ...]]) -> list[str]:
    return [string for entity in entities for string in entity]


def _spelling(value: object) -> str:
    """Return `value` as JSON text, or `_NO_JSON`."""
    try:
        return json.dumps(value)
    except Exception:  # it may be any object
        return _NO_JSON
