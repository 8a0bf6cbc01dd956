"""A node that blocks the event loop: everybody waits, and nobody loses anything."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, agui_router
from tests.kit.expect.faults import Case, each
from tests.kit.models.scripted import Scripted
from tests.kit.processes.raw_http import ask
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, ending
from tests.kit.waiting import wait_for

BLOCKED = 0.6
KEEP_ALIVE = 0.05
COMMENT = b": keep-alive"

CASES = [
    Case("a node blocks the event loop", "a message", "all of its events, late", "success"),
    Case(
        "a node blocks the event loop",
        "of another thread",
        "all of its events, late",
        "success",
        deep=True,
    ),
    Case(
        "a node blocks the event loop",
        "`connect`",
        "what there was, then the rest, late",
        "success",
        deep=True,
    ),
    Case("a node blocks the event loop", "`GET path/health`", "200, late", "200", deep=True),
]


def app_of(gate: asyncio.Event, began: list[float]) -> FastAPI:
    model = Scripted(script=lambda _: [f"word{number} " for number in range(20)])

    async def talk(state: MessagesState) -> Any:
        if state["messages"][-1].text == "block":
            await gate.wait()
            began.append(time.monotonic())
            time.sleep(BLOCKED)  # the fault
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_edge(START, "talk")
    app = FastAPI()
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    app.include_router(agui_router(agent, "/agent", keep_alive=KEEP_ALIVE))
    return app


@each(CASES)
def test_everybody_waits_and_loses_nothing(case: Case) -> None:
    gate, began = asyncio.Event(), list[float]()
    with serving(app_of(gate, began)) as served, ThreadPoolExecutor(1) as pool:
        visitor, other = Visitor(served), Visitor(served, thread="other")
        blocking = visitor.begin("block")
        joined = visitor.join()
        for stream in (blocking, joined):
            stream.read_until(COMMENT)
        served.loop.call_soon_threadsafe(gate.set)
        wait_for(lambda: began, "the node blocks")
        match case.run:
            case "`GET path/health`":
                assert ask(served.port, "GET", "/agent/health").status == 200
            case "of another thread":
                late = pool.submit(other.send, "hello").result()
                assert ending(late) == case.ending
                assert "word19" in str(late.messages[-1].content)
        answered = time.monotonic()
        for recorded in (visitor.keep(blocking.rest()), joined.rest()):
            assert ending(recorded) == "success"
            assert "word19" in str(recorded.messages[-1].content)
        assert max(answered, time.monotonic()) - began[0] >= BLOCKED  # it was blocked
        visitor.check_usable()
