"""An answer is used once, also where its use cannot be stored: without a record nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.deep import others_deep
from tests.kit.graphs.failing_checkpointers import Full, Losing, drain, fill
from tests.kit.graphs.pauses import KINDS, happened
from tests.kit.run.agents import user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending

kinds = pytest.mark.parametrize("kind", others_deep(KINDS, lambda kind: kind.rpartition("_")[2]))


def approvals(questions: Sequence[Any]) -> list[ResumeEntry]:
    return resolved(*((one.id, {"approved": True}) for one in questions))


def all_of(kind: str) -> list[int]:
    """What happens if everything is approved."""
    return [1] if kind == "breakpoint" else [1, 2]


@kinds
async def test_an_answer_whose_use_cannot_be_stored_runs_nothing(kind: str, tmp_path: Path) -> None:
    file, saver = tmp_path / "happened", Full()
    client = Client(LangGraphAgent(KINDS[kind](saver)))
    answers = approvals(await client.ask(str(file)))
    saver.full, saver.written = True, 0
    for _ in range(5):
        recorded = await client.send(resume=answers)
        assert (recorded.types, ending(recorded)) == (["RUN_STARTED", "RUN_ERROR"], "state_error")
    assert saver.written == 5  # nothing but the record was tried
    assert happened(file) == []
    saver.full = False
    assert ending(await client.send(resume=answers)) == "success"
    assert happened(file) == all_of(kind)


@pytest.mark.parametrize("kind", ["batched", "per_call"])
async def test_a_database_that_can_only_be_read(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        answers = approvals(await client.ask(str(file)))
        await saver.conn.execute("PRAGMA query_only = ON")
        for _ in range(5):
            assert ending(await client.send(resume=answers)) == "state_error"
        assert happened(file) == []
        await saver.conn.execute("PRAGMA query_only = OFF")
        assert ending(await client.send(resume=answers)) == "success"
        assert happened(file) == [1, 2]


@pytest.mark.parametrize("kind", ["batched", "per_call"])
async def test_a_disk_that_is_full(kind: str, tmp_path: Path) -> None:
    """The database has no page left; a small record may still fit in where something else is."""
    file = tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        questions = await client.ask(str(file))
        await fill(saver)
        endings = [ending(await client.send(resume=approvals(questions))) for _ in range(5)]
        assert endings[0] == "state_error"
        ran = happened(file)
        assert len(ran) == len(set(ran))
        await drain(saver)
        await client.send(resume=approvals(questions))
        assert happened(file) == (ran or [1, 2])
        await check_goes_on(client, kind, tmp_path / "other.2")


async def check_goes_on(client: Client, kind: str, file: Path) -> None:
    """Reject what is open, if anything is, and have something done in the next turn."""
    shown = await client.connect()
    if ending(shown) == "interrupt":
        assert ending(await client.send(resume=cancelled(*(one.id for one in asked(shown))))) in (
            "success",
            "cancelled",
        )
    assert ending(await client.send(resume=approvals(await client.ask(str(file))))) == "success"
    assert happened(file) == all_of(kind)


@kinds
async def test_a_disk_that_is_full_after_the_record(kind: str, tmp_path: Path) -> None:
    """What is approved runs once, and the run fails. Then the question is open again, and takes a
    new answer."""
    file, saver = tmp_path / "happened", Full()
    client = Client(LangGraphAgent(KINDS[kind](saver)))
    questions = await client.ask(str(file))

    class FullSoon(Full):
        def put_writes(self, *args: Any, **kwargs: Any) -> None:
            super().put_writes(*args, **kwargs)
            self.full = True

    saver.__class__ = FullSoon
    assert ending(await client.send(resume=approvals(questions))) == "state_error"
    ran = happened(file)
    assert len(ran) == len(set(ran))
    saver.full, saver.__class__ = False, Full
    for _ in range(2):
        again = await client.send(resume=approvals(questions))
        assert happened(file) == ran
    if ending(again) == "interrupt":
        assert not {one.id for one in asked(again)} & {one.id for one in questions}
    await check_goes_on(client, kind, tmp_path / "other.2")
    assert happened(file) == ran


async def test_a_store_that_loses_the_record(tmp_path: Path) -> None:
    file, saver = tmp_path / "happened", Losing()
    client = Client(LangGraphAgent(KINDS["per_call"](saver)))
    answers = approvals(await client.ask(str(file)))
    saver.losing = True
    for _ in range(2):
        assert ending(await client.send(resume=answers)) == "state_error"
    assert happened(file) == []


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize("depth", [260, 400])
@pytest.mark.parametrize("kind", ["batched", "per_call", "interrupt"])
async def test_an_answer_that_no_checkpoint_can_hold(kind: str, depth: int, tmp_path: Path) -> None:
    """The serializer of checkpoints takes about 250 levels."""
    file = tmp_path / "happened"
    client = Client(
        LangGraphAgent(plain_asking() if kind == "interrupt" else KINDS[kind](InMemorySaver()))
    )
    questions = await client.ask(str(file))
    args = {"file": str(file), "amount": 5, "why": nested(depth)}
    payload = nested(depth) if kind == "interrupt" else {"approved": True, "editedArgs": args}
    for _ in range(5):
        recorded = await client.send(resume=resolved(*((one.id, payload) for one in questions)))
        assert ending(recorded) == "interrupt_invalid", recorded.last
    assert happened(file) == []
    assert ending(await client.send(resume=approvals(questions))) == "success"
    assert happened(file) == ([1] if kind == "interrupt" else [1, 2])


def plain_asking() -> Any:
    """A node that takes any answer."""
    from langgraph.types import interrupt

    from tests.kit.graphs.pauses import happen
    from tests.kit.graphs.small import Chat, chain_of

    def node(state: Chat) -> Any:
        if interrupt("Spend?") == {"approved": True}:
            happen(state["messages"][-1].text, 1)
        return {}

    return chain_of(node, checkpointer=InMemorySaver())


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


async def test_who_asks_is_told_before_and_the_record_is_made_after(tmp_path: Path) -> None:
    """`on_approval` may refuse: the answer is not used then."""
    refusing = [True]

    def on_approval(approval: Any) -> None:
        if refusing:
            raise PermissionError

    file, saver = tmp_path / "happened", Full()
    client = Client(
        LangGraphAgent(KINDS["per_call"](saver), approvals=ApprovalOptions(on_answer=on_approval))
    )
    answers = approvals(await client.ask(str(file)))
    saver.written = 0
    assert ending(await client.send(resume=answers)) == "approval_refused"
    assert saver.written == 0
    refusing.clear()
    assert ending(await client.send(resume=answers)) == "success"
    assert happened(file) == [1, 2]
