"""Requests on the wire, and what every answer to one must be."""

from __future__ import annotations

import json
from typing import Any

from langgraph_agui.protocol import Verifier, decode
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.schema import parse_input
from tests.kit.processes.raw_http import Answer, ask
from tests.kit.processes.serving import Served

# What a client may be told that sends nonsense. All else is a fault of the adapter, or of the graph.
REFUSALS = {"invalid_input", "approval_refused", "state_refused", "state_invalid"}
REFUSALS |= {f"interrupt_{one}" for one in ("unanswered", "unknown", "duplicate", "invalid")}


def user(content: Any = "hello", id_: str = "u1", **fields: Any) -> dict[str, Any]:
    return {"id": id_, "role": "user", "content": content, **fields}


def caller(*ids: str, name: str = "look", arguments: str = "{}", id_: str = "a") -> dict[str, Any]:
    """A message of an agent that has made calls."""
    function = {"name": name, "arguments": arguments}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"id": id_, "role": "assistant", "toolCalls": calls}


def tool(name: str = "f", description: str = "", **parameters: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters": parameters}


def resolved(id_: str, payload: Any) -> dict[str, Any]:
    return {"interruptId": id_, "status": "resolved", "payload": payload}


def wire(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    ids = {"threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    return {**ids, "messages": [*messages] or [user()], **changes}


def post(served: Served, path: str, body: Any) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(served.port, "POST", path, data)


def check_answer(answer: Answer, sent: Any, *, strict: bool = True) -> list[dict[str, Any]]:
    """Check the answer to a request; return the interrupts that are open then.

    `strict` is for a thread of this client alone: else messages of others may have the ids of its
    own.
    """
    if answer.status != 200:
        assert answer.status in (400, 403, 409, 413, 415, 422, 429), answer.body
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["detail"]
        return []
    assert answer.headers["content-type"].startswith("text/event-stream")
    given = parse_input(to_jsonable(sent))  # half pairs come back as U+FFFD
    # The agent has a tool of this name, and runs it.
    tools = [one for one in given.tools or () if one.name != "spend"]
    taken, ids = given.model_copy(update={"tools": tools}), [one.id for one in given.messages]
    events = list(decode([answer.body]))
    verifier = Verifier(strict=strict and len(ids) == len({*ids}), input=taken)
    for event in events:
        verifier.feed(event)
    verifier.finish()
    ends = [event for event in events if event.type.value in ("RUN_FINISHED", "RUN_ERROR")]
    assert ends == events[-1:], "one terminal event, at the end"
    last: Any = ends[0]
    if last.type.value == "RUN_ERROR":
        assert last.code in REFUSALS, last
        return []
    assert (last.thread_id, last.run_id) == (given.thread_id, given.run_id)
    return list(getattr(last.outcome, "interrupts", ()))
