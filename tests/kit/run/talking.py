"""A thread that tests talk on: every run is verified, and every request of the model is one that
providers take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any

from ag_ui.core import Message, RunAgentInput, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import Fold
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import agent_of
from tests.kit.models.scripted import Piece, Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user


@tool
async def look(place: str) -> str:
    """Look."""
    return f"seen {place}"


def thought(text: str, index: int = 0, signature: str = "s") -> list[Piece]:
    return [thinking(text, index), thinking(index=index, signature=signature)]


def looking(call_id: str = "c1", place: str = "a", index: int = 0) -> Any:
    return part("look", f'{{"place": "{place}"}}', call_id, index)


def echo() -> Scripted:
    """A model that says what it was told; "look" makes it think and call a tool twice before."""
    numbers = count(1)

    def script(messages: list[BaseMessage]) -> list[Piece]:
        last, number = messages[-1], next(numbers)
        asked = next((one.text for one in messages[::-1] if one.type == "human"), "nothing")
        if isinstance(last, HumanMessage) and "look" in asked:
            calls = [looking(f"c{number}{place}", place, at) for at, place in enumerate("ab")]
            said = text_chunk("Looking.", 1)
            return [*thought("Hm.", signature=f"s{number}"), said, calling(*calls)]
        return [f"{number}: ", f"re {asked}"]

    return Scripted(script=script)


@dataclass
class Talk:
    """One thread of an agent."""

    agent: LangGraphAgent
    model: Scripted
    thread: str = "t"

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}}

    async def say(
        self, *messages: Message | str, outcome: str = "success", **fields: Any
    ) -> RecordedRun:
        """Run, and check what was told and what the model was asked."""
        options = {name: fields.pop(name) for name in ("config", "context") if name in fields}
        given = run_input(*messages, thread=self.thread, **fields)
        recorded = await record_run(self.agent, given, **options)
        end = recorded.last  # a client of before 1.0 is told no outcome
        ended = end.code if end.type.value == "RUN_ERROR" else end.outcome or outcome
        assert getattr(ended, "type", ended) == outcome, end
        for seen in self.model.seen:
            assert_valid(seen)
        return recorded

    async def spoken(self, **turns: str) -> list[Message]:
        """Say each text under its id, with all that is held; return what the client holds then."""
        held: list[Message] = []
        for name, text in turns.items():
            held = (await self.say(*held, user(text, name))).messages
        return held

    async def connect(self, *held: Message, **fields: Any) -> RecordedRun:
        return await connect(self.agent, run_input(*held, thread=self.thread, **fields))

    async def update(self, *messages: Any, as_node: str | None = None) -> None:
        await self.agent.graph.aupdate_state(self.config, {"messages": [*messages]}, as_node)

    async def stored(self, config: Any = None) -> list[BaseMessage]:
        """The messages of the thread, or of one of its checkpoints."""
        values = (await self.agent.graph.aget_state(config or self.config)).values
        return list(values if isinstance(values, list) else values.get("messages", ()))

    async def texts(self, config: Any = None) -> list[str]:
        return texts(await self.stored(config))

    async def checkpoint(self) -> Any:
        return (await self.agent.graph.aget_state(self.config)).config

    async def branches(self) -> list[Any]:
        states = self.agent.graph.aget_state_history(self.config)
        return [state.values.get("messages") async for state in states]

    @property
    def calls(self) -> int:
        return len(self.model.seen)

    @property
    def asked(self) -> list[str]:
        return texts(self.model.seen[-1])


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def talk(
    saver: Any, model: Scripted | None = None, *, tools: Sequence[Any] = (look,), **options: Any
) -> Talk:
    middleware, model = options.pop("middleware", ()), model or echo()
    graph = create_agent(model, tools, middleware=middleware, checkpointer=saver)
    return Talk(LangGraphAgent(graph, **options), model)


def chat(*nodes: Any, model: Scripted | None = None, **options: Any) -> Talk:
    return Talk(agent_of(*nodes, **options), model or Scripted())


async def connect(
    agent: LangGraphAgent, given: RunAgentInput | None = None, thread: str = "t"
) -> RecordedRun:
    given = given or run_input(thread=thread)
    return RecordedRun(await collect(agent.connect(given)), given)


async def left_at(agent: LangGraphAgent, given: RunAgentInput, *types: str) -> list[Message]:
    """What a client holds that leaves at the first event of one of these types."""
    fold = Fold(given.messages, given.state)
    async with aclosing(agent.run(given)) as events:
        async for event in events:
            fold.feed(event)
            if event.type.value in types:
                break
    return fold.messages


def until(held: Sequence[Message], message_id: str) -> list[Message]:
    """The client's list up to a message, as it sends it to run again from there."""
    return list(held[: [message.id for message in held].index(message_id) + 1])


def edit(held: Sequence[Message], message_id: str, text: str = "new") -> list[Message]:
    """The client's list up to a message with other words, as it sends it after an edit."""
    return [*until(held, message_id)[:-1], user(text, message_id)]


def result(call_id: str, content: str = "done", message_id: str | None = None) -> ToolMessage:
    own = {"id": message_id or f"result-{call_id}", "tool_call_id": call_id}
    return ToolMessage(role="tool", content=content, **own)


def by_role(messages: Sequence[Message], role: str) -> list[Any]:
    return [message for message in messages if message.role == role]


def said(messages: Sequence[Message]) -> list[object]:
    return [message.content for message in messages if message.role in ("user", "assistant")]


def calls_of(messages: Sequence[BaseMessage]) -> list[str | None]:
    made = [one.tool_calls for one in messages if isinstance(one, AIMessage)]
    return [call["id"] for calls in made for call in calls]
