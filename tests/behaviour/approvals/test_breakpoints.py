"""Static breakpoints before tools: each stop is asked about anew, and what is not approved does not
run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import last_user_text, spend
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, cancelled, resolved


def spends_twice(messages: list[Any]) -> list[Any]:
    turn = sum(isinstance(message, AIMessage) for message in messages)
    return (
        [call("spend", f"s{turn}", 0, file=last_user_text(messages), amount=turn + 1)]
        if turn < 2
        else ["Done."]
    )


@pytest.fixture
def dialogue(tmp_path: Path) -> Dialogue:
    dialogue = Dialogue(tmp_path / "happened")
    dialogue.model = Scripted(script=spends_twice)
    graph = create_agent(
        dialogue.model, [spend], checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    dialogue.agent = LangGraphAgent(graph)
    return dialogue


async def test_each_stop_takes_an_approval_of_its_own(dialogue: Dialogue) -> None:
    first = await dialogue.send(user(str(dialogue.file)))
    (one,) = first.last.outcome.interrupts
    assert one.reason == "langgraph:breakpoint"
    assert one.metadata == {"next": ["tools"]}
    given = run_input(*dialogue.held, thread="t", resume=resolved((one.id, {"approved": True})))
    second, again = await record_run(dialogue.agent, given), await record_run(dialogue.agent, given)
    assert second.last.outcome == again.last.outcome
    (two,) = second.last.outcome.interrupts
    assert two.id != one.id
    assert dialogue.happened == [1]
    dialogue.held = second.messages
    done = await dialogue.send(resume=resolved((two.id, True)))
    assert done.last.outcome.type == "success"
    assert dialogue.happened == [1, 2]
    dialogue.check_model()


@pytest.mark.parametrize("how", ["rejected", "cancelled"])
async def test_what_is_not_approved_is_given_up(how: str, dialogue: Dialogue) -> None:
    first = await dialogue.send(user(str(dialogue.file)))
    (one,) = first.last.outcome.interrupts
    recorded = await dialogue.send(
        resume=cancelled(one.id) if how == "cancelled" else resolved((one.id, False))
    )
    assert recorded.last.outcome.type == "cancelled"
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["s0"]
    after = await dialogue.send(user(str(dialogue.file)))
    assert after.last.outcome.type == "interrupt"
    assert dialogue.happened == []
    dialogue.check_model()


async def test_what_is_no_approval_stays_an_interrupt_in_the_convention() -> None:
    answers: list[object] = []

    def node(state: Any) -> dict[str, Any]:
        answers.append(interrupt({"question": "Which one?"}))
        return {}

    agent = LangGraphAgent(
        chain_of(node, checkpointer=InMemorySaver()), approvals=ApprovalOptions(ask_by="tool_call")
    )
    recorded = await record_run(agent, run_input("hi", thread="t"))
    (one,) = recorded.last.outcome.interrupts
    assert recorded.of("TOOL_CALL_START") == []
    done = await record_run(
        agent, run_input(*recorded.messages, thread="t", resume=resolved((one.id, "this")))
    )
    assert done.last.outcome.type == "success"
    assert answers == ["this"]
