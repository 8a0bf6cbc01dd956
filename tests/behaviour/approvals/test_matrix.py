"""Every kind of pause, every kind of answer, on every checkpointer: what is guarded runs as often
as it was approved. A LangGraph server is in `tests/contracts/langgraph_server/test_approvals.py`."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.behaviour.approvals.left_paused import DIALOGUES
from tests.kit.deep import deep
from tests.kit.graphs.pauses import KINDS
from tests.kit.paths import ROOT
from tests.kit.run.approval_matrix import CASES, Paused, decide, pause, refuse_all, repeat


@pytest.mark.parametrize(("kind", "answer"), CASES)
async def test_in_memory(kind: str, answer: str, tmp_path: Path) -> None:
    agent = LangGraphAgent(KINDS[kind](InMemorySaver()))
    paused = await pause(agent, kind, answer, tmp_path)
    await refuse_all(agent, paused, answer)
    _, entries = await decide(agent, paused, answer)
    await repeat(agent, paused, entries)


@pytest.fixture(scope="session")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[tuple[str, str], Paused]]:
    """A database, and every dialogue of the matrix, paused by a process that has ended."""
    home = tmp_path_factory.mktemp("left")
    database = str(home / "threads.sqlite")
    command = [sys.executable, "-m", "tests.behaviour.approvals.left_paused", database, str(home)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=50)
    return database, pickle.loads((home / "paused").read_bytes())


@deep
@pytest.mark.xdist_group("approvals_left")
@pytest.mark.parametrize(("kind", "answer"), DIALOGUES)
async def test_sqlite_paused_by_a_process_that_has_ended(kind: str, answer: str, left: Any) -> None:
    database, paused = left[0], left[1][kind, answer]
    for step in ("wrong", "right", "again"):  # each with connection, saver, graph and agent anew
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            agent = LangGraphAgent(KINDS[kind](saver))
            if step == "wrong":
                await refuse_all(agent, paused, answer)
            elif step == "right":
                _, entries = await decide(agent, paused, answer)
            else:
                await repeat(agent, paused, entries)


@deep
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(("kind", "answer"), DIALOGUES[-2:])
async def test_postgres(kind: str, answer: str, postgres_threads: str, tmp_path: Path) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(postgres_threads) as saver:
        agent = LangGraphAgent(KINDS[kind](saver))
        paused = await pause(agent, kind, answer, tmp_path)
        await refuse_all(agent, paused, answer)
    async with AsyncPostgresSaver.from_conn_string(postgres_threads) as saver:
        agent = LangGraphAgent(KINDS[kind](saver))
        _, entries = await decide(agent, paused, answer)
        await repeat(agent, paused, entries)
