"""A process that is killed between the record of an approval and the end of its tool: the approval
counts no more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import KINDS, all_of, happened
from tests.kit.run.agents import run_input
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.xdist_group("killed_approvals")
PLACES = {"interrupt": "record", "breakpoint": "tool", "batched": "record", "per_call": "tool"}
PLACES |= {"tool_batched": "tool", "subgraph_per_call": "record"}


class Killer:
    """Resumes threads in a process of their own, and kills it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.kit.processes.killed_approvals"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def kill(self, database: Path, kind: str, place: str, given: Any, file: Path) -> None:
        """Resume, and kill when the use of the answers is stored, or when all that was approved has
        begun."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        recorded = database.with_suffix(".recorded")
        sent = {"database": str(database), "recorded": str(recorded), "kind": kind}
        sent |= {"hangs_in": place, "given": given.model_dump(by_alias=True, mode="json")}
        print(json.dumps(sent), file=stdin, flush=True)
        child = int(stdout.readline())
        reached = {"record": recorded.exists, "tool": lambda: happened(file) == all_of(kind)}
        wait_for(reached[place], f"{kind}: {place}")
        os.kill(child, signal.SIGKILL)
        assert stdout.readline() == "dead\n"


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    made = Killer()
    yield made
    made.process.communicate(timeout=PATIENCE)
    assert made.process.returncode == 0


@pytest.mark.parametrize(("kind", "place"), PLACES.items())
@pytest.mark.parametrize("denied", [False, True])
async def test_killed_with_an_approval(
    kind: str, place: str, denied: bool, killer: Killer, tmp_path: Path
) -> None:
    """A subagent that has begun its tools would go on with the old approval, whatever the new
    answer is."""
    database, file = tmp_path / "threads.sqlite", tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        questions = await client.ask(str(file))
    answers = approvals(questions)
    killer.kill(database, kind, place, run_input(*client.held, thread="t", resume=answers), file)
    ran = happened(file)
    assert ran == (all_of(kind) if place == "tool" else [])
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
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
