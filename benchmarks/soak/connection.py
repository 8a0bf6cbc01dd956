"""One HTTP request on one connection, by a client that may stop reading, leave, or vanish."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Self

STALLED = 2048
"""Bytes that the kernel takes in for a reader that does not read."""


class Connection:
    """A request, and what of its answer is read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0

    @classmethod
    async def open(
        cls, port: int, method: str, path: str, body: bytes = b"", *, stalled: bool = False
    ) -> Self:
        """Send a request and read the head of the answer."""
        made = socket.socket()
        made.setblocking(False)
        if stalled:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STALLED)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
        connection = cls(
            *await asyncio.open_connection(sock=made, limit=STALLED if stalled else 2**16)
        )
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        connection._writer.write(head.encode() + length.encode() + body)
        await connection._writer.drain()
        lines = (await connection._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        connection.status = int(lines[0].split(b" ")[1])
        return connection

    async def pieces(self) -> AsyncIterator[bytes]:
        """Read a chunked body. Raises `IncompleteReadError` if it breaks off."""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]

    async def rest(self) -> bytes:
        """Read to the end of the connection."""
        return await self._reader.read()

    async def leave(self, *, politely: bool = True) -> None:
        """Close the connection, or reset it."""
        if not politely:
            made = self._writer.get_extra_info("socket")
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def ask(port: int, method: str, path: str) -> Any:
    """Return the JSON that a request is answered with."""
    connection = await Connection.open(port, method, path)
    answer = json.loads(await connection.rest())
    await connection.leave()
    return answer
