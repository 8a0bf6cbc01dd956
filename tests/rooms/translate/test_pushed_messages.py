"""`push_message`: a node's message is told at once, at its place, and once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import push_message

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input
from tests.kit.waiting import PATIENCE

states = pytest.mark.parametrize("key", ["messages", None])


def node_of(model: Any, key: str | None, *, sync: bool = False) -> Any:
    """A node that says what it is about to do, and then calls a model."""

    def push() -> None:
        push_message(AIMessage("I look", id="p1"), state_key=key)

    async def work(state: Chat) -> Any:
        push()
        return {"messages": [await model.ainvoke(state["messages"])]}

    def work_in_a_thread(state: Chat) -> Any:
        push()
        return {"messages": [model.invoke(state["messages"])]}

    return work_in_a_thread if sync else work


def texts(messages: Sequence[Any]) -> list[Any]:
    return [message.content for message in messages]


async def reloaded(agent: LangGraphAgent) -> list[Any]:
    given = run_input(thread="t")
    return RecordedRun(await collect(agent.connect(given)), given).messages


def order(recorded: RecordedRun) -> list[str]:
    """When each text began, and each part of it came."""
    events = recorded.of("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT")
    return [getattr(event, "delta", None) or event.message_id for event in events]


@states
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_it_is_told_at_once(key: str | None, sync: bool) -> None:
    graph = chain_of(
        node_of(Scripted(["the answer"]), key, sync=sync), checkpointer=InMemorySaver()
    )
    agent = LangGraphAgent(graph=graph)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    assert order(recorded)[:2] == ["p1", "I look"]
    assert len(recorded.of("TEXT_MESSAGE_START")) == 2
    assert texts(recorded.messages) == ["hi", "I look", "the answer"]
    kept = texts((await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"])
    assert kept == (texts(recorded.messages) if key else ["hi", "the answer"])
    if key:
        assert dumped(await reloaded(agent)) == dumped(recorded.messages)


@states
async def test_the_client_has_it_while_the_node_works(key: str | None) -> None:
    told = asyncio.Event()

    async def work(state: Chat) -> Any:
        push_message(AIMessage("I look", id="p1"), state_key=key)
        await asyncio.wait_for(told.wait(), PATIENCE)
        return {"messages": [AIMessage("the answer", id="p2")]}

    received: list[str] = []
    async for event in LangGraphAgent(graph=chain_of(work)).run(run_input("hi")):
        received.append(event.type.value)
        if event.type.value == "TEXT_MESSAGE_END":
            told.set()
    assert received.count("TEXT_MESSAGE_END") == 2


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_inside_a_team(sync: bool) -> None:
    """A graph whose messages are the conversation's."""
    inner = chain_of(node_of(Scripted(["the answer"]), "messages", sync=sync))
    graph = chain_of(inner, checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph=graph)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    assert order(recorded)[:2] == ["p1", "I look"]
    assert {getattr(event, "subagent_run_id", None) for event in recorded.events} == {None}
    assert texts(recorded.messages) == ["hi", "I look", "the answer"]
    assert dumped(await reloaded(agent)) == dumped(recorded.messages)


@states
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_inside_a_subagent(key: str | None, sync: bool) -> None:
    """A graph that a tool runs."""
    inner = chain_of(node_of(Scripted(["inside"]), key, sync=sync))

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", question)]}))["messages"][-1].text)

    graph = create_agent(Scripted([call("ask", "c1", question="why")], ["the answer"]), [ask])
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi"))
    recorded.check_snapshot()
    (start,) = recorded.of("SUBAGENT_STARTED")
    owners = {message.id: message.subagent_run_id for message in recorded.messages}
    assert owners["p1"] == start.subagent_run_id
    inside = [one for one in recorded.messages if one.subagent_run_id is not None]
    assert texts(inside) == ["I look", "inside"]


async def test_a_message_that_is_pushed_and_returned_is_told_once() -> None:
    said = AIMessage("I look", id="p1")

    async def work(state: Chat) -> Any:
        push_message(said)
        return {"messages": [said, AIMessage("the answer", id="p2")]}

    recorded = await record_run(LangGraphAgent(graph=chain_of(work)), run_input("hi"))
    recorded.check_snapshot()
    assert [event.message_id for event in recorded.of("TEXT_MESSAGE_START")] == ["p1", "p2"]
    assert texts(recorded.messages) == ["hi", "I look", "the answer"]
