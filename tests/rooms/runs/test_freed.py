"""A run leaves nothing of this package to the garbage collector, unless it fails or pauses: then the
exceptions of LangGraph refer to themselves."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, astream_agui
from tests.kit.graphs import subagents
from tests.kit.graphs.small import scripted_agent
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
    return Counter(
        one.__qualname__ for one in types if str(one.__module__).startswith("langgraph_agui")
    )


async def check_freed(run: Any) -> None:
    """Check that nothing of this package is left behind `await run()`, without the collector."""
    await run()  # what is made once is no part of it
    await over()
    gc.disable()
    try:
        before = held()
        await run()
        await eventually(lambda: held() <= before, "all is freed")
    finally:
        gc.enable()


AGENTS = {
    "a text": lambda: scripted_agent("Hello ", "there."),
    "a text of a thread": lambda: scripted_agent("Hello", checkpointer=InMemorySaver()),
    "subagents": lambda: LangGraphAgent(graph=subagents.async_tools(InMemorySaver()).graph),
    "subagents of subagents": lambda: LangGraphAgent(graph=subagents.deep(InMemorySaver()).graph),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize("most", [None, 3], ids=["read to its end", "left"])
async def test_a_run_is_freed(agent: Any, most: int | None) -> None:
    made = agent()
    await check_freed(lambda: read(made.stream_sse(run_input("hello")), most))


async def test_a_run_is_freed_that_others_have_joined() -> None:
    agent = scripted_agent("Hello ", "there.", checkpointer=InMemorySaver())

    async def run() -> None:
        given = run_input("hello")
        first = agent.run(given)
        await anext(first)
        await asyncio.gather(read(agent.connect(given)), read(first))

    await check_freed(run)


async def test_a_runnable_is_freed() -> None:
    model = Scripted("Hello ", "there.")
    await check_freed(lambda: read(astream_agui(model, "hello", run_input=run_input("hello"))))
