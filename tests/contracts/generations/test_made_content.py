"""Every generation of `@ag-ui/client` takes media, citations and provider-run tools, keeps them
over turns and reloads, and loses no other activity by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import agui_router, emit_activity
from tests.behaviour.threads.test_made_content import FOUND, IMAGE, SEARCH
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, serving

# 0.0.42 takes no encrypted value, which each of these answers has.
GENERATIONS = ["0.0.48", "0.0.53", "0.0.55", "0.0.57", "0.0.58", "0.0.59", None]
CITED = {
    "type": "text",
    "text": "See. ",
    "citations": [
        {
            "type": "web_search_result_location",
            "url": "https://example.com",
            "title": "X",
            "cited_text": "x",
        }
    ],
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(FastAPI()) as served:
        yield served


async def paint(state: Chat) -> Any:
    number = len(state["messages"])
    emit_activity("app:note", {"number": number})
    content: list[Any] = [
        CITED,
        {**SEARCH, "id": f"s{number}"},
        {**FOUND, "tool_use_id": f"s{number}"},
    ]
    answer = AIMessage([*content, IMAGE], id=f"a{number}")
    answer.response_metadata["model_provider"] = "anthropic"
    return {"messages": [answer]}


def kinds(run: ClientRun) -> list[str]:
    assert run.error is None, run.error
    assert run.runError is None
    return [one.get("activityType", one["role"]) for one in run.messages]


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda value: value or "1.0.0")
def test_turns_and_reloads(generation: str | None, node_client: NodeClient, served: Served) -> None:
    path = f"/made-{generation}"
    served.config.app.include_router(  # type: ignore[union-attr]
        agui_router(agent_of(paint, checkpointer=InMemorySaver()), path)
    )
    page: dict[str, Any] = {"threadId": "t", "generation": generation}
    media = "langgraph:media"
    turn = ["user", "app:note", "assistant", "tool", media]

    def ask(number: int) -> ClientRun:
        message = {"id": f"u{number}", "role": "user", "content": "Draw"}
        return node_client.run(url=served.url(path), agent=path, add=[message], **page)

    first, second = ask(1), ask(2)
    assert kinds(first) == turn
    assert kinds(second) == [*turn, *turn]
    shown = [one for one in second.messages if one.get("activityType") == media]
    assert all(one["content"]["parts"] for one in shown)

    connect = served.url(f"{path}/connect")
    fresh = node_client.run(url=connect, agent=f"{path}-fresh", **page)
    plain = [one for one in turn if one != "app:note"]
    assert kinds(fresh) == [*plain, *plain]
    shown = [one for one in fresh.messages if one.get("activityType") == media]
    assert all(one["content"]["parts"] for one in shown)

    again = node_client.run(url=connect, agent=path, **page)
    assert again.messages == second.messages


def test_a_new_client_gets_marks_and_citations(node_client: NodeClient, served: Served) -> None:
    path = "/made-marks"
    served.config.app.include_router(agui_router(agent_of(paint), path))  # type: ignore[union-attr]
    message = {"id": "u1", "role": "user", "content": "Draw"}
    run = node_client.run(url=served.url(path), agent=path, threadId="t", add=[message])
    assert run.warnings == []
    assert run.pendingToolCallIds in (None, [])
    answer = next(one for one in run.messages if one["role"] == "assistant")
    assert answer["metadata"]["citations"] == [
        {
            "url": "https://example.com",
            "title": "X",
            "citedText": "x",
            "startIndex": 0,
            "endIndex": 5,
        }
    ]
    assert [one["metadata"] for one in answer["toolCalls"]] == [{"runBy": "provider"}]
    # The next turn sends all but the activities.
    more = {**message, "id": "u2"}
    second = node_client.run(url=served.url(path), agent=path, threadId="t", add=[more])
    assert second.input is not None
    assert {one["role"] for one in second.input["messages"]} == {"user", "assistant", "tool"}
