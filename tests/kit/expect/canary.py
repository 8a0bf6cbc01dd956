"""A word that models think and clients must not read, and the search for it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import AssistantMessage, BaseEvent

from langgraph_agui import LangGraphAgent, ReasoningOptions, ReasoningSeal, StateOptions
from tests.kit.models.scripted import text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input

CANARY = "CANARY7f3a"
SEAL = ReasoningSeal(keys=[b"k" * 32])
HIDDEN = ReasoningOptions(visibility="hidden", seal=SEAL)
UNSEALED = ReasoningOptions(visibility="hidden")

THOUGHT = [thinking(f"so {CANARY}", 0), thinking(index=0, signature="s"), text_chunk("Answer", 1)]
"""What a model says, for `Scripted`."""


def found(data: Any) -> list[str]:
    """The texts in JSON data that hold the canary, in clear or in base64."""
    return [text for text in _strings(data) if CANARY in text or CANARY.encode() in _decoded(text)]


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, list | dict):
        for inner in [*data, *(data.values() if isinstance(data, dict) else ())]:
            yield from _strings(inner)


def _decoded(text: str) -> bytes:
    """What a text is in base64, of either alphabet; nothing if it is none."""
    text = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""


def check_events(events: Iterable[BaseEvent]) -> None:
    """No event tells the canary, and no item tells it piece by piece."""
    said: dict[str, str] = {}
    for event in events:
        data = json.loads(event.model_dump_json(by_alias=True))
        assert not found(data), data
        item = data.get("messageId") or data.get("toolCallId") or ""
        said[item] = said.get(item, "") + (data.get("delta") or "")
    assert not found(list(said.values())), said


def check_bytes(body: bytes) -> None:
    """No frame of an SSE answer holds the canary."""
    assert CANARY not in body.decode()
    for frame in body.decode().strip().split("\n\n"):
        assert not found(json.loads(frame.removeprefix("data: "))), frame


async def receive_event(
    graph: Any,
    *messages: Any,
    reasoning: ReasoningOptions = HIDDEN,
    shown: StateOptions | None = None,
    **fields: Any,
) -> RecordedRun:
    """A run of `graph` whose events tell nothing of the canary."""
    agent = LangGraphAgent(graph=graph, reasoning=reasoning, state=shown)
    recorded = await record_run(agent, run_input(*messages or ("hi",), thread="t", **fields))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_events(recorded.events)
    return recorded


def thoughts(recorded: RecordedRun) -> list[str]:
    return [message.content for message in recorded.messages if message.role == "reasoning"]


def texts(recorded: RecordedRun) -> list[str]:
    return [one.content or "" for one in recorded.messages if isinstance(one, AssistantMessage)]
