"""Section L: how long other requests wait while the largest request that is allowed is read and
run.

The server is a process of its own. This one posts the request in a thread, and asks for `/health`
again and again.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import uvicorn
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import InputLimits, LangGraphAgent, add_langgraph_fastapi_endpoint

from .figures import short, spread, table
from .workloads import scaled

KEY = "L"
LIMITS = InputLimits()
PATIENCE = 30.0


class State(MessagesState):
    """A conversation, and one value."""

    value: Any


@dataclass
class Wait:
    """One request, and what it cost others; seconds, request by request."""

    label: str
    body: bytes
    requests: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    parsing: list[float] = field(default_factory=list)

    def ratio(self, name: str) -> list[float]:
        """The slowest `/health` over another time, request by request."""
        return [one / other for one, other in zip(self.health, getattr(self, name), strict=True)]

    def median(self, name: str) -> float:
        """The median of one figure."""
        return median(getattr(self, name))


def user(number: int, text: str = "hi") -> dict[str, Any]:
    """A user's message."""
    return {"id": f"u{number}", "role": "user", "content": text}


def calling(number: int) -> dict[str, Any]:
    """An assistant's message with a call."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"id": f"a{number}", "role": "assistant", "toolCalls": [call]}


def bodies(scale: float) -> dict[str, dict[str, Any]]:
    """Inputs as large as the limits allow, each in another way."""
    items, values = scaled(LIMITS.max_items, scale), scaled(LIMITS.max_values - 1000, scale)
    room = scaled(LIMITS.max_bytes - 1000, scale)
    parts = [{"type": "text", "text": "x"}] * items
    return {
        "10,000 messages of 1 kB": {
            "messages": [user(i, "x" * (room // items - 60)) for i in range(items)]
        },
        "one text of 10 MB": {"messages": [user(0, "x" * room)]},
        "one message of 10,000 parts": {"messages": [{**user(0), "content": parts}]},
        "10,000 calls without results": {"messages": [*map(calling, range(items - 1)), user(0)]},
        "a state of 249,000 numbers": {"messages": [user(0)], "state": {"value": [1] * values}},
        "a state of 249,000 keys": {
            "messages": [user(0)],
            "state": {"value": {f"{i:x}": "" for i in range(values)}},
        },
    }


def measure_largest(rounds: int, scale: float = 1.0) -> list[Wait]:
    """Every request ``rounds`` times, each as a thread of its own."""
    waits = []
    with ExitStack() as stack:
        command = (sys.executable, "-m", "benchmarks.largest")
        server = subprocess.Popen(
            command, cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE, text=True
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        assert server.stdout
        port = int(server.stdout.readline())
        _wait_until_up(port)
        for label, given in bodies(scale).items():
            wait = Wait(label, b"")
            for number in range(rounds):
                wait.body = json.dumps(
                    {"threadId": f"{label} {number}", "runId": "r", **given}
                ).encode()
                _sample(port, wait)
            waits.append(wait)
    return waits


def largest_markdown(waits: Sequence[Wait]) -> list[str]:
    """Section L: the slowest `/health` while the largest request is read and run."""
    about = (
        "**L** The slowest `/health` while a request as large as the limits allow is read and "
        "run, as a share of the "
        "time of that request, and over the time of `json.loads` for its body:"
    )
    head = [
        "request",
        "MB",
        "request ms",
        "slowest `/health` ms",
        "share of the request",
        "over `json.loads`",
    ]
    rows = []
    for wait in waits:
        row = [wait.label, f"{len(wait.body) / 1e6:.1f}"]
        row += [f"{wait.median(name) * 1e3:,.0f}" for name in ("requests", "health")]
        rows.append(
            [
                *row,
                spread(wait.ratio("requests"), "{:.0%}".format),
                short(median(wait.ratio("parsing"))),
            ]
        )
    return [about, table(head, rows, left=1)]


def _wait_until_up(port: int) -> None:
    end = perf_counter() + PATIENCE
    while perf_counter() < end:
        with suppress(OSError):
            return _health(HTTPConnection("127.0.0.1", port))
        sleep(0.05)
    raise TimeoutError("The server did not start")


def _health(connection: HTTPConnection) -> None:
    connection.request("GET", "/agent/health")
    connection.getresponse().read()


def _sample(port: int, wait: Wait) -> None:
    begun = perf_counter()
    json.loads(wait.body)
    wait.parsing.append(perf_counter() - begun)
    answers: list[bytes] = []
    thread = Thread(target=lambda: answers.append(_post(port, wait.body)))
    connection, slowest = HTTPConnection("127.0.0.1", port), 0.0
    begun = perf_counter()
    thread.start()
    while thread.is_alive():
        asked = perf_counter()
        _health(connection)
        slowest = max(slowest, perf_counter() - asked)
        sleep(0.002)
    wait.requests.append(perf_counter() - begun)
    wait.health.append(slowest)
    if not answers or b'"RUN_FINISHED"' not in answers[0][-1000:]:
        raise AssertionError(f"{wait.label}: {answers and answers[0][-1000:]!r}")


def _post(port: int, body: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/agent", body, {"content-type": "application/json"})
    return connection.getresponse().read()


def main() -> None:
    """Serve a graph without a model, and print the port."""
    builder = StateGraph(State)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    app = FastAPI()
    add_langgraph_fastapi_endpoint(
        app, LangGraphAgent(builder.compile(checkpointer=InMemorySaver())), "/agent"
    )
    config = uvicorn.Config(app, port=0, log_level="critical")
    listener = config.bind_socket()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
