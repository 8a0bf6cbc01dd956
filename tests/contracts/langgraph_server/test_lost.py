"""Threads that a LangGraph server does not have, or has without a state: they go on from the
client's history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import ToolMessage
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import get_client

from langgraph_agui import LangGraphAgent, TrustOptions
from langgraph_agui.graphs import adapt_graph
from tests.kit.deep import deep
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input, user

pytestmark = pytest.mark.xdist_group("remote")

Lost = Callable[[str], Awaitable[str]]


async def unknown(server: str) -> str:
    return str(uuid4())


async def named_by_the_client(server: str) -> str:
    return f"a thread of the client's {uuid4()}"


async def never_run(server: str) -> str:
    return str((await get_client(url=server).threads.create())["thread_id"])


async def deleted(server: str) -> str:
    thread = str(uuid4())
    await recorded(agent_of(server, "text"), user("old", "u0"), thread=thread)
    await get_client(url=server).threads.delete(thread)
    return thread


lost = pytest.mark.parametrize(
    "lost",
    [
        unknown,
        *(pytest.param(one, marks=deep) for one in (named_by_the_client, never_run, deleted)),
    ],
)


def agent_of(server: str, name: str, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(RemoteGraph(name, url=server), **options)


async def recorded(agent: LangGraphAgent, *messages: Any, **fields: Any) -> RecordedRun:
    run = await record_run(agent, run_input(*messages, **fields))
    assert run.last.type == "RUN_FINISHED", run.last
    run.check_snapshot()
    return run


async def stored(server: str, name: str, thread: str) -> list[tuple[str, str]]:
    state = await adapt_graph(RemoteGraph(name, url=server)).load_state(
        {"configurable": {"thread_id": thread}}
    )
    return [(message.type, message.text) for message in state.values["messages"]]


@lost
async def test_the_history_is_imported_once(lost: Lost, server: str) -> None:
    agent, thread = agent_of(server, "text"), await lost(server)
    first = await recorded(agent, user("one", "u1"), thread=str(uuid4()))
    second = await recorded(agent, *first.messages, user("two", "u2"), thread=thread)
    answer = "I heard human:one / ai:I heard human:one / human:two"
    assert second.messages[-1].content == answer
    assert dumped(second.messages[:2]) == dumped(first.messages)
    third = await recorded(agent, *second.messages, user("three", "u3"), thread=thread)
    assert third.messages[-1].content == f"{answer} / ai:{answer} / human:three"
    assert [kind for kind, _ in await stored(server, "text", thread)] == ["human", "ai"] * 3


async def test_its_reasoning_is_imported(server: str) -> None:
    agent = agent_of(server, "reasoning")
    first = await recorded(agent, user("one", "u1"), thread=str(uuid4()))
    again = await recorded(agent, *first.messages, user("two", "u2"), thread=str(uuid4()))
    assert again.messages[-1].content == "Seen: ['SIG-1']."


@deep
@lost
async def test_it_can_be_ignored(lost: Lost, server: str) -> None:
    agent, thread = (
        agent_of(server, "text", trust=TrustOptions(history="ignore")),
        await lost(server),
    )
    first = await recorded(agent, user("one", "u1"), thread=str(uuid4()))
    second = await recorded(agent, *first.messages, user("two", "u2"), thread=thread)
    assert second.messages[-1].content == "I heard human:one / human:two"


@deep
@pytest.mark.parametrize("echo", [True, pytest.param(False, marks=deep)])
async def test_a_call_that_the_client_answers(echo: bool, server: str) -> None:
    agent, thread = agent_of(server, "client_tool"), str(uuid4())
    first = await recorded(agent, user("go", "u1"), thread=str(uuid4()))
    result = ToolMessage(id="t1", role="tool", tool_call_id="p1", content="seven")
    second = await recorded(agent, *first.messages, result, thread=thread)
    assert second.messages[-1].content == "The client said seven."
    if echo:
        before = await stored(server, "client_tool", thread)
        await recorded(agent, *second.messages, thread=thread)
        assert await stored(server, "client_tool", thread) == before


@lost
async def test_an_answer_to_what_it_waited_for_is_refused(lost: Lost, server: str) -> None:
    agent, thread = agent_of(server, "asking"), await lost(server)
    first = await recorded(agent, user("go", "u1"), thread=str(uuid4()))
    [asked] = first.last.outcome.interrupts
    answer = [{"interruptId": asked.id, "status": "resolved", "payload": "blue"}]
    refused = await record_run(agent, run_input(*first.messages, thread=thread, resume=answer))
    assert (refused.last.type, refused.last.code) == ("RUN_ERROR", "interrupt_unknown")


@lost
async def test_connecting_shows_nothing(lost: Lost, server: str) -> None:
    given = run_input(thread=await lost(server))
    run = RecordedRun([event async for event in agent_of(server, "text").connect(given)], given)
    assert (run.messages, run.state) == ([], {})
