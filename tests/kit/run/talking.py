"""A thread that tests talk on: every run is verified, and every request of the model is one that
providers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ag_ui.core import Message, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from langgraph_agui import LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Piece, Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input


@tool
async def look(place: str) -> str:
    """Look."""
    return f"seen {place}"


def echo() -> Scripted:
    """A model that says what it was told; "look" makes it think and call a tool twice before."""
    numbers = count(1)

    def script(messages: list[BaseMessage]) -> list[Piece]:
        last, number = messages[-1], next(numbers)
        asked = next(
            (message.text for message in reversed(messages) if isinstance(message, HumanMessage)),
            "nothing",
        )
        if isinstance(last, HumanMessage) and "look" in asked:
            calls = [
                part("look", f'{{"place": "{place}"}}', f"c{number}{place}", at)
                for at, place in enumerate("ab")
            ]
            return [
                thinking("Hm.", 0),
                thinking(index=0, signature=f"s{number}"),
                text_chunk("Looking.", 1),
                calling(*calls),
            ]
        return [f"{number}: ", f"re {asked}"]

    return Scripted(script=script)


@dataclass
class Talk:
    """One thread of an agent."""

    agent: LangGraphAgent
    model: Scripted
    thread: str = "t"

    async def say(
        self, *messages: Message | str, outcome: str = "success", **fields: Any
    ) -> RecordedRun:
        """Run, and check what was told and what the model was asked."""
        options = {name: fields.pop(name) for name in ("config", "context") if name in fields}
        recorded = await record_run(
            self.agent, run_input(*messages, thread=self.thread, **fields), **options
        )
        end = recorded.last
        assert (end.outcome.type if end.type.value == "RUN_FINISHED" else end.code) == outcome, end
        for seen in self.model.seen:
            assert_valid(seen)
        return recorded

    async def stored(self, config: RunnableConfig | None = None) -> list[BaseMessage]:
        """The messages of the thread, or of one of its checkpoints."""
        where = config or {"configurable": {"thread_id": self.thread}}
        return list((await self.agent.graph.aget_state(where)).values.get("messages", ()))

    async def texts(self, config: RunnableConfig | None = None) -> list[str]:
        return texts(await self.stored(config))

    async def checkpoint(self) -> RunnableConfig:
        """Where the thread is now."""
        return (
            await self.agent.graph.aget_state({"configurable": {"thread_id": self.thread}})
        ).config

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.model.seen)

    @property
    def asked(self) -> list[str]:
        """What the model was asked last."""
        return texts(self.model.seen[-1])


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def talk(
    saver: Any, model: Scripted | None = None, *, tools: Sequence[Any] = (look,), **options: Any
) -> Talk:
    model = model or echo()
    return Talk(
        LangGraphAgent(graph=create_agent(model, tools, checkpointer=saver), **options), model
    )


def result(call_id: str, content: str = "done", message_id: str | None = None) -> ToolMessage:
    return ToolMessage(
        id=message_id or f"result-{call_id}", role="tool", tool_call_id=call_id, content=content
    )


def by_role(messages: Sequence[Message], role: str) -> list[Any]:
    return [message for message in messages if message.role == role]


def calls_of(messages: Sequence[BaseMessage]) -> list[str | None]:
    return [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
