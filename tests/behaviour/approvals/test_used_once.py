"""What was approved happens once, whatever the client sends afterwards; without a record of it
nothing runs."""

from __future__ import annotations

import asyncio
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.compat.interrupts import on_interrupt_events
from tests.kit.graphs.failing_checkpointers import Full, Losing
from tests.kit.graphs.pauses import KINDS, Mode, all_of, happen, happened, spender, spending
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import answering, approvals
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


@pytest.mark.parametrize("between", [None, 0, 1])
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

    def passing(state: Any) -> None:
        pass

    nodes = [looked, *([] if between is None else [ask]), *[passing] * (between or 0)]
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


@pytest.mark.parametrize("kind", ["interrupt", "breakpoint", "batched", "tool_per_call"])
async def test_a_disk_that_is_full_before_or_after_the_record(kind: str, tmp_path: Path) -> None:
    """What is approved runs once, and the run fails. Then the question is open again, and takes a
    new answer."""
    file, other, saver = tmp_path / "happened", tmp_path / "other.2", Full()
    client = Client(LangGraphAgent(KINDS[kind](saver)))
    questions = await client.ask(str(file))
    saver.full, saver.written = True, 0
    for _ in range(3):
        recorded = await client.send(resume=approvals(questions))
        assert (recorded.types, ending(recorded)) == (["RUN_STARTED", "RUN_ERROR"], "state_error")
    assert (saver.written, happened(file)) == (3, [])  # nothing but the record was tried
    saver.full, saver.full_soon = False, True
    assert ending(await client.send(resume=approvals(questions))) == "state_error"
    ran = happened(file)
    assert len(ran) == len(set(ran))
    saver.full = saver.full_soon = False
    for _ in range(2):
        again = await client.send(resume=approvals(questions))
        assert happened(file) == ran
    if ending(again) == "interrupt":
        assert not {one.id for one in asked(again)} & {one.id for one in questions}
    if ending(shown := await client.connect()) == "interrupt":
        denied = await client.send(resume=answering(asked(shown), ...))
        assert ending(denied) in ("success", "cancelled")
    assert ending(await client.send(resume=approvals(await client.ask(str(other))))) == "success"
    assert (happened(other), happened(file)) == (all_of(kind), ran)


@pytest.mark.parametrize(("kind", "trouble"), [("batched", "full"), ("per_call", "losing")])
async def test_once_the_record_can_be_kept_the_same_answer_counts(
    kind: str, trouble: str, tmp_path: Path
) -> None:
    saver: Any = Full() if trouble == "full" else Losing()
    client = Client(LangGraphAgent(KINDS[kind](saver)))
    questions = await client.ask(str(tmp_path / "happened"))
    setattr(saver, trouble, True)
    for _ in range(2):
        assert ending(await client.send(resume=approvals(questions))) == "state_error"
    assert happened(tmp_path / "happened") == []
    setattr(saver, trouble, False)
    assert ending(await client.send(resume=approvals(questions))) == "success"
    assert happened(tmp_path / "happened") == [1, 2]


def ask(state: Chat) -> None:
    """Take any answer."""
    if interrupt("Spend?") == {"approved": True}:
        happen(state["messages"][-1].text, 1)


@pytest.mark.parametrize("kind", ["per_call", "interrupt"])
async def test_an_answer_that_no_checkpoint_can_hold(kind: str, tmp_path: Path) -> None:
    """The serializer of checkpoints takes about 250 levels."""
    file, nested = tmp_path / "happened", reduce(lambda value, _: {"in": value}, range(260), {})  # type: ignore[arg-type, return-value]
    graph = chain_of(ask) if kind == "interrupt" else KINDS[kind](None)
    graph.checkpointer = InMemorySaver()
    client = Client(LangGraphAgent(graph))
    questions = await client.ask(str(file))
    args = {"file": str(file), "amount": 5, "why": nested}
    payload = nested if kind == "interrupt" else {"approved": True, "editedArgs": args}
    recorded = await client.send(resume=answering(questions, payload))
    assert (ending(recorded), happened(file)) == ("interrupt_invalid", [])
    assert ending(await client.send(resume=approvals(questions))) == "success"
    assert happened(file) == ([1] if kind == "interrupt" else [1, 2])


@pytest.mark.parametrize("kind", ["batched", "breakpoint"])
async def test_two_processes_that_share_no_lock(kind: str, tmp_path: Path) -> None:
    """Each has a connection, a saver and a lock of its own; the database has one record of each
    use."""
    file, connect = tmp_path / "happened", AsyncSqliteSaver.from_conn_string
    database = str(tmp_path / "threads.sqlite")
    async with connect(database) as one, connect(database) as other:
        clients = [Client(LangGraphAgent(KINDS[kind](saver))) for saver in (one, other)]
        answers = approvals(await clients[0].ask(user(str(file), "u1")))
        clients[1].held = clients[0].held
        both = await asyncio.gather(*(client.send(resume=answers) for client in clients))
    assert happened(file) == all_of(kind)
    assert "success" in [ending(recorded) for recorded in both]
