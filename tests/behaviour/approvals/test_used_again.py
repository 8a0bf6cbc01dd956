"""What was approved and used happens once, whatever the client sends afterwards: nothing, its
history, its command."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.compat.interrupts import on_interrupt_events
from tests.kit.graphs.failing_checkpointers import Full
from tests.kit.graphs.pauses import KINDS, all_of, happened, spender, spending
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, user
from tests.kit.run.dialogues import approvals
from tests.kit.run.thread_client import Client, asked, ending


def looked(state: Any) -> dict[str, Any]:
    """Return a call and its result: with them the thread ends."""
    asks = AIMessage("", id="a1", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    return {"messages": [asks, ToolMessage("seen", tool_call_id="c1")]}


def failing(asks: str) -> tuple[Any, list[int]]:
    """A graph whose approved node fails after what it does, and what was done."""
    paid: list[int] = []

    def ask(state: Any) -> dict[str, Any]:
        assert interrupt("Pay?") == {"approved": True}
        return {}

    def pay(state: Any) -> dict[str, Any]:
        paid.append(1)
        raise ConnectionError("the bank has hung up")

    saver, between = InMemorySaver(), RunnableLambda(lambda state: {})
    if asks == "breakpoint":
        return chain_of(looked, pay, checkpointer=saver, interrupt_before=["pay"]), paid
    nodes = [between, between] if asks == "two nodes before" else []
    return chain_of(looked, ask, *nodes, pay, checkpointer=saver), paid


@pytest.mark.parametrize("asks", ["breakpoint", "the node before", "two nodes before"])
async def test_inputs_without_an_answer_run_nothing_again(asks: str) -> None:
    graph, paid = failing(asks)
    client = Client(LangGraphAgent(graph))
    answers = approvals(await client.ask(user("pay", "u1")))
    assert ending(await client.send(resume=answers)) == "graph_error"
    assert ending(await client.send(resume=answers)) == "success"
    for held in (client.held, client.held, []):
        client.held = held
        assert ending(await client.send()) == "success"
        assert paid == [1]


@pytest.mark.parametrize("how", ["batched", "per_call", "breakpoint"])
async def test_a_model_that_fails_after_approved_tools_is_asked_again(
    how: str, tmp_path: Path
) -> None:
    failures = [ConnectionError("overloaded")]

    def script(messages: list[Any]) -> Any:
        if isinstance(messages[-1], ToolMessage) and failures:
            return [failures.pop()]
        return spending(messages)

    model = Scripted(script=script)
    mode: Any = "batched" if how == "breakpoint" else how
    graph = spender(mode, InMemorySaver(), model=model)
    client, file = Client(LangGraphAgent(graph)), tmp_path / "happened"
    answers = approvals(await client.ask(user(str(file), "u1")))
    if how == "breakpoint":
        graph.interrupt_before_nodes = ["tools"]
        answers = approvals(asked(await client.send(resume=answers)))
    assert ending(await client.send(resume=answers)) not in ("success", "interrupt")
    recorded = await client.send()
    assert ending(recorded) == "success"
    assert "All done." in [message.content for message in recorded.messages]
    assert happened(file) == [1, 2]


def by_command(questions: list[Interrupt], form: str) -> dict[str, Any]:
    """The approval of all that is asked."""
    [event, *_] = on_interrupt_events(questions)
    batch = {"decisions": [{"type": "approve"}] * len(questions)}
    first, again, suffix = questions[0].id.partition("~")
    if questions[0].reason == "langgraph:breakpoint":
        answer: Any = {questions[0].id: True} if form == "by id" else True
    elif ":" in first:
        answer = {first.partition(":")[0] + again + suffix: batch} if form == "by id" else batch
    else:
        answer = {one.id: {"approved": True} for one in questions}
    event_too = {"interruptEvent": event.value} if form == "with event" else {}
    return {"command": {"resume": answer, **event_too}}


@pytest.mark.parametrize(
    ("kind", "form"),
    [*product(["batched", "breakpoint"], ["by id", "plain", "with event"]), ("per_call", "by id")],
)
async def test_a_command_sent_again_by_another_run_answers_nothing_that_is_asked_again(
    kind: str, form: str, tmp_path: Path
) -> None:
    file, saver = tmp_path / "happened", Full()
    policy = ApprovalOptions(when_paused="cancel")
    client = Client(LangGraphAgent(KINDS[kind](saver), approvals=policy))

    async def command(given: dict[str, Any]) -> RecordedRun:
        return await client.send(forwarded_props=given)

    questions, used = await client.ask(user(str(file), "u1")), []
    for times in (1, 2):
        used.append(by_command(questions, form))
        saver.full_soon = True
        end = ending(await command(used[-1]))
        saver.full = saver.full_soon = False
        if times == 2 and kind == "breakpoint" and form != "by id":
            assert end == "interrupt"  # its event has no place for an id
            assert ending(await client.send(user(str(file), "u2"))) == "interrupt"
            assert ending(await command(by_command(questions, form))) == "success"
            return
        assert end == "state_error"
        ran = happened(file)
        assert len(ran) == times * len(all_of(kind))
        for old in used * 2:
            again = await command(old)
            assert happened(file) == ran
        questions = asked(again)
        form = "by id" if form == "plain" and kind != "breakpoint" else form
    assert ending(await command(by_command(questions, "by id"))) == "success"
