"""Whatever list a client sends: nothing is guessed from counts, and no list shortens a thread without
leaving the old branch behind; a list that is sent again runs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from tests.behaviour.threads.test_removed import moderate, trim
from tests.kit.deep import example_count
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, user
from tests.kit.run.talking import Talk, chat, echo, edit, look, talk


class Moody(MessagesState):
    mood: str


def team(saver: Any, model: Scripted | None = None) -> Talk:
    """An agent that is the node of a graph: its messages become the graph's."""
    model, builder = model or echo(), StateGraph(Moody)
    builder.add_node("worker", create_agent(model, [look], name="worker"))
    return Talk(
        LangGraphAgent(builder.add_edge(START, "worker").compile(checkpointer=saver)), model
    )


def nodes(saver: Any, *after: Any) -> Talk:
    return chat(talker(model := echo()), *after, model=model, state=Moody, checkpointer=saver)


GRAPHS: dict[str, Callable[[Any], Talk]] = {
    "agent": talk,
    "team": team,
    "moderated": lambda saver: nodes(saver, moderate),
    "trimmed": lambda saver: nodes(saver, trim),
}


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


async def test_a_message_that_nothing_answers() -> None:
    """The graph answers in another channel: the same list asks for nothing, other words do."""
    runs: list[str] = []

    async def note(state: Moody) -> dict[str, str]:
        runs.append(state["messages"][-1].text)
        return {"mood": "noted"}

    thread = chat(note, state=Moody, checkpointer=InMemorySaver())
    first = await thread.say(user("one", "u1"))
    for words in ("one", "other"):
        await thread.say(user(words, "u1"), state=first.state)
    assert runs == ["one", "other"]


known = st.tuples(st.just("known"), st.integers(0, 11))
others = st.tuples(st.sampled_from(["edited", "new"]), st.integers(0, 11))
lists = st.one_of(
    st.lists(st.one_of(known, known, others), max_size=8),
    st.lists(known, max_size=14),  # truncated, repeated, in any order
)


def sent(chosen: Sequence[tuple[str, int]], ever: Sequence[Message]) -> list[Message]:
    """The list of a client: messages that it ever had, with other words, and new ones."""
    made: list[Message] = []
    for kind, at in chosen:
        one = ever[at % len(ever)]
        other = one.model_copy(update={"content": f"other {one.content}"})
        made.append({"new": user("new", f"n{at}"), "known": one, "edited": other}[kind])
    return made


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
    assert_valid(after)
    last = client[-1].id if client else ""
    if last.startswith("n") and name != "moderated":  # what was just said is always heard
        assert last in {one.id for one in after} - {one.id for one in before}
    assert name != "moderated" or "u2" not in {one.id for one in after}
    again = await thread.say(*recorded.messages, state=recorded.state)
    assert (thread.calls, await thread.stored()) == (calls, after)
    assert dumped(again.messages) == dumped(recorded.messages)


@given(st.sampled_from([*GRAPHS]), lists, st.sampled_from([None, "new"]))
@settings(max_examples=example_count(30, 150))
def test_any_list_of_any_graph(name: str, chosen: Any, mood: str | None) -> None:
    asyncio.run(check_graph(name, chosen, mood))
