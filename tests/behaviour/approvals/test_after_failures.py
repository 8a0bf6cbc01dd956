"""Answers to questions that were answered before a run failed or was stopped: an old approval lets
nothing run."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.deep import each_value
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs import pauses as kinds
from tests.kit.graphs.dying_checkpointer import Dying
from tests.kit.graphs.pauses import KINDS, guard, happen, happened
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import wait_for


class Work:
    """A step that takes an approval, and breaks or hangs until it is mended; `done` is what it has
    done."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.how: str | None = "fails"
        self.begun = asyncio.Event()
        self.saver = Dying()

    async def do(self, what: object) -> None:
        self.begun.set()
        if self.how == "fails":
            raise ConnectionError("the bank is closed")
        if self.how in ("is stopped", "is killed"):
            await asyncio.sleep(30)
        self.done.append(what)


def tooled(mode: kinds.Mode) -> Callable[[Work], Any]:
    def graph(work: Work) -> Any:
        @tool
        async def spend(amount: int) -> str:
            """Spend money."""
            await work.do(amount)
            return "spent"

        def script(messages: list[BaseMessage]) -> list[Piece]:
            assert_valid(messages)
            last = messages[-1]
            if isinstance(last, ToolMessage) or last.text != "spend":
                return ["re ", last.text]
            return [call("spend", f"s{len(messages)}", amount=1)]

        return create_agent(
            Scripted(script=script), [spend], middleware=[guard(mode)], checkpointer=work.saver
        )

    return graph


def plain(work: Work) -> Any:
    async def node(state: Chat) -> Any:
        last = state["messages"][-1].text
        if last == "spend":
            await work.do(interrupt("Spend?"))
        return {"messages": [AIMessage(f"re {last}")]}

    return chain_of(node, checkpointer=work.saver)


GRAPHS: dict[str, Callable[[Work], Any]] = {
    "batched": tooled("batched"),
    "per_call": tooled("per_call"),
    "interrupt": plain,
}
HOW = ["fails", "is stopped"]


async def broken(kind: str, how: str) -> tuple[Client, Work, str]:
    """A thread whose approved work has failed or was stopped; now it would work. And the id of its
    question."""
    work = Work()
    client = Client(LangGraphAgent(GRAPHS[kind](work)))
    (one,) = await client.ask(user("spend", "u1"))
    work.how = how
    given = run_input(*client.held, thread="t", run="r", resume=resolved((one.id, True)))
    running = asyncio.create_task(_last(client.agent, given))
    await work.begun.wait()
    work.saver.alive = how != "is killed"
    if how != "fails":
        assert await client.agent.cancel("t", "r")
    assert (await running).type.value == ("RUN_ERROR" if how == "fails" else "RUN_FINISHED")
    work.how, work.saver.alive = None, True
    return client, work, one.id


async def _last(agent: LangGraphAgent, given: Any) -> Any:
    return [event async for event in agent.run(given)][-1]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", GRAPHS)
@each_value()
async def test_nothing_is_open_any_more(kind: str, how: str) -> None:
    client, _, _ = await broken(kind, how)
    assert ending(await client.connect()) == "success"


@pytest.mark.parametrize("kind", GRAPHS)
async def test_a_process_that_dies_takes_the_answers_with_it_that_no_step_has_used_up(
    kind: str,
) -> None:
    """Where the question is open again, a new answer counts; where it is not, none does. The old
    one never does."""
    client, work, one = await broken(kind, "is killed")
    shown = await client.connect()
    assert ending(shown) == ("success" if kind == "batched" else "interrupt")
    assert ending(await client.send(resume=resolved((one, False)))) == "interrupt_unknown"
    again = await client.send(resume=resolved((one, True)))
    assert ending(again) == ending(shown)
    assert work.done == []
    if kind != "batched":
        (asked_again,) = asked(again)
        assert re.fullmatch(rf"{one}~[0-9a-f]{{8}}", asked_again.id)
        assert [question.id for question in asked(await client.connect())] == [asked_again.id]
        recorded = await client.send(resume=resolved((asked_again.id, False)))
        assert ending(recorded) == "success"
        assert work.done == ([False] if kind == "interrupt" else [])


@pytest.mark.parametrize(
    "answer", [False, {"approved": True, "editedArgs": {"amount": 2}}, "other"], ids=str
)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", GRAPHS)
@each_value()
async def test_another_answer_is_refused(kind: str, how: str, answer: object) -> None:
    """It came too late. To run the work all the same, or to say that all is well, would be a
    lie."""
    client, work, one = await broken(kind, how)
    recorded = await client.send(resume=resolved((one, answer)))
    assert (recorded.types, ending(recorded)) == (["RUN_STARTED", "RUN_ERROR"], "interrupt_unknown")
    beside = await client.send("hello", resume=resolved((one, answer)))
    assert ending(beside) == "interrupt_unknown"
    assert work.done == []
    recorded = await client.send("hello")
    assert ending(recorded) == "success"
    assert recorded.messages[-1].content == "re hello"
    assert work.done == []


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", GRAPHS)
@each_value()
async def test_the_same_answer_has_had_its_effect(kind: str, how: str) -> None:
    client, work, one = await broken(kind, how)
    for _ in range(2):
        recorded = await client.send(resume=resolved((one, True)))
        assert ending(recorded) == "success"
        assert work.done == []


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", GRAPHS)
@each_value()
async def test_cancelling_what_is_closed_is_ignored(
    kind: str, how: str, says: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A client whose run has failed still shows the question: all that it can do is to close it."""
    client, work, one = await broken(kind, how)
    recorded = await client.send(*(["hello"] if says else []), resume=cancelled(one))
    assert ending(recorded) == "success"
    assert work.done == []
    about = [record for record in caplog.records if one in record.getMessage()]
    assert [record.levelname for record in about] == ["WARNING"]
    texts = [message.text for message in await client.stored() if isinstance(message, HumanMessage)]
    assert texts == (["spend", "hello"] if says else ["spend"])
    if says:
        assert recorded.messages[-1].content == "re hello"


@pytest.mark.parametrize("kind", GRAPHS)
async def test_an_edit_beside_a_cancel_of_what_is_closed(kind: str) -> None:
    client, work, one = await broken(kind, "fails")
    client.held = []
    recorded = await client.send(user("hello", "u1"), resume=cancelled(one))
    assert ending(recorded) == "success"
    assert [message.text for message in await client.stored()] == ["hello", "re hello"]
    assert work.done == []


async def test_cancelling_an_old_question_beside_a_new_one() -> None:
    """The new one is open, and takes an answer of its own."""
    client, work, one = await broken("per_call", "fails")
    (two,) = await client.ask("spend", resume=cancelled(one))
    recorded = await client.send(resume=[*cancelled(one), *resolved((two.id, True))])
    assert (ending(recorded), work.done) == ("success", [1])


def amount_of(question: Interrupt) -> int:
    metadata: Any = question.metadata
    return int(metadata.get("args", metadata.get("value"))["amount"])


def fail_for_one(file: str, amount: int, after: Sequence[int] = ()) -> None:
    """Fail for the first amount, once all of `after` have happened."""
    if amount == 1:
        wait_for(lambda: happened(file) == [*after], "the other one has happened")
        # and is done by then: LangGraph forgets what was done by those that are still at it
        time.sleep(0.1)
        raise ConnectionError("the bank is closed")
    happen(file, amount)


@pytest.mark.parametrize("answer", [True, False, ...], ids=["approved", "rejected", "cancelled"])
@pytest.mark.parametrize("kind", KINDS)
@each_value()
async def test_no_kind_of_pause_runs_with_an_old_approval(
    kind: str, answer: Any, saver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, file = Client(LangGraphAgent(KINDS[kind](saver))), tmp_path / "happened"
    questions = await client.ask(str(file))
    answers = resolved(*((one.id, {"approved": True}) for one in questions))
    with monkeypatch.context() as patch:
        patch.setattr(
            kinds, "happen", partial(fail_for_one, after=[] if kind == "breakpoint" else [2])
        )
        failed = await client.send(resume=answers)
    assert failed.last.type.value == "RUN_ERROR"
    assert ending(await client.connect()) == "success"
    late = resolved(*((one.id, {"approved": answer}) for one in questions))
    recorded = await client.send(
        resume=cancelled(*(one.id for one in questions)) if answer is ... else late
    )
    assert ending(recorded) == ("interrupt_unknown" if answer is False else "success")
    assert happened(file) == ([] if kind == "breakpoint" else [2])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "breakpoint"])
@each_value()
async def test_answers_that_have_changed_places_are_others(
    kind: str, saver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, file = Client(LangGraphAgent(KINDS[kind](saver))), tmp_path / "happened"
    one, two = (question.id for question in sorted(await client.ask(str(file)), key=amount_of))
    yes, no = {"approved": True}, {"approved": False}
    with monkeypatch.context() as patch:
        patch.setattr(kinds, "happen", fail_for_one)
        failed = await client.send(resume=resolved((one, yes), (two, no)))
    assert failed.last.type.value == "RUN_ERROR"
    assert ending(await client.send(resume=resolved((one, no), (two, yes)))) == "interrupt_unknown"
    assert ending(await client.send(resume=resolved((one, yes), (two, no)))) == "success"
    assert happened(file) == []
