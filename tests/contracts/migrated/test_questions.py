"""What pages that were written for other adapters find in questions, and send in answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, resolved

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
async def test_the_message_of_an_answer_may_be_called_reason(mode: Any, tmp_path: Path) -> None:
    payloads: list[Any] = []
    options = {"approvals": ApprovalOptions(on_answer=lambda one: payloads.append(one.payload))}
    dialogue = Dialogue(tmp_path / "happened", mode, options=options)
    one, two = await dialogue.ask()
    answers = resolved(
        (one, {"approved": True, "reason": "fine"}), (two, {"approved": False, "reason": "no more"})
    )
    recorded = await dialogue.send(resume=answers)
    assert recorded.last.outcome.type == "success"
    assert dialogue.happened == [1]
    assert any("no more" in text for text in dialogue.last_request)
    assert payloads[-1] == {"approved": False, "message": "no more"}
    # It counts once, as any answer.
    await dialogue.send(resume=answers)
    assert (dialogue.happened, len(payloads)) == ([1], 2)


@MODES
async def test_the_schema_of_an_approval_has_the_reason(mode: Any, tmp_path: Path) -> None:
    dialogue = Dialogue(tmp_path / "happened", mode)
    recorded = await dialogue.send(user(str(dialogue.file)))
    schemas = [one.response_schema["properties"] for one in recorded.last.outcome.interrupts]
    assert all(schema["reason"]["type"] == "string" for schema in schemas)
    no_rejection = Dialogue(tmp_path / "other", mode, ("approve",))
    recorded = await no_rejection.send(user(str(no_rejection.file)))
    assert all(
        "reason" not in one.response_schema["properties"]
        for one in recorded.last.outcome.interrupts
    )


async def test_an_answer_to_a_graphs_own_question_stays_as_it_is() -> None:
    got: list[object] = []

    def ask(state: MessagesState) -> dict[str, object]:
        got.append(interrupt({"question": "Really?"}))
        return {}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    agent = LangGraphAgent(builder.compile(InMemorySaver()))
    recorded = await record_run(agent, run_input(user("hi"), thread="t"))
    (asked,) = recorded.last.outcome.interrupts
    assert asked.message == "Really?"
    assert asked.metadata["langgraph"] == {"raw": {"question": "Really?"}}
    answer = {"approved": False, "reason": "mine"}
    resume = resolved((asked.id, answer))
    await record_run(agent, run_input(*recorded.messages, thread="t", resume=resume))
    assert got == [answer]
