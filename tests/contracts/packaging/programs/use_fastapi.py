"""The routes answer, and the playground's page is there; no server and no HTTP client is needed."""

import asyncio
import json

from fastapi import FastAPI
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.devtools.playground import playground_router
from langgraph_agui.protocol import decode, fold, verify


class State(TypedDict):
    count: int


graph = (
    StateGraph(State).add_node("add", lambda state: {"count": 3}).add_edge(START, "add").compile()
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph, name="assistant"), "/agent")
app.include_router(playground_router("/agent"))


async def ask(method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Call the application as a server does."""
    requests = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[dict] = []

    async def receive() -> dict:
        return next(requests, None) or await asyncio.Future()  # the client stays

    async def send(message: dict) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
    }
    scope |= {
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": headers,
    }
    scope |= {"server": ("localhost", 80), "client": ("127.0.0.1", 1)}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


async def main() -> None:
    given = {
        "protocolVersion": "1.0",
        "threadId": "t",
        "runId": "r",
        "messages": [],
        "state": {"count": 1},
    }
    status, body = await ask("POST", "/agent", json.dumps(given).encode())
    assert status == 200, body
    assert fold(verify(decode([body]))).state == {"count": 3}, body
    status, page = await ask("GET", "/")
    assert (status, b"<title>" in page) == (200, True), page
    status, script = await ask("GET", "/playground/app.js")
    assert (status, b"import" in script) == (200, True)
    status, _ = await ask("POST", "/agent", b"{}")
    assert status == 422


asyncio.run(main())
