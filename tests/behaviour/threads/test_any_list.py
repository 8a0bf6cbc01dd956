"""Whatever list a client sends: nothing is guessed from counts, and the thread loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ag_ui.core import Message, ReasoningMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.kit.deep import example_count
from tests.kit.expect.histories import assert_valid
from tests.kit.run.agents import user
from tests.kit.run.talking import Talk, talk

TURNS = {"u1": "one", "u2": "two look", "u3": "three"}
LENGTH = 10
"""Messages that the client holds after those turns, reasoning included."""

known = st.tuples(st.just("known"), st.integers(0, LENGTH - 1))
edited = st.tuples(st.just("edited"), st.integers(0, LENGTH - 1))
new = st.tuples(st.just("new"), st.integers(0, 3))
lists = st.one_of(
    st.lists(st.one_of(known, known, new, edited), max_size=8),
    st.lists(known, max_size=14),  # truncated, repeated, in any order
    st.permutations([("known", place) for place in range(LENGTH)]),
)


def asked_again(client: Sequence[Message], thread: Sequence[BaseMessage]) -> bool:
    """Whether a list says that the thread is to be run again: by its last message, without the
    answer to it."""
    said = [message for message in client if not isinstance(message, ReasoningMessage)]
    if not said or not isinstance(said[-1], UserMessage):
        return False
    place = next((at for at, message in enumerate(thread) if message.id == said[-1].id), None)
    return place is not None and thread[place + 1].id not in {message.id for message in said}


def changed(message: Message) -> Message:
    return message.model_copy(update={"content": f"other {message.content}"})


async def check(chosen: Sequence[tuple[str, int]]) -> None:
    thread, held = talk(InMemorySaver()), list[Message]()
    for name, text in TURNS.items():
        held = (await thread.say(*held, user(text, name))).messages
    assert len(held) == LENGTH
    before = await thread.stored()
    client = [
        user("new", f"n{at}")
        if kind == "new"
        else held[at]
        if kind == "known"
        else changed(held[at])
        for kind, at in chosen
    ]
    await thread.say(*client)
    await judge(thread, client, before)


async def judge(thread: Talk, client: Sequence[Message], before: Sequence[BaseMessage]) -> None:
    after = await thread.stored()
    assert_valid(after)
    fresh = [message for message in after if message not in before]
    entered = [message for message in fresh if message.type == "human"]
    if asked_again(client, before):
        kept = next(
            place
            for place, pair in enumerate(zip(after, before, strict=False))
            if pair[0] != pair[1]
        )
        assert after[:kept] == before[:kept]
        assert all(message.id in {said.id for said in client} for message in entered)
    else:
        assert after[: len(before)] == before
        assert {message.id for message in entered} <= {said.id for said in client} - {
            said.id for said in before
        }
        assert bool(fresh) == bool(entered)
    last = next(
        (said for said in reversed(client) if said.role == "user" and said.id.startswith("n")), None
    )
    if last is not None and client[-1] is last:  # what the user has just said is always heard
        assert last.id in {message.id for message in entered}
    # The old branch is still there.
    config: Any = {"configurable": {"thread_id": thread.thread}}
    stored = [
        state.values.get("messages")
        async for state in thread.agent.graph.aget_state_history(config)
    ]
    assert before in stored


@given(lists)
@settings(max_examples=example_count(20, 75))
def test_any_list_of_known_messages(chosen: Sequence[tuple[str, int]]) -> None:
    asyncio.run(check(chosen))
