"""The same runs over real HTTP: uvicorn in this process, on loopback, and a client in a process of
its own.

The measured process is the server: its CPU holds the graph, the adapter, FastAPI and uvicorn. The
client's CPU is not counted. The client is told over a pipe what to post, and says when it is done.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import uvicorn
from fastapi import FastAPI

from .recording import Drive, Recording
from .workloads import Workload

Mount = Callable[[FastAPI, str, Workload], None]


@asynccontextmanager
async def serve(workload: Workload, mount: Mount) -> AsyncIterator[Drive]:
    """Serve the endpoint that ``mount`` adds; gives a function that posts to it, any number of
    times at once."""
    app = FastAPI()
    mount(app, "/agent", workload)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    with TemporaryDirectory() as folder:
        client = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "benchmarks.http_client",
                str(listener.getsockname()[1]),
                "/agent",
                folder,
            ),
            cwd=Path(__file__).parent.parent,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        posting = Posting(client, Path(folder))
        try:
            yield posting.post
        finally:
            await posting.close()
            server.should_exit = True
            await serving
            listener.close()


class Posting:
    """The client's process, and the runs that it has yet to report."""

    def __init__(self, client: asyncio.subprocess.Process, folder: Path) -> None:
        self._client = client
        self._folder = folder
        self._waiting: dict[str, tuple[Recording, asyncio.Event]] = {}
        self._reading = asyncio.create_task(self._read())

    async def post(self, recording: Recording) -> None:
        """Let the client post the input; return when it has the whole answer."""
        assert self._client.stdin
        recording.started = perf_counter()
        done = asyncio.Event()
        self._waiting[recording.run_input.run_id] = recording, done
        self._client.stdin.write(
            recording.run_input.model_dump_json(by_alias=True).encode() + b"\n"
        )
        await done.wait()
        if recording.stored is None:
            raise AssertionError("the client has ended; its error is above")

    async def _read(self) -> None:
        assert self._client.stdout
        async for line in self._client.stdout:
            run_id, first, content = line.decode().split()
            recording, done = self._waiting.pop(run_id)
            recording.first, recording.content = float(first), float(content)
            recording.stored = self._folder / run_id
            done.set()
        for _, done in self._waiting.values():
            done.set()

    async def close(self) -> None:
        """End the client."""
        assert self._client.stdin
        self._client.stdin.close()
        await self._client.wait()
        await self._reading
