"""Every kind of pause, every kind of answer, on every checkpointer: what is guarded runs as often
as it was approved.

The fourth store, a LangGraph server, is in `tests/contracts/langgraph_server/test_approvals.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from tests.behaviour.approvals.conftest import Left
from tests.kit.deep import each_value
from tests.kit.graphs.pauses import KINDS
from tests.kit.run.approval_matrix import CASES, decide, pause, refuse_all, repeat

matrix = pytest.mark.parametrize(("kind", "answer"), CASES, ids=lambda value: value)


@matrix
async def test_in_memory(kind: str, answer: str, tmp_path: Path) -> None:
    agent = LangGraphAgent(KINDS[kind](InMemorySaver()))
    paused = await pause(agent, kind, answer, tmp_path)
    await refuse_all(agent, paused, answer)
    _, entries = await decide(agent, paused, answer)
    await repeat(agent, paused, entries)


@matrix
@pytest.mark.xdist_group("approvals_left")
@each_value("answer")
async def test_sqlite_paused_by_a_process_that_has_ended(
    kind: str, answer: str, left: Left
) -> None:
    paused = left.dialogues[kind, answer]
    for step in ("wrong", "right"):  # each with connection, saver, graph and agent made anew
        async with AsyncSqliteSaver.from_conn_string(left.database) as saver:
            agent = LangGraphAgent(KINDS[kind](saver))
            if step == "wrong":
                await refuse_all(agent, paused, answer)
            else:
                _, entries = await decide(agent, paused, answer)
    async with AsyncSqliteSaver.from_conn_string(left.database) as saver:
        await repeat(LangGraphAgent(KINDS[kind](saver)), paused, entries)


@matrix
@pytest.mark.xdist_group("postgres")
@each_value("answer")
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
