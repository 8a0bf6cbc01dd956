"""What the server asks of a provider's wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.kit.models.turns import Turn

CREATED = 1_760_000_000
"""The one point in time every scripted answer was made at."""

USED, GIVEN, THOUGHT, CACHED = 11, 7, 2, 3
"""Tokens of each answer: input, output, and how many of these are reasoning and cached."""


@dataclass(frozen=True)
class Request:
    """A request as the server read it. `seq` counts the server's requests from 1 and makes ids
    unique."""

    seq: int
    path: str
    query: str
    body: dict[str, Any]

    @property
    def model(self) -> str:
        return str(self.body.get("model", "scripted"))


class Wire:
    """One provider's format."""

    content_type = "text/event-stream; charset=utf-8"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        """The turn's frames, each as the bytes of one event."""
        raise NotImplementedError

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        """The turn as one JSON answer."""
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The JSON body of an HTTP error."""
        return {"error": {"message": message, "type": "server_error", "param": None, "code": None}}

    def stream_error(self, message: str, request: Request) -> bytes:
        """The frame that reports an error in the middle of a stream."""
        return sse(self.error(503, message))


def compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def sse(data: Any, event: str | None = None, end: str = "\n\n") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else compact(data)}{end}".encode()
