"""Runs that nobody waits for to the end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.output_parsers import StrOutputParser

from tests.kit.models.scripted import Scripted
from tests.kit.run.handlers import ReceivedEvents, contents, deltas, runs_of
from tests.kit.waiting import PATIENCE


def bare(model: Any) -> tuple[Any, Any]:
    return model, "hi"


def chain(model: Any) -> tuple[Any, Any]:
    return model | StrOutputParser(), "hi"


def agent(model: Any) -> tuple[Any, Any]:
    return create_agent(model, []), {"messages": [("user", "hi")]}


kinds = pytest.mark.parametrize("make", [bare, chain, agent])


async def check_again(received: ReceivedEvents, said_before: str = "a") -> None:
    """The handler tells its next run at once, and the stream as a whole is in order."""
    before = len(received.events)
    await Scripted(["again"]).ainvoke("hi", received.config)
    assert deltas(received.events[before:]) == ["again"]
    assert contents(received.check()) == [said_before, "again"]
    first, second = runs_of(received.events)
    assert first[-1].outcome.type == "cancelled"  # type: ignore[union-attr]
    assert second[-1].outcome.type == "success"  # type: ignore[union-attr]


@kinds
async def test_a_cancelled_task(make: Any) -> None:
    received, model = ReceivedEvents(), Scripted(["a", 60.0, "b"])
    runnable, value = make(model)
    task = asyncio.create_task(runnable.ainvoke(value, received.config))
    async with asyncio.timeout(PATIENCE):
        await model.hung.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await check_again(received)


@kinds
async def test_a_timeout_around_ainvoke(make: Any) -> None:
    """LangChain calls no hook where a bare model is cancelled."""
    received, model = ReceivedEvents(), Scripted(["a", 60.0, "b"])
    runnable, value = make(model)
    with pytest.raises(TimeoutError):
        await until_hung(model, runnable.ainvoke(value, received.config))
    await check_again(received)


async def until_hung(model: Scripted, work: Awaitable[object]) -> None:
    """Wait for `work` in this very task, with a time limit that ends when the model hangs."""

    async def end(limit: asyncio.Timeout) -> None:
        await model.hung.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    async with asyncio.timeout(PATIENCE) as limit, asyncio.TaskGroup() as group:
        group.create_task(end(limit))
        await work


async def test_a_cancelled_task_beside_a_run_that_goes_on() -> None:
    received, model = ReceivedEvents(), Scripted(["a", 60.0, "b"])
    lost = asyncio.create_task(model.ainvoke("hi", received.config))
    async with asyncio.timeout(PATIENCE):
        await model.hung.wait()
    other = asyncio.create_task(Scripted(["c", 0.1, "d"]).ainvoke("hi", received.config))
    await asyncio.sleep(0.02)
    lost.cancel()
    assert (await other).text == "cd"
    await asyncio.gather(lost, return_exceptions=True)
    await Scripted(["again"]).ainvoke("hi", received.config)
    assert contents(received.check()) == ["a", "cd", "again"]


@kinds
async def test_a_stream_that_is_closed(make: Any) -> None:
    received = ReceivedEvents()
    runnable, value = make(Scripted(["a", "b", "c"]))
    stream = runnable.stream(
        value, received.config, **({"stream_mode": "messages"} if make is agent else {})
    )
    next(stream)
    stream.close()
    received.check()
    # LangChain ends a sequence as if it had come to its end.
    assert received.last.outcome.type in (
        ("cancelled", "success") if make is chain else ("cancelled",)
    )


async def test_an_async_stream_that_is_closed() -> None:
    received = ReceivedEvents()
    stream = Scripted(["a", "b", "c"]).astream("hi", received.config)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    await check_again(received)


async def test_an_async_stream_that_is_dropped() -> None:
    received = ReceivedEvents()
    stream = Scripted(["a", 60.0, "b"]).astream("hi", received.config)
    await anext(stream)
    del stream
    gc.collect()
    async with asyncio.timeout(PATIENCE):
        while received.last.type.value != "RUN_FINISHED":
            await asyncio.sleep(0.01)  # the event loop closes what nobody holds
    await check_again(received)
