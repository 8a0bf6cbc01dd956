"""The fields of log records: which run wrote them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import RunLimits, langchain_messages_to_agui
from langgraph_agui.kernel.telemetry import add_run_fields
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input

FIELDS = ("thread_id", "run_id", "correlation_id", "code")


def fields(record: logging.LogRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name, None) for name in FIELDS)


async def test_the_failure(caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_of(talker(Scripted([ValueError("no")])))
    recorded = await record_run(agent, run_input("hi", thread="t", run="r"))
    (record,) = (one for one in caplog.records if one.levelname == "ERROR")
    correlation_id = recorded.last.metadata["correlationId"]
    assert fields(record) == ("t", "r", correlation_id, "model_error")
    assert record.getMessage() == f"Run 'r' failed: model_error [{correlation_id}]"


async def test_all_records_of_a_run_have_its_fields_also_from_threads(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def here(state: Chat) -> None:
        langchain_messages_to_agui([object()])  # type: ignore[list-item]

    def there(state: Chat) -> None:
        langchain_messages_to_agui([object()])  # type: ignore[list-item]
        raise ValueError

    recorded = await record_run(agent_of(here, there), run_input("hi", thread="t", run="r"))
    correlation_id = recorded.last.metadata["correlationId"]
    assert [(one.levelname, *fields(one)) for one in caplog.records] == [
        ("WARNING", "t", "r", correlation_id, None),
        ("WARNING", "t", "r", correlation_id, None),
        ("ERROR", "t", "r", correlation_id, "graph_error"),
    ]
    assert len({one.thread for one in caplog.records}) == 2


async def test_outside_of_runs_there_are_none(caplog: pytest.LogCaptureFixture) -> None:
    await record_run(agent_of(talker(Scripted(["a"]))), run_input("hi"))
    langchain_messages_to_agui([object()])  # type: ignore[list-item]
    (record,) = caplog.records
    assert fields(record) == (None, None, None, None)


async def test_each_run_has_a_correlation_id_of_its_own() -> None:
    agent, given = agent_of(talker(Scripted([ValueError("no")]))), run_input("hi")
    runs = [await record_run(agent, given) for _ in range(2)]
    assert len({run.last.metadata["correlationId"] for run in runs}) == 2


async def test_a_refused_run(caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_of(talker(Scripted([60.0])), limits=RunLimits(runs=1))
    first: Any = agent.run(run_input("hi"))
    await anext(first)
    recorded = await record_run(agent, run_input("hi", thread="t", run="r"))
    await first.aclose()
    (record,) = caplog.records
    assert fields(record) == ("t", "r", recorded.last.metadata["correlationId"], "too_many_runs")


async def test_a_run_that_is_refused_inside_another_one(caplog: pytest.LogCaptureFixture) -> None:
    inner = agent_of(talker(Scripted([60.0])), limits=RunLimits(runs=1))
    first: Any = inner.run(run_input("hi"))
    await anext(first)

    async def ask(state: Chat) -> None:
        await record_run(inner, run_input("hi", thread="inner", run="inner"))

    await record_run(agent_of(ask), run_input("hi", thread="outer", run="outer"))
    await first.aclose()
    (record,) = caplog.records
    assert fields(record)[:2] == ("inner", "inner")


async def test_a_thread_that_cannot_be_shown(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise ConnectionError

    given = run_input(thread="t", run="r")
    agent = agent_of(talker(Scripted(["a"])), checkpointer=Broken())
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


def test_nothing_is_set_on_the_loggers_of_others() -> None:
    assert logging.getLogRecordFactory() is logging.LogRecord
    assert add_run_fields not in logging.getLogger().filters
    assert logging.getLogger("langgraph_agui").handlers == []
