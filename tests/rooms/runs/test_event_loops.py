"""One agent in several event loops: as a test for each loop, or `asyncio.run` for each request, has
them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import RunLimits
from tests.behaviour.threads.test_busy import begin, held
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.waiting import PATIENCE


def elsewhere(work: Any) -> Any:
    """Run a coroutine in another event loop, in another thread."""
    return asyncio.to_thread(asyncio.run, work)


def test_an_event_loop_that_ends_within_a_run_leaves_the_thread() -> None:
    calls: list[object] = []

    async def wait_at_first(state: Chat) -> None:
        calls.append(state)
        if len(calls) == 1:
            await asyncio.Event().wait()

    model = Scripted(["Two"])
    agent = agent_of(wait_at_first, talker(model), checkpointer=InMemorySaver())

    async def leave() -> None:
        async for event in agent.run(run_input("one", thread="t")):
            if event.type.value == "STEP_STARTED":
                break

    asyncio.run(leave())
    recorded = asyncio.run(record_run(agent, run_input("two", thread="t")))
    assert recorded.last.outcome.type == "success"


leaves_work = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine .* was never awaited"
)


def leave_in_closed_loop(events: Any) -> None:
    """Read the first event, and close the event loop without a word to its tasks."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(anext(events))
    loop.close()


@leaves_work
def test_the_runs_of_a_closed_event_loop_do_not_count() -> None:
    thread, gate = held(limits=RunLimits(runs=1))
    leave_in_closed_loop(thread.agent.run(run_input("one", thread="t")))
    gate.set()
    recorded = asyncio.run(record_run(thread.agent, run_input("two", thread="u")))
    assert recorded.last.type.value == "RUN_FINISHED"
    gc.collect()  # Python says here what was left, not in another test


@leaves_work
@pytest.mark.parametrize("way", ["run", "connect"])
def test_an_agent_drains_without_the_tasks_of_a_closed_event_loop(way: str) -> None:
    agent = held()[0].agent
    leave_in_closed_loop(getattr(agent, way)(run_input("one", thread="t")))
    asyncio.run(asyncio.wait_for(agent.drain(), PATIENCE))
    gc.collect()  # Python says here what was left, not in another test


async def test_who_comes_from_another_event_loop_while_a_run_goes_on() -> None:
    thread, gate = held()
    first = await begin(thread.agent, "one")
    second = await elsewhere(collect(thread.agent.run(run_input("two", thread="t"))))
    assert second[-1].code == "thread_busy"
    given = run_input(thread="t")
    connecting = asyncio.wait_for(collect(thread.agent.connect(given)), PATIENCE)
    shown = RecordedRun(await elsewhere(connecting), given)
    assert shown.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    gate.set()
    assert (await first).last.outcome.type == "success"
    await elsewhere(record_run(thread.agent, run_input("two", thread="t")))
    assert await thread.texts() == ["one", "One", "two", "Two"]
