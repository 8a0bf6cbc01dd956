"""A list that is sent again runs nothing, and no list shortens a thread without leaving the old
branch behind."""

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

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.threads.test_removed import moderate, trim
from tests.kit.deep import example_count
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, user
from tests.kit.run.talking import Talk, echo, look, talk


class Moody(MessagesState):
    mood: str


def graph_of(kind: str, model: Scripted, saver: Any) -> Any:
    """An agent, or one that is the node of a graph ("team"): its messages become the graph's."""
    if kind == "agent":
        return create_agent(model, [look], checkpointer=saver)
    builder = StateGraph(Moody)
    builder.add_node("worker", create_agent(model, [look], name="worker"))
    builder.add_edge(START, "worker")
    return builder.compile(checkpointer=saver)


def team(saver: Any, *, subagents: Any = "auto") -> Talk:
    model = echo()
    return Talk(
        LangGraphAgent(graph_of("team", model, saver), clients=ClientOptions(subagents=subagents)),
        model,
    )


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
async def test_an_agent_that_is_a_node_runs_again_if_its_answer_is_left_out(
    saver: Any, subagents: Any
) -> None:
    thread = team(saver, subagents=subagents)
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user("two", "u2"))
    place = [message.id for message in second.messages].index("u2")
    await thread.say(*second.messages[: place + 1])
    assert await thread.texts() == ["one", "1: re one", "two", "3: re two"]


@pytest.mark.parametrize("kind", ["agent", "team"])
@pytest.mark.parametrize("words", ["two", "edited"])
async def test_an_answer_with_the_words_of_an_earlier_one(
    saver: Any, kind: str, words: str
) -> None:
    model = Scripted(*[["OK."]] * 9)
    thread = Talk(LangGraphAgent(graph_of(kind, model, saver)), model)
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user("two", "u2"))
    await thread.say(*first.messages, user(words, "u2"))
    assert thread.calls == 3
    assert await thread.texts() == ["one", "OK.", words, "OK."]
    assert len(second.messages) == 4


async def test_an_edit_of_a_trimmed_message_whose_answer_has_the_words_of_the_last(
    saver: Any,
) -> None:
    model = Scripted(*[["OK."]] * 9)
    thread, held = (
        Talk(agent_of(talker(model), trim, state=Moody, checkpointer=saver), model),
        list[Message](),
    )
    for name in ("u1", "u2", "u3", "u4"):
        held = (await thread.say(*held, user(name, name))).messages
    assert await thread.texts() == ["u1", "u4", "OK."]
    await thread.say(*held[:2], user("edited", "u2"))
    assert thread.asked == ["u1", "OK.", "edited"]
    assert await thread.texts() == ["u1", "edited", "OK."]


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


# -- any list ------------------------------------------------------------------------------------


TURNS = {"u1": "one", "u2": "my pin", "u3": "three look", "u4": "four"}
message = st.tuples(st.sampled_from(["known", "known", "edited", "new"]), st.integers(0, 11))


async def check(name: str, chosen: Sequence[tuple[str, int]], mood: str | None) -> None:
    thread = GRAPHS[name](InMemorySaver())
    everything: dict[str, Message] = {}
    held: list[Message] = []
    for message_id, text in TURNS.items():
        # `trim` takes calls from their results.
        recorded = await thread.say(
            *held, user(text.removesuffix(" look") if name == "trimmed" else text, message_id)
        )
        held = recorded.messages
        everything |= {one.id: one for one in [*recorded.input.messages, *recorded.streamed]}
    ever = list(everything.values())  # what was removed or trimmed too
    before = await thread.stored()
    client = [
        user("new", f"n{at}")
        if kind == "new"
        else changed(ever[at % len(ever)], edited=kind == "edited")
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
    return [
        state.values.get("messages")
        async for state in thread.agent.graph.aget_state_history(config)
    ]


@given(st.sampled_from([*GRAPHS]), st.lists(message, max_size=8), st.sampled_from([None, "new"]))
@settings(max_examples=example_count(30, 100))
def test_any_list_of_any_graph(
    name: str, chosen: Sequence[tuple[str, int]], mood: str | None
) -> None:
    asyncio.run(check(name, chosen, mood))
