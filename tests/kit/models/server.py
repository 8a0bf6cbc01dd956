"""A scripted HTTP server on 127.0.0.1 that answers like the LLM providers do.

Every provider has its own path prefix, so one server can speak all of them at once;
`server.url("mistral")` is the address to give a client. Answers are queued with `script` and
streamed frame by frame, each request is recorded, and a client that leaves is noticed at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from asyncio import StreamReader, StreamWriter
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.kit.models.turns import Turn
from tests.kit.models.wires import Request, Wire, wire_of
from tests.kit.models.wires.base import compact
from tests.kit.waiting import PATIENCE

_USED_PORTS = {0}
"""The ports of all servers that this process has had."""


@dataclass(frozen=True)
class Reply:
    """How one request is answered, if not just with a turn.

    hold_after: stop after that many frames until `Recorded.release` is called or the client leaves.
    drop_after: cut the connection after that many frames. error_after: report `error` inside the
    stream after that many frames, and end it. status: answer with this HTTP error and `error` as
    its message.
    """

    turn: Turn | None = None
    hold_after: int | None = None
    drop_after: int | None = None
    error_after: int | None = None
    status: int | None = None
    error: str = "scripted error"


Script = Turn | Reply


@dataclass(frozen=True)
class Recorded(Request):
    """A request the server got, and what became of its answer."""

    held: threading.Event = field(default_factory=threading.Event, repr=False)
    finished: threading.Event = field(default_factory=threading.Event, repr=False)
    left: threading.Event = field(default_factory=threading.Event, repr=False)
    _loop: Any = field(default_factory=asyncio.get_running_loop, repr=False)
    _gate: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def release(self) -> None:
        """Let a held answer go on."""
        self._loop.call_soon_threadsafe(self._gate.set)

    @property
    def disconnected(self) -> bool:
        return self.left.is_set()


class ProviderServer:
    """See the module. Use as a context manager, or through the `provider_server` fixture.

    keep_alive: whether a client may use a connection again. A pool then keeps it, with the event
    loop that it is of.
    """

    def __init__(self, *, keep_alive: bool = False) -> None:
        self._keep_alive = keep_alive
        self.requests: list[Recorded] = []
        self.port = 0
        self._scripts: dict[str, deque[Script]] = defaultdict(deque)
        self._responders: dict[str, Callable[[Recorded], Script]] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="providers", daemon=True
        )
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def url(self, provider: str) -> str:
        """The address of a provider, without the provider's own `/v1` or the like."""
        assert wire_of(provider), f"unknown provider {provider!r}"
        return f"http://127.0.0.1:{self.port}/{provider}"

    def script(self, provider: str, *replies: Script) -> None:
        """Queue the answers to the next requests."""
        with self._lock:
            self._scripts[provider].extend(replies)

    def respond(self, provider: str, responder: Callable[[Recorded], Script]) -> None:
        """Answer requests that find the queue empty with what `responder` makes of them."""
        self._responders[provider] = responder

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    @property
    def disconnects(self) -> int:
        """How many clients left before their answer was complete."""
        return sum(request.disconnected for request in self.requests)

    @property
    def unanswered(self) -> int:
        """How many scripted answers were not asked for."""
        return sum(len(queue) for queue in self._scripts.values())

    def __enter__(self) -> ProviderServer:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=PATIENCE)
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE)

    async def _listen(self) -> None:
        """Listen at a port of its own: langchain-openai keeps the client of an address, with its
        event loop, for the next model of that address."""
        while self.port in _USED_PORTS:
            if self._server is not None:
                self._server.close()
            start = asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 26)
            self._server = await start
            self.port = self._server.sockets[0].getsockname()[1]
        _USED_PORTS.add(self.port)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # lets what they waited for end, too

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer) and self._keep_alive:
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the server stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Read one request and answer it. Return whether another one may follow."""
        if not (line := await reader.readline()):
            return False
        method, target, _ = line.decode("latin-1").split(" ", 2)
        raw = await _read_body(reader)
        path, _, query = target.partition("?")
        provider, _, rest = unquote(path.lstrip("/")).partition("/")
        wire = wire_of(provider)
        if wire is None or method != "POST":
            await _answer(writer, 404, {"error": f"nothing here: {method} {path}"})
            return False
        with self._lock:
            seq = len(self.requests) + 1
            record = Recorded(seq, f"/{rest}", query, json.loads(raw) if raw else {})
            self.requests.append(record)
        try:
            return await self._reply(wire, self._next(provider, record), record, reader, writer)
        except ConnectionError:
            record.left.set()
            return False
        finally:
            record.finished.set()

    def _next(self, provider: str, record: Recorded) -> Reply:
        with self._lock:
            queue = self._scripts[provider]
            script: Script | None = queue.popleft() if queue else None
        if script is None and provider in self._responders:
            script = self._responders[provider](record)
        if script is None:
            return Reply(status=400, error=f"no answer for request {record.seq} to {provider}")
        return script if isinstance(script, Reply) else Reply(script)

    async def _reply(
        self, wire: Wire, reply: Reply, record: Recorded, reader: StreamReader, writer: StreamWriter
    ) -> bool:
        if reply.status is not None:
            await _answer(writer, reply.status, wire.error(reply.status, reply.error))
            return False
        if not wire.wants_stream(record):
            turn = reply.turn or Turn(())
            await _answer(writer, 200, wire.whole(turn, record))
            return False
        leaving = asyncio.ensure_future(_left(reader))
        try:
            return await self._stream(wire, reply, record, leaving, writer)
        finally:  # watch no more: the next request may be read
            leaving.cancel()
            await asyncio.wait({leaving})

    async def _stream(
        self, wire: Wire, reply: Reply, record: Recorded, leaving: Any, writer: StreamWriter
    ) -> bool:
        connection = "keep-alive" if self._keep_alive else "close"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {wire.content_type}\r\n"
        head += f"Transfer-Encoding: chunked\r\nConnection: {connection}\r\n\r\n"
        writer.write(head.encode())
        for number, frame in enumerate(wire.stream(reply.turn or Turn(()), record)):
            if number == reply.hold_after:
                await writer.drain()
                record.held.set()
                gate = asyncio.ensure_future(record._gate.wait())
                await asyncio.wait((gate, leaving), return_when=asyncio.FIRST_COMPLETED)
                gate.cancel()
            await asyncio.sleep(0)
            if leaving.done():
                raise ConnectionError
            if number == reply.drop_after:
                await writer.drain()
                writer.transport.abort()
                return False
            if number == reply.error_after:
                writer.write(_chunk(wire.stream_error(reply.error, record)))
                break
            writer.write(_chunk(frame))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return reply.error_after is None


async def _left(reader: StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1024):
            pass


async def _read_body(reader: StreamReader) -> bytes:
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _answer(writer: StreamWriter, status: int, data: Any) -> None:
    body = compact(data).encode()
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
