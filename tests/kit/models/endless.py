"""Chat models that talk for as long as they are listened to, and graphs around them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.tools import tool
from pydantic import Field

from langgraph_agui.graphs import Graph
from tests.kit.graphs.small import chain_of, sync_talker, talker
from tests.kit.models.scripted import Piece, Scripted, call


class Meter:
    """What a model has produced so far, seen from any thread. `ended` is set when its stream is
    over: spoken to its end, or stopped."""

    def __init__(self) -> None:
        self.produced = 0
        self.begun = threading.Event()
        self.ended = threading.Event()


class Talker(Scripted):
    """Says `words` words with `pause` seconds before each; then, if `silent`, nothing more, without
    ending. `said_as` is the id of its message."""

    words: int = 100_000
    pause: float = 0.01
    silent: bool = False
    said_as: str | None = None
    meter: Meter = Field(default_factory=Meter)

    def _turn(self, messages: Any) -> Iterator[Piece]:  # type: ignore[override]
        self.meter.begun.set()
        try:
            for number in range(self.words):
                yield float(self.pause)
                self.meter.produced += 1
                yield AIMessageChunk(self._word(number), id=self.said_as)
            if self.silent:
                yield 1e6
        finally:
            self.meter.ended.set()

    def _word(self, number: int) -> str:
        return f"word{number} "


def flat(model: Any, saver: Any = None) -> Graph:
    return chain_of(talker(model, "talk"), checkpointer=saver)  # type: ignore[no-any-return]


def synchronous(model: Any, saver: Any = None) -> Graph:
    """The model runs in a worker thread, where cancelling a task does not reach it."""
    return chain_of(sync_talker(model, "talk"), checkpointer=saver)  # type: ignore[no-any-return]


def nested(model: Any, saver: Any = None) -> Graph:
    inner = flat(model)

    async def ask(state: Any) -> Any:
        return {"messages": (await inner.ainvoke({"messages": state["messages"]}))["messages"]}

    return chain_of(ask, checkpointer=saver)  # type: ignore[no-any-return]


def in_tool(model: Any, saver: Any = None) -> Graph:
    inner = create_agent(model, [])

    @tool
    async def delegate(task: str) -> str:
        """Have another agent do it."""
        return str((await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text)

    def answer(messages: Any) -> list[Piece]:
        told = isinstance(messages[-1], ToolMessage)
        return ["done"] if told else [call("delegate", "call-1", task="talk")]

    return create_agent(Scripted(script=answer), [delegate], checkpointer=saver)


SHAPES: dict[str, Callable[..., Graph]] = {
    "flat": flat,
    "synchronous": synchronous,
    "nested": nested,
    "subgraph": lambda model, saver=None: chain_of(flat(model), checkpointer=saver),
    "in-tool": in_tool,
}
