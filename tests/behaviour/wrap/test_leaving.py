"""A reader who leaves: the model stops within a second, or the run goes on to its checkpoint. More
graphs, behind a socket, are in `tests/behaviour/mount/test_disconnect.py`."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import run_input
from tests.kit.waiting import PATIENCE, eventually

SAID = "TEXT_MESSAGE_CONTENT"


async def read_until_first(events: Any) -> None:
    async for event in events:
        if SAID.encode() in event if isinstance(event, bytes) else event.type.value == SAID:
            return


async def close(agent: LangGraphAgent) -> None:
    events = agent.run(run_input("hi"))
    await read_until_first(events)
    await events.aclose()


async def cancel(agent: LangGraphAgent) -> None:
    async def read() -> None:
        events = agent.run(run_input("hi"))
        await read_until_first(events)
        reached.set()
        await read_until_first(events)

    reached = asyncio.Event()
    task = asyncio.create_task(read())
    await asyncio.wait_for(reached.wait(), PATIENCE)
    task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.cancelled()


@pytest.mark.parametrize("leave", [close, cancel])
async def test_leaving_stops_the_model(leave: Any) -> None:
    """What was said before is kept out of other runs."""
    model = Scripted(["first", 60.0, "never"], ["second run"])
    agent = agent_of(talker(model))
    await leave(agent)
    assert await asyncio.to_thread(model.stopped.wait, 1.0)
    assert not agent._running
    events = [event async for event in agent.run(run_input("hi"))]
    assert [event.delta for event in events if event.type.value == SAID] == ["second run"]  # type: ignore[union-attr]


async def test_leaving_before_the_first_word() -> None:
    model = Scripted([60.0, "never"])
    events = agent_of(talker(model)).run(run_input("hi"))
    assert (await anext(events)).type.value == "RUN_STARTED"
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    await events.aclose()
    assert model.stopped.is_set()


async def test_leaving_at_once_runs_nothing() -> None:
    agent = agent_of(talker(model := Scripted(["a"])))
    events = agent.run(run_input("hi"))
    await anext(events)
    await events.aclose()
    assert (model.seen, len(agent._running)) == ([], 0)


async def test_leaving_a_sync_node_in_a_thread() -> None:
    """A thread cannot be cancelled: it stops at the next word that it says."""
    left, said_after = threading.Event(), threading.Event()
    model = Scripted(["first", lambda: left.wait(PATIENCE), "second", said_after.set])

    def node(state: Chat) -> Any:
        return {"messages": [model.invoke("x")]}

    events = agent_of(node).run(run_input("hi"))
    await read_until_first(events)
    before = time.monotonic()
    closing = asyncio.create_task(events.aclose())
    await asyncio.sleep(0)
    left.set()
    await asyncio.wait_for(closing, PATIENCE)
    assert time.monotonic() - before < 2
    assert not await asyncio.to_thread(said_after.wait, 0.2)


@pytest.mark.parametrize("sse", [False, True])
async def test_a_run_that_goes_on_reaches_its_checkpoint(sse: bool) -> None:
    gate = asyncio.Event()

    async def node(state: Chat) -> Any:
        reply = await Scripted(["first"]).ainvoke("x")
        await asyncio.wait_for(gate.wait(), PATIENCE)
        return {"messages": [reply]}

    agent = agent_of(node, checkpointer=InMemorySaver(), on_disconnect="continue")
    events: Any = (agent.stream_sse if sse else agent.run)(run_input("hi", thread="t", run="r"))
    await read_until_first(events)
    await events.aclose()
    assert agent._running
    gate.set()
    await eventually(lambda: not agent._running, "the run ends")
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [message.content for message in stored.values["messages"]] == ["hi", "first"]
