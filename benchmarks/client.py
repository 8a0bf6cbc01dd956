"""Section C: what it costs to read an AG-UI stream over HTTP.

The server is a process of its own (`scripted_agent`), and its CPU does not count. The measure is a
reader that splits the body at blank lines and parses each event as JSON, and does nothing with it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import httpx2
from ag_ui.core import TextMessageContentEvent
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AGUIChatModel, AGUIClient

from .figures import cpu_of, in_turn, over, short, spread, table
from .folded import asking, check_text, speaker
from .goals import Goal, at_most
from .model import text_block
from .processes import started
from .scripted_agent import PATHS, fragments
from .workloads import scaled

KEY = "C"
TOKENS = 5000
BARE, EVENTS = (
    "a bare reader: lines and `json.loads`",
    "**`AGUIClient`**: events verified and folded",
)
STREAM, INVOKE = "**`AGUIChatModel.astream`**", "**`AGUIChatModel.ainvoke`**"
SCRIPTED = "in memory: `astream` of a scripted model"
GOALS = {EVENTS: 3.0, STREAM: 6.0, INVOKE: 6.0}
"""CPU over that of the bare reader."""


@dataclass
class Reading:
    """One body, and the CPU seconds of each way to read it, round by round."""

    path: str
    tokens: int
    events: int
    taken: dict[str, list[float]]


async def measure_client(rounds: int, scale: float = 1.0) -> list[Reading]:
    """Each body in each way."""
    tokens, found = scaled(TOKENS, scale), []
    async with started("benchmarks.scripted_agent", tokens) as port:
        for path, merged in PATHS.items():
            deltas = fragments(tokens, merged)
            ways = _ways(f"http://127.0.0.1:{port}{path}", deltas)
            taken = await in_turn(
                {name: partial(_take, way, "".join(deltas)) for name, way in ways.items()}, rounds
            )
            found.append(Reading(path, tokens, len(deltas), taken))
    return found


def client_markdown(found: list[Reading]) -> list[str]:
    """Section C as Markdown."""
    about = (
        f"**C** {found[0].tokens:,} text tokens of an AG-UI server, read over HTTP, once with an "
        f"event for each token, "
        "once merged into fragments. Each event is a chunk of its own. The server's CPU does not "
        "count. The model in "
        "memory streams as many chunks as there are events, of the same shape; what LangChain "
        "takes for them is a part "
        "of the two lines above it:"
    )
    head = [
        "events",
        "read by",
        "CPU ms",
        "CPU µs per event",
        "CPU µs per token",
        "over the bare reader",
    ]
    rows = []
    for one in found:
        for name, taken in one.taken.items():
            ratios, seconds = over(taken, one.taken[BARE]), median(taken)
            row = [f"{one.events:,}", name, spread([each * 1e3 for each in taken])]
            row += [short(seconds / one.events * 1e6), short(seconds / one.tokens * 1e6)]
            rows.append([*row, spread(ratios)] if name in GOALS else row)
    return [about, table(head, rows, left=2)]


def client_goals(found: list[Reading]) -> list[Goal]:
    """What each way of ours may cost over the bare reader."""
    return [
        at_most(
            f"{KEY}: {name}, {one.events:,} events, over the bare reader",
            over(taken, one.taken[BARE]),
            GOALS[name],
        )
        for one in found
        for name, taken in one.taken.items()
        if name in GOALS
    ]


Way = Callable[[], Awaitable[Any]]
"""Reads the stream, and returns something that tells its text when it is called."""


async def _take(way: Way, text: str) -> float:
    cpu, told = await cpu_of(way)
    check_text(KEY, told(), text)
    return cpu


def _ways(url: str, deltas: list[str]) -> dict[str, Way]:
    http = httpx2.AsyncClient(trust_env=False, timeout=60)
    model, scripted = AGUIChatModel(url=url, http_async_client=http), speaker(deltas, text_block)
    return {
        BARE: partial(_bare, http, url),
        EVENTS: partial(_events, AGUIClient(url, http_client=http)),
        STREAM: partial(_stream, model),
        INVOKE: partial(_invoke, model),
        SCRIPTED: partial(_stream, scripted),
    }


async def _bare(http: httpx2.AsyncClient, url: str) -> Callable[[], str]:
    events: list[dict[str, Any]] = []
    body, rest = asking().model_dump_json(by_alias=True, exclude_none=True), b""
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    async with http.stream("POST", url, content=body, headers=headers) as response:
        async for chunk in response.aiter_bytes():
            *frames, rest = (rest + chunk).split(b"\n\n")
            events += [json.loads(frame[6:]) for frame in frames]
    return lambda: "".join(
        event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"
    )


async def _events(client: AGUIClient) -> Callable[[], str]:
    run = client.run(asking())
    events = [event async for event in run]

    def told() -> str:
        text = "".join(
            event.delta for event in events if isinstance(event, TextMessageContentEvent)
        )
        return text if run.messages[-1].content == text and run.outcome == "success" else ""

    return told


async def _stream(model: Any) -> Callable[[], str]:
    chunks = [chunk async for chunk in model.astream([HumanMessage("Go.")])]
    return lambda: "".join(chunk.text for chunk in chunks)


async def _invoke(model: AGUIChatModel) -> Callable[[], str]:
    message = await model.ainvoke([HumanMessage("Go.")])
    return lambda: message.text
