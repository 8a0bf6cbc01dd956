"""Whatever list a client sends: nothing is guessed from counts, and no list shortens a thread without
leaving the old branch behind; a list that is sent again runs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message, ReasoningMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.threads.test_removed import moderate, trim
from tests.kit.deep import example_count
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, user
from tests.kit.run.talking import Talk, chat, echo, edit, look, talk, until


class Moody(MessagesState):
    mood: str


def team(saver: Any, model: Scripted | None = None, subagents: Any = "auto") -> Talk:
    """An agent that is the node of a graph: its messages become the graph's."""
    model, builder = model or echo(), StateGraph(Moody)
    builder.add_node("worker", create_agent(model, [look], name="worker"))
    graph = builder.add_edge(START, "worker").compile(checkpointer=saver)
    return Talk(LangGraphAgent(graph, clients=ClientOptions(subagents=subagents)), model)


def nodes(saver: Any, *after: Any, model: Scripted | None = None) -> Talk:
    model = model or echo()
    return chat(talker(model), *after, model=model, state=Moody, checkpointer=saver)


GRAPHS: dict[str, Callable[[Any], Talk]] = {
    "agent": talk,
    "team": team,
    "moderated": lambda saver: nodes(saver, moderate),
    "trimmed": lambda saver: nodes(saver, trim),
}


@pytest.mark.parametrize("subagents", ["attributed", "inline", "hidden"])
async def test_answers_of_an_agent_that_is_a_node(saver: Any, subagents: Any) -> None:
    """Its list runs nothing; a changed state adds to the thread; without its answer it runs again."""
    thread = team(saver, subagents=subagents)
    held = await thread.spoken(u1="one", u2="two look")
    before = await thread.stored()
    again = await thread.say(*held)
    assert (thread.calls, await thread.stored()) == (3, before)
    assert dumped(again.messages) == dumped(held)
    if subagents != "hidden":
        await thread.say(*until(held, "u2"))
        assert await thread.texts() == [*(one.text for one in before[:-1]), "5: re two look"]
        before = await thread.stored()
    await thread.say(*held[:2], state={"mood": "new"})
    assert (await thread.stored())[: len(before)] == before


@pytest.mark.parametrize("make", [talk, team])
@pytest.mark.parametrize("words", ["two", "edited"])
async def test_an_answer_with_the_words_of_an_earlier_one(
    saver: Any, make: Callable[..., Talk], words: str
) -> None:
    thread = make(saver, Scripted(*[["OK."]] * 9))
    held = await thread.spoken(u1="one", u2="two")
    assert len(held) == 4
    await thread.say(*edit(held, "u2", words))
    assert thread.calls == 3
    assert await thread.texts() == ["one", "OK.", words, "OK."]


async def test_an_edit_of_a_trimmed_message_whose_answer_has_the_words_of_the_last(
    saver: Any,
) -> None:
    thread = nodes(saver, trim, model=Scripted(*[["OK."]] * 9))
    held = await thread.spoken(u1="u1", u2="u2", u3="u3", u4="u4")
    assert await thread.texts() == ["u1", "u4", "OK."]
    await thread.say(*edit(held, "u2"))
    assert await thread.texts() == ["u1", "new", "OK."]


async def test_a_message_that_nothing_answers(saver: Any) -> None:
    """The graph answers in another channel: the same list asks for nothing, other words do."""
    runs: list[str] = []

    async def note(state: Moody) -> dict[str, str]:
        runs.append(state["messages"][-1].text)
        return {"mood": "noted"}

    thread = chat(note, state=Moody, checkpointer=saver)
    first = await thread.say(user("one", "u1"))
    await thread.say(*first.messages, state=first.state)
    assert runs == ["one"]
    await thread.say(user("other", "u1"), state=first.state)
    assert runs == ["one", "other"]


async def test_an_empty_answer_of_a_hidden_node_is_none(saver: Any) -> None:
    async def answer(state: Moody) -> dict[str, list[BaseMessage]]:
        return {"messages": [AIMessage("")]}

    thread = chat(answer, state=Moody, checkpointer=saver)
    held = await thread.spoken(u1="one")
    before = await thread.stored()
    await thread.say(*held)
    assert await thread.stored() == before


LENGTH = 10
"""Messages that the client of an agent holds after three turns, reasoning included."""

known = st.tuples(st.just("known"), st.integers(0, LENGTH - 1))
others = st.tuples(st.sampled_from(["edited", "new"]), st.integers(0, LENGTH + 1))
lists = st.one_of(
    st.lists(st.one_of(known, known, others), max_size=8),
    st.lists(known, max_size=14),  # truncated, repeated, in any order
    st.permutations([("known", place) for place in range(LENGTH)]),
)


def sent(chosen: Sequence[tuple[str, int]], ever: Sequence[Message]) -> list[Message]:
    """The list of a client: messages that it ever had, with other words, and new ones."""
    made: list[Message] = []
    for kind, at in chosen:
        one = ever[at % len(ever)]
        other = one.model_copy(update={"content": f"other {one.content}"})
        made.append({"new": user("new", f"n{at}"), "known": one, "edited": other}[kind])
    return made


def asked_again(client: Sequence[Message], thread: Sequence[BaseMessage]) -> bool:
    """Whether a list says that the thread is to be run again: by its last message, without the
    answer to it."""
    spoken = [message for message in client if not isinstance(message, ReasoningMessage)]
    if not spoken or not isinstance(spoken[-1], UserMessage):
        return False
    place = next((at for at, one in enumerate(thread) if one.id == spoken[-1].id), None)
    return place is not None and thread[place + 1].id not in {one.id for one in spoken}


async def check_agent(chosen: Sequence[tuple[str, int]]) -> None:
    thread = talk(InMemorySaver())
    held = await thread.spoken(u1="one", u2="two look", u3="three")
    assert len(held) == LENGTH
    before, client = await thread.stored(), sent(chosen, held)
    await thread.say(*client)
    after, ids = await thread.stored(), {one.id for one in client}
    assert_valid(after)
    fresh = [message for message in after if message not in before]
    entered = {message.id for message in fresh if message.type == "human"}
    if asked_again(client, before):
        pairs = enumerate(zip(after, before, strict=False))
        kept = next(place for place, (new, old) in pairs if new != old)
        assert after[:kept] == before[:kept]
        assert entered <= ids
    else:
        assert after[: len(before)] == before
        assert entered <= ids - {one.id for one in before}
        assert bool(fresh) == bool(entered)
    if client and client[-1].id.startswith("n"):  # what the user has just said is always heard
        assert client[-1].id in entered
    assert before in await thread.branches()


@given(lists)
@settings(max_examples=example_count(20, 75))
def test_any_list_of_known_messages(chosen: Sequence[tuple[str, int]]) -> None:
    asyncio.run(check_agent(chosen))


async def check_graph(name: str, chosen: Sequence[tuple[str, int]], mood: str | None) -> None:
    thread, held = GRAPHS[name](InMemorySaver()), list[Message]()
    ever: dict[str, Message] = {}  # what was removed or trimmed too
    third = "three" if name == "trimmed" else "three look"  # `trim` takes calls from their results
    for message_id, text in {"u1": "one", "u2": "my pin", "u3": third, "u4": "four"}.items():
        recorded = await thread.say(*held, user(text, message_id))
        held = recorded.messages
        ever |= {one.id: one for one in [*recorded.input.messages, *recorded.streamed]}
    before = await thread.stored()
    client = sent(chosen, list(ever.values()))
    recorded = await thread.say(*client, state={} if mood is None else {"mood": mood})
    assert before in await thread.branches()
    after, calls = await thread.stored(), thread.calls
    assert name != "moderated" or "u2" not in {one.id for one in after}
    again = await thread.say(*recorded.messages, state=recorded.state)
    assert (thread.calls, await thread.stored()) == (calls, after)
    assert dumped(again.messages) == dumped(recorded.messages)


@given(
    st.sampled_from([*GRAPHS]),
    st.lists(st.one_of(known, others), max_size=8),
    st.sampled_from([None, "new"]),
)
@settings(max_examples=example_count(30, 100))
def test_any_list_of_any_graph(name: str, chosen: Any, mood: str | None) -> None:
    asyncio.run(check_graph(name, chosen, mood))
