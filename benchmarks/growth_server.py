"""The server of section G: ``python -m benchmarks.growth_server TOKENS``.

Its model waits until it is told to speak, so that any number of runs can wait at once: over HTTP
(`/agent`), or begun in this process (`/begin`), with `stream_sse` or without an adapter.
"""

import asyncio
import gc
import socket
import sys
from time import process_time
from typing import Any

import psutil
import uvicorn
from fastapi import FastAPI

from benchmarks import graphs
from benchmarks.growth_crowd import check_outcome, last_values, read_stream
from benchmarks.growth_graph import asking_thread, echo
from langgraph_agui import LangGraphAgent, agui_router


def build(tokens: int) -> FastAPI:
    """The application."""
    model = echo(tokens)
    graph = graphs.one_node(model)
    agent = LangGraphAgent(graph)
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    begun: list[tuple[Any, asyncio.Task[Any]]] = []

    @app.post("/hold")
    async def hold() -> None:
        """Let all runs from now on wait."""
        model.gate.clear()
        model.waiting.clear()

    @app.post("/begin/{adapter}/{count}")
    async def begin(adapter: bool, count: int) -> None:
        """Begin runs in this process."""
        for _ in range(count):
            run_input = asking_thread()
            work = read_stream(agent, run_input) if adapter else last_values(graph, run_input)
            begun.append((run_input, asyncio.ensure_future(work)))

    @app.post("/end")
    async def end() -> None:
        """Wait until the runs of this process have ended, and check what they have said."""
        outcomes = await asyncio.gather(*(task for _, task in begun))
        for (run_input, _), outcome in zip(begun, outcomes, strict=True):
            check_outcome("G3", run_input, outcome, tokens)
        begun.clear()

    @app.post("/go")
    async def go() -> float:
        """Let the runs go on; those of this process are at their end when this answers. Gives CPU
        seconds."""
        before = process_time()
        model.gate.set()
        await asyncio.wait([task for _, task in begun] or [asyncio.ensure_future(asyncio.sleep(0))])
        return process_time() - before

    @app.get("/noted")
    async def noted() -> dict[str, float]:
        """How many runs wait, the bytes of this process, and its CPU seconds."""
        return {"waiting": len(model.waiting), "cpu": process_time()}

    @app.get("/memory")
    async def memory() -> int:
        """The bytes of this process, without garbage."""
        gc.collect()
        size: int = psutil.Process().memory_info().rss
        return size

    return app


async def main(tokens: int) -> None:
    """Serve with one worker until the input ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = uvicorn.Server(uvicorn.Config(build(tokens), log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    print(listener.getsockname()[1], flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
