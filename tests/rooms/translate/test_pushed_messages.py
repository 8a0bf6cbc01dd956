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
from tests.kit.run.agents import dumped, record_run, run_input
from tests.kit.run.thread_client import Client
from tests.kit.waiting import PATIENCE

SAID = ["I look", "the answer"]
keys_and_threads = pytest.mark.parametrize(
    ("key", "sync"), [("messages", False), ("messages", True), (None, False), (None, True)]
)


def pushing(key: str | None, *, sync: bool = False) -> Any:
    """A node that says what it is about to do, and then calls a model."""
    model = Scripted(["the answer"])

    async def work(state: Chat) -> Any:
        push_message(AIMessage("I look", id="p1"), state_key=key)
        return {"messages": [await model.ainvoke(state["messages"])]}

    def work_in_a_thread(state: Chat) -> Any:
        push_message(AIMessage("I look", id="p1"), state_key=key)
        return {"messages": [model.invoke(state["messages"])]}

    return work_in_a_thread if sync else work


def texts(messages: Sequence[Any]) -> list[Any]:
    return [message.content for message in messages]


@pytest.mark.parametrize("in_a_team", [False, True])
@keys_and_threads
async def test_it_is_told_at_once(key: str | None, sync: bool, in_a_team: bool) -> None:
    """Also in a graph whose messages are the conversation's."""
    node = pushing(key, sync=sync)
    graph = chain_of(chain_of(node) if in_a_team else node, checkpointer=InMemorySaver())
    client = Client(LangGraphAgent(graph=graph))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    assert [one.content for one in recorded.messages] == ["hi", *SAID]
    words = recorded.of("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT")
    assert [getattr(one, "delta", one.message_id) for one in words[:2]] == ["p1", "I look"]
    assert len(recorded.of("TEXT_MESSAGE_START")) == 2
    assert {getattr(event, "subagent_run_id", None) for event in recorded.events} == {None}
    assert texts(await client.stored()) == ["hi", *(SAID if key else SAID[1:])]
    if key:
        assert dumped((await client.connect()).messages) == dumped(recorded.messages)


@pytest.mark.parametrize("key", ["messages", None])
async def test_the_client_has_it_while_the_node_works(key: str | None) -> None:
    told = asyncio.Event()

    async def work(state: Chat) -> Any:
        push_message(AIMessage("I look", id="p1"), state_key=key)
        await asyncio.wait_for(told.wait(), PATIENCE)
        return {"messages": [AIMessage("the answer", id="p2")]}

    ended = 0
    async for event in LangGraphAgent(graph=chain_of(work)).run(run_input("hi")):
        if event.type.value == "TEXT_MESSAGE_END":
            ended += 1
            told.set()
    assert ended == 2


@keys_and_threads
async def test_inside_a_subagent(key: str | None, sync: bool) -> None:
    """A graph that a tool runs."""
    inner = chain_of(pushing(key, sync=sync))

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", question)]}))["messages"][-1].text)

    graph = create_agent(Scripted([call("ask", "c1", question="why")], ["Done."]), [ask])
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi"))
    recorded.check_snapshot()
    [start] = recorded.of("SUBAGENT_STARTED")
    inside = [one for one in recorded.messages if one.subagent_run_id == start.subagent_run_id]
    assert texts(inside) == SAID


async def test_a_message_that_is_pushed_and_returned_is_told_once() -> None:
    said = AIMessage("I look", id="p1")

    async def work(state: Chat) -> Any:
        push_message(said)
        return {"messages": [said, AIMessage("the answer", id="p2")]}

    recorded = await record_run(LangGraphAgent(graph=chain_of(work)), run_input("hi"))
    recorded.check_snapshot()
    assert [event.message_id for event in recorded.of("TEXT_MESSAGE_START")] == ["p1", "p2"]
    assert texts(recorded.messages) == ["hi", *SAID]
