"""Conversations with a stateless agent, held twice: as the client keeps them, and in LangChain's
own messages.

`Conversation.ask` sends a question through the adapter: HTTP, the reference client, a round trip
through JSON. What the provider was sent is the candidate. `Conversation.reference` sends
LangChain's own messages of the same runs straight to the same graph: what the provider is sent now
is what the candidate has to be.
"""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langgraph_agui import LangGraphAgent, agui_router
from tests.kit.models.fixtures import _MISLEADING
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Recorded
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Text, Turn
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, serving

T = TypeVar("T")
Json = dict[str, Any]

MORE = Turn((Text("And take an umbrella, to be safe."),))


class ReceivedEvents(BaseCallbackHandler):
    """The messages with which each run of a graph ended, as they were then."""

    run_inline = True
    raise_error = True

    def __init__(self) -> None:
        self.runs: list[list[BaseMessage]] = []

    def on_chain_end(self, outputs: Any, *, parent_run_id: UUID | None = None, **_: Any) -> None:
        if parent_run_id is None:
            self.runs.append(deepcopy(outputs["messages"]))


class Actor(NamedTuple):
    """An agent around the real chat model of a provider."""

    graph: Any
    agent: LangGraphAgent
    received: ReceivedEvents
    path: str


class Rig:
    """One server of agents and one of providers. What runs in it runs in the agents' event loop,
    one at a time."""

    def __init__(
        self, app: FastAPI, served: Served, providers: ProviderServer, client: NodeClient
    ) -> None:
        self.served, self.providers, self.client, self._app = served, providers, client, app
        self._script: deque[Turn] = deque()
        self._actors: dict[tuple[str, bool], Actor] = {}

    def actor(self, provider: str, whole: bool = False) -> Actor:
        """The agent of a provider; `whole` models do not stream."""
        if (provider, whole) not in self._actors:
            model = make_model(provider, self.providers, disable_streaming=whole)
            self.providers.respond(provider, lambda _: self._script.popleft())
            received, graph = ReceivedEvents(), create_agent(model, [get_weather])
            agent = LangGraphAgent(graph, config={"callbacks": [received]}, expose_errors=True)
            path = f"/{provider}/{'whole' if whole else 'streamed'}"
            self._app.include_router(agui_router(agent, path))
            self._actors[provider, whole] = Actor(graph, agent, received, path)
        return self._actors[provider, whole]

    def run(
        self, work: Callable[[], Coroutine[Any, Any, T]], *script: Turn
    ) -> tuple[T, list[Json]]:
        """Await `work` while the providers answer with `script`; return its result and what they
        were sent."""
        return self.recorded(lambda: self.served.call(work()), *script)

    def recorded(self, work: Callable[[], T], *script: Turn) -> tuple[T, list[Json]]:
        """As `run`, for work that has its own way to the agents."""
        self._script.clear()
        self._script.extend(script)
        before = len(self.providers.requests)
        result = work()
        return result, [sent(request) for request in self.providers.requests[before:]]

    @property
    def unanswered(self) -> int:
        return len(self._script)


def sent(request: Recorded) -> Json:
    """All of a request that depends on messages and model."""
    return {"path": request.path, "query": request.query, "body": request.body}


class Closing:
    """ASGI middleware that ends every connection: on one that is kept, Node's next request waits 40
    ms for an ACK."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        await self._app(scope, receive, closing if scope["type"] == "http" else send)


@contextlib.contextmanager
def rigged(client: NodeClient) -> Iterator[Rig]:
    app = FastAPI()
    with pytest.MonkeyPatch.context() as environment:
        for name in _MISLEADING:
            environment.delenv(name, raising=False)
        for name in ("NO_PROXY", "no_proxy"):
            environment.setenv(name, "127.0.0.1,localhost")
        with ProviderServer() as providers, serving(Closing(app)) as served:
            yield Rig(app, served, providers, client)


class Conversation:
    """A thread that only its client keeps. `held` is the client's copy, `own` LangChain's."""

    def __init__(self, rig: Rig, provider: str, *, whole: bool = False) -> None:
        self._rig, self._actor = rig, rig.actor(provider, whole)
        self.held: list[Json] = []
        self.own: list[BaseMessage] = []

    def ask(self, text: str, *script: Turn) -> tuple[list[Json], list[list[BaseMessage]]]:
        """Ask through the adapter; return what the model was sent, and LangChain's messages for
        each of these."""
        asked = f"question-{len(self.held)}"
        run, candidates = self._rig.recorded(lambda: self._run(text, asked), *script)
        assert (run.error, run.runError) == (None, None)
        assert not self._rig.unanswered, "the model was called less often than the script says"
        assert run.input is not None
        assert run.input["messages"][:-1] == self.held
        self.held = run.messages
        ended = self._actor.received.runs[-1]
        places = [place for place, message in enumerate(ended) if message.id == asked]
        own = [*self.own, HumanMessage(text, id=asked)]
        histories: list[list[BaseMessage]] = []
        for message in ended[places[-1] + 1 :]:
            if isinstance(message, AIMessage):
                histories.append(list(own))
            own.append(message)
        self.own = own
        return candidates, histories

    def _run(self, text: str, message_id: str) -> ClientRun:
        path, held = self._actor.path, json.loads(json.dumps(self.held))
        add = [{"id": message_id, "role": "user", "content": text}]
        url = self._rig.served.url(path)
        return self._rig.client.run(url=url, threadId=path, messages=held, add=add)

    def reference(self, history: Sequence[BaseMessage]) -> Json:
        """What the model is sent for LangChain's own messages."""

        async def stream() -> None:
            given = {"messages": deepcopy(history)}
            async for _ in self._actor.graph.astream(given, stream_mode="messages"):
                pass

        _, [request] = self._rig.run(stream, MORE)
        return request
