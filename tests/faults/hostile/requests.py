"""Requests on the wire, for the tests of this folder."""

from __future__ import annotations

import json
from typing import Any

from tests.kit.processes.raw_http import Answer, ask
from tests.kit.processes.serving import Served


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
