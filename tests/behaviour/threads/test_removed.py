"""What was removed from a thread stays removed, and its clients lose it; what was trimmed stays on
their screens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import uuid4

import pytest
from ag_ui.core import AssistantMessage, Message, SystemMessage
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.protocol import fold
from tests.kit.graphs.small import agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import collect, dumped, record_run, run_input, user
from tests.kit.run.talking import Talk, by_role, echo, result, talk, texts

PIN = "my pin is 1234"
NOTED = AssistantMessage(id="noted", role="assistant", content="It is noted.")
"""An answer that a client has from before it lost its connection."""


def is_secret(messages: Sequence[BaseMessage]) -> bool:
    return any("pin" in message.text for message in messages if message.type == "human")


def newest_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    return messages[max(at for at, message in enumerate(messages) if message.type == "human") :]


async def moderate(state: Any) -> dict[str, Any]:
    """Remove the newest turn if it has a pin."""
    turn = newest_turn(state["messages"])
    return {"messages": [RemoveMessage(id=str(one.id)) for one in turn] if is_secret(turn) else []}


async def refuse(state: Any) -> dict[str, Any]:
    """Put a refusal in the place of a turn with a pin."""
    turn = newest_turn(state["messages"])
    gone = [RemoveMessage(id=str(one.id)) for one in turn] if is_secret(turn) else []
    return {"messages": [*gone, *([AIMessage("Keep that to yourself.")] if gone else [])]}


def moderated(saver: Any, *, node: Any = moderate, **options: Any) -> Talk:
    model = echo()
    return Talk(agent_of(talker(model), node, checkpointer=saver, **options), model)


def said(messages: Sequence[Message]) -> list[object]:
    return [message.content for message in messages if message.role in ("user", "assistant")]


async def tell(thread: Talk, *messages: Message, version: str | None) -> list[Message]:
    """Run, as a client of 1.0 or of before; return what it holds then."""
    recorded = await record_run(
        thread.agent, run_input(*messages, thread="t", protocol_version=version)
    )
    assert recorded.last.type.value == "RUN_FINISHED"
    return recorded.messages


@pytest.mark.parametrize("version", ["1.0", None])
@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("shows", ["nothing", "question", "answer"])
async def test_the_newest_turn_does_not_come_back(
    saver: Any, before: int, version: str | None, shows: str
) -> None:
    thread = moderated(saver)
    held: list[Message] = []
    for number in range(before):
        held = await tell(thread, *held, user(f"turn {number}"), version=version)
    after = await tell(thread, *held, user(PIN, "secret"), version=version)
    assert dumped(after) == dumped(held)  # the client has lost it
    stale = {
        "nothing": [],
        "question": [user(PIN, "secret")],
        "answer": [user(PIN, "secret"), NOTED],
    }[shows]
    shown = await collect(
        thread.agent.connect(run_input(*held, *stale, thread="t", protocol_version=version))
    )
    # A list that shares nothing with the thread may show what was trimmed.
    kept = held or stale
    assert dumped(fold(shown, [*held, *stale]).messages) == dumped(kept)
    last = await tell(thread, *held, *stale, user("next", "next"), version=version)
    assert PIN not in "".join(thread.asked + await thread.texts())
    assert said(last) == [*([] if held else said(stale)), *await thread.texts()]


@pytest.mark.parametrize("before", [0, 1])
async def test_a_refusal_in_its_place(saver: Any, before: int) -> None:
    thread = moderated(saver, node=refuse)
    held = (await thread.say("hello")).messages if before else []
    first = await thread.say(*held, user(PIN, "secret"))
    assert said(first.messages) == [*said(held), "Keep that to yourself."]
    await thread.say(*held, user(PIN, "secret"), "next")
    assert PIN not in "".join(thread.asked + await thread.texts())


async def test_an_unanswered_message_in_another_process(saver: Any) -> None:
    """Only the thread knows that a run has taken it: it is removed before the model is asked."""

    async def guard(state: Any) -> dict[str, Any]:
        return await moderate(state)

    async def answer(state: Any) -> dict[str, Any]:
        return {
            "messages": [AIMessage(f"I read {len(state['messages'])}.")]
            if state["messages"]
            else []
        }

    def agent() -> LangGraphAgent:
        return LangGraphAgent(chain_of(guard, answer, checkpointer=saver))

    thread = Talk(agent(), echo())
    first = await thread.say("hello")
    await thread.say(*first.messages, user(PIN, "secret"))
    for held in ([*first.messages, user(PIN, "secret")], [user(PIN, "secret")]):
        thread.agent = agent()
        await thread.say(*held)
        assert PIN not in await thread.texts()
        thread.agent = agent()
        await thread.say(*held, "next")
        assert PIN not in await thread.texts()


async def test_removed_by_the_application(saver: Any) -> None:
    thread = talk(saver)
    first = await thread.say("one")
    second = await thread.say(*first.messages, user(PIN, "secret"))
    config: Any = {"configurable": {"thread_id": "t"}}
    gone = [RemoveMessage(id=str(message.id)) for message in (await thread.stored())[2:]]
    for one in gone:  # one by one: each is a checkpoint without the metadata of a run
        await thread.agent.graph.aupdate_state(config, {"messages": [one]})
    shown = await collect(thread.agent.connect(run_input(*second.messages, thread="t")))
    assert said(fold(shown, second.messages).messages) == ["one", "1: re one"]
    third = await thread.say(*first.messages, user(PIN, "secret"), "three")
    assert await thread.texts() == ["one", "1: re one", "three", "3: re three"]
    assert said(third.messages) == await thread.texts()


async def test_without_a_checkpointer_the_client_loses_it() -> None:
    thread = moderated(None)
    first = await thread.say("hello")
    second = await thread.say(*first.messages, PIN)
    assert dumped(second.messages) == dumped(first.messages)


async def test_reasoning_of_a_removed_answer_is_emptied(saver: Any) -> None:
    thread = moderated(saver)
    first = await thread.say("one")
    second = await thread.say(*first.messages, user(f"look: {PIN}", "secret"))
    [thought] = by_role(second.messages, "reasoning")
    assert (thought.content, thought.encrypted_value) == ("", None)
    assert said(second.messages) == said(first.messages)
    await thread.say(*second.messages, "two")
    assert PIN not in "".join(thread.asked)


async def test_a_tab_that_answers_a_question_brings_nothing_back(saver: Any) -> None:
    model = echo()

    async def gate(state: Any) -> dict[str, Any]:
        if "ask" not in state["messages"][-1].text:
            return {"messages": [await model.ainvoke(state["messages"])]}
        return {"messages": [AIMessage(f"ok {interrupt('go?')}")]}

    thread = Talk(agent_of(gate, moderate, checkpointer=saver), model)
    first = await thread.say("one")
    await thread.say(*first.messages, user(PIN, "secret"))
    asked = await thread.say(*first.messages, "ask", outcome="interrupt")
    answer = [
        {"interruptId": asked.last.outcome.interrupts[0].id, "status": "resolved", "payload": "yes"}
    ]
    await thread.say(*first.messages, user(PIN, "secret"), resume=answer)
    assert thread.calls == 2  # for "one", and for the pin when it was new
    assert await thread.texts() == ["one", "1: re one", "ask", "ok yes"]


async def test_a_run_of_the_applications_own_forgets_nothing(saver: Any) -> None:
    thread = moderated(saver)
    first = await thread.say("one")
    await thread.say(*first.messages, user(PIN, "secret"))
    config: Any = {"configurable": {"thread_id": "t"}}
    await thread.agent.graph.ainvoke({"messages": [HumanMessage("cron", id="cron")]}, config)
    await thread.say(*first.messages, user(PIN, "secret"), "three")
    assert PIN not in "".join(thread.asked)


@pytest.mark.parametrize("words", ["two", "edited"])
async def test_a_question_that_was_rewritten_is_asked_again_after_a_failure(
    saver: Any, words: str
) -> None:
    async def rewrite(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [RemoveMessage(id=last.id), HumanMessage(f"In short: {last.text}")]}

    model = Scripted(["One."], [RuntimeError("down")], [RuntimeError("down")], ["Two."])
    thread = Talk(agent_of(rewrite, talker(model), checkpointer=saver), model)
    first = await thread.say("one")
    question = [*first.messages, user("two", "u2")]
    await thread.say(*question, outcome="model_error")
    await thread.say(*question, outcome="model_error")
    await thread.say(*first.messages)  # a tab that has not seen the question does not ask it
    assert thread.calls == 3
    if words == "two":
        await thread.say(*question)
    else:
        await thread.say(*first.messages, user(words, "u2"))
    assert await thread.texts() == ["In short: one", "One.", f"In short: {words}", "Two."]


async def test_a_question_that_was_rewritten_is_asked_again_as_often_as_its_run_fails(
    saver: Any,
) -> None:
    async def rewrite(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [RemoveMessage(id=last.id), HumanMessage(f"In short: {last.text}")]}

    def failing_once(name: str) -> Any:
        tries: list[int] = []

        async def node(state: Any) -> dict[str, Any]:
            tries.append(1)
            if len(tries) == 1:
                raise RuntimeError("down")
            return {}

        node.__name__ = name
        return node

    model = Scripted(["One."])
    nodes = [rewrite, failing_once("search"), failing_once("rank"), talker(model)]
    thread = Talk(agent_of(*nodes, checkpointer=saver), model)
    for _ in range(2):
        await thread.say(user("one", "u1"), outcome="graph_error")
    await thread.say(user("one", "u1"))
    assert await thread.texts() == ["In short: one", "One."]


async def test_a_stale_tab_does_not_continue_what_another_has_asked(saver: Any) -> None:
    async def guard(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        return {
            "messages": [RemoveMessage(id=last.id), HumanMessage("[removed]")]
            if "pin" in last.text
            else []
        }

    model = Scripted(["One."], ["Noted."], [RuntimeError("down")], ["Deleted."])
    thread = Talk(agent_of(guard, talker(model), checkpointer=saver), model)
    first = await thread.say("one")
    await thread.say(*first.messages, user(PIN, "secret"))
    await thread.say(*first.messages, "delete", outcome="model_error")
    await thread.say(*first.messages, user(PIN, "secret"))
    assert thread.calls == 3


async def test_a_run_that_goes_on_remembers(saver: Any) -> None:
    """It has more checkpoints than those of the application that are passed in search of the
    memory."""

    async def drop(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        return {
            "messages": [RemoveMessage(id=last.id), HumanMessage("[removed]")]
            if "pin" in last.text
            else []
        }

    def pause(number: int) -> Any:
        async def node(state: Any) -> dict[str, Any]:
            return {}

        node.__name__ = f"pause{number}"
        return node

    model = Scripted([RuntimeError("down")], ["Noted."], ["Next."])
    nodes = [drop, talker(model), *(pause(number) for number in range(12))]
    thread = Talk(agent_of(*nodes, checkpointer=saver), model)
    await thread.say(user(PIN, "secret"), outcome="model_error")
    await thread.say(user(PIN, "secret"))
    await thread.say(user(PIN, "secret"), user("next", "next"))
    assert await thread.texts() == ["[removed]", "Noted.", "next", "Next."]


# -- two tabs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edited", ["u1", "u2"])
@pytest.mark.parametrize("answered", [True, False])
async def test_a_stale_tab_goes_on_in_the_branch_of_the_other(
    saver: Any, edited: str, answered: bool
) -> None:
    thread = talk(saver)
    held: list[Message] = []
    for name in ("u1", "u2", "u3"):
        held = (await thread.say(*held, user(name, name))).messages
    stale = held if answered else held[:-1]
    place = [message.id for message in held].index(edited)
    other = await thread.say(*held[:place], user("edited", edited))
    thanks = await thread.say(*stale, "thanks")
    branch = [*said(other.messages), "thanks", "5: re thanks"]
    assert await thread.texts() == branch == said(thanks.snapshot)
    # a snapshot does not reorder messages
    assert sorted(map(str, said(thanks.messages))) == sorted(map(str, branch))


async def test_a_stale_tab_that_sends_its_list_again_changes_nothing(saver: Any) -> None:
    thread = talk(saver)
    held: list[Message] = []
    for name in ("u1", "u2"):
        held = (await thread.say(*held, user(name, name))).messages
    await thread.say(user("edited", "u1"))
    again = await thread.say(*held)
    assert await thread.texts() == said(again.messages) == ["edited", "3: re edited"]


async def test_a_tab_that_joins_loses_it_with_the_first(saver: Any) -> None:
    thread = moderated(saver, on_disconnect="continue")
    first = await thread.say("one")
    given = run_input(*first.messages, user(PIN, "secret"), thread="t")
    run = thread.agent.run(given)
    events = [await anext(run)]
    joiner = run_input(*given.messages, thread="t")
    joined = collect(thread.agent.connect(joiner))
    events += [event async for event in run]
    assert dumped(fold(events, given.messages).messages) == dumped(first.messages)
    assert dumped(fold(await joined, joiner.messages).messages) == dumped(first.messages)


# -- what is trimmed -----------------------------------------------------------------------------


async def trim(state: Any) -> dict[str, Any]:
    """Keep the first message and the last two, as the documentation of LangChain does."""
    messages = state["messages"]
    if len(messages) <= 3:
        return {}
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), messages[0], *messages[-2:]]}


async def test_a_client_keeps_what_was_trimmed(saver: Any) -> None:
    thread, held = moderated(saver, node=trim), list[Message]()
    for name in ("u1", "u2", "u3", "u4"):
        held = (await thread.say(*held, user(name, name))).messages
    assert await thread.texts() == ["u1", "u4", "4: re u4"]
    assert said(held) == [word for at in range(1, 5) for word in (f"u{at}", f"{at}: re u{at}")]
    # a short list with a message that was trimmed
    await thread.say(*held[:3], user("u2", "u2"), "new")
    assert await thread.texts() == ["u1", "new", "5: re new"]


async def test_a_list_that_each_write_replaces_removes_nothing(saver: Any) -> None:
    class Last(TypedDict):
        messages: list[AnyMessage]

    async def answer(state: Last) -> dict[str, list[AnyMessage]]:
        return {"messages": [AIMessage(f"re {state['messages'][-1].text}")]}

    thread = Talk(agent_of(answer, state=Last, checkpointer=saver), echo())
    first = await thread.say("one")
    assert said(first.messages) == ["one", "re one"]
    second = await thread.say(*first.messages, "two")
    assert said(second.messages) == ["one", "re one", "two", "re two"]


class WithHistory(MessagesState):
    history: Annotated[list[AnyMessage], add_messages]


class Lists(TypedDict):
    messages: list[Any]


class Untracked(TypedDict):
    messages: Annotated[list[AnyMessage], UntrackedValue]
    number: int


ALL = RemoveMessage(id=REMOVE_ALL_MESSAGES)


async def take(state: Any) -> dict[str, Any]:
    return {"history": state["messages"], "messages": [ALL]}


async def answer_from_history(state: Any) -> dict[str, Any]:
    answer = AIMessage(f"re {state['history'][-1].text}")
    return {"history": [answer], "messages": [answer]}


async def answer_last(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(f"re {state['messages'][-1].text}")]}


async def clear(state: Any) -> dict[str, Any]:
    return {"messages": [ALL]}


async def sum_up(state: Any) -> dict[str, Any]:
    return {"messages": [ALL, AIMessage("In short.")]}


async def compact(state: Any) -> dict[str, Any]:
    """Keep the first message, and put a summary in the place of the others."""
    return {"messages": [ALL, state["messages"][0], AIMessage("In short.")]}


async def sum_up_by_ids(state: Any) -> dict[str, Any]:
    messages = state["messages"]
    if len(messages) < 3:
        return {}
    return {"messages": [*(RemoveMessage(id=one.id) for one in messages), AIMessage("In short.")]}


async def empty(state: Any) -> dict[str, Any]:
    return {"messages": [], "history": state["messages"]}


async def answer_all(state: Any) -> dict[str, Any]:
    return {
        "messages": [*state["messages"], AIMessage(f"re {state['messages'][-1].text}")],
        "number": 1,
    }


class Replaced(TypedDict):
    messages: list[AnyMessage]
    history: list[AnyMessage]


OTHER_SHAPES: dict[str, tuple[Any, Sequence[Any]]] = {
    "it is moved to another channel": (WithHistory, [take, answer_from_history]),
    "it is cleared at the end": (WithHistory, [answer_last, clear]),
    "it is summed up as a whole": (WithHistory, [answer_last, sum_up]),
    "it is summed up in two steps": (WithHistory, [answer_last, clear, sum_up]),
    "it is compacted behind a head": (WithHistory, [answer_last, compact]),
    "it is summed up by ids": (WithHistory, [answer_last, sum_up_by_ids]),
    "each write replaces it": (Replaced, [empty, answer_from_history]),
    "it is not stored": (Untracked, [answer_all]),
}


@pytest.mark.parametrize("shape", OTHER_SHAPES)
async def test_a_graph_that_keeps_its_conversation_in_another_way_takes_nothing_from_its_clients(
    saver: Any, shape: str
) -> None:
    state, nodes = OTHER_SHAPES[shape]
    thread = Talk(agent_of(*nodes, state=state, checkpointer=saver), echo())
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user("two", "u2"))
    assert [one for one in said(second.messages) if one != "In short."] == [
        "one",
        "re one",
        "two",
        "re two",
    ]
    shown = await collect(thread.agent.connect(run_input(*second.messages, thread="t")))
    assert said(fold(shown, second.messages).messages) == said(second.messages)


async def test_messages_as_dicts_take_nothing_from_the_client(saver: Any) -> None:
    async def convert(state: Lists) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": one.text} for one in state["messages"]]}

    thread = Talk(agent_of(convert, state=Lists, checkpointer=saver), echo())
    first = await thread.say("one")
    assert said(first.messages) == ["one"]


async def test_a_thread_that_is_cleared_before_each_turn(saver: Any) -> None:
    async def forget(state: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=str(one.id)) for one in state["messages"][:-1]]}

    model = echo()
    thread = Talk(agent_of(forget, talker(model), checkpointer=saver), model)
    first = await thread.say("one")
    second = await thread.say(*first.messages, "two")
    assert thread.asked == ["two"]
    assert said(second.messages) == ["one", "1: re one", "two", "2: re two"]


def summed_up(saver: Any) -> Talk:
    model, writer = echo(), Scripted(*[["All so far."]] * 9)
    middleware = SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 2))
    return Talk(
        LangGraphAgent(create_agent(model, [], middleware=[middleware], checkpointer=saver)), model
    )


@pytest.mark.parametrize("edited", [True, False])
async def test_an_edit_of_a_message_that_was_summed_up(saver: Any, edited: bool) -> None:
    thread, held = summed_up(saver), list[Message]()
    for name in ("u1", "u2", "u3", "u4"):
        held = (await thread.say(*held, user(name, name))).messages
    assert "u2" not in {message.id for message in await thread.stored()}
    assert [one for one in said(held) if "u" in str(one)[:2]] == ["u1", "u2", "u3", "u4"]
    old = await thread.checkpoint()
    before = await thread.texts()
    words = "edited" if edited else "u2"
    again = await thread.say(*held[:2], user(words, "u2"))
    assert await thread.texts() == ["u1", "1: re u1", words, f"5: re {words}"]
    assert said(again.messages) == await thread.texts()
    assert await thread.texts(old) == before


async def test_a_message_that_was_removed_runs_again_only_with_other_words(saver: Any) -> None:
    thread = moderated(saver)
    first = await thread.say(user("one", "u1"))
    await thread.say(*first.messages, user(PIN, "secret"))
    await thread.say(*first.messages, "two")
    await thread.say(*first.messages, user(PIN, "secret"))
    assert thread.calls == 3
    assert await thread.texts() == ["one", "1: re one", "two", "3: re two"]
    edited = await thread.say(*first.messages, user("harmless", "secret"))
    assert await thread.texts() == [
        *said(first.messages),
        "two",
        "3: re two",
        "harmless",
        "4: re harmless",
    ]
    assert said(edited.snapshot)[-1] == "4: re harmless"


async def test_an_edit_of_the_newest_turn_that_was_removed(saver: Any) -> None:
    thread = moderated(saver)
    first = await thread.say(user("one", "u1"))
    await thread.say(*first.messages, user(PIN, "secret"))
    edited = await thread.say(*first.messages, user("harmless", "secret"))
    assert (
        await thread.texts()
        == said(edited.messages)
        == ["one", "1: re one", "harmless", "3: re harmless"]
    )


async def test_an_edit_in_a_stale_tab_does_not_bring_its_branch_back(saver: Any) -> None:
    thread, held = talk(saver), list[Message]()
    for name in ("u1", "u2", "u3"):
        held = (await thread.say(*held, user(name, name))).messages
    await thread.say(user("edited", "u1"))
    await thread.say(*held[:2], user("stale edit", "u2"))
    assert await thread.texts() == ["edited", "4: re edited", "stale edit", "5: re stale edit"]


@pytest.mark.parametrize("shape", ["it is cleared at the end", "it is summed up as a whole"])
async def test_an_edit_where_everything_was_replaced(saver: Any, shape: str) -> None:
    state, nodes = OTHER_SHAPES[shape]
    thread = Talk(agent_of(*nodes, state=state, checkpointer=saver), echo())
    first = await thread.say(user("one", "u1"))
    await thread.say(*first.messages, user("two", "u2"))
    edited = await thread.say(*first.messages, user("edited", "u2"))
    assert "re edited" in said(edited.messages)


async def test_an_edit_of_a_trimmed_message_during_a_pause(saver: Any) -> None:
    async def ask(state: Any) -> dict[str, Any]:
        if "ask" in state["messages"][-2].text:
            interrupt("ok?")
        return {}

    model = echo()
    options: Any = {"approvals": ApprovalOptions(when_paused="cancel")}
    thread = Talk(agent_of(talker(model), trim, ask, checkpointer=saver, **options), model)
    held: list[Message] = []
    for name in ("u1", "u2", "u3"):
        held = (await thread.say(*held, user(name, name))).messages
    await thread.say(*held, user("ask", "u4"), outcome="interrupt")
    await thread.say(*held[:2], user("edited", "u2"))
    assert await thread.texts() == ["u1", "edited", "5: re edited"]


async def cut(state: Any) -> dict[str, Any]:
    """Remove the turn before the newest, if that says so."""
    turn = newest_turn(state["messages"])
    before = newest_turn(state["messages"][: -len(turn)]) if turn[0].text == "cut" else []
    return {"messages": [RemoveMessage(id=str(one.id)) for one in before]}


@pytest.mark.parametrize("message", ["u1", "u2"])
async def test_an_edit_in_a_tab_of_a_branch_that_was_edited_away(saver: Any, message: str) -> None:
    """The tab is heard, and brings nothing of its branch back."""
    thread = moderated(saver, node=cut)
    first = await thread.say(user("zero", "u0"))
    stale = (await thread.say(*first.messages, user("one", "u1"))).messages
    stale = (await thread.say(*stale, user("two", "u2"))).messages
    await thread.say(user("cut", "u3"))
    await thread.say(user("other", "u0"))
    assert await thread.texts() == ["other", "5: re other"]
    at = [one.id for one in stale].index(message)
    await thread.say(*stale[:at], user("edited", message))
    assert await thread.texts() == ["other", "5: re other", "edited", "6: re edited"]


async def test_an_edit_of_a_trimmed_message_behind_a_branch_that_was_edited_away(
    saver: Any,
) -> None:
    thread, held = moderated(saver, node=trim), list[Message]()
    for name in ("u1", "u2", "u3"):
        held = (await thread.say(*held, user(name, name))).messages
    await thread.say(*held[:5], user("other", "u3"))
    await thread.say(*held[:2], user("edited", "u2"))
    assert await thread.texts() == ["u1", "edited", "5: re edited"]


# -- histories of front ends ---------------------------------------------------------------------


def as_copilotkit(messages: Sequence[Message]) -> list[Message]:
    """Its instructions come first, under a new id each time."""
    return [SystemMessage(id=str(uuid4()), role="system", content="Be brief."), *messages]


def as_assistant_ui(messages: Sequence[Message]) -> list[Message]:
    """It drops the encrypted values of assistant messages."""
    return [
        one.model_copy(update={"encrypted_value": None}) if one.role == "assistant" else one
        for one in messages
    ]


@pytest.mark.parametrize("form", [as_copilotkit, as_assistant_ui])
async def test_histories_of_front_ends(saver: Any, form: Any) -> None:
    thread = moderated(saver)
    held = await tell(thread, *form([user("one", "u1")]), version=None)
    stale = [*held, user(PIN, "secret"), NOTED]
    await tell(thread, *form([*held, user(PIN, "secret")]), version=None)
    last = await tell(thread, *form([*stale, user("two", "u2")]), version=None)
    assert PIN not in "".join(thread.asked + await thread.texts())
    assert [one for one in said(last) if one != "Be brief."] == await thread.texts()
    await tell(thread, *form([user("edited", "u1")]), version=None)
    await tell(thread, *form([*last, user("three", "u3")]), version=None)
    assert (await thread.texts())[::2] == ["edited", "three"]


# -- what the thread remembers -------------------------------------------------------------------


async def test_what_a_thread_remembers_is_bounded(saver: Any) -> None:
    thread = talk(saver)
    await thread.say(*(user("x", "i" * 10_000 + str(number)) for number in range(400)))
    await thread.say("more")
    state = await thread.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    remembered = json.loads(str(state.metadata["agui_past"]))  # type: ignore[index]
    assert sum(map(len, remembered)) < 8_000


async def test_results_of_removed_calls_do_not_enter(saver: Any) -> None:
    thread = moderated(saver)
    first = await thread.say("one")
    await thread.say(*first.messages, user(PIN, "secret"))
    await thread.say(*first.messages, user(PIN, "secret"), result("c9"), "next")
    assert texts(await thread.stored()) == ["one", "1: re one", "next", "3: re next"]


@pytest.mark.parametrize("keep", [True, False])
async def test_a_thread_of_an_older_version(keep: bool) -> None:
    """It remembers nothing: the answer that the client shows still tells that a message is old."""
    saver = InMemorySaver()
    thread = moderated(saver)
    first = await thread.say("one")
    second = await thread.say(*first.messages, user(PIN, "secret"))
    config: Any = {"configurable": {"thread_id": "t"}}
    state = await thread.agent.graph.aget_state(config)
    for namespace in saver.storage["t"].values():
        for at, (saved, metadata, parent) in namespace.items():
            kept = {
                key: value
                for key, value in saver.serde.loads_typed(metadata).items()
                if key != "agui_past"
            }
            namespace[at] = (saved, saver.serde.dumps_typed(kept), parent)
    assert state.values
    stale = [*first.messages, user(PIN, "secret"), *([NOTED] if keep else [])]
    await thread.say(*(stale if keep else second.messages), "next")
    assert PIN not in await thread.texts()
