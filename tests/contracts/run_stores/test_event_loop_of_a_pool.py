"""A pool of Postgres belongs to one event loop: another one is refused before it can hang."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import scripted_agent
from tests.kit.run.agents import collect, record_run, run_input


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("on_busy", ["refuse", "wait"])
async def test_threads_in_postgres(on_busy: Any, postgres_saver: AsyncPostgresSaver) -> None:
    graph = scripted_agent(["One"], ["Two"], checkpointer=postgres_saver).graph
    agent, given = LangGraphAgent(graph, on_busy=on_busy), run_input("two", thread="t")
    await record_run(agent, run_input("one", thread="t"))
    refused: Any = await asyncio.to_thread(asyncio.run, collect(agent.run(given)))
    assert [event.type.value for event in refused] == ["RUN_STARTED", "RUN_ERROR"]
    assert refused[-1].code == "wrong_event_loop"
    assert "Make all of them in the event loop that uses them" in refused[-1].message
    assert (await record_run(agent, given)).last.outcome.type == "success"
