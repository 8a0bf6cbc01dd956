"""A process that is killed between the record of an approval and the end of its tool: the approval
counts no more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from ag_ui.core import ResumeEntry
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.kit.deep import each_value, others_deep
from tests.kit.graphs.pauses import KINDS, happened
from tests.kit.run.agents import run_input
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import PATIENCE, wait_for

Place = Literal["record", "tool"]


class Killer:
    """Resumes threads in a process of their own, and kills it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.kit.processes.killed_approvals"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def kill(self, database: Path, kind: str, place: Place, given: Any, file: Path) -> None:
        """Resume, and kill when the use of the answers is stored, or when all that was approved has
        begun."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        recorded = database.with_suffix(".recorded")
        sent = {
            "database": str(database),
            "kind": kind,
            "hangs_in": place,
            "recorded": str(recorded),
        }
        self._process.stdin.write(
            json.dumps({**sent, "given": given.model_dump(by_alias=True, mode="json")}) + "\n"
        )
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        wait_for(
            recorded.exists if place == "record" else lambda: happened(file) == all_of(kind),
            f"{kind}: {place}",
        )
        os.kill(child, signal.SIGKILL)
        assert self._process.stdout.readline() == "dead\n"

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    made = Killer()
    yield made
    made.end()


def all_of(kind: str) -> list[int]:
    return [1] if kind == "breakpoint" else [1, 2]


def approvals(questions: Sequence[Any]) -> list[ResumeEntry]:
    return resolved(*((one.id, {"approved": True}) for one in questions))


@pytest.mark.xdist_group("killed_approvals")
@pytest.mark.parametrize("place", ["record", "tool"])
@pytest.mark.parametrize("kind", others_deep(KINDS, lambda kind: kind.rpartition("_")[2]))
@each_value("place")
async def test_killed_with_an_approval(
    kind: str, place: Place, killer: Killer, tmp_path: Path
) -> None:
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
        for _ in range(3):  # the old answers, whole and in part
            again = await client.send(resume=answers)
            assert ending(again) in ("interrupt", "success")
        other = [*answers[:-1], *resolved((answers[-1].interrupt_id, {"approved": False}))]
        assert ending(await client.send(resume=other)) == "interrupt_unknown"
        assert happened(file) == ran
        if ending(again) == "interrupt":  # asked again: a new answer counts, once
            fresh = asked(again)
            assert not {one.id for one in fresh} & {one.id for one in questions}
            assert [one.id for one in asked(await client.connect())] == [one.id for one in fresh]
            for _ in range(3):
                assert ending(await client.send(resume=[*answers, *approvals(fresh)])) == "success"
            expected = [*ran, *all_of(kind)]
        else:
            assert place == "tool"
            expected = ran
        assert happened(file) == sorted(expected)
        # And the next turn.
        next_file = tmp_path / "happened.2"
        await client.send(resume=approvals(await client.ask(str(next_file))))
        assert happened(next_file) == all_of(kind)
        assert happened(file) == sorted(expected)


@pytest.mark.xdist_group("killed_approvals")
@pytest.mark.parametrize("place", ["record", "tool"])
@pytest.mark.parametrize("kind", KINDS)
@each_value("place")
async def test_what_is_asked_again_can_be_denied(
    kind: str, place: Place, killer: Killer, tmp_path: Path
) -> None:
    """A subagent that has begun its tools would go on with the old approval, whatever the new
    answer is."""
    database, file = tmp_path / "threads.sqlite", tmp_path / "happened"
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        client = Client(LangGraphAgent(KINDS[kind](saver)))
        answers = approvals(await client.ask(str(file)))
    killer.kill(database, kind, place, run_input(*client.held, thread="t", resume=answers), file)
    ran = happened(file)
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        client.agent = LangGraphAgent(KINDS[kind](saver))
        shown = await client.connect()
        if ending(shown) == "interrupt":
            denied = resolved(*((one.id, {"approved": False}) for one in asked(shown)))
            assert ending(await client.send(resume=[*answers, *denied])) in ("success", "cancelled")
        assert happened(file) == ran
