"""AG-UI events, messages and short streams as the wire objects that a client reads."""

from __future__ import annotations

import json
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


def ended(outcome: str, **fields: Any) -> Wire:
    """The end of a run with that outcome."""
    return {**FINISHED, "outcome": {"type": outcome, **fields}}


def _item(family: str, key: str, id_: str, part: str, deltas: tuple[str, ...], opener: Wire) -> Any:
    return [
        event(f"{family}_START", **{key: id_}, **opener),
        *(event(f"{family}_{part}", **{key: id_}, delta=delta) for delta in deltas),
        event(f"{family}_END", **{key: id_}),
    ]


def text(message_id: str = "m", *deltas: str, **opener: Any) -> list[Wire]:
    """A text message from start to end."""
    return _item("TEXT_MESSAGE", "messageId", message_id, "CONTENT", deltas, opener)


def reasoning(message_id: str = "q", *deltas: str, **opener: Any) -> list[Wire]:
    """A reasoning message from start to end."""
    opener = {"role": "reasoning", **opener}
    return _item("REASONING_MESSAGE", "messageId", message_id, "CONTENT", deltas, opener)


def call(call_id: str = "c", *deltas: str, name: str = "f", **opener: Any) -> list[Wire]:
    """A tool call from start to end."""
    opener = {"toolCallName": name, **opener}
    return _item("TOOL_CALL", "toolCallId", call_id, "ARGS", deltas, opener)


def result(call_id: str = "c", message_id: str = "o", content: Any = "done", **fields: Any) -> Wire:
    """A tool result."""
    ids = {"messageId": message_id, "toolCallId": call_id}
    return event("TOOL_CALL_RESULT", **ids, content=content, **fields)


def encrypted(entity_id: str, subtype: str = "message", **fields: Any) -> Wire:
    """The encrypted value of a message or, with the subtype `tool-call`, of a call."""
    entity = {"subtype": subtype, "entityId": entity_id}
    return event("REASONING_ENCRYPTED_VALUE", **entity, encryptedValue="E", **fields)


def activity(id_: str, **fields: Any) -> Wire:
    """An activity snapshot."""
    return event(
        "ACTIVITY_SNAPSHOT", messageId=id_, **{"activityType": "k", "content": {}, **fields}
    )


def snapshot(*messages: Wire, **fields: Any) -> Wire:
    """A messages snapshot."""
    return event("MESSAGES_SNAPSHOT", messages=list(messages), **fields)


def message(role: str, id_: str, content: Any = "x", **fields: Any) -> Wire:
    """A message."""
    return {"id": id_, "role": role, "content": content, **fields}


def caller(id_: str, *calls: str | Wire, **fields: Any) -> Wire:
    """An assistant message with calls, given by their ids or whole."""
    made = [
        one
        if isinstance(one, dict)
        else {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for one in calls
    ]
    return {"id": id_, "role": "assistant", **fields, "toolCalls": made}


def state_delta(*operations: Wire) -> Wire:
    """A state patch."""
    return event("STATE_DELTA", delta=list(operations))


def sse(*events: Wire) -> bytes:
    """The body of a response with these events."""
    return b"".join(f"data: {json.dumps(wire)}\n\n".encode() for wire in events)
