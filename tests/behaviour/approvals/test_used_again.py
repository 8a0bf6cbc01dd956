"""What was approved and used happens once, whatever the client sends afterwards: nothing, a message,
its history, its command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.compat.interrupts import on_interrupt_events
from tests.behaviour.approvals.full_disks import Full
from tests.kit.graphs.pauses import KINDS, Mode, all_of, happened, spender, spending
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import approvals
from tests.kit.run.thread_client import Client, asked, ending


def client_of(mode: Mode, script: Any) -> Client:
    return Client(LangGraphAgent(spender(mode, InMemorySaver(), model=Scripted(script=script))))


def script(messages: list[Any]) -> Any:
    last = messages[-1]
    spends = isinstance(last, ToolMessage) or "/" in last.text
    return spending(messages) if spends else ["re ", last.text]


@pytest.mark.parametrize(
    ("mode", "lost", "beside"),
    [
        pytest.param("batched", True, True, id="lost the stream"),
        pytest.param("per_call", True, False, id="lost the stream, says more"),
        pytest.param("per_call", False, True, id="knows the end"),
        pytest.param("batched", False, False, id="knows the end, says more"),
    ],
)
async def test_a_message_beside_answers_is_heard_once(
    mode: Mode, lost: bool, beside: bool, tmp_path: Path
) -> None:
    file, client = tmp_path / "happened", client_of(mode, script)
    answers = approvals(await client.ask(user(str(file), "u1")))
    more, old = user("more", "u2"), list(client.held)
    assert ending(await client.send(*([more] if beside else []), resume=answers)) == "success"
    for _ in range(2):
        client.held = old if lost else client.held
        again = await client.send(*([] if more in client.held else [more]), resume=answers)
        assert ending(again) == "success"
        assert await client.texts("human") == [str(file), "more"]
        assert (await client.texts()).count("re more") == 1
    assert [message.content for message in again.messages].count("re more") == 1
    assert happened(file) == [1, 2]


@pytest.mark.parametrize("between", [None, 0, 2])
async def test_inputs_without_an_answer_run_nothing_again(between: int | None) -> None:
    """The approved node fails after what it does; `between` nodes stand before it, or a breakpoint."""
    paid: list[int] = []

    def looked(state: Any) -> dict[str, Any]:
        asks = AIMessage("", id="a1", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
        return {"messages": [asks, ToolMessage("seen", tool_call_id="c1")]}

    def ask(state: Any) -> dict[str, Any]:
        assert interrupt("Pay?") == {"approved": True}
        return {}

    def pay(state: Any) -> dict[str, Any]:
        paid.append(1)
        raise ConnectionError("the bank has hung up")

    def passing(state: Any) -> dict[str, Any]:
        return {}

    def passing_too(state: Any) -> dict[str, Any]:
        return {}

    nodes = [looked, *([] if between is None else [ask]), *[passing, passing_too][: between or 0]]
    stop = ["pay"] if between is None else []
    graph = chain_of(*nodes, pay, checkpointer=InMemorySaver(), interrupt_before=stop)
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

    def fails(messages: list[Any]) -> Any:
        fail = isinstance(messages[-1], ToolMessage) and failures
        return [failures.pop()] if fail else spending(messages)

    file = tmp_path / "happened"
    client = client_of("per_call" if how == "per_call" else "batched", fails)
    answers = approvals(await client.ask(user(str(file), "u1")))
    if how == "breakpoint":
        client.agent.graph.interrupt_before_nodes = ["tools"]
        answers = approvals(asked(await client.send(resume=answers)))
    assert ending(await client.send(resume=answers)) not in ("success", "interrupt")
    recorded = await client.send()
    assert ending(recorded) == "success"
    assert "All done." in [message.content for message in recorded.messages]
    assert happened(file) == [1, 2]


def by_command(questions: list[Interrupt], form: str) -> dict[str, Any]:
    """The approval of all that is asked."""
    batch: Any = {"decisions": [{"type": "approve"}] * len(questions)}
    first, again, suffix = questions[0].id.partition("~")
    graph_id, batched, _ = first.partition(":")
    if questions[0].reason == "langgraph:breakpoint":
        answer: Any = {questions[0].id: True} if form == "by id" else True
    elif batched:
        answer = {graph_id + again + suffix: batch} if form == "by id" else batch
    else:
        answer = {one.id: {"approved": True} for one in questions}
    event = {"interruptEvent": on_interrupt_events(questions)[0].value}
    return {"command": {"resume": answer, **(event if form == "with event" else {})}}


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *(("batched", form) for form in ("by id", "plain", "with event")),
        *(("breakpoint", form) for form in ("by id", "plain", "with event")),
        ("per_call", "by id"),
    ],
)
async def test_a_command_sent_again_by_another_run_answers_nothing_that_is_asked_again(
    kind: str, form: str, tmp_path: Path
) -> None:
    file, saver = tmp_path / "happened", Full()
    policy = ApprovalOptions(when_paused="cancel")
    client = Client(LangGraphAgent(KINDS[kind](saver), approvals=policy))
    questions, used = await client.ask(user(str(file), "u1")), []
    for times in (1, 2):
        used.append(by_command(questions, form))
        saver.full_soon = True
        end = ending(await client.send(forwarded_props=used[-1]))
        saver.full = saver.full_soon = False
        if times == 2 and kind == "breakpoint" and form != "by id":
            assert end == "interrupt"  # its event has no place for an id
            assert ending(await client.send(user(str(file), "u2"))) == "interrupt"
            done = await client.send(forwarded_props=by_command(questions, form))
            assert ending(done) == "success"
            return
        assert end == "state_error"
        ran = happened(file)
        assert len(ran) == times * len(all_of(kind))
        for old in used * 2:
            again = await client.send(forwarded_props=old)
            assert happened(file) == ran
        questions = asked(again)
        form = "by id" if form == "plain" and kind != "breakpoint" else form
    done = await client.send(forwarded_props=by_command(questions, "by id"))
    assert ending(done) == "success"
