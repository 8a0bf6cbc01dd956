"""Wire events for the protocol tests, spelt briefly."""

from __future__ import annotations

from typing import Any, TypeAlias

Wire: TypeAlias = dict[str, Any]

STARTED: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED: Wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ERROR: Wire = {"type": "RUN_ERROR", "message": "no"}


def event(type_: str, **fields: Any) -> Wire:
    """A wire event of that type."""
    return {"type": type_, **fields}


def in_run(*events: Wire) -> list[Wire]:
    """One complete run around events."""
    return [STARTED, *events, FINISHED]


def text(message_id: str = "m", *deltas: str, **opener: Any) -> list[Wire]:
    """A text message from start to end."""
    return [
        event("TEXT_MESSAGE_START", messageId=message_id, **opener),
        *(event("TEXT_MESSAGE_CONTENT", messageId=message_id, delta=delta) for delta in deltas),
        event("TEXT_MESSAGE_END", messageId=message_id),
    ]


def reasoning(message_id: str = "q", *deltas: str, **opener: Any) -> list[Wire]:
    """A reasoning message from start to end."""
    return [
        event("REASONING_MESSAGE_START", messageId=message_id, role="reasoning", **opener),
        *(
            event("REASONING_MESSAGE_CONTENT", messageId=message_id, delta=delta)
            for delta in deltas
        ),
        event("REASONING_MESSAGE_END", messageId=message_id),
    ]


def call(call_id: str = "c", *deltas: str, name: str = "f", **opener: Any) -> list[Wire]:
    """A tool call from start to end."""
    return [
        event("TOOL_CALL_START", toolCallId=call_id, toolCallName=name, **opener),
        *(event("TOOL_CALL_ARGS", toolCallId=call_id, delta=delta) for delta in deltas),
        event("TOOL_CALL_END", toolCallId=call_id),
    ]


def result(call_id: str = "c", message_id: str = "o", content: Any = "done", **fields: Any) -> Wire:
    """A tool result."""
    return event(
        "TOOL_CALL_RESULT", messageId=message_id, toolCallId=call_id, content=content, **fields
    )


def snapshot(*messages: Wire, **fields: Any) -> Wire:
    """A messages snapshot."""
    return event("MESSAGES_SNAPSHOT", messages=list(messages), **fields)


def message(role: str, id_: str, content: Any = "x", **fields: Any) -> Wire:
    """A message."""
    return {"id": id_, "role": role, "content": content, **fields}


def state_delta(*operations: Wire) -> Wire:
    """A state patch."""
    return event("STATE_DELTA", delta=list(operations))
