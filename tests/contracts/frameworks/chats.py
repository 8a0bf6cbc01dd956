"""One conversation with a server through each of our clients, all spoken to alike."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
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
from pydantic import BaseModel

from langgraph_agui.client import (
    AGUIChatModel,
    AGUIClient,
    AGUISession,
    RemoteAgent,
    open_interrupts,
)
from langgraph_agui.protocol import Fold


def get_user_location(precise: bool) -> str:
    """Where the user is."""
    return "Rome"


class Recipe(BaseModel):
    title: str
    servings: int


class Shared(BaseModel):
    recipe: Recipe | None = None


class Chat:
    """A conversation. What the agent did in the last turn is in the attributes; `sent` has the body
    of each request.

    Each kind has `say`, `answer` (a call, with a message), `command` (a LangGraph command among the
    forwarded properties), `leave` (say something, and leave at the first words of the answer),
    `resume` (all interrupts alike), and what is open: `waits_for` and `open_call`.
    """

    misfits = 0
    """How often the agent's state did not fit a type."""
    waits_for: Any
    recipe: Any

    def __init__(self, url: str) -> None:
        self.url = url
        self.sent: list[Any] = []
        self._http: Any = httpx2.Client(event_hooks={"request": [self._note]})
        self._begin()

    def _begin(self) -> None:
        self.pieces, self.thoughts, self.tokens = list[str](), "", 0
        self.calls, self.results = list[str](), list[str]()
        """The tools that the agent ran itself, and what they returned."""

    def _note(self, request: httpx2.Request) -> None:
        self.sent.append(json.loads(request.content))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._http.close()

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def say_with_tools(self, text: str) -> None:
        """Say something that the agent calls a tool here for."""
        self.say(text)

    def say(self, text: str) -> None:
        raise NotImplementedError


class Session(Chat):
    """Through `AGUISession`, and so `AGUIClient`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        client = AGUIClient(url, http_client=self._http)
        options: Any = {"tools": [get_user_location], "on_invalid_state": self._misfit}
        self.session = AGUISession[Shared](client, **options)

    def _misfit(self, error: Exception) -> None:
        self.misfits += 1

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in self.session.interrupts]

    @property
    def recipe(self) -> object:
        found = self.session.state.recipe
        return None if found is None else found.model_dump()

    def open_call(self) -> str:
        messages: list[Any] = self.session.messages
        answered = {one.tool_call_id for one in messages if one.role == "tool"}
        spoken = [one for one in messages if one.role == "assistant"]
        calls = [call.id for one in spoken for call in one.tool_calls or ()]
        return str([call for call in calls if call not in answered][-1])

    def say(self, text: str) -> None:
        self._receive(self.session.send(text))

    def resume(self, payload: object) -> None:
        self._receive(self.session.resume(dict.fromkeys(self.waits_for, payload)))

    def answer(self, call_id: str, content: str) -> None:
        said = ToolMessage(id=f"for-{call_id}", tool_call_id=call_id, content=content)
        self._receive(self.session.send(said))

    def command(self, resume: object) -> None:
        self.session.forwarded_props = {"command": {"resume": resume}}
        self._receive(self.session.send())
        self.session.forwarded_props = {}

    def leave(self, text: str) -> None:
        with self.session.send(text) as turn:
            next(event for event in turn if isinstance(event, TextMessageContentEvent))

    def _receive(self, turn: Any) -> None:
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
            self.tokens = sum(one.total_tokens or one.output_tokens or 0 for one in turn.usage)
            new = [message for message in self.session.messages if message.id not in known]
            spoken = [one for one in new if isinstance(one, AssistantMessage)]
            self.calls = [call.function.name for one in spoken for call in one.tool_calls or ()]
            self.results = [str(one.content) for one in new if isinstance(one, ToolMessage)]


class Model(Chat):
    """Through `AGUIChatModel`: streamed, and in `create_agent` where tools are to run here."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._model = AGUIChatModel(url=url, http_client=self._http)
        self.messages: list[BaseMessage] = []
        self._fold = Fold([], {})

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in open_interrupts(self.messages[-1])]

    @property
    def recipe(self) -> object:
        state: Any = self._fold.state
        return state["recipe"]

    def open_call(self) -> str:
        spoken = [one for one in self.messages if isinstance(one, AIMessage)]
        blocks: list[Any] = [block for one in spoken for block in one.content]
        kinds = [block for block in blocks if isinstance(block, dict)]
        results = [block for block in kinds if block["type"] == "server_tool_result"]
        answered = {block["tool_call_id"] for block in results}
        calls = [block["id"] for block in kinds if block["type"].startswith("server_tool_call")]
        return str([call for call in calls if call not in answered][-1])

    def say(self, text: str) -> None:
        self._receive(HumanMessage(text, id=str(uuid4())))

    def say_with_tools(self, text: str) -> None:
        self._begin()
        agent = create_agent(self._model, tools=[get_user_location])
        asked = [*self.messages, HumanMessage(text, id=str(uuid4()))]
        self.messages = agent.invoke({"messages": asked})["messages"]
        self.pieces = [self.messages[-1].text]

    def resume(self, payload: object) -> None:
        self._receive(resume=dict.fromkeys(self.waits_for, payload))

    def answer(self, call_id: str, content: str) -> None:
        self._receive(LCToolMessage(content, tool_call_id=call_id))

    def command(self, resume: object) -> None:
        self._receive(forwarded_props={"command": {"resume": resume}})

    def leave(self, text: str) -> None:
        stream: Any = self._model.stream([*self.messages, HumanMessage(text)])
        with closing(stream) as chunks:
            next(chunk for chunk in chunks if chunk.text)

    def _receive(self, *said: BaseMessage, **options: Any) -> None:
        self._begin()
        asked = [*self.messages, *said]
        options = {"on_event": self._fold.feed, "state": self._fold.state, **options}
        answer: Any = None
        for chunk in self._model.bind_tools([get_user_location]).stream(asked, **options):
            self.pieces += [chunk.text] if chunk.text else []
            answer = chunk if answer is None else answer + chunk
        blocks = answer.content_blocks
        self.tokens = answer.usage_metadata["total_tokens"] if answer.usage_metadata else 0
        self.thoughts = "".join(one["reasoning"] for one in blocks if one["type"] == "reasoning")
        self.calls = [one["name"] for one in blocks if one["type"] == "server_tool_call"]
        results = [one for one in blocks if one["type"] == "server_tool_result"]
        self.results = [str(one["output"]) for one in results]
        assert (answer.tool_calls, answer.invalid_tool_calls) == ([], [])
        self.messages = [*asked, answer]


class _State(MessagesState):
    recipe: dict[str, Any]


class Graph(Chat):
    """Through `RemoteAgent`, as the node of a graph with a checkpointer."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._http = httpx2.AsyncClient(event_hooks={"request": [self._anote]})
        self._runner, self._saver = asyncio.Runner(), InMemorySaver()
        self._config: Any = {"configurable": {"thread_id": "one"}}
        self.at(url)

    async def _anote(self, request: httpx2.Request) -> None:
        self._note(request)

    def at(self, url: str, props: Mapping[str, object] | None = None) -> None:
        """Go on at an address, with forwarded properties."""
        self.url = url
        client, options = AGUIClient(url, http_client=self._http), {"forwarded_props": props or {}}
        tools: Any = [get_user_location]
        expert = RemoteAgent(client, name="expert", state=["recipe"], tools=tools, **options)
        builder = StateGraph(_State).add_node("expert", expert).add_edge(START, "expert")
        self._graph: Any = builder.compile(self._saver)

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()

    @property
    def messages(self) -> list[AnyMessage]:
        return list(self._graph.get_state(self._config).values.get("messages", ()))

    @property
    def waits_for(self) -> list[str]:
        return [interrupt.id for interrupt in self._graph.get_state(self._config).interrupts]

    @property
    def recipe(self) -> object:
        return self._graph.get_state(self._config).values["recipe"]

    def open_call(self) -> str:
        spoken = [one for one in self.messages if isinstance(one, AIMessage)]
        return str([call["id"] for one in spoken for call in one.tool_calls][-1])

    def say(self, text: str) -> None:
        self._receive({"messages": [HumanMessage(text)]})

    def resume(self, payload: object) -> None:
        self._receive(Command(resume=dict.fromkeys(self.waits_for, payload)))

    def answer(self, call_id: str, content: str) -> None:
        # In the place of the message that a graph has for a call without a result.
        results = [one for one in self.messages if isinstance(one, LCToolMessage)]
        stands = next(one for one in results if one.tool_call_id == call_id)
        self._receive({"messages": [LCToolMessage(content, tool_call_id=call_id, id=stands.id)]})

    def command(self, resume: object) -> None:
        self.at(self.url, {"command": {"resume": resume}})
        self._receive({"messages": []})
        self.at(self.url)

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
        known = {message.id for message in self.messages}
        async for chunk in self._chunks(given):
            if isinstance(chunk, AIMessageChunk):
                self.pieces += [chunk.text] if chunk.text else []
                blocks = [one for one in chunk.content_blocks if one["type"] == "reasoning"]
                self.thoughts += "".join(one.get("reasoning", "") for one in blocks)
        new = [message for message in self.messages if message.id not in known]
        spoken = [one for one in new if isinstance(one, AIMessage)]
        self.calls = [call["name"] for one in spoken for call in one.tool_calls]
        self.results = [one.text for one in new if isinstance(one, LCToolMessage)]
        used = [one.usage_metadata for one in spoken if one.usage_metadata]
        self.tokens = sum(one["total_tokens"] for one in used)

    async def _chunks(self, given: object) -> AsyncIterator[BaseMessage]:
        stream = self._graph.astream(given, self._config, stream_mode="messages", subgraphs=True)
        async with aclosing(stream) as parts:
            async for _namespace, (message, _metadata) in parts:
                yield message
