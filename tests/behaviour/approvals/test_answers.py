"""Single rules of answers: records, responding, edits and their schemas, several questions, expiry,
at once."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import Mode
from tests.kit.models.scripted import call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, cancelled, resolved

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "happened"


# -- records -------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("waits", [False, True])
async def test_each_answer_is_told_once_before_it_takes_effect(
    mode: Mode, waits: bool, file: Path
) -> None:
    recorded: list[tuple[Approval, list[int]]] = []

    def receive_event(approval: Approval) -> None:
        recorded.append((approval, dialogue.happened))

    async def receive_later(approval: Approval) -> None:
        await asyncio.sleep(0)
        receive_event(approval)

    dialogue = Dialogue(
        file,
        mode,
        options={"approvals": ApprovalOptions(on_answer=receive_later if waits else receive_event)},
    )
    one, two = await dialogue.ask()
    await dialogue.send(resume=resolved((one, "true"), (two, True)))
    await dialogue.send(resume=resolved((one, True)))
    assert recorded == []
    edited = {"file": str(file), "amount": 5}
    answers = resolved(
        (one, {"approved": True, "editedArgs": edited}), (two, {"approved": False, "message": "no"})
    )
    held = list(dialogue.held)
    run = await dialogue.send(resume=answers)
    assert dialogue.happened == [5]
    assert [before for _, before in recorded] == [[], []]
    first, second = sorted(
        (approval for approval, _ in recorded), key=lambda approval: approval.interrupt_id != one
    )
    assert (first.thread_id, first.run_id) == ("t", run.input.run_id)
    assert (first.interrupt_id, first.decision, first.tool_call_id, first.name) == (
        one,
        "edit",
        "s1-1",
        "spend",
    )
    assert (first.args, first.edited_args) == ({"file": str(file), "amount": 1}, edited)
    assert (second.interrupt_id, second.decision, second.edited_args) == (two, "reject", None)
    assert second.payload == {"approved": False, "message": "no"}
    again = await record_run(dialogue.agent, run_input(*held, thread="t", resume=answers))
    assert again.last.outcome.type == "success"
    assert len(recorded) == 2


@MODES
async def test_a_record_that_cannot_be_made_stops_everything(mode: Mode, file: Path) -> None:
    broken = [True]

    def receive_event(approval: Approval) -> None:
        if broken and approval.tool_call_id == "s1-2":
            raise OSError("the audit log is full")

    dialogue = Dialogue(file, mode, options={"approvals": ApprovalOptions(on_answer=receive_event)})
    one, two = await dialogue.ask()
    answers = resolved((one, True), (two, True))
    failed = await dialogue.send(resume=answers)
    assert (failed.types, failed.last.code) == (["RUN_STARTED", "RUN_ERROR"], "approval_refused")
    assert "audit" not in failed.last.message
    assert dialogue.happened == []
    broken.clear()
    await dialogue.send(resume=answers)
    assert dialogue.happened == [1, 2]


async def test_who_answers_is_in_the_record(file: Path) -> None:
    recorded: list[Approval] = []
    dialogue = Dialogue(file, options={"approvals": ApprovalOptions(on_answer=recorded.append)})
    one, two = await dialogue.ask()
    given = run_input(*dialogue.held, thread="t", resume=cancelled(one, two))
    await record_run(
        dialogue.agent, given, config={"configurable": {"user": "ada"}}, context={"role": "boss"}
    )
    assert [approval.decision for approval in recorded] == ["reject", "reject"]
    assert {approval.config["configurable"]["user"] for approval in recorded} == {"ada"}
    assert [approval.context for approval in recorded] == [{"role": "boss"}] * 2


# -- what is answered ----------------------------------------------------------------------------


@MODES
async def test_responding_instead_of_the_tool(mode: Mode, file: Path) -> None:
    dialogue = Dialogue(file, mode, ("approve", "respond"))
    one, two = await dialogue.ask()
    refused = await dialogue.send(resume=resolved((one, False), (two, True)))
    assert refused.last.code == "interrupt_invalid"
    recorded = await dialogue.send(
        resume=resolved((one, {"type": "respond", "message": "paid in cash"}), (two, True))
    )
    assert dialogue.happened == [2]
    results = {event.tool_call_id: event.content for event in recorded.of("TOOL_CALL_RESULT")}
    assert results == {"s1-1": "paid in cash", "s1-2": "spent 2"}
    dialogue.check_model()


@MODES
async def test_a_cancelled_question_that_takes_no_rejection_goes_with_all_others(
    mode: Mode, file: Path
) -> None:
    dialogue = Dialogue(file, mode, ("approve", "edit"))
    one, two = await dialogue.ask()
    mixed = await dialogue.send(resume=[*cancelled(one), *resolved((two, True))])
    assert mixed.last.code == "interrupt_invalid"
    recorded = await dialogue.send(resume=cancelled(one, two))
    assert recorded.last.outcome.type == "cancelled"
    assert dialogue.happened == []
    results = {event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")}
    assert results == {"s1-1", "s1-2"}
    dialogue.file = file.with_name("next")
    assert len(await dialogue.ask()) == 2
    dialogue.check_model()


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"file": "f", "amount": "secret"}, "'type: integer' at edited_action/args/amount"),
        ({"file": "f"}, "'required' at edited_action/args/amount"),
        ({}, "'required' at edited_action/args/file"),
        ({"file": ["secret"], "amount": "secret"}, "'type: string' at edited_action/args/file"),
    ],
)
@MODES
async def test_a_refused_edit_names_the_argument_and_the_rule(
    mode: Mode, args: dict[str, Any], rule: str, file: Path
) -> None:
    dialogue = Dialogue(file, mode)
    one, two = await dialogue.ask()
    edit = {"approved": True, "editedArgs": args}
    refused = await dialogue.send(resume=resolved((one, edit), (two, True)))
    assert refused.last.message == f"The answer to 'spend' breaks the rule {rule}."


@MODES
@pytest.mark.parametrize("amount", ["five", None, [5], {"n": 5}])
async def test_edited_arguments_are_checked_before_anything_runs(
    mode: Mode, amount: Any, file: Path
) -> None:
    recorded: list[Approval] = []
    dialogue = Dialogue(
        file, mode, options={"approvals": ApprovalOptions(on_answer=recorded.append)}
    )
    one, two = await dialogue.ask()
    args = {"file": str(file), "amount": amount}
    edits: list[Any] = [
        {"approved": True, "editedArgs": args},
        {"type": "edit", "edited_action": {"name": "spend", "args": args}},
        {"approved": True, "editedArgs": {"file": str(file)}},
    ]
    for edit in edits:
        refused = await dialogue.send(resume=resolved((one, edit), (two, True)))
        assert (refused.types, refused.last.code) == (
            ["RUN_STARTED", "RUN_ERROR"],
            "interrupt_invalid",
        )
        assert dialogue.happened == []
    assert recorded == []
    await dialogue.send(resume=resolved((one, True), (two, True)))
    assert dialogue.happened == [1, 2]


@MODES
async def test_edited_arguments_have_the_schema_of_the_tool(mode: Mode, file: Path) -> None:
    dialogue = Dialogue(file, mode)
    await dialogue.ask()
    recorded = await record_run(dialogue.agent, run_input(thread="t"))
    assert recorded.last.code == "interrupt_unanswered"
    shown = [event async for event in dialogue.agent.connect(run_input(thread="t"))][-1]
    for one in shown.outcome.interrupts:  # type: ignore[union-attr]
        edited = one.response_schema["properties"]["editedArgs"]  # type: ignore[index]
        assert edited["properties"]["amount"]["type"] == "integer"


@MODES
async def test_calls_that_look_the_same(mode: Mode, file: Path) -> None:
    """Both calls of a turn have the same arguments; each question is still about its own."""
    dialogue = Dialogue(file, mode)
    script = dialogue.model.script
    twins = [call("spend", f"twin-{number}", number, file=str(file), amount=1) for number in (0, 1)]
    dialogue.model.script = lambda messages: twins if len(messages) == 1 else script(messages)
    recorded = await dialogue.send(user(str(file)))
    asked = {one.tool_call_id: one.id for one in recorded.last.outcome.interrupts}
    assert set(asked) == {"twin-0", "twin-1"}
    answered = await dialogue.send(
        resume=resolved((asked["twin-1"], True), (asked["twin-0"], False))
    )
    results = {event.tool_call_id: event.content for event in answered.of("TOOL_CALL_RESULT")}
    assert results["twin-1"] == "spent 1"
    assert "rejected" in results["twin-0"]
    assert dialogue.happened == [1]


# -- interrupt() ---------------------------------------------------------------------------------


class Notes(TypedDict, total=False):
    asked: bool
    one: object
    two: object
    three: object


def asking(**values: Any) -> LangGraphAgent:
    """An agent whose nodes, named after the keys, ask with the values, all at once."""
    builder = StateGraph(Notes)
    builder.add_node("before", lambda state: {"asked": True})
    builder.add_edge(START, "before")
    for name, value in values.items():
        builder.add_node(
            f"ask_{name}", lambda state, name=name, value=value: {name: interrupt(value)}
        )
        builder.add_edge("before", f"ask_{name}")
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))


async def pause(agent: LangGraphAgent) -> dict[str, Any]:
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert recorded.state["asked"] is True
    assert recorded.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    return {one.message: one for one in recorded.last.outcome.interrupts}


async def test_several_answers_in_any_order_and_as_they_are() -> None:
    agent = asking(one="1?", two="2?", three="3?")
    asked = await pause(agent)
    answers = [
        (asked["3?"].id, {"type": "reject"}),
        (asked["1?"].id, None),
        (asked["2?"].id, [False]),
    ]
    recorded = await record_run(agent, run_input(thread="t", resume=resolved(*answers)))
    assert recorded.last.outcome.type == "success"
    assert recorded.state == {
        "asked": True,
        "one": None,
        "two": [False],
        "three": {"type": "reject"},
    }


async def test_one_of_several_cannot_be_cancelled_alone() -> None:
    agent = asking(one="1?", two="2?")
    asked = await pause(agent)
    mixed = [*cancelled(asked["1?"].id), *resolved((asked["2?"].id, "yes"))]
    refused = await record_run(agent, run_input(thread="t", resume=mixed))
    assert refused.last.code == "interrupt_invalid"
    ids = [one.id for one in asked.values()]
    recorded = await record_run(agent, run_input(thread="t", resume=cancelled(*ids)))
    assert recorded.last.outcome.type == "cancelled"
    again = await record_run(agent, run_input(thread="t", resume=cancelled(*ids)))
    assert again.last.outcome.type == "success"


async def test_what_a_value_says_about_itself() -> None:
    recorded = {
        "question": "Sure?",
        "reason": "shop:sure",
        "toolCallId": "c1",
        "responseSchema": {"type": "boolean"},
        "expiresAt": "2999-01-01T00:00:00Z",
    }
    agent = asking(one=recorded, two={"message": "2?", "reason": "neither known nor namespaced"})
    asked = await pause(agent)
    one = asked["Sure?"]
    assert (one.reason, one.tool_call_id, one.expires_at) == (
        "shop:sure",
        "c1",
        "2999-01-01T00:00:00Z",
    )
    assert one.response_schema == {"type": "boolean"}
    assert one.metadata == {"value": recorded, "langgraph": {"raw": recorded}}
    assert asked["2?"].reason == "input_required"
    wrong = await record_run(
        agent, run_input(thread="t", resume=resolved((one.id, "yes"), (asked["2?"].id, 1)))
    )
    assert wrong.last.code == "interrupt_invalid"
    right = await record_run(
        agent, run_input(thread="t", resume=resolved((one.id, False), (asked["2?"].id, 1)))
    )
    assert right.state == {"asked": True, "one": False, "two": 1}


# -- expiry --------------------------------------------------------------------------------------


async def test_a_value_with_an_end_of_its_own() -> None:
    agent = asking(
        one={"question": "1?", "expiresAt": "2020-01-01T00:00:00Z"}, two={"question": "2?"}
    )
    asked = await pause(agent)
    ids = [one.id for one in asked.values()]
    late = await record_run(
        agent, run_input(thread="t", resume=resolved(*((one, "yes") for one in ids)))
    )
    assert late.last.code == "interrupt_expired"
    recorded = await record_run(agent, run_input(thread="t", resume=cancelled(*ids)))
    assert recorded.last.outcome.type == "cancelled"


@MODES
async def test_a_timeout_for_all(mode: Mode, file: Path) -> None:
    dialogue = Dialogue(
        file, mode, options={"approvals": ApprovalOptions(timeout=timedelta(minutes=5))}
    )
    one, two = await dialogue.ask()
    shown = [event async for event in dialogue.agent.connect(run_input(thread="t"))][-1]
    stored = await dialogue.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    since = datetime.fromisoformat(stored.created_at or "")
    ends = {
        datetime.fromisoformat(question.expires_at or "") for question in shown.outcome.interrupts
    }  # type: ignore[union-attr]
    assert ends == {since + timedelta(minutes=5)}
    dialogue.agent = LangGraphAgent(dialogue.graph, approvals=ApprovalOptions(timeout=timedelta(0)))
    late = await dialogue.send(resume=resolved((one, True), (two, True)))
    assert late.last.code == "interrupt_expired"
    recorded = await dialogue.send(resume=cancelled(one, two))
    assert recorded.last.outcome.type == "success"
    assert dialogue.happened == []


# -- at once -------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("busy", ["refuse", "wait"])
async def test_the_same_answers_at_the_same_time(mode: Mode, busy: str, file: Path) -> None:
    dialogue = Dialogue(file, mode, options={"on_busy": busy})
    one, two = await dialogue.ask()
    answers = resolved((one, True), (two, True))
    recorded = await asyncio.gather(
        *(
            record_run(dialogue.agent, run_input(*dialogue.held, thread="t", resume=answers))
            for _ in range(3)
        )
    )
    assert dialogue.happened == [1, 2]
    ends = sorted(getattr(one.last, "code", None) or one.last.outcome.type for one in recorded)
    assert ends == (
        ["success", "thread_busy", "thread_busy"] if busy == "refuse" else ["success"] * 3
    )
