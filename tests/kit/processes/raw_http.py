"""HTTP over a plain socket: a client that can do what well-behaved clients do not."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput

from tests.kit.waiting import PATIENCE

JSON = {"content-type": "application/json"}


def body_of(given: RunAgentInput) -> bytes:
    return given.model_dump_json(by_alias=True).encode()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One request on one connection. `receive_buffer` bounds what the kernel takes in for a slow
    reader."""

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(("127.0.0.1", port))
        self._buffer = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = JSON
    ) -> None:
        self._request(method, path, {**headers, "content-length": str(len(body))})
        self._socket.sendall(body)

    def send_chunked(
        self, path: str, pieces: Iterable[bytes], headers: Mapping[str, str] = JSON
    ) -> None:
        self._request("POST", path, {**headers, "transfer-encoding": "chunked"})
        for piece in pieces:
            self._socket.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        self._socket.sendall(b"0\r\n\r\n")

    def send_part(self, path: str, part: bytes, length: int) -> None:
        """Announce `length` bytes and send only `part`."""
        self._request("POST", path, {**JSON, "content-length": str(length)})
        self._socket.sendall(part)

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{lines}\r\n".encode())

    def head(self) -> tuple[int, dict[str, str]]:
        """Read status and headers."""
        first, *lines = self._until(b"\r\n\r\n").decode("latin-1").splitlines()
        pairs = (line.split(": ", 1) for line in lines if line)
        return int(first.split(" ")[1]), {name.lower(): value for name, value in pairs}

    def pieces(self) -> Iterator[bytes]:
        """Read a chunked body as its chunks come."""
        while size := int(self._until(b"\r\n"), 16):
            yield self._exactly(size)
            self._exactly(2)
        self._exactly(2)

    def answer(self) -> Answer:
        """Read everything."""
        status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join(self.pieces()))
        body = self._exactly(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def leave(self) -> None:
        """Close the connection, politely."""
        self._socket.close()

    def vanish(self) -> None:
        """Reset the connection."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _more(self) -> None:
        if not (data := self._socket.recv(65536)):
            raise EOFError("the server closed the connection")
        self._buffer += data


def ask(
    port: int, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = JSON
) -> Answer:
    """Make one request and read its whole answer."""
    with Connection(port) as connection:
        connection.send(method, path, body, headers)
        return connection.answer()
