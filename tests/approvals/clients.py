"""A client of one thread: it holds what it was told, and sends that again with what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Interrupt, Message, ResumeEntry
from langchain_core.messages import BaseMessage

from langgraph_agui import LangGraphAgent
from tests.adapter.streams import Told, collect, run_input, tell


@dataclass
class Client:
    """What a client of the thread holds: messages and state."""

    agent: LangGraphAgent
    thread: str = "t"
    held: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)

    async def send(self, *new: Message | str, resume: Sequence[ResumeEntry] = (), **fields: Any) -> Told:
        """Run with what is held and what is new."""
        fields = {"state": self.state, **fields}
        given = run_input(*self.held, *new, thread=self.thread, resume=list(resume) or None, **fields)
        told = await tell(self.agent, given)
        if told.last.type.value == "RUN_FINISHED":
            self.held, self.state = told.messages, told.state
        return told

    async def ask(self, *new: Message | str, **fields: Any) -> list[Interrupt]:
        """Say something, and return what is asked then."""
        return asked(await self.send(*new, **fields))

    async def connect(self) -> Told:
        """What a client is told that comes back, and holds nothing yet."""
        given = run_input(thread=self.thread)
        return Told(await collect(self.agent.connect(given)), given)

    async def snapshot(self) -> Any:
        return await self.agent.graph.aget_state({"configurable": {"thread_id": self.thread}})

    async def stored(self, key: str = "messages") -> list[BaseMessage]:
        """The messages of the thread."""
        return list((await self.snapshot()).values.get(key, ()))


def ending(told: Told) -> str:
    """How a run has ended: the type of its outcome, or the code of its error."""
    return str(told.last.outcome.type if told.last.type.value == "RUN_FINISHED" else told.last.code)


def asked(told: Told) -> list[Interrupt]:
    """The open interrupts."""
    assert ending(told) == "interrupt", told.last
    return list(told.last.outcome.interrupts)
