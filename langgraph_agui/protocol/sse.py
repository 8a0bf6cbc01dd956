"""AG-UI events to and from the bytes of a server-sent event stream.

One event is one frame: `data: {...}` and a blank line, with LF line ends, which is all that AG-UI
1.0 clients recognise. Encoding never raises. Decoding follows the reference client's reader and
raises where that fails the run.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from functools import cache
from itertools import chain
from json.encoder import encode_basestring
from typing import Final, overload

from ag_ui.core import BaseEvent, Event
from ag_ui.core.types import GeneratedBaseModel

from langgraph_agui.protocol.json import JsonValue, refuse_constant, to_jsonable
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.wire import ProtocolError, wire_fields, wire_layout

# The longest unfinished frame that a client buffers, in characters.
MAX_FRAME: Final = 10 * 1024 * 1024


def _default(value: object) -> object:
    if isinstance(value, GeneratedBaseModel):
        return wire_fields(value)
    raise TypeError


_JSON = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default
)


def encode(event: BaseEvent) -> bytes:
    """Return `event` as one SSE frame, equal as JSON to what the SDK's encoder writes.

    Never raises: `to_jsonable` converts values that JSON does not have.
    """
    try:
        return f"data: {_model_text(event)}\n\n".encode()
    except Exception:
        return f"data: {_JSON.encode(to_jsonable(event))}\n\n".encode()


def encode_text(text: str) -> str:
    """Return a text as it stands in a frame, without quotes."""
    return encode_basestring(text)[1:-1]


def _model_text(model: GeneratedBaseModel) -> str:
    """Return a model as JSON text: one pass over its fields, most of which are texts or empty."""
    heads, required = _heads(type(model))
    pieces = [
        heads[name] + (encode_basestring(value) if value.__class__ is str else _text(value))
        for name, value in model.__dict__.items()
        if value is not None or name in required
    ]
    if extra := model.__pydantic_extra__:
        pieces += [f"{encode_basestring(name)}:{_text(value)}" for name, value in extra.items()]
    return "{" + ",".join(pieces) + "}"


def _text(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], GeneratedBaseModel):
        return "[" + ",".join(map(_model_text, value)) + "]"
    return _JSON.encode(value)


@cache
def _heads(kind: type[GeneratedBaseModel]) -> tuple[dict[str, str], frozenset[str]]:
    """Return `"alias":` for each field, and the fields that are not left out when they are
    empty.
    """
    layout = wire_layout(kind)
    required = frozenset(name for name, _, omittable in layout if not omittable)
    return {name: f'"{alias}":' for name, alias, _ in layout}, required


class SSEDecoder:
    """Turns the chunks of a response body into the JSON objects of its frames.

    Only `data:` lines count; several in one frame are joined with a newline. Comments, other fields
    and frames without data are skipped. CR and CRLF line ends work too, unlike in the reference
    client.

    Args:
        max_frame: The longest unfinished frame to buffer, in characters.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._max_frame = max_frame
        self._pieces: list[str] = []
        self._size = 0
        self._failure: ProtocolError | None = None

    def feed(self, chunk: bytes) -> list[dict[str, JsonValue]]:
        """Decode the next bytes; return the objects of the frames that they complete.

        Frames before a bad one are returned first; the next call then raises.

        Raises:
            ProtocolError: A frame is not a JSON object with an event type (`invalid-json`,
                `not-an-object`, `no-event-type`), or an unfinished frame is longer than `max_frame`
                (`frame-too-large`).
        """
        return self._read(self._split(self._decoder.decode(chunk)) if chunk else ())

    def finish(self) -> list[dict[str, JsonValue]]:
        """End the body; return the object of an unterminated last frame. Raises as `feed` does."""
        return self._read(self._split(self._decoder.decode(b"", final=True) + "\n\n"))

    def _split(self, text: str) -> list[str]:
        """Return the frames that `text` completes; a long frame is searched once, not per chunk."""
        straddles = text.startswith("\n") and bool(self._pieces) and self._pieces[-1].endswith("\n")
        if not straddles and "\n\n" not in text:
            if text:
                self._pieces.append(text)
                self._size += len(text)
            return []
        *frames, rest = ("".join(self._pieces) + text).split("\n\n")
        self._pieces = [rest] if rest else []
        self._size = len(rest)
        return frames

    def _read(self, frames: Iterable[str]) -> list[dict[str, JsonValue]]:
        if self._failure is not None:
            raise self._failure
        objects: list[dict[str, JsonValue]] = []
        try:
            objects.extend(_object(data) for frame in frames if (data := _data(frame)) is not None)
            if self._size > self._max_frame:
                raise ProtocolError(
                    "frame-too-large", f"An SSE frame exceeds {self._max_frame} characters."
                )
        except ProtocolError as error:
            self._failure = error
            if not objects:
                raise
        return objects


@overload
def decode(chunks: Iterable[bytes]) -> Iterator[Event]: ...
@overload
def decode(chunks: AsyncIterable[bytes]) -> AsyncGenerator[Event, None]: ...
def decode(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
) -> Iterator[Event] | AsyncGenerator[Event, None]:
    """Yield the events of a whole response body, each read by `parse_event`. Their order is not
    judged.

    The events of an asynchronous body are asynchronous too: `async for event in
    decode(agent.stream_sse(run_input))`.

    Raises:
        ProtocolError: As in `SSEDecoder` and `parse_event`.
    """
    decoder = SSEDecoder()
    # some HTTP bodies are both
    if isinstance(chunks, AsyncIterable) and not isinstance(chunks, Iterable):
        return _decode_async(chunks, decoder)
    return (event for chunk in chain(chunks, [None]) for event in _decode_chunk(decoder, chunk))


async def _decode_async(
    chunks: AsyncIterable[bytes], decoder: SSEDecoder
) -> AsyncGenerator[Event, None]:
    async for chunk in chunks:
        for event in _decode_chunk(decoder, chunk):
            yield event
    for event in _decode_chunk(decoder, None):
        yield event


def _decode_chunk(decoder: SSEDecoder, chunk: bytes | None) -> Iterator[Event]:
    """Yield the events that a chunk completes; None is the end of the body."""
    for value in decoder.finish() if chunk is None else decoder.feed(chunk):
        if (event := parse_event(value)) is not None:
            yield event
    decoder.feed(b"")  # raises the error of a frame that came behind valid ones


def _data(frame: str) -> str | None:
    if "\n" not in frame:
        return frame[5:] if frame.startswith("data:") else None
    lines = [line[5:] for line in frame.split("\n") if line.startswith("data:")]
    return "\n".join(lines) if lines else None


# `raw_decode` does not search for blanks around a value, which takes longer than to parse an event.
_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)
_BLANKS: Final = " \t\r\n"


def _object(data: str) -> dict[str, JsonValue]:
    try:
        value: JsonValue
        value, end = _DECODER.raw_decode(data := data.strip(_BLANKS))
        if end != len(data):
            raise json.JSONDecodeError("Extra data", data, end)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("invalid-json", f"An SSE frame is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProtocolError("not-an-object", "Invalid event: the frame is not a JSON object.")
    kind = value.get("type")
    if not isinstance(kind, str) or not kind:
        raise ProtocolError(
            "no-event-type", "Invalid event: the frame carries no event type.", value
        )
    return value
