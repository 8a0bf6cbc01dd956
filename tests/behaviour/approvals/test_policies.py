"""New messages while a thread waits, answers that come with messages, and tools that fail after
their approval."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.pauses import KINDS, Mode, guard, happened, spending
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import Dialogue, cancelled, resolved
from tests.kit.waiting import eventually, wait_for

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


def humans(dialogue: Dialogue) -> list[str]:
    return [
        message.text for message in dialogue.model.seen[-1] if isinstance(message, HumanMessage)
    ]


@MODES
async def test_a_new_message_is_refused(mode: Mode, tmp_path: Path) -> None:
    dialogue = Dialogue(tmp_path / "happened", mode)
    one, two = await dialogue.ask()
    refused = await dialogue.send(user("something else"))
    assert refused.last.code == "interrupt_unanswered"
    await dialogue.send(resume=resolved((one, True), (two, True)))
    assert dialogue.happened == [1, 2]
    assert humans(dialogue) == [str(dialogue.file)]


@MODES
async def test_a_new_message_cancels_what_is_open(mode: Mode, tmp_path: Path) -> None:
    dialogue = Dialogue(
        tmp_path / "happened", mode, options={"approvals": ApprovalOptions(when_paused="cancel")}
    )
    first = tmp_path / "happened"
    ids = await dialogue.ask()
    dialogue.file = tmp_path / "next"
    now = await dialogue.ask(heals=True)  # the results of what was cancelled are in the snapshot
    assert (happened(first), dialogue.happened) == ([], [])
    assert humans(dialogue) == [str(first), str(dialogue.file)]
    late = await dialogue.send(resume=resolved(*((one, True) for one in ids)))
    assert late.last.code == "interrupt_unknown"
    await dialogue.send(resume=resolved((now[0], True), (now[1], False)))
    assert (happened(first), dialogue.happened) == ([], [1])
    dialogue.check_model()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_new_message_cancels_every_kind_of_pause(kind: str, tmp_path: Path) -> None:
    agent = LangGraphAgent(
        KINDS[kind](InMemorySaver()), approvals=ApprovalOptions(when_paused="cancel")
    )
    files = [tmp_path / "happened.one", tmp_path / "happened.two"]
    held: list[Any] = []
    for file in files:
        recorded = await record_run(agent, run_input(*held, user(str(file)), thread="t"))
        assert recorded.last.outcome.type == "interrupt", recorded.last
        held = recorded.messages
    assert [message.content for message in held if message.role == "user"] == [
        str(file) for file in files
    ]
    answers = resolved(*((one.id, {"approved": True}) for one in recorded.last.outcome.interrupts))
    done = await record_run(agent, run_input(*held, thread="t", resume=answers))
    assert done.last.outcome.type == "success"
    assert happened(files[0]) == []
    assert happened(files[1]) == ([1] if kind == "breakpoint" else [1, 2])
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert_valid(stored.values["messages"])


@MODES
async def test_a_message_beside_the_answers_runs_after_them(mode: Mode, tmp_path: Path) -> None:
    first = tmp_path / "happened"
    dialogue = Dialogue(first, mode)
    one, two = await dialogue.ask()
    dialogue.file = tmp_path / "next"
    recorded = await dialogue.send(
        user(str(dialogue.file)), resume=resolved((one, True), (two, False))
    )
    assert recorded.last.outcome.type == "interrupt"
    assert (happened(first), dialogue.happened) == ([1], [])
    assert humans(dialogue) == [str(first), str(dialogue.file)]
    dialogue.check_model()


@MODES
async def test_a_message_beside_a_cancel_that_gives_up_runs(mode: Mode, tmp_path: Path) -> None:
    first = tmp_path / "happened"
    dialogue = Dialogue(first, mode, ("approve",))
    ids = await dialogue.ask()
    dialogue.file = tmp_path / "next"
    recorded = await dialogue.send(user(str(dialogue.file)), resume=cancelled(*ids))
    assert recorded.last.outcome.type == "interrupt"
    assert (happened(first), dialogue.happened) == ([], [])
    assert humans(dialogue) == [str(first), str(dialogue.file)]
    assert any("Cancelled" in text for text in dialogue.last_request)
    dialogue.check_model()


@MODES
@pytest.mark.parametrize("again", [True, False, ...], ids=["approved", "rejected", "cancelled"])
async def test_a_tool_that_fails_after_its_approval(mode: Mode, again: Any, tmp_path: Path) -> None:
    """The answers have had their effect: neither the same nor others run it once more."""
    ran: list[int] = []

    @tool
    def spend(file: str, amount: int) -> str:
        """Spend money."""
        ran.append(amount)
        if amount == 2:
            wait_for(lambda: 1 in ran, "the other call is run")
            time.sleep(0.2)  # LangGraph forgets what was done by those that are still at it
            raise ConnectionError("the bank is closed")
        return f"spent {amount}"

    dialogue = Dialogue(tmp_path / "happened", mode)
    dialogue.model = Scripted(script=spending)
    graph = create_agent(
        dialogue.model, [spend], middleware=[guard(mode)], checkpointer=InMemorySaver()
    )
    dialogue.agent = LangGraphAgent(graph)
    one, two = await dialogue.ask()
    answers = resolved((one, True), (two, True))
    failed = await dialogue.send(resume=answers)
    assert failed.last.code == "tool_error"
    shown = [event async for event in dialogue.agent.connect(run_input(thread="t"))][-1]
    assert shown.outcome.type == "success"  # type: ignore[union-attr]
    others = [*resolved((one, True)), *(cancelled(two) if again is ... else resolved((two, again)))]
    late = await dialogue.send(resume=others, heals=True)
    if again is True:  # as a client does that has lost the stream
        assert late.last.outcome.type == "success"
    assert ran in ([1, 2], [2, 1])
    dialogue.file = tmp_path / "next"
    await dialogue.ask(heals=True)
    assert len(ran) == 2
    assert "spent 1" in dialogue.last_request
    dialogue.check_model()


@MODES
async def test_a_run_that_is_left_while_an_approved_tool_runs(mode: Mode, tmp_path: Path) -> None:
    """What is sent afterwards, a rejection too, does not run it."""
    ran: list[int] = []
    begun: list[int] = []

    @tool
    async def spend(file: str, amount: int) -> str:
        """Spend money."""
        begun.append(amount)
        await asyncio.sleep(0.05 if ran else 30)
        ran.append(amount)
        return f"spent {amount}"

    dialogue = Dialogue(tmp_path / "happened", mode)
    dialogue.model = Scripted(script=spending)
    graph = create_agent(
        dialogue.model, [spend], middleware=[guard(mode)], checkpointer=InMemorySaver()
    )
    dialogue.agent = LangGraphAgent(graph)
    one, two = await dialogue.ask()
    left = asyncio.create_task(dialogue.send(resume=resolved((one, True), (two, True))))
    await eventually(lambda: len(begun) == 2, "both tools run")
    left.cancel()
    with suppress(asyncio.CancelledError):
        await left
    ran.append(0)  # from here on it would be quick
    late = await dialogue.send(resume=resolved((one, False), (two, False)), heals=True)
    assert late.last.type == "RUN_ERROR" or late.last.outcome.type == "success"
    dialogue.file = tmp_path / "next"
    await dialogue.ask(heals=True)
    assert ran == [0]
    dialogue.check_model()
