"""The same runs over real HTTP: uvicorn in this process, on loopback, and a client in a process of its own.

The measured process is the server: its CPU holds the graph, the adapter, FastAPI and uvicorn. The
client's CPU is not counted. The client is told over a pipe what to post, and says when the first bytes
came and when it is done.
"""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI

from .workloads import Workload

Mount = Callable[[FastAPI, str, Workload], None]
Stream = Callable[[RunAgentInput], AsyncIterator[bytes]]


@asynccontextmanager
async def serve(workload: Workload, mount: Mount) -> AsyncIterator[Stream]:
    """Serve the endpoint that ``mount`` adds; gives a stream function that posts to it."""
    app = FastAPI()
    mount(app, "/agent", workload)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    command = (sys.executable, "-m", "benchmarks.http_client", str(listener.getsockname()[1]), "/agent")
    client = await asyncio.create_subprocess_exec(
        *command,
        cwd=Path(__file__).parent.parent,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        with TemporaryDirectory() as folder:
            yield _poster(client, Path(folder) / "body")
    finally:
        assert client.stdin
        client.stdin.close()
        await client.wait()
        server.should_exit = True
        await serving
        listener.close()


def _poster(client: asyncio.subprocess.Process, path: Path) -> Stream:
    """A stream of two pieces: an empty one at the first bytes, and the whole body at the end."""

    async def stream(run_input: RunAgentInput) -> AsyncIterator[bytes]:
        assert client.stdin
        assert client.stdout
        order = {"body": run_input.model_dump_json(by_alias=True), "path": str(path)}
        client.stdin.write(json.dumps(order).encode() + b"\n")
        assert await client.stdout.readline() == b"first\n"
        yield b""
        assert await client.stdout.readline() == b"done\n"
        yield path.read_bytes()

    return stream
