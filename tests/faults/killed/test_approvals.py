"""A process that is killed between the record of an approval and the end of its tool: the approval
counts no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.faults.killed.nursery import Nursery
from tests.kit.graphs.pauses import KINDS, all_of, happened
from tests.kit.run.agents import run_input
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import wait_for

pytestmark = pytest.mark.xdist_group("killed_approvals")


@pytest.mark.parametrize(
    ("kind", "place", "denied"),
    [
        ("interrupt", "record", False),
        ("breakpoint", "tool", True),
        ("batched", "record", True),
        ("per_call", "tool", False),
        ("tool_batched", "tool", False),
        ("tool_batched", "tool", True),
        ("subgraph_per_call", "record", False),
    ],
)
async def test_killed_with_an_approval(
    kind: str, place: str, denied: bool, nursery: Nursery, tmp_path: Path
) -> None:
    """When the use of the answers is stored, or when all that was approved has begun. A subagent that
    has begun its tools would go on with the old approval, whatever the new answer is."""
    database, file = str(tmp_path / "threads.sqlite"), tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        questions = await client.ask(str(file))
    answers = approvals(questions)
    given = run_input(*client.held, thread="t", resume=answers)
    nursery.begin("resume", database, kind, place, given.model_dump(by_alias=True, mode="json"))
    if place == "record":
        assert nursery.receive() == "recorded"
    else:
        wait_for(lambda: happened(file) == all_of(kind), f"{kind}: {place}")
    nursery.kill()
    ran = happened(file)
    assert ran == (all_of(kind) if place == "tool" else [])
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        client.agent = LangGraphAgent(KINDS[kind](saver))
        for _ in range(2):  # the old answers, whole and in part
            again = await client.send(resume=answers)
            assert ending(again) in ("interrupt", "success")
        other = [*answers[:-1], *answering(questions[-1:], {"approved": False})]
        assert ending(await client.send(resume=other)) == "interrupt_unknown"
        assert happened(file) == ran
        if ending(again) == "interrupt":  # asked again: a new answer counts, once
            fresh = asked(again)
            assert not {one.id for one in fresh} & {one.id for one in questions}
            assert [one.id for one in asked(await client.connect())] == [one.id for one in fresh]
            new = answering(fresh, {"approved": not denied})
            for _ in range(1 if denied else 2):
                end = ending(await client.send(resume=[*answers, *new]))
                assert end == "success" or (denied and end == "cancelled")
            ran = ran if denied else sorted([*ran, *all_of(kind)])
        else:
            assert place == "tool"
        assert happened(file) == ran
        # And the next turn.
        next_file = tmp_path / "happened.2"
        await client.send(resume=approvals(await client.ask(str(next_file))))
        assert (happened(next_file), happened(file)) == (all_of(kind), ran)
