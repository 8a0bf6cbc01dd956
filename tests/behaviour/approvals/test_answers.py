"""Answers to approvals: what is told of them before they take effect, and what each of them does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langgraph_agui import Approval, ApprovalOptions
from tests.kit.graphs.failing_checkpointers import Full
from tests.kit.graphs.pauses import Mode
from tests.kit.models.scripted import call
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, cancelled, resolved
from tests.kit.run.thread_client import asked, ending

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "happened"


@pytest.mark.parametrize(("mode", "waits"), [("batched", False), ("per_call", True)])
async def test_each_answer_is_told_once_before_it_takes_effect(
    mode: Mode, waits: bool, file: Path
) -> None:
    told: list[tuple[Approval, list[int]]] = []

    def on_answer(approval: Approval) -> None:
        told.append((approval, dialogue.happened))

    async def later(approval: Approval) -> None:
        await asyncio.sleep(0)
        on_answer(approval)

    options = {"approvals": ApprovalOptions(on_answer=later if waits else on_answer)}
    dialogue = Dialogue(file, mode, options=options)
    one, two = await dialogue.ask()
    wrong = {"approved": True, "editedArgs": {"file": str(file)}}
    for refused in ([(one, "true"), (two, True)], [(one, True)], [(one, wrong), (two, True)]):
        assert ending(await dialogue.send(resume=resolved(*refused))).startswith("interrupt_")
    assert told == []
    edited, no = {"file": str(file), "amount": 5}, {"approved": False, "message": "no"}
    answers = resolved((one, {"approved": True, "editedArgs": edited}), (two, no))
    given = run_input(*dialogue.held, thread="t", resume=answers)
    config, context = {"configurable": {"user": "ada"}}, {"role": "boss"}
    for _ in range(2):  # the second time as a client whose connection broke
        run = await record_run(dialogue.agent, given, config=config, context=context)
        assert ending(run) == "success"
    assert dialogue.happened == [5]
    assert [before for _, before in told] == [[], []]
    first, second = sorted((told[0][0], told[1][0]), key=lambda each: each.interrupt_id != one)
    assert (first.thread_id, first.run_id) == ("t", given.run_id)
    assert (first.interrupt_id, first.decision) == (one, "edit")
    assert (first.tool_call_id, first.name) == ("s1-1", "spend")
    assert (first.args, first.edited_args) == ({"file": str(file), "amount": 1}, edited)
    assert (second.interrupt_id, second.decision, second.edited_args) == (two, "reject", None)
    assert second.payload == no
    assert {one.config["configurable"]["user"] for one in (first, second)} == {"ada"}
    assert [first.context, second.context] == [context] * 2


@MODES
async def test_a_record_that_cannot_be_made_stops_everything(mode: Mode, file: Path) -> None:
    broken = [True]

    def on_answer(approval: Approval) -> None:
        if broken and approval.tool_call_id == "s1-2":
            raise OSError("the audit log is full")

    dialogue = Dialogue(file, mode, options={"approvals": ApprovalOptions(on_answer=on_answer)})
    dialogue.agent.graph.checkpointer = saver = Full()
    one, two = await dialogue.ask()
    answers, saver.written = resolved((one, True), (two, True)), 0
    failed = await dialogue.send(resume=answers)
    assert (failed.types, ending(failed)) == (["RUN_STARTED", "RUN_ERROR"], "approval_refused")
    assert "audit" not in failed.last.message
    assert (dialogue.happened, saver.written) == ([], 0)
    broken.clear()
    await dialogue.send(resume=answers)
    assert dialogue.happened == [1, 2]


@MODES
async def test_responding_instead_of_the_tool(mode: Mode, file: Path) -> None:
    dialogue = Dialogue(file, mode, ("approve", "respond"))
    one, two = await dialogue.ask()
    refused = await dialogue.send(resume=resolved((one, False), (two, True)))
    assert ending(refused) == "interrupt_invalid"
    paid = {"type": "respond", "message": "paid in cash"}
    recorded = await dialogue.send(resume=resolved((one, paid), (two, True)))
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
    assert ending(mixed) == "interrupt_invalid"
    recorded = await dialogue.send(resume=cancelled(one, two))
    assert (ending(recorded), dialogue.happened) == ("cancelled", [])
    results = {event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")}
    assert results == {"s1-1", "s1-2"}
    dialogue.file = file.with_name("next")
    assert len(await dialogue.ask()) == 2
    dialogue.check_model()


@MODES
async def test_calls_that_look_the_same(mode: Mode, file: Path) -> None:
    """Both calls of a turn have the same arguments; each question is still about its own."""
    dialogue = Dialogue(file, mode)
    script = dialogue.model.script
    twins = [call("spend", f"twin-{number}", number, file=str(file), amount=1) for number in (0, 1)]
    dialogue.model.script = lambda messages: twins if len(messages) == 1 else script(messages)
    ids = {one.tool_call_id: one.id for one in asked(await dialogue.send(user(str(file))))}
    answers = resolved((ids.pop("twin-1"), True), (ids.pop("twin-0"), False))
    answered = await dialogue.send(resume=answers)
    results = {event.tool_call_id: event.content for event in answered.of("TOOL_CALL_RESULT")}
    assert results["twin-1"] == "spent 1"
    assert "rejected" in results["twin-0"]
    assert (ids, dialogue.happened) == ({}, [1])


@pytest.mark.parametrize("busy", ["refuse", "wait"])
@MODES
async def test_the_same_answers_at_the_same_time(mode: Mode, busy: str, file: Path) -> None:
    dialogue = Dialogue(file, mode, options={"on_busy": busy})
    one, two = await dialogue.ask()
    given = {"thread": "t", "resume": resolved((one, True), (two, True))}
    runs = (record_run(dialogue.agent, run_input(*dialogue.held, **given)) for _ in range(3))
    ends = sorted(map(ending, await asyncio.gather(*runs)))
    assert dialogue.happened == [1, 2]
    assert ends == ["success", *(["thread_busy"] if busy == "refuse" else ["success"]) * 2]


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"file": "f", "amount": "secret"}, "'type: integer' at edited_action/args/amount"),
        ({}, "'required' at edited_action/args/file"),
    ],
)
@MODES
async def test_a_refused_edit_names_the_argument_and_the_rule(
    mode: Mode, args: Any, rule: str, file: Path
) -> None:
    dialogue = Dialogue(file, mode)
    one, two = await dialogue.ask()
    edit = {"approved": True, "editedArgs": args}
    refused = await dialogue.send(resume=resolved((one, edit), (two, True)))
    assert refused.last.message == f"The answer to 'spend' breaks the rule {rule}."
