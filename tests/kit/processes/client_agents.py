"""Real agents behind real sockets, every stream of theirs checked, and the ways to ask one through
its chat model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, message_chunk_to_message
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langgraph_agui import AGUIMiddleware, LangGraphAgent, agui_router
from langgraph_agui.client import AGUIChatModel
from langgraph_agui.protocol import decode
from tests.kit.models.scripted import add
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun


@dataclass
class Remote:
    """A served agent, and what it was asked and answered."""

    served: Served
    exchanges: list[tuple[bytes, bytes]] = field(default_factory=list)
    meets: bool = False

    @property
    def url(self) -> str:
        return self.served.url("/agent")

    @property
    def inputs(self) -> list[RunAgentInput]:
        return [RunAgentInput.model_validate_json(asked) for asked, _ in self.exchanges]

    def recorded(self, number: int = -1) -> RecordedRun:
        """A run, checked by the strict rules."""
        given = self.inputs[number].model_copy(update={"tools": []} if self.meets else {})
        return RecordedRun(list(decode([self.exchanges[number][1]])), given)

    def model(self, **options: Any) -> AGUIChatModel:
        return AGUIChatModel(url=self.url, **options)


def _recorder(app: ASGIApp, exchanges: list[tuple[bytes, bytes]]) -> ASGIApp:
    """ASGI middleware that keeps the exchanges that came to their end."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        asked, answered = bytearray(), bytearray()

        async def received() -> Message:
            message = await receive()
            asked.extend(message.get("body", b""))
            return message

        async def recorded(message: Message) -> None:
            answered.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                exchanges.append((bytes(asked), bytes(answered)))
            await send(message)

        is_http = scope["type"] == "http"
        await app(scope, received if is_http else receive, recorded if is_http else send)

    return serve


@contextmanager
def remote(agent: Any, *, meets: bool = False) -> Iterator[Remote]:
    """Serve a graph, or an agent; each of its runs is checked at the end.

    `meets`: it answers calls of a tool that the client has too, which the strict rules do not
    expect.
    """
    app, exchanges = FastAPI(), list[tuple[bytes, bytes]]()
    agent = agent if isinstance(agent, LangGraphAgent) else LangGraphAgent(graph=agent)
    app.include_router(agui_router(agent, "/agent"))
    with serving(_recorder(app, exchanges)) as served:
        found = Remote(served, exchanges, meets)
        yield found
        for number in range(len(exchanges)):
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
