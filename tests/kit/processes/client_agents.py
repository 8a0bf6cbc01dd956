"""Real agents behind real sockets, every stream of theirs checked, and the ways to ask one through
its chat model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, message_chunk_to_message

from langgraph_agui import AGUIMiddleware, LangGraphAgent, agui_router
from langgraph_agui.client import AGUIChatModel
from langgraph_agui.protocol import decode
from tests.kit.models.scripted import add
from tests.kit.processes.scripted_servers import Recorder
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun


@dataclass
class Remote:
    """A served agent, and what it was asked and answered."""

    served: Served
    exchanges: list[tuple[Any, bytearray]]
    meets: bool

    @property
    def url(self) -> str:
        return self.served.url("/agent")

    @property
    def inputs(self) -> list[RunAgentInput]:
        return [RunAgentInput.model_validate(asked) for asked, _ in self.exchanges]

    def recorded(self, number: int = -1) -> RecordedRun:
        """A run, checked by the strict rules."""
        given = self.inputs[number].model_copy(update={"tools": []} if self.meets else {})
        return RecordedRun(list(decode([bytes(self.exchanges[number][1])])), given)

    def model(self, **options: Any) -> AGUIChatModel:
        return AGUIChatModel(url=self.url, **options)


@contextmanager
def remote(agent: Any, *, meets: bool = False) -> Iterator[Remote]:
    """Serve a graph, or an agent; each of its runs is checked at the end.

    `meets`: it answers calls of a tool that the client has too, which the strict rules do not
    expect.
    """
    app = FastAPI()
    agent = agent if isinstance(agent, LangGraphAgent) else LangGraphAgent(graph=agent)
    app.include_router(agui_router(agent, "/agent"))
    recorder = Recorder(app)
    with serving(recorder) as served:
        found = Remote(served, recorder.exchanges, meets)
        yield found
        for number in range(len(found.exchanges)):
            found.recorded(number)


def tooled(model: Any, *tools: Any, middleware: Sequence[Any] = (), **options: Any) -> Any:
    """A graph that takes its client's tools."""
    return create_agent(model, [*tools], middleware=[*middleware, AGUIMiddleware()], **options)


def invoked(model: Any, *args: Any, **options: Any) -> AIMessage:
    return model.invoke(*args, **options)


def ainvoked(model: Any, *args: Any, **options: Any) -> AIMessage:
    return asyncio.run(model.ainvoke(*args, **options))


def streamed(model: Any, *args: Any, **options: Any) -> AIMessage:
    return message_chunk_to_message(add(list(model.stream(*args, **options))))


def astreamed(model: Any, *args: Any, **options: Any) -> AIMessage:
    async def read() -> list[Any]:
        return [chunk async for chunk in model.astream(*args, **options)]

    return message_chunk_to_message(add(asyncio.run(read())))


Ask = Callable[..., AIMessage]
WAYS: tuple[Ask, ...] = (invoked, ainvoked, streamed, astreamed)
"""What they return is the same."""
