"""The record of who approved what. A run makes one `Approval` for each valid answer and gives it to `on_approval`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from langchain_core.runnables import RunnableConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approval:
    """A valid answer to an interrupt, just before the graph resumes with it.

    Attributes:
        thread_id: The thread.
        run_id: The run that brings the answer.
        interrupt_id: The interrupt.
        decision: `approve`, `edit`, `reject`, `respond`, `answer` (an `interrupt()` of the graph's own), or `cancel`.
        payload: What the client sent.
        tool_call_id: The tool call to approve, if it is one.
        name: Its tool; the nodes that come next for a breakpoint.
        args: The arguments to approve.
        edited_args: The arguments to run with instead.
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


OnApproval: TypeAlias = Callable[[Approval], Awaitable[object] | object]
"""Called with each approval before the graph resumes; if it raises, the graph does not run."""


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
