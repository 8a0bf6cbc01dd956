"""The fields of log records: which run wrote them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from langgraph_agui import RunLimits, langchain_messages_to_agui
from langgraph_agui.kernel.telemetry import add_run_fields
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.rooms.kernel.conftest import Unreadable

FIELDS = ("thread_id", "run_id", "correlation_id", "code")


def fields(record: logging.LogRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name, None) for name in FIELDS)


def drop_a_message(*_: Any) -> None:
    langchain_messages_to_agui([object()])  # type: ignore[list-item]


async def test_all_records_of_a_run_have_its_fields_also_from_threads(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def here(state: Chat) -> None:
        drop_a_message()

    def there(state: Chat) -> None:
        drop_a_message()
        raise ValueError

    agent, given = agent_of(here, there), run_input("hi", thread="t", run="r")
    recorded = await record_run(agent, given)
    own = recorded.last.metadata["correlationId"]
    warned, failed = ("t", "r", own, None), ("t", "r", own, "graph_error")
    assert [fields(one) for one in caplog.records] == [warned, warned, failed]
    assert [one.levelname for one in caplog.records] == ["WARNING", "WARNING", "ERROR"]
    assert caplog.messages[-1] == f"Run 'r' failed: graph_error [{own}]"
    assert len({one.thread for one in caplog.records}) == 2
    assert (await record_run(agent, given)).last.metadata["correlationId"] != own
    caplog.clear()
    drop_a_message()
    assert [fields(one) for one in caplog.records] == [(None, None, None, None)]


async def test_a_refused_run_also_inside_another_one(caplog: pytest.LogCaptureFixture) -> None:
    inner = agent_of(talker(Scripted([60.0])), limits=RunLimits(runs=1))
    first: Any = inner.run(run_input("hi"))
    await anext(first)
    refused: list[RecordedRun] = []

    async def ask(state: Chat) -> None:
        refused.append(await record_run(inner, run_input("hi", thread="inner", run="inner")))

    await record_run(agent_of(ask), run_input("hi", thread="outer", run="outer"))
    await first.aclose()
    (record,) = caplog.records
    own = refused[0].last.metadata["correlationId"]
    assert fields(record) == ("inner", "inner", own, "too_many_runs")


async def test_a_thread_that_cannot_be_shown(caplog: pytest.LogCaptureFixture) -> None:
    given = run_input(thread="t", run="r")
    agent = agent_of(talker(Scripted(["a"])), checkpointer=Unreadable())
    recorded = RecordedRun(await collect(agent.connect(given)), given)
    (record,) = caplog.records
    assert fields(record) == ("t", "r", recorded.last.metadata["correlationId"], "state_error")


async def test_an_applications_handler_may_add_them(caplog: pytest.LogCaptureFixture) -> None:
    def node(state: Chat) -> None:
        logging.getLogger("app").warning("Here I am")

    caplog.handler.addFilter(add_run_fields)
    try:
        await record_run(agent_of(node), run_input("hi", thread="t", run="r"))
    finally:
        caplog.handler.removeFilter(add_run_fields)
    (record,) = caplog.records
    assert fields(record)[:2] == ("t", "r")
    # Nothing is set on the loggers of others.
    assert logging.getLogRecordFactory() is logging.LogRecord
    assert add_run_fields not in logging.getLogger().filters
    assert logging.getLogger("langgraph_agui").handlers == []
