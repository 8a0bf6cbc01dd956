"""Servers in processes of their own."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def started(module: str, *arguments: object) -> AsyncIterator[int]:
    """Run a server that prints its port and serves until its input ends; gives the port."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *map(str, arguments)),
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
