"""Who approved what: one record for each answer that takes effect."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ag_ui.core import ResumeEntry, RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.interrupts.decisions import Decision
from langgraph_agui.interrupts.pending import InterruptRequest

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer to an interrupt, given and valid, just before the graph goes on with it.

    Attributes:
        thread_id: The thread.
        run_id: The run that brings the answer.
        interrupt_id: The question.
        decision: `approve`, `edit`, `reject`, `respond`, `answer` (an `interrupt()` of the graph's own), or `cancel`.
        payload: What the client sent.
        tool_call_id: The call that was asked about, where it is one.
        name: Its tool.
        args: The arguments that were asked about.
        edited_args: Those that it runs with instead.
        config: The run's configuration, with what `config_factory` found in the request.
        context: The run's context, with what `context_factory` found in the request: who answers.
    """

    thread_id: str
    run_id: str
    interrupt_id: str
    decision: str
    payload: object
    tool_call_id: str | None
    name: str | None
    args: Mapping[str, object]
    edited_args: Mapping[str, object] | None
    config: RunnableConfig
    context: object

    @classmethod
    def of(
        cls,
        run_input: RunAgentInput,
        question: InterruptRequest,
        entry: ResumeEntry,
        decision: Decision,
        config: RunnableConfig,
        context: object,
    ) -> Approval:
        """The record of one answer of a run."""
        action = question.action
        return cls(
            run_input.thread_id,
            run_input.run_id,
            question.id,
            decision.type,
            entry.payload,
            question.interrupt.tool_call_id,
            action.name if action is not None else None,
            action.args if action is not None else {},
            decision.edited_args,
            config,
            context,
        )


OnApproval: TypeAlias = Callable[[Approval], Awaitable[object] | object]
"""Is told of each approval, before the graph runs; if it raises, the graph does not run."""


def log_approval(approval: Approval) -> None:
    """Write an approval into the log, without arguments and payloads: those may be secret."""
    logger.info(
        "Thread %s, run %s: %s %s (interrupt %s, call %s)",
        approval.thread_id,
        approval.run_id,
        approval.decision,
        approval.name or "the interrupt",
        approval.interrupt_id,
        approval.tool_call_id,
    )
