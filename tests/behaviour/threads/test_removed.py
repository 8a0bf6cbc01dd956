"""What was removed from a thread stays removed, and its clients lose it; what was trimmed stays on
their screens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, Message
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from typing_extensions import TypedDict

from langgraph_agui.protocol import fold
from tests.kit.graphs.small import talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import collect, dumped, run_input, user
from tests.kit.run.talking import Talk, by_role, chat, echo, edit, result, said, talk

SECRET = user("my pin is 1234", "secret")
PIN = str(SECRET.content)
NOTED = AssistantMessage(id="noted", role="assistant", content="It is noted.")
"""An answer that a client has from before it lost its connection."""
ALL = RemoveMessage(id=REMOVE_ALL_MESSAGES)
DOWN = [RuntimeError("down")]


def gone(messages: Sequence[BaseMessage]) -> list[Any]:
    return [RemoveMessage(id=str(one.id)) for one in messages]


def newest_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    return messages[max(at for at, one in enumerate(messages) if one.type == "human") :]


async def moderate(state: Any) -> dict[str, Any]:
    """Remove the newest turn if it has a pin."""
    turn = newest_turn(state["messages"])
    return {"messages": gone(turn) if "pin" in turn[0].text else []}


async def trim(state: Any) -> dict[str, Any]:
    """Keep the first message and the last two, as the documentation of LangChain does."""
    messages = state["messages"]
    return {"messages": [ALL, messages[0], *messages[-2:]]} if len(messages) > 3 else {}


async def rewrite(state: Any) -> dict[str, Any]:
    """Put other words in the place of what the user has said."""
    last = state["messages"][-1]
    words = "[removed]" if "pin" in last.text else f"In short: {last.text}"
    return {"messages": [RemoveMessage(id=last.id), HumanMessage(words)]}


def after_model(saver: Any, *nodes: Any, **options: Any) -> Talk:
    model = echo()
    return chat(talker(model), *nodes, model=model, checkpointer=saver, **options)


async def check_gone(thread: Talk) -> None:
    assert PIN not in "".join(thread.asked + await thread.texts())


@pytest.mark.parametrize(("version", "is_first"), [("1.0", True), ("1.0", False), (None, False)])
@pytest.mark.parametrize("stale", [[], [SECRET], [SECRET, NOTED]], ids=len)
async def test_the_newest_turn_does_not_come_back(
    saver: Any, is_first: bool, version: str | None, stale: list[Message]
) -> None:
    thread = after_model(saver, moderate)
    held = await thread.spoken(**({} if is_first else {"u1": "one", "u2": "two"}))
    after = await thread.say(*held, SECRET, protocol_version=version)
    assert dumped(after.messages) == dumped(held)  # the client has lost it
    again = run_input(*held, *stale, thread="t", protocol_version=version)
    shown = fold(await collect(thread.agent.connect(again)), again.messages)
    # A list that shares nothing with the thread may show what was trimmed.
    assert dumped(shown.messages) == dumped(held or stale)
    last = await thread.say(*held, *stale, user("next", "next"), protocol_version=version)
    await check_gone(thread)
    assert said(last.messages) == [*([] if held else said(stale)), *await thread.texts()]


async def test_an_unanswered_message_in_another_process(saver: Any) -> None:
    """Only the thread knows that a run has taken it: it is removed before the model is asked."""

    async def answer(state: Any) -> dict[str, Any]:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"I read {count}.")] if count else []}

    def thread() -> Talk:
        return chat(moderate, answer, checkpointer=saver)

    first = await thread().say("hello")
    await thread().say(*first.messages, SECRET)
    for held in ([*first.messages, SECRET], [SECRET]):
        for news in ([], ["next"]):
            await thread().say(*held, *news)
            assert PIN not in await thread().texts()


async def test_removed_by_the_application(saver: Any) -> None:
    """And a run of its own forgets nothing."""
    thread = talk(saver)
    held = await thread.spoken(u1="one", secret=PIN)
    for one in gone((await thread.stored())[2:]):
        await thread.update(one)  # each is a checkpoint without the metadata of a run
    assert said((await thread.connect(*held)).messages) == ["one", "1: re one"]
    cron = {"messages": [HumanMessage("cron", id="cron")]}
    await thread.agent.graph.ainvoke(cron, thread.config)
    third = await thread.say(*held[:2], SECRET, result("c9"), "three")
    left = ["one", "1: re one", "cron", "3: re cron", "three", "4: re three"]
    assert await thread.texts() == left
    assert sorted(map(str, said(third.messages))) == sorted(left)


@pytest.mark.parametrize("keeps", [True, False])
async def test_the_client_loses_an_answer_and_its_reasoning_is_emptied(keeps: bool) -> None:
    thread = after_model(InMemorySaver() if keeps else None, moderate)
    held = await thread.spoken(u1="one")
    second = await thread.say(*held, user(f"look: {PIN}", "secret"))
    assert said(second.messages) == said(held)
    [thought] = by_role(second.messages, "reasoning")
    assert (thought.content, thought.encrypted_value) == ("", None)
    await thread.say(*second.messages, "two")
    assert PIN not in "".join(thread.asked)


@pytest.mark.parametrize("words", ["two", "edited"])
async def test_a_question_that_was_rewritten_is_asked_again_after_failures(
    saver: Any, words: str
) -> None:
    model = Scripted(["One."], DOWN, DOWN, ["Two."])
    thread = chat(rewrite, talker(model), model=model, checkpointer=saver)
    held = await thread.spoken(u1="one")
    for _ in range(2):
        await thread.say(*held, user("two", "u2"), outcome="model_error")
    await thread.say(*held)  # a tab that has not seen the question does not ask it
    assert thread.calls == 3
    await thread.say(*held, user(words, "u2"))
    assert await thread.texts() == ["In short: one", "One.", f"In short: {words}", "Two."]


async def test_a_stale_tab_does_not_continue_what_another_has_asked(saver: Any) -> None:
    model = Scripted(["One."], ["Noted."], DOWN, ["Deleted."])
    thread = chat(rewrite, talker(model), model=model, checkpointer=saver)
    held = await thread.spoken(u1="one")
    await thread.say(*held, SECRET)
    await thread.say(*held, "delete", outcome="model_error")
    await thread.say(*held, SECRET)
    assert thread.calls == 3


def passing(name: str, fails: bool = False) -> Any:
    """A node that fails in its first run, or never."""
    left = [fails]

    async def node(state: Any) -> dict[str, Any]:
        if left and left.pop():
            raise RuntimeError("down")
        return {}

    node.__name__ = name
    return node


async def test_a_run_that_goes_on_remembers(saver: Any) -> None:
    """It has more checkpoints than those of the application that are passed in search of the
    memory."""
    model = Scripted(["Noted."], ["Next."])
    nodes = [passing(f"node{at}", fails=at in (0, 9)) for at in range(12)]
    thread = chat(rewrite, *nodes, talker(model), model=model, checkpointer=saver)
    for outcome in ("graph_error", "graph_error", "success"):
        await thread.say(SECRET, outcome=outcome)
    await thread.say(SECRET, user("next", "next"))
    assert await thread.texts() == ["[removed]", "Noted.", "In short: next", "Next."]


async def test_a_client_keeps_what_was_trimmed(saver: Any) -> None:
    thread = after_model(saver, trim)
    held = await thread.spoken(u1="u1", u2="u2", u3="u3", u4="u4")
    assert await thread.texts() == ["u1", "u4", "4: re u4"]
    assert said(held) == [word for at in range(1, 5) for word in (f"u{at}", f"{at}: re u{at}")]
    # a short list with a message that was trimmed
    await thread.say(*held[:3], user("u2", "u2"), "new")
    assert await thread.texts() == ["u1", "new", "5: re new"]


class Kept(MessagesState):
    history: Annotated[list[AnyMessage], add_messages]


class Untracked(TypedDict):
    messages: Annotated[list[AnyMessage], UntrackedValue]


class Replaced(TypedDict):
    messages: list[Any]


def writes(make: Any) -> Any:
    """A node that writes what is made of the messages."""

    async def node(state: Any) -> dict[str, Any]:
        return {"messages": make(state["messages"])}

    node.__name__ = f"node{id(node)}"
    return node


def short() -> AIMessage:
    return AIMessage("In short.")


def reply(messages: Any) -> AIMessage:
    return AIMessage(f"re {messages[-1].text}")


async def move(state: Any) -> dict[str, Any]:
    return {"history": state["messages"], "messages": [ALL]}


async def answer_both(state: Any) -> dict[str, Any]:
    answer = reply(state["history"])
    return {"history": [answer], "messages": [answer]}


answer, clear = writes(lambda all_: [reply(all_)]), writes(lambda _: [ALL])
OTHER_SHAPES: dict[str, tuple[Any, Sequence[Any]]] = {
    "moved to another channel": (Kept, [move, answer_both]),
    "cleared at the end": (Kept, [answer, clear]),
    "cleared before each turn": (Kept, [writes(lambda all_: gone(all_[:-1])), answer]),
    "summed up": (Kept, [answer, writes(lambda _: [ALL, short()])]),
    "summed up in two steps": (Kept, [answer, clear, writes(lambda _: [short()])]),
    "compacted behind a head": (Kept, [answer, writes(lambda all_: [ALL, all_[0], short()])]),
    "replaced by the answer": (Replaced, [answer]),
    "kept as dicts": (
        Replaced,
        [writes(lambda all_: [{"role": "ai", "content": reply(all_).text}])],
    ),
    "not stored": (Untracked, [writes(lambda all_: [*all_, reply(all_)])]),
}


@pytest.mark.parametrize("shape", OTHER_SHAPES)
async def test_a_graph_that_keeps_its_conversation_in_another_way_takes_nothing_from_its_clients(
    saver: Any, shape: str
) -> None:
    state, nodes = OTHER_SHAPES[shape]
    thread = chat(*nodes, state=state, checkpointer=saver)
    held = await thread.spoken(u1="one", u2="two")
    words = [one for one in said(held) if one != "In short."]
    all_ = ["one", "re one", "two", "re two"]
    assert words == (all_[::2] if "dicts" in shape else all_)
    assert said((await thread.connect(*held)).messages) == said(held)
    if state is Kept and "moved" not in shape and "compacted" not in shape:
        edited = await thread.say(*edit(held, "u2"))
        assert "re new" in said(edited.messages)


async def test_a_message_that_was_removed_runs_again_only_with_other_words(saver: Any) -> None:
    thread = after_model(saver, moderate)
    held = await thread.spoken(u1="one")
    await thread.say(*held, SECRET)
    await thread.say(*held, "two")
    before, calls = await thread.texts(), thread.calls
    await thread.say(*held, SECRET)
    assert (await thread.texts(), thread.calls) == (before, calls)
    edited = await thread.say(*held, user("harmless", "secret"))
    assert await thread.texts() == [*before, "harmless", f"{calls + 1}: re harmless"]
    assert said(edited.snapshot)[-2:] == (await thread.texts())[-2:]


async def test_what_a_thread_remembers_is_bounded(saver: Any) -> None:
    thread = talk(saver)
    await thread.say(*(user("x", "i" * 10_000 + str(number)) for number in range(400)))
    await thread.say("more")
    metadata: Any = (await thread.agent.graph.aget_state(thread.config)).metadata
    assert sum(map(len, json.loads(str(metadata["agui_past"])))) < 8_000


async def test_a_thread_of_an_older_version() -> None:
    """It remembers nothing: the answer that the client shows still tells that a message is old."""
    saver = InMemorySaver()
    thread = after_model(saver, moderate)
    held = await thread.spoken(u1="one")
    await thread.say(*held, SECRET)
    for namespace in saver.storage["t"].values():
        for at, (saved, metadata, parent) in namespace.items():
            kept = saver.serde.loads_typed(metadata)
            kept.pop("agui_past", None)
            namespace[at] = (saved, saver.serde.dumps_typed(kept), parent)
    await thread.say(*held, SECRET, NOTED, "next")
    assert PIN not in await thread.texts()
