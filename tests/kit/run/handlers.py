"""Handlers whose events are kept, verified and folded, and the ways to run a Runnable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from ag_ui.core import Event, Message
from langchain_core.tools import tool

from langgraph_agui import AGUICallbackHandler
from langgraph_agui.protocol import Verifier, encode, fold
from tests.kit.expect.agreement import record_stream
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.run.agents import dumped

ways = pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
ASKED: Any = {"messages": [("user", "hi")]}


@tool
def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


class ReceivedEvents:
    """A handler, and the events that it told."""

    def __init__(self, **options: Any) -> None:
        self.events: list[Event] = []
        self.handler = AGUICallbackHandler(self.events.append, thread_id="t", **options)
        self.config: Any = {"callbacks": [self.handler]}

    def check(self) -> list[Message]:
        """Verify the stream; return the client's messages."""
        return checked(self.events)

    @property
    def last(self) -> Any:
        return self.events[-1]

    def of(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type.value in types]


def checked(events: Sequence[Event]) -> list[Message]:
    """Verify a stream of any number of whole runs; return the client's messages."""
    verifier = Verifier(strict=True)
    for event in events:
        verifier.feed(event)
    verifier.finish()
    record_stream(events)
    return fold(events, [], {}).messages


def runs_of(events: Sequence[Event]) -> list[list[Event]]:
    """The stream cut at each `RUN_STARTED`."""
    numbers = accumulate(event.type.value == "RUN_STARTED" for event in events)
    runs: dict[int, list[Event]] = {}
    for number, event in zip(numbers, events, strict=True):
        runs.setdefault(number, []).append(event)
    return list(runs.values())


def deltas(events: Sequence[Any]) -> list[str]:
    return [event.delta for event in events if event.type.value == "TEXT_MESSAGE_CONTENT"]


def contents(messages: Sequence[Any]) -> list[Any]:
    return [message.content for message in messages]


def without_ids(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages without ids; the envelope of a reasoning message holds one too."""
    return [{**dump, "id": "", "encryptedValue": None} for dump in dumped(messages)]


def into_client(client: NodeClient, events: Sequence[Event]) -> ClientRun:
    """The stream as one response to the reference client, who takes it without complaint."""
    run = client.run(sse=b"".join(map(encode, events)).decode(), threadId="t")
    assert (run.error, run.warnings) == (None, [])
    return run


async def call_by(way: str, runnable: Any, value: Any, config: Any) -> None:
    match way:
        case "invoke":
            runnable.invoke(value, config)
        case "ainvoke":
            await runnable.ainvoke(value, config)
        case "stream":
            list(runnable.stream(value, config))
        case "astream":
            [chunk async for chunk in runnable.astream(value, config)]
