"""Agents of one name share their runs: who shares them by mistake is told, who should share them
does."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.workers import RedisRunStore, RunStore, namesakes
from tests.contracts.run_stores.pair import Follower, Pair, Server, gated
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.joining import agent_of
from tests.kit.waiting import PATIENCE


@tool
def refund(amount: int) -> str:
    """Refund."""
    return f"refunded {amount}"


def other_service(store: RunStore, saver: Any = None) -> LangGraphAgent:
    """An agent with another graph, and the name of `agent_of`."""
    graph = create_agent(Scripted(["Hi"]), [refund], checkpointer=saver or InMemorySaver())
    return LangGraphAgent(graph, name="joined", run_store=store, on_disconnect="continue")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Ours: psycopg's pool has some of its own, of connections that a reader left in a call."""
    ours = [record for record in caplog.records if record.name.startswith("langgraph_agui")]
    return [record.getMessage() for record in ours if record.levelname == "WARNING"]


WARNING = "Two agents with the name 'joined' and different graphs share their live runs"


def check_warned(caplog: pytest.LogCaptureFixture, *, once: bool = True) -> None:
    assert [text[: len(WARNING)] for text in warnings(caplog)] == [WARNING] * once


def test_a_run_store_needs_a_name() -> None:
    """By the default name, two services would share their runs and not know it."""
    store = RedisRunStore("redis://localhost")
    for agent in (agent_of(None, name="support", run_store=store), agent_of(None, name=None)):
        assert agent.capabilities().identity.name == agent.name  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="run_store needs the agent's name"):
        agent_of(None, name=None, run_store=store)


async def test_two_services_of_one_name(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """The later one says so when it starts, each time, until one of them has another name; also in
    one process."""
    async with server() as one, server() as two:
        async with agent_of(InMemorySaver(), run_store=one).serving():
            async with agent_of(InMemorySaver(), run_store=two).serving():  # another worker of it
                check_warned(caplog, once=False)
            for store in (two, two, one):
                other = other_service(store)
                async with other.serving(), other.serving():
                    check_warned(caplog)
                caplog.clear()
            async with agent_of(InMemorySaver(), name="refunds", run_store=two).serving():
                check_warned(caplog, once=False)
        async with other_service(two).serving():  # nobody else is left
            check_warned(caplog, once=False)


async def test_when_the_worker_that_is_seen_ends_another_one_is_seen(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namesakes, "_INTERVAL", 0.01)
    async with server() as one, server() as two, server() as third, AsyncExitStack() as stack:
        first, second = (agent_of(InMemorySaver(), run_store=store) for store in (one, two))
        await stack.enter_async_context(first.serving())
        async with second.serving():
            key = second._workers._key()  # type: ignore[union-attr]
            seen = await third.find(key)
            assert seen is not None
            await stack.aclose()
            async with asyncio.timeout(PATIENCE):
                while await third.find(key) in (None, seen):
                    await asyncio.sleep(0.001)
            async with other_service(third).serving():
                check_warned(caplog)


@pytest.mark.parametrize("serves", [True, False])
async def test_a_deploy_changes_the_graph(
    serves: bool, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Old and new workers follow and stop each other's runs; each says at most once that the graphs
    differ, also agents that no application serves, though clients come again and again."""
    async with server() as one, server() as two, AsyncExitStack() as stack:
        old = Pair([one, two], model := gated(), saver=(saver := InMemorySaver()))
        new = other_service(two, saver)
        for agent in (old.one, new) if serves else ():
            await stack.enter_async_context(agent.serving())
        live = await old.begin()
        await model.hung.wait()
        clients = [await Follower(new, run_input(thread="t")).join() for _ in range(3)]
        if serves:
            model.go()
        else:
            assert await new.cancel("t", "live")
        truth = await old.truth(live)
        for client in clients:
            assert dumped((await client.rest()).messages) == dumped(truth.messages)
        check_warned(caplog)
        await asyncio.gather(old.end(), new.drain())


def test_the_digest_of_a_graph_is_that_of_all_processes() -> None:
    """And of all versions of Python: it is written here."""

    def work(state: MessagesState) -> None:
        """Work."""

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    agent: Any = LangGraphAgent(graph, name="worker", run_store=RedisRunStore("redis://localhost"))
    keys = [agent._workers.namesakes.new_key() for _ in range(2)]
    assert [key.partition("-")[0] for key in keys] == ["b8c2ee2f90d2bbf5"] * 2
    assert (len({*keys}), max(map(len, keys)) <= 64) == (2, True)
