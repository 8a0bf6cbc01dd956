"""Approvals as calls of a client tool, `request_approval`, for clients that know no interrupts.

Pending interrupts enter `split_approvals`, tool calls leave. The results of those calls enter
`approval_answers` and leave as resume entries, which are checked like any others.
"""

from collections.abc import Sequence

from ag_ui import core as agui
from langchain_core.messages import ToolCall

from langgraph_agui.interrupts.decisions import Action
from langgraph_agui.interrupts.pauses import InterruptRequest, PendingInterrupts
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.messages.content import text_of
from langgraph_agui.protocol.json import clean_json, parse_json
from langgraph_agui.protocol.wire import ProtocolError

# The client tool: `{approval_id, function_name, function_arguments, message}`, answered
# `{approval_id, approved}`.
REQUEST_APPROVAL = "request_approval"


def split_approvals(pending: PendingInterrupts) -> tuple[list[ToolCall], list[agui.Interrupt]]:
    """Return the calls of `request_approval` for the approvals, and the other interrupts as they
    are.
    """
    calls = [
        _approval_call(request, request.action)
        for request in pending.requests
        if request.action is not None
    ]
    return calls, [request.interrupt for request in pending.requests if request.action is None]


def _call_id(request: InterruptRequest) -> str:
    return f"approval:{request.id}"


def _approval_call(request: InterruptRequest, action: Action) -> ToolCall:
    arguments = {
        "approval_id": request.id,
        "function_name": action.name,
        "function_arguments": (request.interrupt.metadata or {}).get("args", {}),
        "message": request.interrupt.message,
    }
    return ToolCall(name=REQUEST_APPROVAL, args=arguments, id=_call_id(request))


def approval_answers(
    messages: Sequence[agui.Message], pending: PendingInterrupts
) -> list[agui.ResumeEntry]:
    """Return the answers to open approvals in a client's history. Results of closed approvals are
    ignored.

    Raises:
        RunInputError: A result is no answer, or names another approval than its call.
    """
    open_ = {
        _call_id(request): request.id for request in pending.requests if request.action is not None
    }
    return [
        _answer(message, open_[message.tool_call_id])
        for message in messages
        if isinstance(message, agui.ToolMessage) and message.tool_call_id in open_
    ]


def _answer(message: agui.ToolMessage, approval_id: str) -> agui.ResumeEntry:
    if message.error is not None:  # the client could not ask its user
        return agui.ResumeEntry(interrupt_id=approval_id, status="cancelled")
    try:
        payload = clean_json(parse_json(text_of(message.content)))
    except (ProtocolError, ValueError):
        payload = None
    if not isinstance(payload, dict | list):
        raise RunInputError(
            ErrorCode.INTERRUPT_INVALID,
            f"The result for approval {approval_id!r} is neither a JSON object nor a list.",
        )
    if isinstance(payload, dict) and payload.pop("approval_id", approval_id) != approval_id:
        raise RunInputError(
            ErrorCode.INTERRUPT_INVALID,
            f"The result for approval {approval_id!r} names another one.",
        )
    return agui.ResumeEntry(interrupt_id=approval_id, status="resolved", payload=payload)
