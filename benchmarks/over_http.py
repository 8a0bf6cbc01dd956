"""The runs of a sample over HTTP: recordings go in, and the pieces that a client got are put there.

The server is uvicorn in this process, so its CPU counts. The client is another process.
"""

import asyncio
import multiprocessing
import socket
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from http.client import HTTPConnection
from time import perf_counter

import uvicorn
from fastapi import FastAPI

from .recording import Drive, Piece, Recording
from .subjects import PATH, Mount
from .workloads import Workload

HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


@asynccontextmanager
async def served(workload: Workload, mount: Mount) -> AsyncIterator[Drive]:
    """Serve an endpoint; gives what posts runs to it, all at once."""
    app = FastAPI()
    mount(app, workload)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                yield partial(_drive, pool, listener.getsockname()[1])
        finally:
            server.should_exit = True
            await serving


async def _drive(pool: ProcessPoolExecutor, port: int, recordings: Sequence[Recording]) -> None:
    bodies = [one.run_input.model_dump_json(by_alias=True).encode() for one in recordings]
    started, loop = perf_counter(), asyncio.get_running_loop()
    answers = await loop.run_in_executor(pool, _post_all, port, bodies)
    for recording, pieces in zip(recordings, answers, strict=True):
        recording.started, recording.pieces = started, pieces


def _post_all(port: int, bodies: list[bytes]) -> list[list[Piece]]:
    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(partial(_post, port), bodies))


def _post(port: int, body: bytes) -> list[Piece]:
    """What each read of the answer gave, and when."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", PATH, body, HEADERS)
    response = connection.getresponse()
    pieces = []
    while piece := response.read1():
        pieces.append((perf_counter(), piece))
    connection.close()
    return pieces
