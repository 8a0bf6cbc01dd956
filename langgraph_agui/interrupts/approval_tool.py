"""The `request_approval` convention: approvals for clients that know no interrupts.

An approval is shown as a call of a client tool and answered by that call's result. Questions enter and calls leave;
results enter and answers leave, which are checked like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Literal

from ag_ui.core import Interrupt, Message, ResumeEntry, ToolMessage
from langchain_core.messages import AIMessage, ToolCall

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.interrupts.decisions import Action
from langgraph_agui.interrupts.pending import InterruptRequest
from langgraph_agui.interrupts.pending_reader import PendingInterrupts
from langgraph_agui.messages.to_agui import text_of

REQUEST_APPROVAL = "request_approval"
"""The client tool: `{approval_id, function_name, function_arguments, message}`, answered `{approval_id, approved}`."""

_PREFIX = "approval:"


def present_interrupts(
    pause: PendingInterrupts, approvals: Literal["interrupt", "tool_call"], announce: Callable[[AIMessage], object]
) -> list[Interrupt]:
    """Show what a pause asks; return the interrupts that the run's outcome is to name.

    Args:
        pause: What the thread waits for.
        approvals: How approvals are shown. What is no approval is an interrupt in any case.
        announce: Says a message of calls, as far as the client does not know them.
    """
    if approvals == "interrupt":
        return pause.interrupts
    if calls := [call_of(question, question.action) for question in pause.questions if question.action is not None]:
        announce(AIMessage("", tool_calls=calls))
    return [question.interrupt for question in pause.questions if question.action is None]


def call_of(question: InterruptRequest, action: Action) -> ToolCall:
    """The call of `request_approval` for a question; its id follows from the question's."""
    arguments = {
        "approval_id": question.id,
        "function_name": action.name,
        "function_arguments": (question.interrupt.metadata or {}).get("args", {}),
        "message": question.interrupt.message,
    }
    return ToolCall(name=REQUEST_APPROVAL, args=arguments, id=f"{_PREFIX}{question.id}")


def answers_in(messages: Sequence[Message], questions: Sequence[InterruptRequest]) -> list[ResumeEntry]:
    """The answers that a client's history holds to open approvals. Results of approvals that are closed are history.

    Raises:
        RunInputError: A result is no answer, or one to another approval than its call is about.
    """
    open_ = {f"{_PREFIX}{question.id}": question.id for question in questions if question.action is not None}
    return [
        _answer(message, open_[message.tool_call_id])
        for message in messages
        if isinstance(message, ToolMessage) and message.tool_call_id in open_
    ]


def _answer(message: ToolMessage, approval_id: str) -> ResumeEntry:
    """A result as an answer; a failed one, of a client that could not ask, cancels."""
    if message.error is not None:
        return ResumeEntry(interrupt_id=approval_id, status="cancelled")
    return ResumeEntry(interrupt_id=approval_id, status="resolved", payload=_payload(message, approval_id))


def _payload(message: ToolMessage, approval_id: str) -> dict[str, object]:
    try:
        answer = json.loads(text_of(message.content))
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, f"The result for approval {approval_id!r} is no JSON object.")
    if answer.pop("approval_id", approval_id) != approval_id:
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, f"The result for approval {approval_id!r} names another one.")
    return answer
