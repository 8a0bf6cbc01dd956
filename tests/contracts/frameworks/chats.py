"""One conversation with a server through each of our clients, all spoken to alike."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Any, Self
from uuid import uuid4

import httpx2
from ag_ui.core import (
    AssistantMessage,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolMessage,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from langgraph_agui.client import (
    AGUIChatModel,
    AGUIClient,
    AGUISession,
    RemoteAgent,
    open_interrupts,
)
from langgraph_agui.client.session import Turn
from langgraph_agui.protocol import Fold
from tests.contracts.frameworks.player import Wire


def get_user_location(precise: bool) -> str:
    """Where the user is."""
    return "Rome"


class Recipe(BaseModel):
    title: str
    servings: int


class Shared(BaseModel):
    recipe: Recipe | None = None


class Chat(ABC):
    """A conversation. What the agent did in the last turn is in the attributes; `sent` has the body
    of each request."""

    misfits = 0
    """How often the agent's state did not fit a type."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sent: list[Wire] = []
        self._begin()

    def _begin(self) -> None:
        self.pieces: list[str] = []
        self.thoughts = ""
        self.calls: list[str] = []
        """The tools that the agent ran itself."""
        self.results: list[str] = []
        """What they returned."""
        self.tokens = 0
        """How many were told in all."""

    def _note(self, request: httpx2.Request) -> None:
        self.sent.append(json.loads(request.content))

    async def _anote(self, request: httpx2.Request) -> None:
        self._note(request)

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *error: object) -> None: ...

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    @abstractmethod
    def waits_for(self) -> list[str]:
        """The ids of the open interrupts."""

    @property
    @abstractmethod
    def recipe(self) -> object:
        """The recipe in the shared state, as the agent's last run left it."""

    @abstractmethod
    def open_call(self) -> str:
        """The id of the last call that nobody has answered."""

    @abstractmethod
    def say(self, text: str) -> None: ...

    def say_with_tools(self, text: str) -> None:
        """Say something that the agent calls a tool here for."""
        self.say(text)

    @abstractmethod
    def resume(self, payload: object) -> None:
        """Answer all interrupts alike."""

    @abstractmethod
    def answer(self, call_id: str, content: str) -> None:
        """Answer a call with a message."""

    @abstractmethod
    def command(self, resume: object) -> None:
        """Go on with a LangGraph command among the forwarded properties."""

    @abstractmethod
    def leave(self, text: str) -> None:
        """Say something, and leave at the first words of the answer."""


class Session(Chat):
    """Through `AGUISession`, and so `AGUIClient`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._http = httpx2.Client(event_hooks={"request": [self._note]})
        self.session = AGUISession[Shared](
            AGUIClient(url, http_client=self._http),
            tools=[get_user_location],
            on_invalid_state=self._misfit,
        )

    def __exit__(self, *error: object) -> None:
        self._http.close()

    def _misfit(self, error: ValidationError) -> None:
        self.misfits += 1

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in self.session.interrupts]

    @property
    def recipe(self) -> object:
        found = self.session.state.recipe
        return None if found is None else found.model_dump()

    def open_call(self) -> str:
        answered = {
            one.tool_call_id for one in self.session.messages if isinstance(one, ToolMessage)
        }
        spoken = [one for one in self.session.messages if isinstance(one, AssistantMessage)]
        return [
            call.id for one in spoken for call in one.tool_calls or () if call.id not in answered
        ][-1]

    def say(self, text: str) -> None:
        self._receive(self.session.send(text))

    def resume(self, payload: object) -> None:
        self._receive(self.session.resume(dict.fromkeys(self.waits_for, payload)))

    def answer(self, call_id: str, content: str) -> None:
        self._receive(
            self.session.send(
                ToolMessage(id=f"for-{call_id}", tool_call_id=call_id, content=content)
            )
        )

    def command(self, resume: object) -> None:
        self.session.forwarded_props = {"command": {"resume": resume}}
        try:
            self._receive(self.session.send())
        finally:
            self.session.forwarded_props = {}

    def leave(self, text: str) -> None:
        with self.session.send(text) as turn:
            for event in turn:
                if isinstance(event, TextMessageContentEvent):
                    return

    def _receive(self, turn: Turn) -> None:
        self._begin()
        known = {message.id for message in self.session.messages}
        try:
            for event in turn:
                _ = self.session.state  # a state is judged when somebody looks
                if isinstance(event, TextMessageContentEvent):
                    self.pieces.append(event.delta)
                elif isinstance(event, ReasoningMessageContentEvent):
                    self.thoughts += event.delta
        finally:
            self.tokens = sum(
                entry.total_tokens or entry.output_tokens or 0 for entry in turn.usage
            )
            messages = [message for message in self.session.messages if message.id not in known]
            spoken = [one for one in messages if isinstance(one, AssistantMessage)]
            self.calls = [call.function.name for one in spoken for call in one.tool_calls or ()]
            self.results = [str(one.content) for one in messages if isinstance(one, ToolMessage)]


class Model(Chat):
    """Through `AGUIChatModel`: streamed, and in `create_agent` where tools are to run here."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._http = httpx2.Client(event_hooks={"request": [self._note]})
        self._model = AGUIChatModel(url=url, http_client=self._http)
        self.messages: list[BaseMessage] = []
        self._fold = Fold([], {})

    def __exit__(self, *error: object) -> None:
        self._http.close()

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in open_interrupts(self.messages[-1])]

    @property
    def recipe(self) -> object:
        assert isinstance(self._fold.state, dict)
        return self._fold.state["recipe"]

    def open_call(self) -> str:
        blocks = [
            block
            for message in self.messages
            if isinstance(message, AIMessage)
            for block in message.content
        ]
        kinds = [block for block in blocks if isinstance(block, dict)]
        answered = {
            block["tool_call_id"] for block in kinds if block["type"] == "server_tool_result"
        }
        calls = [block["id"] for block in kinds if block["type"].startswith("server_tool_call")]
        return next(call for call in reversed(calls) if call not in answered)

    def say(self, text: str) -> None:
        self._receive(HumanMessage(text, id=str(uuid4())))

    def say_with_tools(self, text: str) -> None:
        self._begin()
        agent = create_agent(self._model, tools=[get_user_location])
        self.messages = agent.invoke(
            {"messages": [*self.messages, HumanMessage(text, id=str(uuid4()))]}
        )["messages"]
        self.pieces = [self.messages[-1].text]

    def resume(self, payload: object) -> None:
        self._receive(resume=dict.fromkeys(self.waits_for, payload))

    def answer(self, call_id: str, content: str) -> None:
        self._receive(LCToolMessage(content, tool_call_id=call_id))

    def command(self, resume: object) -> None:
        self._receive(forwarded_props={"command": {"resume": resume}})

    def leave(self, text: str) -> None:
        with closing(self._model.stream([*self.messages, HumanMessage(text)])) as chunks:  # type: ignore[type-var]
            next(chunk for chunk in chunks if chunk.text)

    def _receive(self, *said: BaseMessage, **options: Any) -> None:
        self._begin()
        asked = [*self.messages, *said]
        chunks = self._model.bind_tools([get_user_location]).stream(
            asked, on_event=self._fold.feed, state=self._fold.state, **options
        )
        answer: AIMessageChunk | None = None
        for chunk in chunks:
            assert isinstance(chunk, AIMessageChunk)
            self.pieces += [chunk.text] if chunk.text else []
            answer = chunk if answer is None else answer + chunk
        assert answer is not None
        blocks = answer.content_blocks
        self.tokens = answer.usage_metadata["total_tokens"] if answer.usage_metadata else 0
        self.thoughts = "".join(
            block["reasoning"] for block in blocks if block["type"] == "reasoning"
        )
        self.calls = [block["name"] for block in blocks if block["type"] == "server_tool_call"]
        self.results = [
            str(block["output"]) for block in blocks if block["type"] == "server_tool_result"
        ]
        assert not answer.tool_calls
        assert not answer.invalid_tool_calls
        self.messages = [*asked, answer]


class _State(MessagesState):
    recipe: dict[str, Any]


class Graph(Chat):
    """Through `RemoteAgent`, as the node of a graph with a checkpointer."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._http = httpx2.AsyncClient(event_hooks={"request": [self._anote]})
        self._runner = asyncio.Runner()
        self._saver = InMemorySaver()
        self._graph = self._compiled({})
        self._config: Any = {"configurable": {"thread_id": "one"}}

    def _compiled(self, props: Mapping[str, object]) -> Any:
        client = AGUIClient(self.url, http_client=self._http)
        expert = RemoteAgent(
            client,
            name="expert",
            state=["recipe"],
            tools=[get_user_location],
            forwarded_props=props,
        )
        builder = StateGraph(_State)
        builder.add_node("expert", expert)
        builder.add_edge(START, "expert")
        return builder.compile(self._saver)

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()

    def at(self, url: str) -> None:
        """Go on at another address."""
        self.url = url
        self._graph = self._compiled({})

    @property
    def messages(self) -> list[AnyMessage]:
        return list(self._snapshot().values["messages"])

    def _snapshot(self) -> Any:
        return self._graph.get_state(self._config)

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in self._snapshot().interrupts]

    @property
    def recipe(self) -> object:
        return self._snapshot().values["recipe"]

    def open_call(self) -> str:
        calls = [
            call for one in self.messages if isinstance(one, AIMessage) for call in one.tool_calls
        ]
        return str(calls[-1]["id"])

    def say(self, text: str) -> None:
        self._receive({"messages": [HumanMessage(text)]})

    def resume(self, payload: object) -> None:
        self._receive(Command(resume=dict.fromkeys(self.waits_for, payload)))

    def answer(self, call_id: str, content: str) -> None:
        # In the place of the message that a graph has for a call without a result.
        stands = next(
            one
            for one in self.messages
            if isinstance(one, LCToolMessage) and one.tool_call_id == call_id
        )
        self._receive({"messages": [LCToolMessage(content, tool_call_id=call_id, id=stands.id)]})

    def command(self, resume: object) -> None:
        self._graph = self._compiled({"command": {"resume": resume}})
        try:
            self._receive({"messages": []})
        finally:
            self._graph = self._compiled({})

    def leave(self, text: str) -> None:
        async def leave() -> None:
            async with aclosing(self._chunks({"messages": [HumanMessage(text)]})) as chunks:
                async for chunk in chunks:
                    if chunk.text:
                        return

        self._runner.run(leave())

    def _receive(self, given: object) -> None:
        self._begin()
        self._runner.run(self._read(given))

    async def _read(self, given: object) -> None:
        known = {
            message.id
            for message in (await self._graph.aget_state(self._config)).values.get("messages", ())
        }
        async for chunk in self._chunks(given):
            if isinstance(chunk, AIMessageChunk):
                self.pieces += [chunk.text] if chunk.text else []
                blocks = chunk.content_blocks
                self.thoughts += "".join(
                    block.get("reasoning", "") for block in blocks if block["type"] == "reasoning"
                )
        new: Sequence[Any] = [message for message in self.messages if message.id not in known]
        self.calls = [
            call["name"] for one in new if isinstance(one, AIMessage) for call in one.tool_calls
        ]
        self.results = [one.text for one in new if isinstance(one, LCToolMessage)]
        spoken = [one for one in new if isinstance(one, AIMessage)]
        self.tokens = sum(
            one.usage_metadata["total_tokens"] for one in spoken if one.usage_metadata
        )

    async def _chunks(self, given: object) -> AsyncIterator[BaseMessage]:
        stream = self._graph.astream(given, self._config, stream_mode="messages", subgraphs=True)
        async with aclosing(stream) as parts:
            async for _namespace, (message, _metadata) in parts:
                yield message
