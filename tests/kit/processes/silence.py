"""A connection to a real server, which can fall silent: it stays open, new ones are accepted, and
nothing comes through."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SOCKET = ".s.PGSQL.5432"


class Line:
    """The connections through one place. `flows` is clear while they are silent: what is sent then
    arrives later, but not that a connection was closed."""

    def __init__(self, address: str) -> None:
        self.flows = asyncio.Event()
        self.flows.set()
        self._address = urlsplit(address)
        self._tasks: set[asyncio.Task[None]] = set()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if host := self._address.hostname:
            return await asyncio.open_connection(host, self._address.port)
        [home] = parse_qs(self._address.query)["host"]
        return await asyncio.open_unix_connection(f"{home}/{SOCKET}")

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await self._open()
        both = [(reader, back), (there, writer)]
        self._tasks |= {asyncio.create_task(self._pass_on(self.flows, *one)) for one in both}

    async def _pass_on(
        self, flows: asyncio.Event, source: asyncio.StreamReader, target: asyncio.StreamWriter
    ) -> None:
        try:
            while data := await source.read(65_536):
                await flows.wait()
                target.write(data)
            if not flows.is_set():
                await asyncio.Event().wait()  # the end never arrives
        except OSError:  # one side is gone
            pass
        finally:
            target.close()

    def restore(self) -> None:
        """End the silence."""
        self.flows.set()

    def replace(self) -> None:
        """End the silence for new connections. It lasts for those that are there, as in a firewall
        that has forgotten them."""
        self.flows = asyncio.Event()
        self.flows.set()

    def cut(self) -> None:
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def line_to(address: str) -> AsyncIterator[tuple[Line, str]]:
    """A line to a server, and the address through it."""
    line, url = Line(address), urlsplit(address)
    with tempfile.TemporaryDirectory(prefix="agui-") as home:
        if url.hostname:
            server = await asyncio.start_server(line.relay, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            through = url._replace(netloc=f"127.0.0.1:{port}").geturl()
        else:
            server = await asyncio.start_unix_server(line.relay, Path(home, SOCKET))
            through = url._replace(query=f"host={home}").geturl()
        yield line, through
        line.cut()
        server.close()
