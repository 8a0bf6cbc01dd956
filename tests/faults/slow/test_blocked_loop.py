"""A node that blocks the event loop: everybody waits, and nobody loses anything."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import agui_router
from tests.kit.expect.faults import Case
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.models.scripted import Scripted
from tests.kit.processes.raw_http import ask
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, ending
from tests.kit.waiting import wait_for

BLOCKED, COMMENT = 0.6, b": keep-alive"
FAULT, LATE = "a node blocks the event loop", "all of its events, late"
# One test has all of them.
CASES = [
    Case(FAULT, "a message", LATE, "success"),
    Case(FAULT, "of another thread", LATE, "success"),
    Case(FAULT, "`connect`", "what there was, then the rest, late", "success"),
    Case(FAULT, "`GET path/health`", "200, late", "200"),
]


def app_of(gate: asyncio.Event, began: list[float]) -> FastAPI:
    model = Scripted(script=lambda _: [f"word{number} " for number in range(20)])

    async def talk(state: Chat) -> Any:
        if state["messages"][-1].text == "block":
            await gate.wait()
            began.append(time.monotonic())
            time.sleep(BLOCKED)  # the fault
        return {"messages": [await model.ainvoke(state["messages"])]}

    app, agent = FastAPI(), agent_of(talk, checkpointer=InMemorySaver())
    app.include_router(agui_router(agent, "/agent", keep_alive=0.05))
    return app


def test_everybody_waits_and_loses_nothing() -> None:
    gate, began = asyncio.Event(), list[float]()
    with serving(app_of(gate, began)) as served, ThreadPoolExecutor(2) as pool:
        visitor, other = Visitor(served), Visitor(served, thread="other")
        blocking, joined = visitor.begin("block"), visitor.join()
        for stream in (blocking, joined):
            stream.read_until(COMMENT)
        served.loop.call_soon_threadsafe(gate.set)
        wait_for(lambda: began, "the node blocks")
        health = pool.submit(ask, served.port, "GET", "/agent/health")
        late = pool.submit(other.send, "hello")
        assert (health.result().status, ending(late.result())) == (200, "success")
        assert time.monotonic() - began[0] >= BLOCKED  # it was blocked
        for recorded in (late.result(), visitor.keep(blocking.rest()), joined.rest()):
            assert ending(recorded) == "success"
            assert "word19" in str(recorded.messages[-1].content)
        visitor.check_usable()
