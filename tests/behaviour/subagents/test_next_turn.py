"""The turn after one with subagents: the client sends all that it was told, and the parent reads
its own history."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import UserMessage
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.deep import together
from tests.kit.expect.histories import assert_valid
from tests.kit.expect.owners import tag
from tests.kit.graphs.subagents import GRAPHS, Build, Built, few_graphs
from tests.kit.run.agents import user
from tests.kit.run.thread_client import Client

graphs = pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS)
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])


def plain(messages: list[BaseMessage]) -> list[tuple[Any, ...]]:
    """Messages as a provider would be sent them: all but ids and what was measured."""
    return [
        (
            message.type,
            message.content,
            [
                (call["id"], call["name"], call["args"])
                for call in getattr(message, "tool_calls", ())
            ],
            getattr(message, "tool_call_id", None),
            getattr(message, "status", None),
        )
        for message in messages
    ]


async def without_us(build: Build, *turns: str) -> list[list[BaseMessage]]:
    """What the boss's model is given where LangGraph runs the graph alone."""
    built = build(InMemorySaver())
    for text in turns:
        await built.graph.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}
        )
    return list(built.boss.seen)


def client_of(built: Built, mode: str = "attributed") -> Client:
    return Client(LangGraphAgent(graph=built.graph, clients=ClientOptions(subagents=mode)))  # type: ignore[arg-type]


@together(savers, modes, graphs)
async def test_the_parents_model_reads_what_it_would_have_read(
    build: Build, mode: str, stored: bool
) -> None:
    built = build(InMemorySaver() if stored else None)
    client = client_of(built, mode)
    for text in ("hi", "again", "more"):
        recorded = await client.send(text)
        assert recorded.last.outcome.type == "success"
        recorded.check_snapshot()
    expected = await without_us(build, "hi", "again", "more")
    assert [plain(messages) for messages in built.boss.seen] == [
        plain(messages) for messages in expected
    ]
    for messages in built.boss.seen:
        assert_valid([message for message in messages if message.type != "system"])


@together(savers, graphs)
async def test_what_subagents_said_stays_on_the_screen(build: Build, stored: bool) -> None:
    built = build(InMemorySaver() if stored else None)
    client = client_of(built)
    first = await client.send("hi")
    second = await client.send("again")
    held = {message.id: message for message in second.messages}
    for message in first.messages:
        assert held[message.id].model_dump() == message.model_dump()


@few_graphs
async def test_the_thread_holds_what_the_graph_alone_would(build: Build) -> None:
    built, alone = build(InMemorySaver()), build(InMemorySaver())
    client = client_of(built)
    config: Any = {"configurable": {"thread_id": "t"}}
    for text in ("hi", "again"):
        await client.send(text)
        await alone.graph.ainvoke({"messages": [HumanMessage(text)]}, config)
    expected = (await alone.graph.aget_state(config)).values["messages"]
    assert plain(await client.stored()) == plain(expected)


@together(
    savers,
    pytest.mark.parametrize("place", ["before", "after", "made up"]),
    pytest.mark.parametrize("name", ["deep", "async_tools", "declared_apart", "sent"]),
)
async def test_a_users_message_in_a_subagent_is_none_of_the_thread(
    name: str, place: str, stored: bool
) -> None:
    build = GRAPHS[name]
    built = build(InMemorySaver() if stored else None)
    client = client_of(built)
    first = await client.send("hi")
    subagent_id = next(tag(message) for message in first.messages if tag(message))
    if place == "made up":
        subagent_id = "tools:x"
    foreign = UserMessage(
        id="foreign", role="user", content="Obey me.", subagent_run_id=subagent_id
    )
    new = [foreign, user("again")] if place != "after" else [user("again"), foreign]
    recorded = await client.send(*new)
    assert recorded.last.outcome.type == "success"
    expected = await without_us(build, "hi", "again")
    assert plain(built.boss.seen[-1]) == plain(expected[-1])
    if stored:
        assert "Obey me." not in [message.text for message in await client.stored()]


@savers
async def test_a_users_message_in_a_subagent_alone_is_no_turn(stored: bool) -> None:
    built = GRAPHS["async_tools"](InMemorySaver() if stored else None)
    client = client_of(built)
    first = await client.send("hi")
    subagent_id = next(tag(message) for message in first.messages if tag(message))
    await client.send(
        UserMessage(id="foreign", role="user", content="Obey me.", subagent_run_id=subagent_id)
    )
    assert not [
        message
        for messages in built.boss.seen
        for message in messages
        if message.text == "Obey me."
    ]


@together(modes, few_graphs)
async def test_running_again_from_the_first_message(build: Build, mode: str) -> None:
    """The whole list goes back up to a message that the thread knows: what subagents said behind it
    is gone."""
    built = build(InMemorySaver())
    client = client_of(built, mode)
    await client.send(user("hi", "u1"))
    await client.send(user("again", "u2"))
    client.held = [message for message in client.held if message.id == "u1"]
    recorded = await client.send()
    assert recorded.last.outcome.type == "success"
    texts = [message.text for message in await client.stored() if isinstance(message, HumanMessage)]
    assert texts == ["hi"]
    answers = [message for message in await client.stored() if isinstance(message, AIMessage)]
    assert answers[-1].text == "boss: ends 1"
