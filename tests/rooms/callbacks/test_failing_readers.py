"""What `on_event` raises, in the thread of whoever tells, is raised by the run that the event is
of."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableParallel

from langgraph_agui import AGUICallbackHandler
from tests.kit.models.scripted import Scripted
from tests.kit.run.handlers import call_by, checked, contents, runs_of, ways
from tests.rooms.callbacks.test_batches import Picky, ReaderError

SECONDS = 5
"""More than any of this takes."""


def bare(*turns: Any) -> tuple[Any, Any]:
    return Scripted(*turns), "hi"


def chain(*turns: Any) -> tuple[Any, Any]:
    return Scripted(*turns) | StrOutputParser(), "hi"


def agent(*turns: Any) -> tuple[Any, Any]:
    return create_agent(Scripted(*turns), []), {"messages": [("user", "hi")]}


@ways
@pytest.mark.parametrize("make", [bare, chain, agent])
async def test_what_it_raises_at_the_last_event_is_raised(make: Any, way: str) -> None:
    picky = Picky("RUN_FINISHED", run=1)
    config = {"callbacks": [AGUICallbackHandler(picky, thread_id="t")]}
    runnable, value = make(["a"])
    with pytest.raises(ReaderError):
        await call_by(way, runnable, value, config)
    await call_by(way, runnable, value, config)
    assert contents(checked(picky.events)) == ["a", "a"]  # the event itself was told


def test_what_it_raises_in_the_thread_of_another_branch_is_raised() -> None:
    """One branch is telling when the other one says what `on_event` fails at."""
    begun, over = threading.Event(), threading.Event()

    def on_event(event: Any) -> None:
        if event.type.value == "TEXT_MESSAGE_CONTENT" and event.delta == "a":
            begun.set()
            assert over.wait(SECONDS), "the other branch waits for on_event"
        elif event.type.value == "TEXT_MESSAGE_CONTENT":
            raise ReaderError(threading.get_ident())

    branches = RunnableParallel(
        a=Scripted(["a"]),
        b=Scripted([lambda: begun.wait(SECONDS), "b", over.set, "more"]),
    )
    with pytest.raises(ReaderError):
        branches.invoke("hi", {"callbacks": [AGUICallbackHandler(on_event)]})
    assert over.is_set()


async def test_what_it_raises_while_another_run_tells_is_raised_by_its_own() -> None:
    """The second run has spoken before its turn: the end of the first one tells that."""
    picky = Picky("TEXT_MESSAGE_CONTENT", run=2)
    config: Any = {"callbacks": [AGUICallbackHandler(picky, thread_id="t")]}
    gates = [asyncio.Event(), asyncio.Event()]
    models = [Scripted(script=lambda _, gate=gate: gated(gate)) for gate in gates]
    first, second = [asyncio.create_task(model.ainvoke("hi", config)) for model in models]
    async with asyncio.timeout(SECONDS):
        for model in models:
            await model.hung.wait()
        gates[0].set()
        assert (await first).text == "ab"
        gates[1].set()
        with pytest.raises(ReaderError):
            await second
    one, two = runs_of(picky.events)
    assert contents(checked(one)) == ["ab"]
    assert two[-1].type.value == "TEXT_MESSAGE_CONTENT"


def gated(gate: asyncio.Event) -> Any:
    yield "a"
    while not gate.is_set():
        yield 0.005
    yield "b"
