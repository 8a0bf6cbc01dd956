"""An answer is used once, also where its use cannot be stored: without a record nothing runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.failing_checkpointers import Full, Losing, drain, fill
from tests.kit.graphs.pauses import KINDS, all_of, happen, happened
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import user
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending

kinds = pytest.mark.parametrize("kind", ["interrupt", "breakpoint", "batched", "tool_per_call"])


async def goes_on(client: Client, kind: str, file: Path) -> None:
    """Reject what is open, if anything is, and have something done in the next turn."""
    shown = await client.connect()
    if ending(shown) == "interrupt":
        done = await client.send(resume=answering(asked(shown), ...))
        assert ending(done) in ("success", "cancelled")
    assert ending(await client.send(resume=approvals(await client.ask(str(file))))) == "success"
    assert happened(file) == all_of(kind)


@kinds
async def test_a_disk_that_is_full_before_or_after_the_record(kind: str, tmp_path: Path) -> None:
    """What is approved runs once, and the run fails. Then the question is open again, and takes a
    new answer."""
    file, saver = tmp_path / "happened", Full()
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
    await goes_on(client, kind, tmp_path / "other.2")
    assert happened(file) == ran


@pytest.mark.parametrize("kind", ["batched", "per_call"])
async def test_a_real_disk_that_is_full(kind: str, tmp_path: Path) -> None:
    """The database has no page left; a small record may still fit in where something else is."""
    file = tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        questions = await client.ask(str(file))
        await fill(saver)
        endings = [ending(await client.send(resume=approvals(questions))) for _ in range(3)]
        assert endings[0] == "state_error"
        ran = happened(file)
        assert len(ran) == len(set(ran))
        await drain(saver)
        await client.send(resume=approvals(questions))
        assert happened(file) == (ran or [1, 2])
        await goes_on(client, kind, tmp_path / "other.2")


@pytest.mark.parametrize("kind", ["batched", "per_call", "interrupt"])
async def test_once_there_is_room_the_same_answer_counts(kind: str, tmp_path: Path) -> None:
    file, saver = tmp_path / "happened", Full()
    client = Client(LangGraphAgent(KINDS[kind](saver)))
    questions = await client.ask(str(file))
    saver.full = True
    assert ending(await client.send(resume=approvals(questions))) == "state_error"
    saver.full = False
    assert ending(await client.send(resume=approvals(questions))) == "success"
    assert happened(file) == [1, 2]


async def test_a_store_that_loses_the_record(tmp_path: Path) -> None:
    saver = Losing()
    client = Client(LangGraphAgent(KINDS["per_call"](saver)))
    questions = await client.ask(str(tmp_path / "happened"))
    saver.losing = True
    for _ in range(2):
        assert ending(await client.send(resume=approvals(questions))) == "state_error"
    assert happened(tmp_path / "happened") == []


def ask(state: Chat) -> Any:
    """Take any answer."""
    if interrupt("Spend?") == {"approved": True}:
        happen(state["messages"][-1].text, 1)
    return {}


@pytest.mark.parametrize("kind", ["batched", "per_call", "interrupt"])
async def test_an_answer_that_no_checkpoint_can_hold(kind: str, tmp_path: Path) -> None:
    """The serializer of checkpoints takes about 250 levels."""
    file, nested = tmp_path / "happened", {}
    for _ in range(260):
        nested = {"in": nested}
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


@pytest.mark.parametrize("kind", ["batched", "per_call", "breakpoint"])
async def test_two_processes_that_share_no_lock(kind: str, tmp_path: Path) -> None:
    """Each has a connection, a saver and a lock of its own; the database has one record of each
    use."""
    database, file = str(tmp_path / "threads.sqlite"), tmp_path / "happened"
    async with (
        AsyncSqliteSaver.from_conn_string(database) as one,
        AsyncSqliteSaver.from_conn_string(database) as other,
    ):
        clients = [Client(LangGraphAgent(KINDS[kind](saver))) for saver in (one, other)]
        answers = approvals(await clients[0].ask(user(str(file), "u1")))
        clients[1].held = clients[0].held
        both = await asyncio.gather(*(client.send(resume=answers) for client in clients))
    assert happened(file) == all_of(kind)
    assert "success" in [ending(recorded) for recorded in both]
