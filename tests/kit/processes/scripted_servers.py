"""Servers that a test scripts byte by byte, and the two ways to read what an agent says."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import Event
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langgraph_agui.client.event_stream import EventStream
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, text
from tests.kit.waiting import PATIENCE

SSE = "text/event-stream"
CANCELLED: Wire = {**FINISHED, "outcome": {"type": "cancelled"}}


def asking(*interrupts: Wire) -> Wire:
    """The end of a run that waits for answers."""
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def made_call(call_id: str = "c", arguments: str = "{}", name: str = "f") -> Wire:
    """A call, as a message has it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """Its one value; "" if there is none."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, values
        return values[0] if values else ""


class Peer:
    """The server's side of one connection, after its request was read."""

    def __init__(self, connection: socket.socket, asked: Asked) -> None:
        self.asked, self._connection = asked, connection

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)

    def head(self, status: int = 200, content_type: str = SSE, **headers: str) -> None:
        """Write status and headers of an answer that ends with the connection."""
        named = {"content-type": content_type, **headers}
        lines = [f"{key.replace('_', '-')}: {value}\r\n" for key, value in named.items() if value]
        head = f"HTTP/1.1 {status} Told\r\n{''.join(lines)}connection: close\r\n\r\n"
        self.write(head.encode())

    def reset(self) -> None:
        """Break the connection; what was just written may be lost with it."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()

    def left(self, seconds: float = PATIENCE) -> bool:
        """Wait until the client has gone; False if it has not in that time."""
        ready, _, _ = select.select([self._connection], [], [], seconds)
        try:
            return bool(ready) and self._connection.recv(1) == b""
        except ConnectionError:
            return True


Script = Callable[[Peer], object]
"""What is done with one connection, which is closed afterwards."""


class Server:
    """Answers one request after the other, each as the next of its scripts says; one too many is
    reset. A list of events is the script that sends them."""

    def __init__(self, *scripts: Script | list[Wire]) -> None:
        self.asked: list[Asked] = []
        self.faults: list[BaseException] = []
        self._scripts = [recording(*one) if isinstance(one, list) else one for one in scripts]
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/agent"
        self._threads[0].start()

    def sent(self, number: int = -1) -> Any:
        """The messages of a request."""
        return self.asked[number].json["messages"]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(PATIENCE)
                peer = Peer(connection, _read(connection))
                self.asked.append(peer.asked)
                number = len(self.asked) - 1
                self._scripts[number](peer) if number < len(self._scripts) else peer.reset()
        except ConnectionError:
            pass  # the client was faster
        except BaseException as error:
            self.faults.append(error)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not self.faults, self.faults


@contextmanager
def server(*scripts: Script | list[Wire]) -> Iterator[Server]:
    running = Server(*scripts)
    try:
        yield running
    finally:
        running.close()


def _read(connection: socket.socket) -> Asked:
    data = b""

    def receive() -> bytes:
        if not (more := connection.recv(65536)):
            raise ConnectionError("the client has gone")
        return data + more

    while b"\r\n\r\n" not in data:
        data = receive()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(key.lower(), value) for key, _, value in (line.partition(": ") for line in lines)]
    size = len(data) - len(body) + int(dict(headers).get("content-length", 0))
    while len(data) < size:
        data = receive()
    return Asked(method, path, headers, data.partition(b"\r\n\r\n")[2])


def frames(events: Iterable[Wire]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def recording(*events: Wire) -> Script:
    """Answers with these events, and ends."""
    return sending(frames(events))


def sending(data: bytes, content_type: str = SSE, *, lasts: bool = False, **headers: str) -> Script:
    """Answers with these bytes, and ends, or waits for its reader to leave."""

    def script(peer: Peer) -> None:
        peer.head(content_type=content_type, **headers)
        peer.write(data)
        assert not lasts or peer.left()

    return script


def answering(
    status: int, body: str = "", content_type: str = "text/plain", **headers: str
) -> Script:
    """Answers with something else than events."""

    def script(peer: Peer) -> None:
        peer.head(status, content_type, content_length=str(len(body.encode())), **headers)
        peer.write(body.encode())

    return script


class Blocking:
    """Reads with `for`."""

    def __repr__(self) -> str:
        return "for"

    def read(self, stream: EventStream, take: Callable[[Event], object] = id) -> list[Event]:
        """Read to the end; `take` is given each event when it comes."""
        return [(take(event), event)[1] for event in stream]

    def leave(self, stream: EventStream, count: int) -> list[Event]:
        """Read the first events, and leave."""
        with stream:
            return [event for _, event in zip(range(count), stream, strict=False)]


class Awaiting(Blocking):
    """Reads with `async for`."""

    def __repr__(self) -> str:
        return "async for"

    def read(self, stream: EventStream, take: Callable[[Event], object] = id) -> list[Event]:
        async def read() -> list[Event]:
            return [(take(event), event)[1] async for event in stream]

        return asyncio.run(read())

    def leave(self, stream: EventStream, count: int) -> list[Event]:
        async def leave() -> list[Event]:
            async with stream:
                events = aiter(stream)
                return [await anext(events) for _ in range(count)]

        return asyncio.run(leave())


both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


class Recorder:
    """ASGI middleware that keeps what was asked, and the bytes of its answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.exchanges: list[tuple[Any, bytearray]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked, answer = bytearray(), bytearray()

        async def received() -> Message:
            message = await receive()
            asked.extend(message.get("body", b""))
            if message["type"] == "http.request" and not message.get("more_body"):
                self.exchanges.append((json.loads(asked), answer))
            return message

        async def sent(message: Message) -> None:
            answer.extend(message.get("body", b""))
            await send(message)

        is_http = scope["type"] == "http"
        await self._app(scope, received if is_http else receive, sent if is_http else send)


class Endless:
    """Begins a run and waits for its reader to leave."""

    def __init__(self) -> None:
        self.left = threading.Event()

    def __call__(self, peer: Peer) -> None:
        peer.head()
        peer.write(frames([STARTED, *text("m", "a")[:2]]))
        if peer.left():
            self.left.set()

    async def cleaned_up(self) -> None:
        """Wait until the connection is closed, and all that comes after it is done."""
        assert await asyncio.to_thread(self.left.wait, PATIENCE)
        late = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*late)
