"""An answer is used once, also where its use cannot be stored: without a record nothing runs."""

from __future__ import annotations

import asyncio
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.behaviour.approvals.full_disks import Full, Losing
from tests.kit.graphs.pauses import KINDS, all_of, happen, happened
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import user
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending


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
