"""Section R: the memory that readers cost who join a run and do not read: ``python -m
benchmarks.stalled TOKENS BOUND`` is its server.

One run writes many times the bytes that may wait for a reader; its own reader reads. The server's
memory is compared with that of a server without such readers at the same points of the run; the
largest difference counts, divided by the number of readers and by the bound.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any
from uuid import uuid4

import psutil
import uvicorn
from ag_ui.core import RunAgentInput, UserMessage
from fastapi import FastAPI
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import ConfigDict

from langgraph_agui import LangGraphAgent, RunLimits, agui_router

from .model import ScriptedModel, finish, plain
from .processes import started
from .soak.connection import Connection, ask

KEY = "R"
BOUND = 2 * 1024 * 1024
READERS = 24
MOST_ROUNDS = 3
POINTS = 100
TIMES = (4, 8)
"""How many times the bound a run writes."""

TOKEN = "word " * 20  # text alone counts: fragments that wait are merged into one event


@dataclass
class Stall:
    """Runs of one length, by how many times the bound they write, and what a reader cost in each,
    over the bound."""

    times: int
    shares: list[float]
    grown: list[float]
    """MB, by all readers."""


async def measure_stalled(rounds: int, scale: float) -> list[Stall]:
    """Measure runs of each length, three times at most."""
    bound, found = int(BOUND * max(scale, 0.25)), []
    for times in TIMES:
        tokens, stall = bound * times // len(TOKEN), Stall(times, [], [])
        for _ in range(min(rounds, MOST_ROUNDS)):
            alone, stalled = [await _memory(tokens, bound, readers) for readers in (0, READERS)]
            grown = max(more - less for more, less in zip(stalled, alone, strict=True))
            stall.grown.append(grown / 1e6)
            stall.shares.append(grown / READERS / bound)
        found.append(stall)
    return found


def stalled_markdown(stalls: Sequence[Stall]) -> list[str]:
    """Section R as Markdown."""
    about = (
        f"**R** Memory of readers that join a run and do not read: {READERS} of them, over the "
        f"same run without them, "
        "divided by their number and by the bytes that may wait for one (`max_unread`):"
    )
    head = "| a run writes | the server grows by | per reader, over `max_unread` |\n| --- | --: | --: |"
    rows = [
        f"| {stall.times} times `max_unread` | {median(stall.grown):.1f} MB | "
        f"{median(stall.shares):.2f} |"
        for stall in stalls
    ]
    return [about, "\n".join([head, *rows])]


async def _memory(tokens: int, bound: int, readers: int) -> list[int]:
    """The memory of a server, in bytes, in the course of a run with so many readers that do not
    read."""
    async with started("benchmarks.stalled", tokens, bound) as port:
        thread = uuid4().hex
        connection = await Connection.open(port, "POST", "/agent", _body(thread))
        joined = [
            await Connection.open(port, "POST", "/agent/connect", _body(thread), stalled=True)
            for _ in range(readers)
        ]
        await ask(port, "POST", "/go")
        last = b""
        async for piece in connection.pieces():
            last = piece
        assert b'"RUN_FINISHED"' in last, last[-200:]
        memory: list[int] = await ask(port, "GET", "/memory")
        for one in (connection, *joined):
            await one.leave(politely=False)
    return memory


def _body(thread: str) -> bytes:
    question = UserMessage(id="question", content="Go.")
    given = RunAgentInput(
        thread_id=thread, run_id=uuid4().hex, protocol_version="1.0", messages=[question]
    )
    return given.model_dump_json(by_alias=True, exclude_none=True).encode()


class _Gated(ScriptedModel):
    """Waits before its first token until it is told to go, and notes the memory of its process now
    and then."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    gate: asyncio.Event
    every: int
    memory: list[int]

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        process, number = psutil.Process(), 0
        await self.gate.wait()
        async for chunk in super()._astream(*args, **kwargs):
            if (number := number + 1) % self.every == 0:
                self.memory.append(process.memory_info().rss)
            yield chunk


def _app(tokens: int, bound: int) -> FastAPI:
    gate, memory, every = asyncio.Event(), list[int](), tokens // POINTS

    def script(_: Sequence[BaseMessage]) -> Iterator[AIMessageChunk]:
        yield from (plain(TOKEN) for _ in range(tokens))
        yield finish(tokens)

    model = _Gated(script=script, gate=gate, every=every, memory=memory)

    async def talk(state: MessagesState) -> Any:
        await model.ainvoke(state["messages"])
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_edge(START, "talk")
    graph = builder.compile(checkpointer=InMemorySaver())
    app = FastAPI()
    app.include_router(agui_router(LangGraphAgent(graph, limits=RunLimits(unread=bound)), "/agent"))

    @app.post("/go")
    async def go() -> bool:
        gate.set()
        return True

    @app.get("/memory")
    async def noted() -> list[int]:
        return model.memory

    return app


async def _serve(tokens: int, bound: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    app = _app(tokens, bound)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    print(listener.getsockname()[1], flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(_serve(*map(int, sys.argv[1:3])))
