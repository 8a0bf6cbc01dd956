"""A reader who leaves: the model stops within a second, or the run goes on to its checkpoint."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, scripted_agent, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import run_input
from tests.kit.waiting import PATIENCE

LONG = ["first", 60.0, "never"]


def nested(model: Scripted) -> LangGraphAgent:
    inner = chain_of(talker(model))

    async def outer(state: Chat) -> Any:
        return await inner.ainvoke(state)

    return agent_of(outer)


def subgraph(model: Scripted) -> LangGraphAgent:
    builder = StateGraph(Chat)
    builder.add_node("inner", chain_of(talker(model)))
    builder.add_edge(START, "inner")
    return LangGraphAgent(graph=builder.compile())


def agent_tool(model: Scripted) -> LangGraphAgent:
    inner = create_agent(model, [])

    @tool
    async def ask() -> str:
        """Ask."""
        return str(await inner.ainvoke({"messages": [("user", "go")]}))

    return LangGraphAgent(graph=create_agent(Scripted([call("ask", "c1")]), [ask]))


GRAPHS: dict[str, Callable[[Scripted], LangGraphAgent]] = {
    "flat": lambda model: agent_of(talker(model)),
    "nested ainvoke": nested,
    "subgraph": subgraph,
    "agent in tool": agent_tool,
}


async def read_until_first(agent: LangGraphAgent, leave: str) -> None:
    """Read until the model's first word, then leave."""
    events = agent.run(run_input("hi"))
    if leave == "cancel":

        async def read() -> None:
            async for event in events:
                if event.type.value == "TEXT_MESSAGE_CONTENT":
                    reached.set()

        reached = asyncio.Event()
        task = asyncio.create_task(read())
        await asyncio.wait_for(reached.wait(), PATIENCE)
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        assert task.cancelled()
        return
    async for event in events:
        if event.type.value == "TEXT_MESSAGE_CONTENT":
            break
    await events.aclose()


@pytest.mark.parametrize("leave", ["aclose", "cancel"])
@pytest.mark.parametrize("graph", GRAPHS)
async def test_leaving_stops_the_model(graph: str, leave: str) -> None:
    model = Scripted(LONG)
    agent = GRAPHS[graph](model)
    await read_until_first(agent, leave)
    assert await asyncio.to_thread(model.stopped.wait, 1.0)
    assert not agent._running


async def test_leaving_before_the_first_word() -> None:
    model = Scripted([60.0, "never"])
    events = agent_of(talker(model)).run(run_input("hi"))
    assert (await anext(events)).type.value == "RUN_STARTED"
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    await events.aclose()
    assert model.stopped.is_set()


async def test_leaving_at_once_runs_nothing() -> None:
    model = Scripted(["a"])
    agent = agent_of(talker(model))
    events = agent.run(run_input("hi"))
    await anext(events)
    await events.aclose()
    assert model.seen == []
    assert not agent._running


async def test_leaving_a_sync_node_in_a_thread() -> None:
    """A thread cannot be cancelled: it stops at the next word that it says."""
    left, said_after = threading.Event(), threading.Event()

    def wait() -> None:
        left.wait(PATIENCE)

    model = Scripted(["first", wait, "second", said_after.set])

    def node(state: Chat) -> Any:
        return {"messages": [model.invoke("x")]}

    events = agent_of(node).run(run_input("hi"))
    async for event in events:
        if event.type.value == "TEXT_MESSAGE_CONTENT":
            break
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
    saver = InMemorySaver()

    async def node(state: Chat) -> Any:
        reply = await Scripted(["first"]).ainvoke("x")
        await asyncio.wait_for(gate.wait(), PATIENCE)
        return {"messages": [reply]}

    agent = agent_of(node, checkpointer=saver, on_disconnect="continue")
    events: Any = (agent.stream_sse if sse else agent.run)(run_input("hi", thread="t", run="r"))
    async for event in events:
        if b"TEXT_MESSAGE_CONTENT" in event if sse else event.type.value == "TEXT_MESSAGE_CONTENT":
            break
    await events.aclose()
    assert agent._running
    gate.set()
    async with asyncio.timeout(PATIENCE):
        while agent._running:
            await asyncio.sleep(0.01)
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [message.content for message in stored.values["messages"]] == ["hi", "first"]


async def test_a_slow_reader_gets_everything() -> None:
    agent = LangGraphAgent(scripted_agent([f"{n} " for n in range(200)]).graph)
    kinds, words = [], []
    async for event in agent.run(run_input("hi")):
        kinds.append(event.type.value)
        if event.type.value == "TEXT_MESSAGE_CONTENT":
            words.append(event.delta)
            await asyncio.sleep(0.001)
    assert "".join(words) == "".join(f"{n} " for n in range(200))
    assert kinds[-1] == "RUN_FINISHED"


async def test_what_was_said_before_leaving_a_thread_is_kept_out_of_other_runs() -> None:
    agent = scripted_agent(LONG, ["second run"])
    await read_until_first(agent, "aclose")
    words = [
        event.delta
        async for event in agent.run(run_input("hi"))
        if event.type.value == "TEXT_MESSAGE_CONTENT"
    ]
    assert words == ["second run"]
