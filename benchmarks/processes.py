"""Servers in processes of their own: a module goes in, the port of its server comes out."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI


@asynccontextmanager
async def started(module: str, *arguments: str) -> AsyncIterator[int]:
    """Run a module that calls `serve`; gives the port."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=Path(__file__).parent.parent,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdin
    assert server.stdout
    try:
        yield int(await server.stdout.readline())
    finally:
        server.stdin.close()
        await server.wait()


async def serve(app: FastAPI) -> None:
    """Print the port, and serve until the input ends."""
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)
    asyncio.get_running_loop().add_reader(sys.stdin, setattr, server, "should_exit", True)
    await server.serve(sockets=[listener])
