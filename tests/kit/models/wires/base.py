"""What the server asks of a provider's wire format."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.models.turns import Turn

CREATED = 1_760_000_000
"""The one point in time every scripted answer was made at."""


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


class Wire(Protocol):
    """One provider's format."""

    content_type: str

    def wants_stream(self, request: Request) -> bool: ...

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        """The turn's frames, each as the bytes of one event."""
        ...

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        """The turn as one JSON answer."""
        ...

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The JSON body of an HTTP error."""
        ...

    def stream_error(self, message: str, request: Request) -> bytes:
        """The frame that reports an error in the middle of a stream."""
        ...


def compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def sse(data: Any, event: str | None = None, end: str = "\n\n") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else compact(data)}{end}".encode()
