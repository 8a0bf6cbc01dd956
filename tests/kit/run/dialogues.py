"""Answers of clients, and an agent over one kind of pause with its thread and its model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Interrupt,
    Message,
    ResumeEntry,
    ToolCall,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.pauses import Mode, happened, spender, spending
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, user
from tests.kit.run.thread_client import Client, asked


class Dialogue(Client):
    """A client of an agent whose tool `spend` is guarded."""

    def __init__(
        self,
        file: Path,
        mode: Mode = "batched",
        decisions: Sequence[str] = (),
        options: dict[str, Any] | None = None,
        thread: str = "t",
    ) -> None:
        self.file, self.mode, self.model = file, mode, Scripted(script=spending)
        self.graph = spender(mode, InMemorySaver(), *decisions, model=self.model)
        super().__init__(LangGraphAgent(self.graph, **options or {}), thread)

    @property
    def happened(self) -> list[int]:
        return happened(self.file)

    async def send(self, *new: Message | str, heals: bool = False, **fields: Any) -> RecordedRun:
        """A run; with `heals` only its snapshot tells all."""
        recorded = await super().send(*new, **{"state": {}, **fields})
        if recorded.last.type.value == "RUN_FINISHED" and not heals:
            recorded.check_snapshot()
        return recorded

    async def ask(self, **fields: Any) -> list[str]:  # type: ignore[override]
        """Say the file, and return the ids of the questions, that about 1 before that about 2."""
        questions = asked(await self.send(user(str(self.file)), **fields))
        return [one.id for one in sorted(questions, key=lambda one: one.metadata["args"]["amount"])]  # type: ignore[index]

    def check_model(self) -> None:
        """Every request was one that providers take."""
        for messages in self.model.seen:
            assert_valid(messages)

    @property
    def last_request(self) -> list[str]:
        """The texts of the model's last request."""
        return [message.text for message in self.model.seen[-1]]

    @property
    def received(self) -> str:
        """The texts of all requests of the model."""
        return "\n".join(message.text for messages in self.model.seen for message in messages)


def resolved(*answers: tuple[str, Any]) -> list[ResumeEntry]:
    return [
        ResumeEntry(interrupt_id=one, status="resolved", payload=payload)
        for one, payload in answers
    ]


def cancelled(*ids: str) -> list[ResumeEntry]:
    return [ResumeEntry(interrupt_id=one, status="cancelled") for one in ids]


def answering(questions: Sequence[Interrupt], payload: Any) -> list[ResumeEntry]:
    """The same answer to all questions; `...` cancels."""
    ids = [one.id for one in questions]
    return cancelled(*ids) if payload is ... else resolved(*((one, payload) for one in ids))


def approvals(questions: Sequence[Interrupt]) -> list[ResumeEntry]:
    return answering(questions, {"approved": True})


def result(call_id: str, content: Any, **fields: Any) -> ToolMessage:
    """A result by the client."""
    text = content if isinstance(content, str) else json.dumps(content)
    fields = {"id": f"result-{call_id}", "content": text, **fields}
    return ToolMessage(role="tool", tool_call_id=call_id, **fields)


def calling(name: str, call_id: str, **arguments: Any) -> AssistantMessage:
    """A message that no model has said."""
    called = FunctionCall(name=name, arguments=json.dumps(arguments))
    calls = [ToolCall(id=call_id, type="function", function=called)]
    return AssistantMessage(id=f"forged-{call_id}", role="assistant", tool_calls=calls)
