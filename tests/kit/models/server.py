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
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.kit.models.turns import Turn
from tests.kit.models.wires import WIRES
from tests.kit.models.wires.base import Request, Wire, compact
from tests.kit.waiting import PATIENCE

if TYPE_CHECKING:
    from types import TracebackType

_USED_PORTS = {0}
"""The ports of all servers that this process has had."""


@dataclass(frozen=True)
class Reply:
    """How one request is answered.

    delay: seconds before every frame. first_delay: seconds before the first one, on top.
    hold_after: stop after that many frames until `Recorded.release` is called or the client leaves.
    drop_after: cut the connection after that many frames.
    error_after: report `error` inside the stream after that many frames, and end it.
    status: answer with this HTTP error and `error` as its message.
    """

    turn: Turn | None = None
    delay: float = 0.0
    first_delay: float = 0.0
    hold_after: int | None = None
    drop_after: int | None = None
    error_after: int | None = None
    status: int | None = None
    error: str = "scripted error"


Script = Turn | Reply
Responder = Callable[["Recorded"], Script]


@dataclass
class Recorded:
    """A request the server got, and what became of its answer."""

    seq: int
    provider: str
    channel: str
    path: str
    query: str
    headers: dict[str, str]
    body: dict[str, Any]
    streamed: bool = False
    frames_written: int = 0
    disconnected: bool = False
    failure: str | None = None
    held: threading.Event = field(default_factory=threading.Event, repr=False)
    finished: threading.Event = field(default_factory=threading.Event, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)
    _gate: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def release(self) -> None:
        """Let a held answer go on."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._gate.set)

    def wire_request(self) -> Request:
        return Request(seq=self.seq, path=self.path, query=self.query, body=self.body)


class _GoneError(Exception):
    """The client has left."""


class ProviderServer:
    """See the module. Use as a context manager, or through the `provider_server` fixture.

    keep_alive: whether a client may use a connection again. A pool then keeps it, with the event
    loop that it is of.
    """

    def __init__(self, *, keep_alive: bool = False) -> None:
        self._keep_alive = keep_alive
        self.requests: list[Recorded] = []
        self.port = 0
        self._scripts: dict[tuple[str, str], deque[Script]] = defaultdict(deque)
        self._responders: dict[tuple[str, str], Responder] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="provider-server", daemon=True
        )
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    # Setting up

    def url(self, provider: str, channel: str = "") -> str:
        """The address of a provider, without the provider's own `/v1` or the like.

        A channel is a queue of its own, for several models of one provider.
        """
        assert provider in WIRES, f"unknown provider {provider!r}"
        return f"http://127.0.0.1:{self.port}/{provider}{f'~{channel}' if channel else ''}"

    def script(self, provider: str, *replies: Script, channel: str = "") -> None:
        """Queue the answers to the next requests."""
        assert provider in WIRES, f"unknown provider {provider!r}"
        with self._lock:
            self._scripts[provider, channel].extend(replies)

    def respond(self, provider: str, responder: Responder, channel: str = "") -> None:
        """Answer requests that find the queue empty with what `responder` makes of them."""
        self._responders[provider, channel] = responder

    # Looking back

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

    async def settled(self, count: int, timeout: float = PATIENCE) -> list[Recorded]:
        """The first `count` requests, once they all came in and were answered or abandoned."""
        async with asyncio.timeout(timeout):
            while len(self.requests) < count or not all(
                r.finished.is_set() for r in self.requests[:count]
            ):
                await asyncio.sleep(0.005)
        return self.requests[:count]

    async def arrived(self, count: int, timeout: float = PATIENCE) -> Recorded:
        """The `count`th request, as soon as it is there."""
        async with asyncio.timeout(timeout):
            while len(self.requests) < count:
                await asyncio.sleep(0.005)
        return self.requests[count - 1]

    # Running

    def start(self) -> ProviderServer:
        self._thread.start()
        self._call(self._listen())
        return self

    def stop(self) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=PATIENCE)
        self._loop.close()

    def __enter__(self) -> ProviderServer:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE)

    async def _listen(self) -> None:
        """Listen at a port of its own: langchain-openai keeps the client of an address, with its
        event loop, for the next model of that address."""
        while self.port in _USED_PORTS:
            if self._server is not None:
                self._server.close()
            self._server = await asyncio.start_server(
                self._connected, "127.0.0.1", 0, limit=1 << 26
            )
            self.port = self._server.sockets[0].getsockname()[1]
        _USED_PORTS.add(self.port)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # lets what they waited for end, too

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it. Return whether it was answered whole."""
        got = await _read_request(reader)
        if got is None:
            return False
        method, target, headers, raw = got
        path, _, query = target.partition("?")
        prefix, _, rest = path.lstrip("/").partition("/")
        provider, _, channel = unquote(prefix).partition("~")
        wire = WIRES.get(provider)
        if wire is None or method != "POST":
            await _answer(writer, 404, {"error": f"nothing here: {method} {path}"})
            return False
        record = self._record(provider, channel, f"/{rest}", query, headers, raw)
        try:
            await self._reply(wire, record, reader, writer)
        except (_GoneError, ConnectionError):
            record.disconnected = True
        finally:
            record.finished.set()
        return record.streamed and not record.disconnected and record.failure is None

    def _record(
        self,
        provider: str,
        channel: str,
        path: str,
        query: str,
        headers: dict[str, str],
        raw: bytes,
    ) -> Recorded:
        body = json.loads(raw) if raw else {}
        with self._lock:
            seq = len(self.requests) + 1
            record = Recorded(seq, provider, channel, path, query, headers, body)
            record._loop = self._loop
            self.requests.append(record)
        return record

    def _next(self, record: Recorded) -> Reply:
        key = (record.provider, record.channel)
        with self._lock:
            queue = self._scripts[key]
            script: Script | None = queue.popleft() if queue else None
        if script is None and key in self._responders:
            script = self._responders[key](record)
        if script is None:
            return Reply(status=400, error=f"no answer scripted for request {record.seq} to {key}")
        return script if isinstance(script, Reply) else Reply(turn=script)

    async def _reply(
        self,
        wire: Wire,
        record: Recorded,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        request = record.wire_request()
        reply = self._next(record)
        record.streamed = wire.wants_stream(request)
        if reply.status is not None:
            record.failure = f"HTTP {reply.status}"
            await _answer(writer, reply.status, wire.error(reply.status, reply.error))
            return
        assert reply.turn is not None, "a reply needs a turn or a status"
        client = _Client(reader)
        try:
            if not record.streamed:
                await client.unless_gone(asyncio.sleep(reply.first_delay + reply.delay))
                await _answer(writer, 200, wire.whole(reply.turn, request))
                return
            await self._stream(wire, reply, record, client, writer)
        finally:
            await client.close()

    async def _stream(
        self,
        wire: Wire,
        reply: Reply,
        record: Recorded,
        client: _Client,
        writer: asyncio.StreamWriter,
    ) -> None:
        assert reply.turn is not None
        request = record.wire_request()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {wire.content_type}\r\n"
        connection = "keep-alive" if self._keep_alive else "close"
        writer.write(
            f"{head}Transfer-Encoding: chunked\r\nConnection: {connection}\r\n\r\n".encode()
        )
        await client.unless_gone(asyncio.sleep(reply.first_delay))
        for number, frame in enumerate(wire.stream(reply.turn, request)):
            if number == reply.hold_after:
                await self._hold(record, client, writer)
            if number == reply.drop_after:
                record.failure = "dropped"
                await writer.drain()
                writer.transport.abort()
                return
            if number == reply.error_after:
                record.failure = "error in stream"
                writer.write(_chunk(wire.stream_error(reply.error, request)))
                break
            await client.unless_gone(asyncio.sleep(reply.delay))
            writer.write(_chunk(frame))
            await writer.drain()
            record.frames_written += 1
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _hold(self, record: Recorded, client: _Client, writer: asyncio.StreamWriter) -> None:
        await writer.drain()
        record.held.set()
        await client.unless_gone(record._gate.wait())


class _Client:
    """The other end of a connection, watched for leaving."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._left = asyncio.ensure_future(_left(reader))

    async def unless_gone(self, waiting: Coroutine[Any, Any, Any]) -> None:
        """Wait for something, but not longer than the client does."""
        waited = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait((waited, self._left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waited.cancel()
        if self._left.done():
            raise _GoneError

    async def close(self) -> None:
        """Watch no more: the next request may be read."""
        self._left.cancel()
        await asyncio.wait({self._left})


async def _left(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1024):
            pass


async def _read_request(
    reader: asyncio.StreamReader,
) -> tuple[str, str, dict[str, str], bytes] | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return method, target, headers, await _read_chunks(reader)
    return method, target, headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _answer(writer: asyncio.StreamWriter, status: int, data: Any) -> None:
    body = compact(data).encode()
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
