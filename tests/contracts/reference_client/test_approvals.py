"""The reference TypeScript client in a whole approval dialogue, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent, agui_router
from tests.kit.graphs.pauses import Mode
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import serving
from tests.kit.run.dialogues import Dialogue


def app_of(agent: LangGraphAgent) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    return app


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_whole_dialogue(mode: Mode, node_client: NodeClient, tmp_path: Path) -> None:
    records: list[Approval] = []
    dialogue = Dialogue(
        tmp_path / "happened",
        mode,
        options={"approvals": ApprovalOptions(on_answer=records.append)},
    )
    with serving(app_of(dialogue.agent)) as served:

        def run(**request: Any) -> ClientRun:
            ran = node_client.run(
                url=served.url("/agent"), agent=f"approvals-{mode}", threadId="t", **request
            )
            assert ran.warnings == []
            return ran

        first = run(add=[{"id": "u1", "role": "user", "content": str(dialogue.file)}])
        assert (first.error, first.outcome) == (None, "interrupt")
        asked = sorted(first.openInterrupts, key=lambda one: one["metadata"]["args"]["amount"])
        assert [one["toolCallId"] for one in asked] == ["s1-1", "s1-2"]
        assert dialogue.happened == []

        def answers(*payloads: Any) -> list[dict[str, Any]]:
            pairs = zip(asked, payloads, strict=True)
            return [
                {"interruptId": one["id"], "status": "resolved", "payload": payload}
                for one, payload in pairs
            ]

        wrong = run(resume=answers("true", {"approved": True}))
        assert wrong.runError is not None
        assert wrong.runError["code"] == "interrupt_invalid"
        assert [one["id"] for one in wrong.openInterrupts] == [
            one["id"] for one in first.openInterrupts
        ]
        edited = {"file": str(dialogue.file), "amount": 7}
        last = run(
            resume=answers(
                {"approved": True, "editedArgs": edited}, {"approved": False, "message": "no"}
            )
        )
        assert (last.error, last.outcome, last.openInterrupts) == (None, "success", [])
        assert not last.pendingToolCallIds
        assert dialogue.happened == [7]
        assert [record.decision for record in records] == ["edit", "reject"] or mode == "per_call"
        results = {
            message["toolCallId"]: message for message in last.messages if message["role"] == "tool"
        }
        assert set(results) == {"s1-1", "s1-2"}
        calls = [call for message in last.messages for call in message.get("toolCalls", ())]
        assert [call["function"]["name"] for call in calls] == ["spend", "spend"]
        assert last.messages[-1]["content"] == "All done."
        again = run(add=[{"id": "u2", "role": "user", "content": str(tmp_path / "next")}])
        assert again.outcome == "interrupt"
    dialogue.check_model()
