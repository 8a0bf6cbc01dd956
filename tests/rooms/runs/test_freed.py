"""A run leaves nothing of this package to the garbage collector."""

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, astream_agui
from tests.kit.graphs import subagents
from tests.kit.graphs.small import agent_of, scripted_agent, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import run_input
from tests.kit.waiting import eventually


async def read(events: AsyncIterator[Any], most: int | None = None) -> None:
    """Read a stream to its end, or so many of its events."""
    async for _ in events:
        if most is not None and not (most := most - 1):
            break
    await events.aclose()  # type: ignore[attr-defined]  # all are generators


async def over() -> None:
    """Wait until no task runs but the test's."""
    await eventually(lambda: len(asyncio.all_tasks()) == 1, "the run is over")


def held() -> Counter[str]:
    """The objects of this package that there are."""
    types = [type(one) for one in gc.get_objects()]
    return Counter(one.__qualname__ for one in types if one.__module__.startswith("langgraph_agui"))


async def left_by(run: Any) -> Counter[str]:
    """What of this package is still there behind `await run()`, without the collector."""
    await run()  # what is made once is no part of it
    await over()
    logging.disable()  # pytest keeps records, with their exceptions
    gc.disable()
    try:
        before = held()
        await run()
        await over()
        return held() - before
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


async def failing(state: Any) -> Any:
    raise ValueError("as planned")


AGENTS = {
    "a text": lambda: scripted_agent("Hello ", "there."),
    "a text of a thread": lambda: scripted_agent("Hello", checkpointer=InMemorySaver()),
    "subagents": lambda: LangGraphAgent(graph=subagents.async_tools(InMemorySaver()).graph),
    "subagents of subagents": lambda: LangGraphAgent(graph=subagents.deep(InMemorySaver()).graph),
    "a failure": lambda: agent_of(talker(Scripted("Hel", "lo")), failing),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize("most", [None, 3], ids=["read to its end", "left"])
async def test_a_run_is_freed(agent: Any, most: int | None) -> None:
    made = agent()
    assert not await left_by(lambda: read(made.stream_sse(run_input("hello")), most))


async def test_a_run_is_freed_that_others_have_joined() -> None:
    agent = scripted_agent("Hello ", "there.", checkpointer=InMemorySaver())

    async def run() -> None:
        given = run_input("hello")
        first = agent.run(given)
        await anext(first)
        await asyncio.gather(read(agent.connect(given)), read(first))

    assert not await left_by(run)


async def test_a_runnable_is_freed() -> None:
    model = Scripted("Hello ", "there.")
    assert not await left_by(
        lambda: read(astream_agui(model, "hello", run_input=run_input("hello")))
    )
