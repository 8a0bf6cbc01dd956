"""Answers to questions that were answered before a run failed or was stopped: an old approval lets
nothing run, whatever the client sends."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.deep import together
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs import pauses
from tests.kit.graphs.failing_checkpointers import Dying
from tests.kit.graphs.pauses import KINDS, guard, happen, happened
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import collect, run_input, user
from tests.kit.run.dialogues import answering, approvals, cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import wait_for


class Work:
    """A step that takes an approval, and fails or hangs until it is mended; `done` is what it has
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
        if self.how:
            await asyncio.sleep(30)
        self.done.append(what)


def graph_of(kind: Any, work: Work) -> Any:
    @tool
    async def spend(amount: int) -> str:
        """Spend money."""
        await work.do(amount)
        return "spent"

    def script(messages: list[BaseMessage]) -> list[Piece]:
        assert_valid(messages)
        last = messages[-1]
        spends = last.text == "spend" and not isinstance(last, ToolMessage)
        return [call("spend", f"s{len(messages)}", amount=1)] if spends else ["re ", last.text]

    async def node(state: Chat) -> Any:
        if (last := state["messages"][-1].text) == "spend":
            await work.do(interrupt("Spend?"))
        return {"messages": [AIMessage(f"re {last}")]}

    if kind == "interrupt":
        return chain_of(node, checkpointer=work.saver)
    stack, model = [guard(kind)], Scripted(script=script)
    return create_agent(model, [spend], middleware=stack, checkpointer=work.saver)


kinds = pytest.mark.parametrize("kind", ["batched", "per_call", "interrupt"])


async def broken(kind: str, how: str = "fails") -> tuple[Client, Work, str]:
    """A thread whose approved work has not come to its end; now it would. And its question's id."""
    work = Work()
    client = Client(LangGraphAgent(graph_of(kind, work)))
    [one] = await client.ask(user("spend", "u1"))
    work.how = how
    given = run_input(*client.held, thread="t", run="r", resume=resolved((one.id, True)))
    running = asyncio.create_task(collect(client.agent.run(given)))
    await work.begun.wait()
    work.saver.alive = how != "is killed"
    if how in ("is stopped", "is killed"):
        assert await client.agent.cancel("t", "r")
    if how == "is left":
        running.cancel()
    with suppress(asyncio.CancelledError):
        last = (await running)[-1].type.value
        assert last == ("RUN_ERROR" if how == "fails" else "RUN_FINISHED")
    work.how, work.saver.alive = None, True
    return client, work, one.id


@together(kinds, pytest.mark.parametrize("how", ["fails", "is stopped", "is left"]))
async def test_an_old_approval_lets_nothing_run(
    kind: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Other answers came too late: to run the work all the same, or to say that all is well, would
    be a lie. The same answer has had its effect. To cancel is all that a client can do whose run
    has failed: it still shows the question."""
    client, work, one = await broken(kind, how)
    assert ending(await client.connect()) == "success"
    for other in (False, {"approved": True, "editedArgs": {"amount": 2}}, "other"):
        for beside in ((), ("hello",)):
            late = await client.send(*beside, resume=resolved((one, other)))
            told = ["RUN_STARTED", "RUN_ERROR"], "interrupt_unknown"
            assert (late.types, ending(late)) == told
    for _ in range(2):
        assert ending(await client.send(resume=resolved((one, True)))) == "success"
    caplog.clear()
    assert ending(await client.send(resume=cancelled(one))) == "success"
    assert [each.levelname for each in caplog.records if one in each.getMessage()] == ["WARNING"]
    assert await client.texts("human") == ["spend"]
    for text, answers in (("more", resolved((one, True))), ("hello", cancelled(one))):
        recorded = await client.send(text, resume=answers)
        assert (ending(recorded), recorded.messages[-1].content) == ("success", f"re {text}")
    assert (await client.texts("human"), work.done) == (["spend", "more", "hello"], [])


@kinds
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
    assert (ending(again), work.done) == (ending(shown), [])
    if kind != "batched":
        [asked_again] = asked(again)
        assert re.fullmatch(rf"{one}~[0-9a-f]{{8}}", asked_again.id)
        assert [question.id for question in asked(await client.connect())] == [asked_again.id]
        recorded = await client.send(resume=resolved((asked_again.id, False)))
        assert ending(recorded) == "success"
        assert work.done == ([False] if kind == "interrupt" else [])


@pytest.mark.parametrize(
    "kind",
    [
        *("interrupt", "breakpoint", "batched", "per_call"),
        *("tool_tool_batched", "subgraph_subgraph_per_call"),
    ],
)
async def test_no_kind_of_pause_runs_with_an_old_approval(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first amount fails once the other one has happened."""
    file, after = tmp_path / "happened", [] if kind == "breakpoint" else [2]

    def fail_for_one(_: str, amount: int) -> None:
        if amount > 1:
            return happen(str(file), amount)
        wait_for(lambda: happened(file) == after, "the other one has happened")
        time.sleep(0.1)  # LangGraph forgets what was done by those that are still at it
        raise ConnectionError("the bank is closed")

    client = Client(LangGraphAgent(KINDS[kind](InMemorySaver())))
    questions = await client.ask(str(file))
    with monkeypatch.context() as patch:
        patch.setattr(pauses, "happen", fail_for_one)
        run = await client.send(resume=approvals(questions))
    assert run.last.type.value == "RUN_ERROR"
    assert ending(await client.connect()) == "success"
    rejected = answering(questions, {"approved": False})
    assert ending(await client.send(resume=rejected)) == "interrupt_unknown"
    for again in ({"approved": True}, ...):
        assert ending(await client.send(resume=answering(questions, again))) == "success"
    assert happened(file) == after
    assert ending(await client.send(str(tmp_path / "next"))) == "interrupt"
    if kind in ("batched", "per_call"):  # and the model hears of what was done
        assert "spent 2" in await client.texts("tool")
