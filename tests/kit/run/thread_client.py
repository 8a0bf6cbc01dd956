"""A client of one thread: it holds what it was told, and sends that again with what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Interrupt, Message, ResumeEntry
from langchain_core.messages import BaseMessage

from langgraph_agui import LangGraphAgent
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input


@dataclass
class Client:
    """What a client of the thread holds: messages and state."""

    agent: LangGraphAgent
    thread: str = "t"
    held: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)

    async def send(
        self, *new: Message | str, resume: Sequence[ResumeEntry] = (), **fields: Any
    ) -> RecordedRun:
        fields = {"state": self.state, "resume": list(resume) or None, **fields}
        given = run_input(*self.held, *new, thread=self.thread, **fields)
        recorded = await record_run(self.agent, given)
        if recorded.last.type.value == "RUN_FINISHED":
            self.held, self.state = recorded.messages, recorded.state
        return recorded

    async def ask(self, *new: Message | str, **fields: Any) -> list[Interrupt]:
        """Say something, and return what is asked then."""
        return asked(await self.send(*new, **fields))

    async def connect(self, *held: Message, **fields: Any) -> RecordedRun:
        given = run_input(*held, thread=self.thread, **fields)
        return RecordedRun(await collect(self.agent.connect(given)), given)

    async def snapshot(self) -> Any:
        return await self.agent.graph.aget_state({"configurable": {"thread_id": self.thread}})

    async def stored(self, key: str = "messages") -> list[BaseMessage]:
        return list((await self.snapshot()).values.get(key, ()))

    async def texts(self, role: str | None = None) -> list[str]:
        return [one.text for one in await self.stored() if role in (None, one.type)]


def ending(recorded: RecordedRun) -> str:
    """How a run has ended: the type of its outcome, or the code of its error."""
    last = recorded.last
    return str(last.outcome.type if last.type.value == "RUN_FINISHED" else last.code)


def asked(recorded: RecordedRun) -> list[Interrupt]:
    assert ending(recorded) == "interrupt", recorded.last
    return list(recorded.last.outcome.interrupts)
