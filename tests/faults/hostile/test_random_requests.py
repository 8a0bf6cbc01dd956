"""Whatever an endpoint is sent, made from its own OpenAPI schema: a clear refusal, or a stream that
ends in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_router
from tests.kit.deep import example_count
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.fuzzing import Values, anything, body_schema, check_answer, damaged
from tests.kit.processes.raw_http import Answer, ask
from tests.kit.processes.serving import Served, serving

numbers = count()


class Mood(AgentState[Any]):
    mood: str
    amount: int


@tool
def spend(amount: int) -> str:
    """Spend."""
    return f"spent {amount}"


def script(messages: list[BaseMessage]) -> Any:
    if messages and "spend" in messages[-1].text and not isinstance(messages[-1], ToolMessage):
        return [call("spend", f"call-{next(numbers)}", amount=1)]
    return ["Well, ", "yes."]


def app_of() -> FastAPI:
    app = FastAPI()
    guard = HumanInTheLoopMiddleware({"spend": True})
    for name, saver in (("stored", InMemorySaver()), ("plain", None)):
        graph = create_agent(
            Scripted(script=script),
            [spend],
            middleware=[guard] if saver else [],
            state_schema=Mood,
            checkpointer=saver,
        )
        app.include_router(agui_router(LangGraphAgent(graph=graph), f"/{name}"))
    return app


APP = app_of()
PATHS = ("/stored", "/plain", "/stored/connect", "/plain/connect")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(APP) as served:
        yield served


def bodies() -> st.SearchStrategy[Any]:
    schema, root = body_schema(APP, "/stored")
    fitting = Values(root).of(schema)
    return fitting | damaged(fitting)


def post(served: Served, path: str, body: Any) -> Answer:
    return ask(served.port, "POST", path, json.dumps(body).encode())


def test_the_schema_describes_the_body() -> None:
    for path in PATHS:
        schema, _ = body_schema(APP, path)
        assert "threadId" in schema["properties"]


@settings(max_examples=example_count(40, 375))
@given(
    requests=st.lists(st.tuples(st.sampled_from(PATHS), bodies()), min_size=1, max_size=3),
    answers=st.lists(
        st.sampled_from([{"approved": True}, {"approved": False}, None]) | anything, max_size=3
    ),
    begin=st.sampled_from(["spend", "chat", None]),
)
def test_every_request_is_answered_in_order(
    served: Served, requests: list[tuple[str, Any]], answers: list[Any], begin: str | None
) -> None:
    """Requests of one example share a thread, and answer what is open in it, each time with
    something else."""
    thread = f"fuzz-{next(numbers)}"
    first = {
        "threadId": thread,
        "runId": "r",
        "messages": [{"id": "u0", "role": "user", "content": begin}],
    }
    open_now: list[Any] = []
    for number, (path, body) in enumerate([("/stored", first), *requests] if begin else requests):
        if isinstance(body, dict):
            body["threadId"] = thread
            if open_now and answers and number:
                payload = answers[number % len(answers)]
                entries = [
                    {"interruptId": one["id"], "status": "resolved", "payload": payload}
                    for one in open_now
                ]
                body["resume"] = [
                    *entries,
                    *(body.get("resume") if isinstance(body.get("resume"), list) else ()),
                ]
        answer = post(served, path, body)
        open_now = check_answer(answer, body) or open_now
    last = {
        "threadId": thread,
        "runId": "last",
        "messages": [{"id": "u9", "role": "user", "content": "chat"}],
    }
    cancelled = [{"interruptId": one["id"], "status": "cancelled"} for one in open_now]
    answer = post(served, "/stored", {**last, "resume": cancelled})
    check_answer(answer, last)
