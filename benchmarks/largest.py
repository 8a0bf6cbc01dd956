"""Section L: how long others wait while a request as large as the limits allow is read and run.

The server is a process of its own: `python -m benchmarks.largest`.
"""

import asyncio
import json
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import httpx2
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import InputLimits, LangGraphAgent, add_langgraph_fastapi_endpoint

from .processes import serve, started
from .recorded import Session
from .report import spread, table
from .subjects import PATH
from .workloads import scaled

LIMITS = InputLimits()


class State(MessagesState):
    """A conversation, and one value."""

    value: Any


def user(number: int, content: object = "hi") -> dict[str, Any]:
    """A user's message."""
    return {"id": f"u{number}", "role": "user", "content": content}


def calling(number: int) -> dict[str, Any]:
    """An assistant's message with a call."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"id": f"a{number}", "role": "assistant", "toolCalls": [call]}


def inputs(scale: float) -> dict[str, dict[str, Any]]:
    """What is large, each in another way."""
    items, values = scaled(LIMITS.max_items, scale), scaled(LIMITS.max_values - 1000, scale)
    room = scaled(LIMITS.max_bytes - 1000, scale)
    parts = [{"type": "text", "text": "x"}] * items
    keys = {f"{number:x}": "" for number in range(values)}
    messages = {
        f"{items:,} messages": [user(i, "x" * (room // items - 60)) for i in range(items)],
        "one text": [user(0, "x" * room)],
        f"one message of {items:,} parts": [user(0, parts)],
        f"{items:,} calls without results": [*map(calling, range(items - 1)), user(0)],
    }
    states: dict[str, object] = {
        f"a state of {values:,} numbers": [1] * values,
        f"a state of {values:,} keys": keys,
    }
    found: dict[str, dict[str, Any]] = {name: {"messages": one} for name, one in messages.items()}
    for name, value in states.items():
        found[name] = {"messages": [user(0)], "state": {"value": value}}
    return found


async def measure_largest(session: Session) -> list[str]:
    """Each request in each round, as Markdown."""
    about = (
        "**L** The slowest `/health` while a request as large as the limits allow is read and run, "
        "and its share of that request's time."
    )
    head = ["request", "MB", "request, ms", "`/health`, ms", "share, %"]
    rows = []
    async with (
        started("benchmarks.largest") as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=None) as http,
    ):
        for name, given in inputs(session.scale).items():
            taken = [await _sample(http, name, number, given) for number in range(session.rounds)]
            size = len(json.dumps(given)) / 1e6
            requests, healths = zip(*taken, strict=True)
            shares = [100 * slowest / whole for whole, slowest in taken]
            figures = [spread(requests, 1e-3), spread(healths, 1e-3), spread(shares)]
            rows.append([name, f"{size:.1f}", *figures])
    return [about, table(head, rows)]


async def _sample(
    http: httpx2.AsyncClient, name: str, number: int, given: Mapping[str, Any]
) -> tuple[float, float]:
    """The seconds of a request, and of the slowest `/health` meanwhile."""
    body = json.dumps({"threadId": f"{name} {number}", "runId": "r", **given}).encode()
    headers = {"content-type": "application/json"}
    begun, slowest = perf_counter(), 0.0
    posting = asyncio.create_task(http.post(PATH, content=body, headers=headers))
    while not posting.done():
        asked = perf_counter()
        await http.get(f"{PATH}/health")
        slowest = max(slowest, perf_counter() - asked)
        await asyncio.sleep(0.002)
    answer = (await posting).content[-1000:]
    if b'"RUN_FINISHED"' not in answer:
        raise AssertionError(f"{name}: {answer!r}")
    return perf_counter() - begun, slowest


def app() -> FastAPI:
    """A graph without a model."""
    builder = StateGraph(State)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    made = FastAPI()
    add_langgraph_fastapi_endpoint(made, agent, PATH)
    return made


if __name__ == "__main__":
    asyncio.run(serve(app()))
