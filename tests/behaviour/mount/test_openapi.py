"""The OpenAPI schema of an application tells what the routes take and answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, agui_router


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [("ai", "heard")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    app = FastAPI()
    app.include_router(agui_router(LangGraphAgent(builder.compile()), "/agent"))
    return app.openapi()


@pytest.mark.parametrize("path", ["/agent", "/agent/connect"])
def test_routes_describe_their_body(path: str, schema: dict[str, Any]) -> None:
    operation = schema["paths"][path]["post"]
    assert {"200", "400", "409", "413", "415", "422", "429", "503"} <= operation["responses"].keys()
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    body = operation["requestBody"]
    assert body["required"]
    ((content_type, content),) = body["content"].items()
    assert content_type == "application/json"
    assert "$ref" not in json.dumps(content)
    Draft202012Validator.check_schema(content["schema"])
    validator = Draft202012Validator(content["schema"])
    image = {
        "type": "image",
        "source": {"type": "url", "value": "https://e.com/a", "mimeType": "image/png"},
    }
    messages = [{"id": "u", "role": "user", "content": [image]}]
    given = {"threadId": "t", "runId": "r", "messages": messages, "state": None}
    assert validator.is_valid(given)
    assert not validator.is_valid({**given, "threadId": 1})
    assert not validator.is_valid({**given, "tools": None})
    assert not validator.is_valid({**given, "messages": [{"id": "u", "role": "user"}]})
