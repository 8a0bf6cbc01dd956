"""What pages that were written for other adapters find in questions, and send in answers."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, resolved

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
async def test_the_message_of_an_answer_may_be_called_reason(mode, tmp_path):
    payloads = []
    options = {"approvals": ApprovalOptions(on_answer=lambda one: payloads.append(one.payload))}
    dialogue = Dialogue(tmp_path / "happened", mode, options=options)
    one, two = await dialogue.ask()
    yes, no = {"approved": True, "reason": "fine"}, {"approved": False, "reason": "no more"}
    answers = resolved((one, yes), (two, no))
    recorded = await dialogue.send(resume=answers)
    assert (recorded.last.outcome.type, dialogue.happened) == ("success", [1])
    assert any("no more" in text for text in dialogue.last_request)
    assert payloads[-1] == {"approved": False, "message": "no more"}
    # It counts once, as any answer.
    await dialogue.send(resume=answers)
    assert (dialogue.happened, len(payloads)) == ([1], 2)


@MODES
@pytest.mark.parametrize(("allowed", "kind"), [([], "string"), ([("approve",)], None)])
async def test_the_schema_of_an_approval_has_the_reason(mode, allowed, kind, tmp_path):
    dialogue = Dialogue(tmp_path / "happened", mode, *allowed)
    recorded = await dialogue.send(user(str(dialogue.file)))
    schemas = [one.response_schema["properties"] for one in recorded.last.outcome.interrupts]
    assert {(schema.get("reason") or {}).get("type") for schema in schemas} == {kind}


async def test_an_answer_to_a_graphs_own_question_stays_as_it_is():
    got = []

    def ask(state: Chat):
        got.append(interrupt({"question": "Really?"}))
        return {}

    agent = agent_of(ask, checkpointer=InMemorySaver())
    recorded = await record_run(agent, run_input(user("hi"), thread="t"))
    (asked,) = recorded.last.outcome.interrupts
    assert asked.message == "Really?"
    assert asked.metadata["langgraph"] == {"raw": {"question": "Really?"}}
    answer = {"approved": False, "reason": "mine"}
    given = run_input(*recorded.messages, thread="t", resume=resolved((asked.id, answer)))
    await record_run(agent, given)
    assert got == [answer]
