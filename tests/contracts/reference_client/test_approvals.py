"""The reference TypeScript client in whole approval dialogues, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import Approval, ApprovalOptions, ClientOptions, LangGraphAgent, agui_router
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.subagents import guarded
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.dialogues import Dialogue
from tests.kit.run.wire_events import Wire, message

APPROVED = {"approved": True}


@contextmanager
def talking(agent: LangGraphAgent, client: NodeClient) -> Iterator[Callable[..., ClientRun]]:
    """Runs of one thread of the client with the agent, none of which may warn."""
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    client.drop("approvals")
    with serving(app) as served:

        def run(**request: Any) -> ClientRun:
            url = served.url("/agent")
            ran = client.run(url=url, agent="approvals", threadId="t", **request)
            assert (ran.warnings, ran.error) == ([], None)
            return ran

        yield run


def resolved(asked: list[Wire], *payloads: Any) -> list[Wire]:
    pairs = zip(asked, payloads, strict=True)
    return [
        {"interruptId": one["id"], "status": "resolved", "payload": said} for one, said in pairs
    ]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_whole_dialogue(mode: Mode, node_client: NodeClient, tmp_path: Path) -> None:
    records: list[Approval] = []
    options = {"approvals": ApprovalOptions(on_answer=records.append)}
    dialogue = Dialogue(tmp_path / "happened", mode, options=options)
    with talking(dialogue.agent, node_client) as run:
        first = run(add=[message("user", "u1", str(dialogue.file))])
        assert first.outcome == "interrupt"
        asked = sorted(first.openInterrupts, key=lambda one: one["metadata"]["args"]["amount"])
        assert [one["toolCallId"] for one in asked] == ["s1-1", "s1-2"]
        wrong = run(resume=resolved(asked, "true", APPROVED))
        assert wrong.runError is not None
        assert wrong.runError["code"] == "interrupt_invalid"
        assert wrong.openInterrupts == first.openInterrupts
        assert dialogue.happened == []
        edited = {**APPROVED, "editedArgs": {"file": str(dialogue.file), "amount": 7}}
        last = run(resume=resolved(asked, edited, {"approved": False, "message": "no"}))
        assert (last.outcome, last.openInterrupts) == ("success", [])
        assert not last.pendingToolCallIds
        assert dialogue.happened == [7]
        assert [record.decision for record in records] == ["edit", "reject"] or mode == "per_call"
        results = [one["toolCallId"] for one in last.messages if one["role"] == "tool"]
        assert sorted(results) == ["s1-1", "s1-2"]
        calls = [call for one in last.messages for call in one.get("toolCalls", ())]
        assert [call["function"]["name"] for call in calls] == ["spend", "spend"]
        assert last.messages[-1]["content"] == "All done."
        assert run(add=[message("user", "u2", str(tmp_path / "next"))]).outcome == "interrupt"
    dialogue.check_model()


@pytest.mark.parametrize("shown", ["attributed", "inline", "hidden"])
def test_a_question_of_a_subagent(shown: Any, node_client: NodeClient) -> None:
    done: list[str] = []
    graph = guarded(InMemorySaver(), "batched", done).graph
    agent = LangGraphAgent(graph, clients=ClientOptions(subagents=shown))
    with talking(agent, node_client) as run:
        [question] = run(add=[message("user", "u1", "hi")]).openInterrupts
        assert ("subagentRunId" in question) == (shown == "attributed")
        last = run(resume=resolved([question], APPROVED))
        assert (last.outcome, last.openInterrupts) == ("success", [])
        assert last.messages[-1]["content"] == "boss: ends 1"
        assert done == ["leaf_a0"]
        again = run(add=[message("user", "u2", "more")])
        assert (again.outcome, again.messages[-1]["content"]) == ("success", "boss: ends 2")
