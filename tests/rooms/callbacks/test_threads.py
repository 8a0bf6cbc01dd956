"""A handler over several turns of a thread that a checkpointer keeps: each run tells what is new in
it, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from tests.kit.graphs.small import chain_of, sync_talker, talker
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.handlers import (
    ReceivedEvents,
    call_by,
    contents,
    deltas,
    into_client,
    runs_of,
    ways,
)
from tests.rooms.callbacks.test_handler import look

WORDS = ["one", "two", "three"]
TURNS: list[Any] = [[word] for word in WORDS]


def agent(way: str, **fields: Any) -> Any:
    return create_agent(Scripted(*TURNS, **fields), [], checkpointer=InMemorySaver())


def graph(way: str, **fields: Any) -> Any:
    make = talker if way.startswith("a") else sync_talker
    return chain_of(make(Scripted(*TURNS, **fields)), checkpointer=InMemorySaver())


def in_a_sequence(way: str, **fields: Any) -> Any:
    return RunnableLambda(lambda given: given) | agent(way, **fields)


def in_a_function(way: str, **fields: Any) -> Any:
    inner = graph(way, **fields)

    async def ask(given: Any) -> Any:
        return await inner.ainvoke(given)

    return RunnableLambda(lambda given: inner.invoke(given), afunc=ask)


kinds = pytest.mark.parametrize("make", [agent, graph, in_a_sequence, in_a_function])


async def turns_of(runnable: Any, way: str, received: ReceivedEvents) -> None:
    for text in ("a", "b", "c"):
        given = {"messages": [("user", text)]}
        await call_by(way, runnable, given, {**received.config, "configurable": {"thread_id": "t"}})


@kinds
@ways
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_a_run_tells_its_own_messages(make: Any, way: str, whole: bool) -> None:
    received = ReceivedEvents()
    await turns_of(make(way, disable_streaming=whole), way, received)
    assert contents(received.check()) == WORDS
    assert [deltas(run) for run in runs_of(received.events)] == TURNS


async def test_calls_of_earlier_turns_are_not_told_again(node_client: NodeClient) -> None:
    turns = [
        piece
        for turn in "ab"
        for piece in ([call("look", turn, q=7)], [text_chunk(f"{turn} ends")])
    ]
    received = ReceivedEvents()
    await turns_of(
        create_agent(Scripted(*turns), [look], checkpointer=InMemorySaver()), "ainvoke", received
    )
    received.check()
    first, second, third = runs_of(received.events)
    for run, called in ((first, "a"), (second, "b")):
        recorded: list[Any] = [event for event in run if event.type.value.startswith("TOOL_CALL_")]
        assert {event.tool_call_id for event in recorded} == {called}
    assert deltas(third) == ["b ends"]  # the script's last turn, said once more
    into_client(node_client, received.events)


async def test_another_handler_tells_the_next_turn() -> None:
    """Who has not heard the first turns is not told them either: the client has them already."""
    runnable, first, second = agent("ainvoke"), ReceivedEvents(), ReceivedEvents()
    for received in (first, second):
        given = {"messages": [("user", "hi")]}
        await runnable.ainvoke(given, {**received.config, "configurable": {"thread_id": "t"}})
    assert [contents(first.check()), contents(second.check())] == [["one"], ["two"]]
