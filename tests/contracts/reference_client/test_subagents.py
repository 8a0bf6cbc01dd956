"""The reference TypeScript client, in all modes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_agui import ClientOptions, LangGraphAgent, agui_router
from tests.kit.deep import deep, each_value
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.subagents import GRAPHS, failing, guarded
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.agents import record_run, run_input

MODES = ["attributed", "inline", "hidden"]
modes = pytest.mark.parametrize("shown", MODES)


def wire(models: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [model.model_dump(by_alias=True, exclude_none=True, mode="json") for model in models]


def speakers(messages: Iterable[dict[str, Any]]) -> dict[str, str | None]:
    """Who has said something, and under which owner."""
    said = [
        message
        for message in messages
        if message["role"] in ("assistant", "reasoning") and message.get("content")
    ]
    return {message["content"].partition(":")[0]: message.get("subagentRunId") for message in said}


@modes
async def test_every_graph(shown: Any, node_client: NodeClient) -> None:
    """The client holds what `fold` says, and has nothing to complain of."""
    builds = [*GRAPHS.values(), lambda _: failing(handled=True), lambda _: failing(handled=False)]
    recorded = []
    for build in builds:
        agent = LangGraphAgent(graph=build(None).graph, clients=ClientOptions(subagents=shown))
        recorded.append(await record_run(agent, run_input("hi", thread="t")))
    requests = [
        {
            "events": [
                event.model_dump(by_alias=True, exclude_none=True, mode="json")
                for event in one.events
            ],
            "threadId": "t",
            "messages": [
                message.model_dump(by_alias=True, exclude_none=True, mode="json")
                for message in one.input.messages
            ],
        }
        for one in recorded
    ]
    for ran, one in zip(node_client.runs(requests), recorded, strict=True):
        assert (ran.warnings, ran.error) == ([], None)
        assert ran.messages == wire(one.messages)


@deep
@modes
@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("deep", True),
        ("deep", False),
        ("declared_shared", False),
        ("declared_apart", False),
        ("sent", True),
    ],
)
@each_value()
def test_three_turns_over_http(
    name: str, shown: Any, stored: bool, node_client: NodeClient
) -> None:
    built, app = GRAPHS[name](InMemorySaver() if stored else None), FastAPI()
    app.include_router(
        agui_router(
            LangGraphAgent(graph=built.graph, clients=ClientOptions(subagents=shown)), "/agent"
        )
    )
    key = f"subagents-{name}-{shown}-{stored}"
    with serving(app) as served:

        def run(number: int) -> ClientRun:
            new = [{"id": f"u{number}", "role": "user", "content": f"turn {number}"}]
            ran = node_client.run(url=served.url("/agent"), agent=key, threadId="t", add=new)
            assert (ran.warnings, ran.error, ran.outcome) == ([], None, "success")
            return ran

        first, *_ = [run(number) for number in (1, 2, 3)]
    owners = speakers(first.messages)
    assert owners["boss"] is None
    subagents = () if shown == "hidden" else built.subagent_ids
    assert set(owners) == {"boss", *built.team, *subagents}
    attributed = {speaker for speaker, owner in owners.items() if owner is not None}
    assert attributed == set(built.subagent_ids if shown == "attributed" else ())
    humans = [message.text for message in built.boss.seen[-1] if message.type == "human"]
    assert humans == ["turn 1", "turn 2", "turn 3"]


@pytest.mark.parametrize(
    ("mode", "shown"), [*(("batched", shown) for shown in MODES), ("per_call", "attributed")]
)
def test_an_approval_over_http(mode: Mode, shown: Any, node_client: NodeClient) -> None:
    done: list[str] = []
    built, app = guarded(InMemorySaver(), mode, done), FastAPI()
    app.include_router(
        agui_router(
            LangGraphAgent(graph=built.graph, clients=ClientOptions(subagents=shown)), "/agent"
        )
    )
    with serving(app) as served:

        def run(**request: Any) -> ClientRun:
            key = f"subagents-approval-{mode}-{shown}"
            ran = node_client.run(url=served.url("/agent"), agent=key, threadId="t", **request)
            assert (ran.warnings, ran.error) == ([], None)
            return ran

        first = run(add=[{"id": "u1", "role": "user", "content": "hi"}])
        assert first.outcome == "interrupt"
        (question,) = first.openInterrupts
        assert ("subagentRunId" in question) == (shown == "attributed")
        answer = {
            "interruptId": question["id"],
            "status": "resolved",
            "payload": {"approved": True},
        }
        last = run(resume=[answer])
        assert (last.outcome, last.openInterrupts) == ("success", [])
        assert last.messages[-1]["content"] == "boss: ends 1"
        assert done == ["leaf_a0"]
        again = run(add=[{"id": "u2", "role": "user", "content": "more"}])
        assert (again.outcome, again.messages[-1]["content"]) == ("success", "boss: ends 2")
