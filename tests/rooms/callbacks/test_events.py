"""`handler.events()`: the same events, as an async iterator."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from ag_ui.core import Event
from langchain_core.messages import BaseMessage

from langgraph_agui import AGUICallbackHandler
from tests.kit.models.scripted import Piece, Scripted
from tests.kit.run.handlers import ReceivedEvents, call_by, checked, contents, deltas, runs_of, ways
from tests.kit.waiting import PATIENCE


async def read(handler: AGUICallbackHandler, runs: int = 1) -> list[Event]:
    async with asyncio.timeout(PATIENCE):
        return [event async for event in handler.events(runs=runs)]


@ways
async def test_they_end_with_the_run(way: str) -> None:
    handler = AGUICallbackHandler(thread_id="t")
    reading = asyncio.create_task(read(handler))
    await asyncio.sleep(0)
    await call_by(way, Scripted(["Hel", "lo"]), "hi", {"callbacks": [handler]})
    events = await reading
    assert deltas(events) == ["Hel", "lo"]
    assert contents(checked(events)) == ["Hello"]


@pytest.mark.parametrize("threads", [False, True])
async def test_eight_runs_are_eight_whole_streams(threads: bool) -> None:
    def script(messages: list[BaseMessage]) -> list[Piece]:
        return [messages[-1].text, 0.005, "!"]

    handler, model = AGUICallbackHandler(thread_id="t"), Scripted(script=script)
    reading = asyncio.create_task(read(handler, runs=8))
    await asyncio.sleep(0)
    asked = [f"q{number}" for number in range(8)]
    if threads:
        await asyncio.to_thread(model.batch, asked, {"callbacks": [handler]})
    else:
        await model.abatch(asked, {"callbacks": [handler]})
    events = await reading
    assert sorted(contents(checked(events))) == [f"{one}!" for one in asked]
    assert [run[-1].type.value for run in runs_of(events)] == ["RUN_FINISHED"] * 8


async def test_events_come_while_the_run_goes_on() -> None:
    handler, model = AGUICallbackHandler(thread_id="t"), Scripted(["a", 60.0, "b"])
    events = handler.events()
    run = asyncio.create_task(model.ainvoke("hi", {"callbacks": [handler]}))
    async with asyncio.timeout(PATIENCE), aclosing(events):
        async for event in events:
            if event.type.value == "TEXT_MESSAGE_CONTENT":
                break
    assert not run.done()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_a_failed_run_ends_them() -> None:
    handler = AGUICallbackHandler(thread_id="t")
    reading = asyncio.create_task(read(handler))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await Scripted([RuntimeError("CANARY")]).ainvoke("hi", {"callbacks": [handler]})
    events = await reading
    assert [event.type.value for event in events] == ["RUN_STARTED", "RUN_ERROR"]


async def test_leaving_them_early_leaves_the_run_alone() -> None:
    handler = AGUICallbackHandler(thread_id="t")
    events = handler.events()
    run = asyncio.create_task(Scripted(["a", 0.05, "b"]).ainvoke("hi", {"callbacks": [handler]}))
    async with asyncio.timeout(PATIENCE), aclosing(events):
        async for _ in events:
            break
    assert (await run).text == "ab"
    reading = asyncio.create_task(read(handler))
    await asyncio.sleep(0)
    await Scripted(["again"]).ainvoke("hi", {"callbacks": [handler]})
    assert contents(checked(await reading)) == ["again"]


async def test_on_event_hears_them_too() -> None:
    received = ReceivedEvents()
    reading = asyncio.create_task(read(received.handler))
    await asyncio.sleep(0)
    await Scripted(["a"]).ainvoke("hi", received.config)
    assert await reading == received.events
    received.check()
