"""A list that is sent again runs nothing, and no list shortens a thread without leaving the old branch behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from tests.adapter.graphs import agent_of, talker
from tests.adapter.streams import dumped, user
from tests.deep import example_count
from tests.threads.talks import Talk, echo, look, talk
from tests.threads.test_removed import moderate, trim


class Moody(MessagesState):
    mood: str


def team(saver: Any, *, subagents: Any = "auto") -> Talk:
    """An agent that is a node of a graph: its messages become the graph's."""
    model = echo()
    builder = StateGraph(Moody)
    builder.add_node("worker", create_agent(model, [look], name="worker"))
    builder.add_edge(START, "worker")
    return Talk(LangGraphAgent(builder.compile(checkpointer=saver), subagents=subagents), model)


def nodes(*after: Any) -> Callable[[Any], Talk]:
    def make(saver: Any) -> Talk:
        model = echo()
        return Talk(agent_of(talker(model), *after, state=Moody, checkpointer=saver), model)

    return make


GRAPHS: dict[str, Callable[[Any], Talk]] = {
    "agent": lambda saver: talk(saver),
    "team": team,
    "moderated": nodes(moderate),
    "trimmed": nodes(trim),
}


@pytest.mark.parametrize("subagents", ["attributed", "inline", "hidden"])
@pytest.mark.parametrize("words", ["two", "two look"])
async def test_answers_of_an_agent_that_is_a_node(saver: Any, words: str, subagents: Any) -> None:
    thread = team(saver, subagents=subagents)
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user(words, "u2"))
    before, calls = await thread.stored(), thread.calls
    again = await thread.say(*second.messages)
    assert thread.calls == calls
    assert await thread.stored() == before
    assert dumped(again.messages) == dumped(second.messages)


async def test_a_changed_state_beside_it_adds_to_the_thread(saver: Any) -> None:
    thread = team(saver)
    first = await thread.say(user("one", "u1"))
    before = await thread.stored()
    await thread.say(*first.messages, state={"mood": "new"})
    assert (await thread.stored())[: len(before)] == before


@pytest.mark.parametrize("subagents", ["attributed", "inline"])
async def test_an_agent_that_is_a_node_runs_again_if_its_answer_is_left_out(saver: Any, subagents: Any) -> None:
    thread = team(saver, subagents=subagents)
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user("two", "u2"))
    place = [message.id for message in second.messages].index("u2")
    await thread.say(*second.messages[: place + 1])
    assert await thread.texts() == ["one", "1: re one", "two", "3: re two"]


async def test_a_message_that_nothing_answers(saver: Any) -> None:
    """The graph answers in another channel: the same list asks for nothing, other words do."""
    runs: list[str] = []

    async def note(state: Moody) -> dict[str, str]:
        runs.append(state["messages"][-1].text)
        return {"mood": "noted"}

    thread = Talk(agent_of(note, state=Moody, checkpointer=saver), echo())
    first = await thread.say(user("one", "u1"))
    await thread.say(*first.messages, state=first.state)
    assert runs == ["one"]
    await thread.say(user("other", "u1"), state=first.state)
    assert runs == ["one", "other"]


async def test_an_empty_answer_of_a_hidden_node_is_none(saver: Any) -> None:
    async def answer(state: Moody) -> dict[str, list[BaseMessage]]:
        return {"messages": [AIMessage("")]}

    thread = Talk(agent_of(answer, state=Moody, checkpointer=saver), echo())
    first = await thread.say(user("one", "u1"))
    before = await thread.stored()
    await thread.say(*first.messages)
    assert await thread.stored() == before


# -- any list ---------------------------------------------------------------------------------------------------------


TURNS = {"u1": "one", "u2": "my pin", "u3": "three look", "u4": "four"}
message = st.tuples(st.sampled_from(["known", "known", "edited", "new"]), st.integers(0, 11))


async def check(name: str, chosen: Sequence[tuple[str, int]], mood: str | None) -> None:
    thread = GRAPHS[name](InMemorySaver())
    everything: dict[str, Message] = {}
    held: list[Message] = []
    for message_id, text in TURNS.items():
        # `trim` takes calls from their results.
        recorded = await thread.say(*held, user(text.removesuffix(" look") if name == "trimmed" else text, message_id))
        held = recorded.messages
        everything |= {one.id: one for one in [*recorded.input.messages, *recorded.streamed]}
    ever = list(everything.values())  # what was removed or trimmed too
    before = await thread.stored()
    client = [
        user("new", f"n{at}") if kind == "new" else changed(ever[at % len(ever)], edited=kind == "edited")
        for kind, at in chosen
    ]
    state = {} if mood is None else {"mood": mood}
    recorded = await thread.say(*client, state=state)
    assert before in await branches(thread)
    removed = {one.id for one in ever if one.id == "u2"} if name == "moderated" else set()
    assert removed.isdisjoint({one.id for one in await thread.stored()})
    after, calls = await thread.stored(), thread.calls
    again = await thread.say(*recorded.messages, state=recorded.state)
    assert (thread.calls, await thread.stored()) == (calls, after)
    assert dumped(again.messages) == dumped(recorded.messages)


def changed(message: Message, *, edited: bool) -> Message:
    return message.model_copy(update={"content": f"other {message.content}"}) if edited else message


async def branches(thread: Talk) -> list[list[BaseMessage]]:
    config: Any = {"configurable": {"thread_id": thread.thread}}
    return [state.values.get("messages") async for state in thread.agent.graph.aget_state_history(config)]


@given(st.sampled_from([*GRAPHS]), st.lists(message, max_size=8), st.sampled_from([None, "new"]))
@settings(max_examples=example_count(30, 400))
def test_any_list_of_any_graph(name: str, chosen: Sequence[tuple[str, int]], mood: str | None) -> None:
    asyncio.run(check(name, chosen, mood))
