"""How long a run may take, and how many there are at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks
from tests.kit.deep import deep
from tests.kit.models.endless import Talker, flat
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.waiting import eventually


def end_of(recorded: RecordedRun) -> tuple[str, str | None]:
    return recorded.last.type.value, getattr(recorded.last, "code", None)


@asynccontextmanager
async def going_on(agent: LangGraphAgent, thread: str = "t") -> AsyncIterator[None]:
    """A run of the agent that has begun and does not end."""
    events = agent.run(run_input("go", thread=thread))
    await anext(events)
    try:
        yield
    finally:
        await events.aclose()


async def test_a_run_that_takes_too_long_is_stopped() -> None:
    """All that hangs is in `tests/faults/slow/test_hanging.py`."""
    model, limits = Talker(), RunLimits(total=timedelta(milliseconds=100))
    agent = LangGraphAgent(flat(model, InMemorySaver()), limits=limits)
    assert end_of(await record_run(agent, run_input("go"))) == ("RUN_ERROR", "run_timeout")
    await eventually(model.meter.ended.is_set, "the model stops")


@deep  # it lasts longer than the silence that it is allowed
async def test_a_run_that_is_never_silent_for_so_long_goes_on() -> None:
    agent = LangGraphAgent(flat(Talker(words=24, pause=0.1)), limits=RunLimits(idle=2))
    assert end_of(await record_run(agent, run_input("go"))) == ("RUN_FINISHED", None)


async def test_waiting_for_the_thread_is_no_part_of_the_run() -> None:
    graph = flat(Talker(words=1, silent=True), InMemorySaver())
    agent = LangGraphAgent(graph, on_busy="wait", limits=RunLimits(total=0.5, idle=0.5))
    runs = [asyncio.create_task(collect(agent.run(run_input("go", thread="t")))) for _ in "ab"]
    assert (await runs[0])[-1].type.value == "RUN_ERROR"
    assert not runs[1].done()
    assert [event.type.value for event in await runs[1]].count("TEXT_MESSAGE_CONTENT") == 1


async def test_no_more_runs_than_the_agent_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where locks take time, as those in a database do."""
    acquire = ThreadLocks.acquire

    async def slow(locks: ThreadLocks, thread_id: str, max_waiting: int = 0) -> ThreadLease:
        await asyncio.sleep(0.01)
        return await acquire(locks, thread_id, max_waiting)

    monkeypatch.setattr(ThreadLocks, "acquire", slow)
    agent = LangGraphAgent(flat(Talker(words=1), InMemorySaver()), limits=RunLimits(runs=2))
    ends = await asyncio.gather(*(record_run(agent, run_input("go")) for _ in range(5)))
    refused = [one for one in ends if end_of(one) == ("RUN_ERROR", "too_many_runs")]
    assert [one.types for one in refused] == [["RUN_STARTED", "RUN_ERROR"]] * 3
    ends.append(await record_run(agent, run_input("go")))  # there is room again
    assert [end_of(one) for one in ends].count(("RUN_FINISHED", None)) == 3


async def test_no_more_runs_wait_than_may() -> None:
    graph = flat(Talker(silent=True), InMemorySaver())
    agent = LangGraphAgent(graph, on_busy="wait", limits=RunLimits(waiting=1))
    async with going_on(agent):
        waiting = asyncio.create_task(collect(agent.run(run_input("go", thread="t"))))
        await asyncio.sleep(0)
        refused = await record_run(agent, run_input("go", thread="t"))
        assert end_of(refused) == ("RUN_ERROR", "thread_busy")
        waiting.cancel()


async def test_no_more_clients_follow_a_run_than_may() -> None:
    agent = LangGraphAgent(flat(Talker(silent=True), InMemorySaver()), limits=RunLimits(readers=2))
    async with going_on(agent):
        second = agent.connect(run_input(thread="t"))
        await anext(second)
        refused = RecordedRun(await collect(agent.connect(given := run_input(thread="t"))), given)
        assert end_of(refused) == ("RUN_ERROR", "too_many_readers")
        await second.aclose()
        third = agent.connect(run_input(thread="t"))  # there is room again
        assert [(await anext(third)).type.value for _ in range(2)] != ["RUN_STARTED", "RUN_ERROR"]
        await third.aclose()


async def test_a_thread_that_nobody_keeps_is_joined_by_the_id_of_its_run_only() -> None:
    agent = LangGraphAgent(flat(Talker(words=3, pause=0.05), None))
    events = agent.run(run_input("go", thread="t", run="r"))
    await anext(events)
    stranger = RecordedRun(await collect(agent.connect(given := run_input(thread="t"))), given)
    assert stranger.messages == []
    assert end_of(stranger) == ("RUN_FINISHED", None)
    given = run_input(thread="t", run="r")
    owner = RecordedRun(await collect(agent.connect(given)), given)
    assert [message.content for message in owner.messages] == ["go", "word0 word1 word2 "]
    await collect(events)


@pytest.mark.parametrize(
    ("option", "value"), [("total", 0), ("idle", -1), ("runs", 0), ("unread", 0)]
)
def test_a_limit_is_more_than_nothing(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"RunLimits.{option} must be more than 0"):
        RunLimits(**{option: value})
