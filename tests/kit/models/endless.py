"""Chat models that talk for as long as they are listened to, and graphs around them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field

from langgraph_agui.graphs import Graph


class Meter:
    """What a model has produced so far, seen from any thread."""

    def __init__(self) -> None:
        self.produced = 0
        self.begun = threading.Event()
        self.ended = threading.Event()
        """Set when the model's stream is over: spoken to its end, or stopped."""


class Talker(BaseChatModel):
    """Says `words` words with `pause` seconds before each; then, if `silent`, nothing more, without
    ending.

    `said_as` is the id of its message.
    """

    words: int = 100_000
    pause: float = 0.01
    silent: bool = False
    said_as: str | None = None
    meter: Meter = Field(default_factory=Meter)

    @property
    def _llm_type(self) -> str:
        return "talker"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("the model is streamed")

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.meter.begun.set()
        try:
            for number in range(self.words):
                time.sleep(self.pause)
                yield self._word(number)
        finally:
            self.meter.ended.set()

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.meter.begun.set()
        try:
            for number in range(self.words):
                await asyncio.sleep(self.pause)
                yield self._word(number)
            if self.silent:
                await asyncio.Event().wait()
        finally:
            self.meter.ended.set()

    def _word(self, number: int) -> ChatGenerationChunk:
        self.meter.produced += 1
        return ChatGenerationChunk(
            message=AIMessageChunk(content=f"word{number} ", id=self.said_as)
        )


class Caller(BaseChatModel):
    """Calls the tool `delegate` once, and has the last word when it has answered."""

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("the model is streamed")

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        if isinstance(messages[-1], ToolMessage):
            yield ChatGenerationChunk(message=AIMessageChunk(content="done"))
            return
        call = {
            "name": "delegate",
            "args": '{"task": "talk"}',
            "id": "call-1",
            "index": 0,
            "type": "tool_call_chunk",
        }
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))


def flat(model: BaseChatModel, saver: BaseCheckpointSaver[str] | None = None) -> Graph:
    async def talk(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return _one_node(talk, saver)


def synchronous(model: BaseChatModel, saver: BaseCheckpointSaver[str] | None = None) -> Graph:
    """The model runs in a worker thread, where cancelling a task does not reach it."""

    def talk(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    return _one_node(talk, saver)


def nested(model: BaseChatModel, saver: BaseCheckpointSaver[str] | None = None) -> Graph:
    inner = flat(model)

    async def ask(state: MessagesState) -> Any:
        return {"messages": (await inner.ainvoke({"messages": state["messages"]}))["messages"]}

    return _one_node(ask, saver)


def subgraph(model: BaseChatModel, saver: BaseCheckpointSaver[str] | None = None) -> Graph:
    return _one_node(flat(model), saver)


def in_tool(model: BaseChatModel, saver: BaseCheckpointSaver[str] | None = None) -> Graph:
    inner = create_agent(model, [])

    @tool
    async def delegate(task: str) -> str:
        """Have another agent do it."""
        return str((await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text)

    return create_agent(Caller(), [delegate], checkpointer=saver)


def _one_node(node: Any, saver: BaseCheckpointSaver[str] | None) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("talk", node)
    builder.add_edge(START, "talk")
    builder.add_edge("talk", END)
    return builder.compile(checkpointer=saver)


SHAPES: dict[str, Callable[..., Graph]] = {
    "flat": flat,
    "synchronous": synchronous,
    "nested": nested,
    "subgraph": subgraph,
    "in-tool": in_tool,
}
