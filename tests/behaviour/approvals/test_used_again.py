"""What was approved and used happens once, whatever the client sends afterwards: nothing, its
history, its command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt, ResumeEntry
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.compat.interrupts import on_interrupt_events
from tests.kit.graphs.failing_checkpointers import Full
from tests.kit.graphs.pauses import KINDS, happened, spender, spending
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked, ending


def looked(state: Any) -> dict[str, Any]:
    """Return a call and its result: with them the thread ends."""
    return {
        "messages": [
            AIMessage("", id="a1", tool_calls=[call_of("look")]),
            ToolMessage("seen", tool_call_id="c1"),
        ]
    }


def call_of(name: str) -> Any:
    return {"name": name, "args": {}, "id": "c1"}


def between(state: Any) -> dict[str, Any]:
    return {}


def failing(asks: str, saver: Any) -> tuple[Any, list[int]]:
    """A graph whose approved node fails after what it does, and what was done."""
    paid: list[int] = []

    def ask(state: Any) -> dict[str, Any]:
        assert interrupt("Pay?") == {"approved": True}
        return {}

    def pay(state: Any) -> dict[str, Any]:
        paid.append(1)
        raise ConnectionError("the bank has hung up")

    if asks == "breakpoint":
        graph = chain_of(looked, pay, checkpointer=saver)
        graph.interrupt_before_nodes = ["pay"]
        return graph, paid
    nodes = (
        [looked, ask, between, between_too, pay]
        if asks == "two nodes before"
        else [looked, ask, pay]
    )
    return chain_of(*nodes, checkpointer=saver), paid


def between_too(state: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("asks", ["breakpoint", "the node before", "two nodes before"])
async def test_inputs_without_an_answer_run_nothing_again(asks: str, saver: Any) -> None:
    graph, paid = failing(asks, saver)
    client = Client(LangGraphAgent(graph))
    (question,) = await client.ask(user("pay", "u1"))
    answers = resolved((question.id, {"approved": True}))
    assert ending(await client.send(resume=answers)) == "graph_error"
    assert ending(await client.send(resume=answers)) == "success"
    for held in (client.held, client.held, []):
        client.held = held
        assert ending(await client.send()) == "success"
        assert paid == [1]


@pytest.mark.parametrize("how", ["batched", "per_call", "breakpoint"])
async def test_a_model_that_fails_after_approved_tools_is_asked_again(
    how: str, saver: Any, tmp_path: Path
) -> None:
    failures = [ConnectionError("overloaded")]

    def script(messages: list[Any]) -> Any:
        if isinstance(messages[-1], ToolMessage) and failures:
            return [failures.pop()]
        return spending(messages)

    model = Scripted(script=script)
    graph = spender("batched" if how == "breakpoint" else how, saver, model=model)  # type: ignore[arg-type]
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


def approvals(questions: list[Interrupt]) -> list[ResumeEntry]:
    return resolved(*((one.id, {"approved": True}) for one in questions))


# -- commands ------------------------------------------------------------------------------------


class FullSoon(Full):
    """Is full once it has kept a record."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        super().put_writes(*args, **kwargs)
        self.full = True


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
    return {
        "command": {
            "resume": answer,
            **({"interruptEvent": event.value} if form == "with event" else {}),
        }
    }


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("batched", "by id"),
        ("batched", "plain"),
        ("batched", "with event"),
        ("per_call", "by id"),
        ("breakpoint", "by id"),
        ("breakpoint", "plain"),
        ("breakpoint", "with event"),
    ],
)
async def test_a_command_sent_again_by_another_run_answers_nothing_that_is_asked_again(
    kind: str, form: str, tmp_path: Path
) -> None:
    file, saver = tmp_path / "happened", Full()
    client = Client(
        LangGraphAgent(KINDS[kind](saver), approvals=ApprovalOptions(when_paused="cancel"))
    )
    questions, used = await client.ask(user(str(file), "u1")), []
    for times in (1, 2):
        used.append(by_command(questions, form))
        saver.__class__ = FullSoon
        ending_of_use = ending(await client.send(forwarded_props=used[-1]))
        saver.full, saver.__class__ = False, Full
        if times == 2 and kind == "breakpoint" and form != "by id":
            assert ending_of_use == "interrupt"  # its event has no place for an id
            # that of the next turn
            assert ending(await client.send(user(str(file), "u2"))) == "interrupt"
            assert (
                ending(await client.send(forwarded_props=by_command(questions, form))) == "success"
            )
            return
        assert ending_of_use == "state_error"
        ran = happened(file)
        assert len(ran) == times * (1 if kind == "breakpoint" else 2)
        for old in used * 2:
            again = await client.send(forwarded_props=old)
            assert happened(file) == ran
        questions = asked(again)
        form = "by id" if form == "plain" and kind != "breakpoint" else form
    assert ending(await client.send(forwarded_props=by_command(questions, "by id"))) == "success"


async def test_ids_of_another_question_are_no_answer() -> None:
    """As `Command(resume=...)` has it: an object with ids as keys is none for `interrupt()` to
    return."""
    got: list[Any] = []

    def first(state: Any) -> dict[str, Any]:
        got.append(interrupt("Delete a?"))
        return {}

    def second(state: Any) -> dict[str, Any]:
        got.append(interrupt("Delete b?"))
        return {}

    client = Client(LangGraphAgent(chain_of(first, second, checkpointer=InMemorySaver())))
    (one,) = await client.ask("go")
    given = {"command": {"resume": {one.id: "yes"}}}
    (two,) = await client.ask(forwarded_props=given)
    assert ending(await client.send(forwarded_props=given)) == "interrupt_unknown"
    assert got == ["yes"]
    await client.send(forwarded_props={"command": {"resume": {two.id: "no"}}})
    assert got == ["yes", "no"]


async def test_a_breakpoint_takes_no_answer_to_another_one(tmp_path: Path) -> None:
    client, file = (
        Client(LangGraphAgent(KINDS["breakpoint"](InMemorySaver()))),
        tmp_path / "happened",
    )
    given = by_command(await client.ask(user(str(file), "u1")), "by id")
    assert ending(await client.send(forwarded_props=given)) == "success"
    await client.ask(user(str(file), "u2"))
    assert ending(await client.send(forwarded_props=given)) == "interrupt_unknown"
    assert happened(file) == [1]
