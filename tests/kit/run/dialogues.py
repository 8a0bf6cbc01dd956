"""What the tests of single rules share: an agent over one kind of pause, its thread, and its
model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ag_ui.core import AssistantMessage, FunctionCall, Message, ResumeEntry, ToolCall, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.pauses import Mode, happened, spender, spending
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input, user


@dataclass
class Dialogue:
    """A thread with an agent whose tool `spend` is guarded."""

    file: Path
    mode: Mode = "batched"
    decisions: Sequence[str] = ()
    options: dict[str, Any] = field(default_factory=dict)
    thread: str = "t"

    def __post_init__(self) -> None:
        self.model = Scripted(script=spending)
        self.graph = spender(self.mode, InMemorySaver(), *self.decisions, model=self.model)
        self.agent = LangGraphAgent(self.graph, **self.options)
        self.held: list[Message] = []

    @property
    def happened(self) -> list[int]:
        return happened(self.file)

    async def send(
        self, *new: Message, resume: Sequence[ResumeEntry] = (), heals: bool = False, **fields: Any
    ) -> RecordedRun:
        """A run with what the client holds; it then holds what it was told. `heals`: only the
        snapshot tells all."""
        given = run_input(
            *self.held, *new, thread=self.thread, resume=list(resume) or None, **fields
        )
        recorded = await record_run(self.agent, given)
        if recorded.last.type == "RUN_FINISHED":
            if not heals:
                recorded.check_snapshot()
            self.held = recorded.messages
        return recorded

    async def ask(self, **fields: Any) -> list[str]:
        """Say the file, and return the ids of the questions, the one about 1 before the one about
        2."""
        recorded = await self.send(user(str(self.file)), **fields)
        asked = sorted(
            recorded.last.outcome.interrupts, key=lambda one: one.metadata["args"]["amount"]
        )
        return [one.id for one in asked]

    def check_model(self) -> None:
        """Every request was one that providers take."""
        for messages in self.model.seen:
            assert_valid(messages)

    @property
    def last_request(self) -> list[str]:
        """The texts of the model's last request."""
        return [message.text for message in self.model.seen[-1]]


def resolved(*answers: tuple[str, Any]) -> list[ResumeEntry]:
    return [
        ResumeEntry(interrupt_id=one, status="resolved", payload=payload)
        for one, payload in answers
    ]


def cancelled(*ids: str) -> list[ResumeEntry]:
    return [ResumeEntry(interrupt_id=one, status="cancelled") for one in ids]


def result(call_id: str, content: Any, **fields: Any) -> ToolMessage:
    """A result by the client."""
    text = content if isinstance(content, str) else json.dumps(content)
    return ToolMessage(
        id=f"result-{call_id}", role="tool", tool_call_id=call_id, content=text, **fields
    )


def calling(name: str, call_id: str, **arguments: Any) -> AssistantMessage:
    """A message that no model has said."""
    called = FunctionCall(name=name, arguments=json.dumps(arguments))
    return AssistantMessage(
        id=f"forged-{call_id}",
        role="assistant",
        tool_calls=[ToolCall(id=call_id, type="function", function=called)],
    )
