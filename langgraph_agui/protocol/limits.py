"""How much a client may send at once. A body and the JSON value in it enter; what is too much
raises.

All work on an input is bounded by its bytes, its JSON values and the lengths of its lists. Depth is
bounded because stores and models refuse what is nested too deeply, some only after a tool has run.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import isinf
from typing import Final, NoReturn

from langgraph_agui.protocol.wire import JsonValue, ProtocolError


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLimits:
    """The most that one request of a client may hold.

    Attributes:
        max_bytes: Bytes of the body.
        max_depth: Levels of JSON, in the body and in the arguments of each tool call.
        max_items: Messages, tools, context items, resume entries, and parts and tool calls of one
            message.
        max_values: JSON values altogether, those in the arguments of tool calls included.

    Raises:
        ValueError: A limit is not more than 0.
    """

    max_bytes: int = 10 * 1024 * 1024
    max_depth: int = 100
    max_items: int = 10_000
    max_values: int = 250_000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"InputLimits.{name} must be more than 0, not {getattr(self, name)!r}"
                )


# Bytes that are looked at without a break: other threads wait so long.
_CHUNK: Final = 128 * 1024

# JSON in texts is read in the event loop.
_IN_TEXT: Final = InputLimits(max_bytes=1_000_000, max_values=50_000)

# Characters of the longest integer of 64 bits.
_INTEGER: Final = 20

# Brackets as steps between levels: 1 up, 255 (-1 as a signed byte) down. All else is left out.
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def check_json(text: bytes, limits: InputLimits, what: str = "The input", before: int = 0) -> int:
    """Check JSON text before it is parsed; return how many values it holds, with the `before`, and
    at most that.

    Raises:
        ProtocolError: It is nested too deeply, or holds too many values (`too-large`).
    """
    depth, deepest, values = 0, 0, before
    for piece in _outside_strings(text):
        values += (
            sum(map(piece.count, (b",", b"[", b"{"))) - piece.count(b"[]") - piece.count(b"{}")
        )
        steps = memoryview(piece.translate(_STEPS, _NO_BRACKETS)).cast("b")
        deepest = max(deepest, max(accumulate(steps, initial=depth)))
        depth += sum(steps)
    if deepest > limits.max_depth:
        raise _refusal(f"{what} is nested {deepest} levels deep", limits.max_depth, "max_depth")
    if values > limits.max_values:
        raise _refusal(f"{what} holds {values} JSON values", limits.max_values, "max_values")
    return values


def _outside_strings(text: bytes) -> Iterator[bytes]:
    """Yield what stands outside of strings, piece by piece."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside = False
    for start in range(0, len(plain), _CHUNK):
        pieces = plain[start : start + _CHUNK].split(b'"')
        yield b"".join(pieces[inside::2])
        inside ^= len(pieces) % 2 == 0


def parse_json(data: bytes, limits: InputLimits) -> JsonValue:
    """Return the value of JSON text that a client has sent. Too much is refused, and not parsed.

    Integers of more than 64 bits become doubles, as they are for JavaScript.

    Args:
        data: The text, in UTF-8.
        limits: The most bytes, levels and values; `max_items` does not count.

    Raises:
        ValueError: It is not JSON.
        ProtocolError: It is too much, or an integer is more than a double holds (`too-large`).
    """
    if len(data) > limits.max_bytes:
        raise _refusal(f"The body has {len(data)} bytes", limits.max_bytes, "max_bytes")
    check_json(data, limits, "The body")
    return read_json(data.decode("utf-8-sig"))


def read_json(text: str) -> JsonValue:
    """Return the value of JSON text that `check_json` has checked.

    Integers of more than 64 bits become doubles, as they are for JavaScript: checkpointers take no
    others.

    Raises:
        ValueError: It is not JSON. `RecursionError`, if it has more levels than Python takes.
        ProtocolError: An integer is more than a double holds (`too-large`).
    """
    value: JsonValue = json.loads(text, parse_constant=refuse_constant, parse_int=_read_integer)
    return value


def read_json_in_text(text: str) -> JsonValue:
    """Return the JSON value that a client's text holds. In its input, it counts as one value.

    Raises:
        ValueError: It holds none, or one of more than a million characters, 50,000 values or 100
            levels.
    """
    if len(text) > _IN_TEXT.max_bytes:
        raise ValueError("The text is too long.")
    try:
        check_json(text.encode("utf-8", "replace"), _IN_TEXT)
        return read_json(text)
    except (ProtocolError, RecursionError) as error:
        raise ValueError(str(error)) from error


def refuse_constant(name: str) -> NoReturn:
    """Refuse `NaN` and the infinities, which Python takes for JSON."""
    raise ValueError(f"{name} is not JSON")


def _read_integer(digits: str) -> int | float:
    if len(digits) <= _INTEGER and -(2**63) <= (number := int(digits)) < 2**64:
        return number
    if isinf(double := float(digits)):
        raise ProtocolError(
            "too-large", f"An integer of {len(digits)} digits is more than a double holds."
        )
    return double


def check_items(value: Mapping[str, object], limits: InputLimits, values: int) -> None:
    """Check the lists of a `RunAgentInput` as it was sent, and the arguments of its calls; `values`
    is of its body.

    Raises:
        ProtocolError: There are too many of something, or the arguments are too much (`too-large`).
    """
    for name in ("messages", "tools", "context", "resume"):
        _check_list(value.get(name), f"`{name}`", limits)
    messages = value.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping):
            continue
        calls = message.get("toolCalls")
        _check_list(message.get("content"), "The `content` of a message", limits)
        _check_list(calls, "The `toolCalls` of a message", limits)
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            arguments = function.get("arguments") if isinstance(function, Mapping) else None
            if isinstance(arguments, str):
                encoded = arguments.encode("utf-8", "replace")
                values = check_json(
                    encoded, limits, "The input with the arguments of its tool calls", values
                )


def _check_list(items: object, what: str, limits: InputLimits) -> None:
    if isinstance(items, list) and len(items) > limits.max_items:
        raise _refusal(f"{what} has {len(items)} items", limits.max_items, "max_items")


def _refusal(found: str, limit: int, name: str) -> ProtocolError:
    return ProtocolError("too-large", f"{found}; at most {limit} are allowed ({name}).")
