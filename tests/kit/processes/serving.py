"""An ASGI app behind a real uvicorn socket, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.kit.waiting import PATIENCE, wait_for

T = TypeVar("T")


class Served(uvicorn.Server):
    """A running server. `complaints` are what its loop reports of tasks that nobody looked
    after."""

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        options: Any = {"log_config": None, "access_log": False, "timeout_graceful_shutdown": 1}
        super().__init__(uvicorn.Config(app, **options))
        self._socket = socket.create_server(("127.0.0.1", port), backlog=128)
        self._up = threading.Event()
        self._thread = threading.Thread(target=self.run, args=([self._socket],), daemon=True)
        self._own: set[asyncio.Task[Any]] = set()
        self.port: int = self._socket.getsockname()[1]
        self.complaints: list[str] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(lambda _loop, context: self.complaints.append(str(context)))
        self._stopping = asyncio.Event()
        self._own = asyncio.all_tasks()
        self._up.set()

    async def main_loop(self) -> None:
        """Wait for the end, where uvicorn looks ten times a second whether it has come."""
        await self.on_tick(0)
        await self._stopping.wait()

    def begin(self) -> None:
        self._thread.start()
        assert self._up.wait(PATIENCE), "the server did not start"

    def end(self) -> None:
        if self._thread.ident is not None and not self._thread.is_alive():
            return
        self.should_exit = True
        self.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the server did not stop"
        gc.collect()  # a task that was dropped complains when it is collected

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def tasks(self) -> list[str]:
        """The tasks in the server's loop, but for those that an idle server has."""

        async def others() -> list[str]:
            own = self._own | {asyncio.current_task()}
            return [repr(task) for task in asyncio.all_tasks() - own]

        return self.call(others())

    def wait_idle(self) -> None:
        """Wait until no request, no run and no other task is left."""
        wait_for(lambda: not self.tasks(), "no task is left")


@contextlib.contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[Served]:
    """Serve `app`; at the end no task may have complained."""
    served = Served(app, port)
    served.begin()
    try:
        yield served
    finally:
        served.end()
    assert not served.complaints, served.complaints


class Tape:
    """ASGI middleware that keeps the bytes of every answer, by path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.answers: dict[str, list[bytes]] = defaultdict(list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def taped(message: Message) -> None:
            body.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self.answers[scope["path"]].append(bytes(body))
            await send(message)

        await self._app(scope, receive, taped if scope["type"] == "http" else send)
