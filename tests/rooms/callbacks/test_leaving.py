"""Runs that nobody waits for to the end, and `handler.events()`."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser

from langgraph_agui import AGUICallbackHandler
from tests.kit.models.scripted import Scripted
from tests.kit.run.handlers import (
    ASKED,
    ReceivedEvents,
    call_by,
    checked,
    contents,
    deltas,
    runs_of,
    ways,
)
from tests.kit.waiting import PATIENCE


def runnables(model: Any) -> dict[str, tuple[Any, Any]]:
    chain = model | StrOutputParser()
    return {
        "bare": (model, "hi"),
        "chain": (chain, "hi"),
        "agent": (create_agent(model, []), ASKED),
    }


kinds = pytest.mark.parametrize("kind", ["bare", "chain", "agent"])


async def check_again(received: ReceivedEvents) -> None:
    """The handler tells its next run at once, and the stream as a whole is in order."""
    before = len(received.events)
    await Scripted(["again"]).ainvoke("hi", received.config)
    assert deltas(received.events[before:]) == ["again"]
    assert contents(received.check()) == ["a", "again"]
    ends = [run[-1].outcome.type for run in runs_of(received.events)]  # type: ignore[union-attr]
    assert ends == ["cancelled", "success"]


@kinds
@pytest.mark.parametrize("own_task", [True, False])
async def test_a_cancelled_run(kind: str, own_task: bool) -> None:
    """By its task, or by a time limit in the caller's: LangChain calls no hook where a bare model
    is cancelled."""
    received, model = ReceivedEvents(), Scripted(["a", 60.0, "b"])
    runnable, value = runnables(model)[kind]
    work = runnable.ainvoke(value, received.config)

    async def end(limit: asyncio.Timeout) -> None:
        await model.hung.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):  # noqa: PT012
        async with asyncio.timeout(PATIENCE) as limit, asyncio.TaskGroup() as group:
            group.create_task(end(limit))
            await (group.create_task(work) if own_task else work)
    await check_again(received)


async def test_a_cancelled_task_beside_a_run_that_goes_on() -> None:
    received, model, other = ReceivedEvents(), Scripted(["a", 60.0]), Scripted(["c", 0.1, "d"])
    lost = asyncio.create_task(model.ainvoke("hi", received.config))
    async with asyncio.timeout(PATIENCE):
        await model.hung.wait()
        going = asyncio.create_task(other.ainvoke("hi", received.config))
        await other.hung.wait()
    lost.cancel()
    assert (await going).text == "cd"
    await asyncio.gather(lost, return_exceptions=True)
    await Scripted(["again"]).ainvoke("hi", received.config)
    assert contents(received.check()) == ["a", "cd", "again"]


@kinds
async def test_a_stream_that_is_closed(kind: str) -> None:
    received = ReceivedEvents()
    runnable, value = runnables(Scripted(["a", "b", "c"]))[kind]
    options = {"stream_mode": "messages"} if kind == "agent" else {}
    stream = runnable.stream(value, received.config, **options)
    next(stream)
    stream.close()
    received.check()
    # LangChain ends a sequence as if it had come to its end.
    ends = ("cancelled", "success") if kind == "chain" else ("cancelled",)
    assert received.last.outcome.type in ends


@pytest.mark.parametrize("closed", [True, False])
async def test_an_async_stream_that_is_closed_or_dropped(closed: bool) -> None:
    received = ReceivedEvents()
    stream: Any = Scripted(["a", 60.0, "b"]).astream("hi", received.config)
    await anext(stream)
    if closed:
        await stream.aclose()
    del stream
    gc.collect()
    async with asyncio.timeout(PATIENCE):
        while received.last.type.value != "RUN_FINISHED":
            await asyncio.sleep(0)  # the event loop closes what nobody holds
    await check_again(received)


async def test_a_cancelled_batch_of_prompts() -> None:
    """LangChain calls no hook where `agenerate` is cancelled."""
    received, model = ReceivedEvents(), Scripted(["a", 60.0])
    prompts: Any = [[HumanMessage("1")], [HumanMessage("2")]]
    task = asyncio.create_task(model.agenerate(prompts, callbacks=[received.handler]))
    async with asyncio.timeout(PATIENCE):
        await model.hung.wait()
    task.cancel()
    await asyncio.wait({task})
    await asyncio.create_task(Scripted(["again"]).ainvoke("hi", received.config))
    assert contents(received.check()) == ["a", "a", "again"]
    ends = [run[-1].outcome.type for run in runs_of(received.events)]  # type: ignore[union-attr]
    assert ends == ["cancelled", "cancelled", "success"]


async def read(handler: AGUICallbackHandler, runs: int = 1) -> list[Event]:
    async with asyncio.timeout(PATIENCE):
        return [event async for event in handler.events(runs=runs)]


async def reading_of(handler: AGUICallbackHandler, **options: Any) -> asyncio.Task[list[Event]]:
    reading = asyncio.create_task(read(handler, **options))
    await asyncio.sleep(0)
    return reading


@ways
@pytest.mark.parametrize("fails", [False, True])
async def test_events_end_with_the_run(way: str, fails: bool) -> None:
    received = ReceivedEvents()
    reading = await reading_of(received.handler)
    model = Scripted(["Hel", "lo", *([RuntimeError()] if fails else [])])
    try:
        await call_by(way, model, "hi", received.config)
    except RuntimeError:
        assert fails
    events = await reading
    assert events == received.events
    assert contents(checked(events)) == ["Hello"]
    assert events[-1].type.value == ("RUN_ERROR" if fails else "RUN_FINISHED")


@pytest.mark.parametrize("threads", [False, True])
async def test_events_of_eight_runs_are_eight_whole_streams(threads: bool) -> None:
    handler, model = AGUICallbackHandler(thread_id="t"), Scripted(["a", 0.005, "!"])
    reading, config = await reading_of(handler, runs=8), {"callbacks": [handler]}
    if threads:
        await asyncio.to_thread(model.batch, ["hi"] * 8, config)
    else:
        await model.abatch(["hi"] * 8, config)
    events = await reading
    assert contents(checked(events)) == ["a!"] * 8
    assert [run[-1].type.value for run in runs_of(events)] == ["RUN_FINISHED"] * 8


async def test_leaving_the_events_early_leaves_the_run_alone() -> None:
    handler, gate, model = AGUICallbackHandler(thread_id="t"), asyncio.Event(), Scripted(["again"])
    config: Any = {"callbacks": [handler]}
    slow = Scripted(script=lambda _: gated(gate))
    events, run = handler.events(), asyncio.create_task(slow.ainvoke("hi", config))
    async with asyncio.timeout(PATIENCE), aclosing(events):
        async for event in events:
            if event.type.value == "TEXT_MESSAGE_CONTENT":
                break
    assert not run.done()
    gate.set()
    assert (await run).text == "ab"
    reading = await reading_of(handler)
    await model.ainvoke("hi", config)
    assert contents(checked(await reading)) == ["again"]


def gated(gate: asyncio.Event) -> Any:
    yield "a"
    while not gate.is_set():
        yield 0.005
    yield "b"


async def test_a_second_reader_of_the_events_is_refused() -> None:
    handler = AGUICallbackHandler()
    for word in "ab":  # one after the other may read
        first = await reading_of(handler)
        with pytest.raises(RuntimeError, match="read already"):
            await read(handler)
        await Scripted([word]).ainvoke("hi", {"callbacks": [handler]})
        assert contents(checked(await first)) == [word]
