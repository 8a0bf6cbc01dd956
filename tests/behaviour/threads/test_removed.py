"""What was removed from a thread stays removed, and its clients lose it; what was trimmed stays on
their screens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import uuid4

import pytest
from ag_ui.core import AssistantMessage, Message, ResumeEntry, SystemMessage
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import ApprovalOptions
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


def gone(messages: Sequence[BaseMessage]) -> list[Any]:
    return [RemoveMessage(id=str(one.id)) for one in messages]


def newest_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    return messages[max(at for at, one in enumerate(messages) if one.type == "human") :]


async def moderate(state: Any) -> dict[str, Any]:
    """Remove the newest turn if it has a pin."""
    turn = newest_turn(state["messages"])
    return {"messages": gone(turn) if "pin" in turn[0].text else []}


async def refuse(state: Any) -> dict[str, Any]:
    """Put a refusal in the place of a turn with a pin."""
    removed = (await moderate(state))["messages"]
    return {"messages": [*removed, *([AIMessage("Keep that to yourself.")] if removed else [])]}


async def trim(state: Any) -> dict[str, Any]:
    """Keep the first message and the last two, as the documentation of LangChain does."""
    messages = state["messages"]
    return {"messages": [ALL, messages[0], *messages[-2:]]} if len(messages) > 3 else {}


async def cut(state: Any) -> dict[str, Any]:
    """Remove the turn before the newest, if that says so."""
    turn = newest_turn(state["messages"])
    before = newest_turn(state["messages"][: -len(turn)]) if turn[0].text == "cut" else []
    return {"messages": gone(before)}


async def rewrite(state: Any) -> dict[str, Any]:
    """Put other words in the place of what the user has said."""
    last = state["messages"][-1]
    words = "[removed]" if "pin" in last.text else f"In short: {last.text}"
    return {"messages": [RemoveMessage(id=last.id), HumanMessage(words)]}


def node(name: str, *fails: bool) -> Any:
    """A node that fails in its first run, or never."""
    left = list(fails)

    async def run(state: Any) -> dict[str, Any]:
        if left and left.pop():
            raise RuntimeError("down")
        return {}

    run.__name__ = name
    return run


def after_model(saver: Any, *nodes: Any, **options: Any) -> Talk:
    model = echo()
    return chat(talker(model), *nodes, model=model, checkpointer=saver, **options)


async def check_gone(thread: Talk) -> None:
    assert PIN not in "".join(thread.asked + await thread.texts())


@pytest.mark.parametrize("version", ["1.0", None])
@pytest.mark.parametrize("before", [{}, {"u1": "one", "u2": "two"}], ids=["first", "later"])
@pytest.mark.parametrize("stale", [[], [SECRET], [SECRET, NOTED]], ids=len)
async def test_the_newest_turn_does_not_come_back(
    saver: Any, before: dict[str, str], version: str | None, stale: list[Message]
) -> None:
    thread = after_model(saver, moderate)
    held = await thread.spoken(**before)
    after = await thread.say(*held, SECRET, protocol_version=version)
    assert dumped(after.messages) == dumped(held)  # the client has lost it
    again = run_input(*held, *stale, thread="t", protocol_version=version)
    shown = fold(await collect(thread.agent.connect(again)), again.messages)
    # A list that shares nothing with the thread may show what was trimmed.
    assert dumped(shown.messages) == dumped(held or stale)
    last = await thread.say(*held, *stale, user("next", "next"), protocol_version=version)
    await check_gone(thread)
    assert said(last.messages) == [*([] if held else said(stale)), *await thread.texts()]


@pytest.mark.parametrize("before", [{}, {"u1": "hello"}], ids=["first", "later"])
async def test_a_refusal_in_its_place(saver: Any, before: dict[str, str]) -> None:
    thread = after_model(saver, refuse)
    held = await thread.spoken(**before)
    first = await thread.say(*held, SECRET)
    assert said(first.messages) == [*said(held), "Keep that to yourself."]
    await thread.say(*held, SECRET, "next")
    await check_gone(thread)


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
    thread = talk(saver)
    held = await thread.spoken(u1="one", secret=PIN)
    for one in gone((await thread.stored())[2:]):
        await thread.update(one)  # each is a checkpoint without the metadata of a run
    assert said((await thread.connect(*held)).messages) == ["one", "1: re one"]
    third = await thread.say(*held[:2], SECRET, "three")
    assert (
        said(third.messages) == await thread.texts() == ["one", "1: re one", "three", "3: re three"]
    )


async def test_the_client_loses_an_answer_and_its_reasoning_is_emptied(saver: Any) -> None:
    thread = after_model(saver, moderate)
    first = await thread.say("one")
    second = await thread.say(*first.messages, user(f"look: {PIN}", "secret"))
    assert said(second.messages) == said(first.messages)
    [thought] = by_role(second.messages, "reasoning")
    assert (thought.content, thought.encrypted_value) == ("", None)
    await thread.say(*second.messages, "two")
    assert PIN not in "".join(thread.asked)


async def test_without_a_checkpointer_the_client_loses_it_too() -> None:
    thread = after_model(None, moderate)
    held = await thread.spoken(u1="hello")
    assert dumped((await thread.say(*held, SECRET)).messages) == dumped(held)


async def test_a_tab_that_answers_a_question_brings_nothing_back(saver: Any) -> None:
    model = echo()

    async def gate(state: Any) -> dict[str, Any]:
        if "ask" not in state["messages"][-1].text:
            return {"messages": [await model.ainvoke(state["messages"])]}
        return {"messages": [AIMessage(f"ok {interrupt('go?')}")]}

    thread = chat(gate, moderate, model=model, checkpointer=saver)
    first = await thread.say("one")
    await thread.say(*first.messages, SECRET)
    asked = (await thread.say(*first.messages, "ask", outcome="interrupt")).last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=asked[0].id, status="resolved", payload="yes")
    await thread.say(*first.messages, SECRET, resume=[answer])
    assert thread.calls == 2  # for "one", and for the pin when it was new
    assert await thread.texts() == ["one", "1: re one", "ask", "ok yes"]


async def test_a_run_of_the_applications_own_forgets_nothing(saver: Any) -> None:
    thread = after_model(saver, moderate)
    first = await thread.say("one")
    await thread.say(*first.messages, SECRET)
    cron = {"messages": [HumanMessage("cron", id="cron")]}
    await thread.agent.graph.ainvoke(cron, thread.config)
    await thread.say(*first.messages, SECRET, result("c9"), "three")
    await check_gone(thread)
    assert (await thread.texts())[2:] == ["cron", "3: re cron", "three", "4: re three"]


@pytest.mark.parametrize("words", ["two", "edited"])
async def test_a_question_that_was_rewritten_is_asked_again_after_failures(
    saver: Any, words: str
) -> None:
    down = [RuntimeError("down")]
    model = Scripted(["One."], down, down, ["Two."])
    thread = chat(rewrite, talker(model), model=model, checkpointer=saver)
    held = await thread.spoken(u1="one")
    for _ in range(2):
        await thread.say(*held, user("two", "u2"), outcome="model_error")
    await thread.say(*held)  # a tab that has not seen the question does not ask it
    assert thread.calls == 3
    await thread.say(*held, user(words, "u2"))
    assert await thread.texts() == ["In short: one", "One.", f"In short: {words}", "Two."]


async def test_a_question_that_was_rewritten_is_asked_again_as_often_as_its_run_fails(
    saver: Any,
) -> None:
    model = Scripted(["One."])
    nodes = [rewrite, node("search", True), node("rank", True), talker(model)]
    thread = chat(*nodes, model=model, checkpointer=saver)
    for outcome in ("graph_error", "graph_error", "success"):
        await thread.say(user("one", "u1"), outcome=outcome)
    assert await thread.texts() == ["In short: one", "One."]


async def test_a_stale_tab_does_not_continue_what_another_has_asked(saver: Any) -> None:
    model = Scripted(["One."], ["Noted."], [RuntimeError("down")], ["Deleted."])
    thread = chat(rewrite, talker(model), model=model, checkpointer=saver)
    held = await thread.spoken(u1="one")
    await thread.say(*held, SECRET)
    await thread.say(*held, "delete", outcome="model_error")
    await thread.say(*held, SECRET)
    assert thread.calls == 3


async def test_a_run_that_goes_on_remembers(saver: Any) -> None:
    """It has more checkpoints than those of the application that are passed in search of the
    memory."""
    model = Scripted([RuntimeError("down")], ["Noted."], ["Next."])
    pauses = [node(f"pause{number}") for number in range(12)]
    thread = chat(rewrite, talker(model), *pauses, model=model, checkpointer=saver)
    await thread.say(SECRET, outcome="model_error")
    await thread.say(SECRET)
    await thread.say(SECRET, user("next", "next"))
    assert await thread.texts() == ["[removed]", "Noted.", "In short: next", "Next."]


@pytest.mark.parametrize("edited", ["u1", "u2"])
@pytest.mark.parametrize("end", [None, -1], ids=["answered", "unanswered"])
async def test_a_stale_tab_goes_on_in_the_branch_of_the_other(
    saver: Any, edited: str, end: int | None
) -> None:
    thread = talk(saver)
    held = await thread.spoken(u1="u1", u2="u2", u3="u3")
    other = await thread.say(*edit(held, edited))
    again = await thread.say(*held)
    assert await thread.texts() == said(again.messages) == said(other.messages)
    thanks = await thread.say(*held[:end], "thanks")
    branch = [*said(other.messages), "thanks", "5: re thanks"]
    assert await thread.texts() == branch == said(thanks.snapshot)
    # a snapshot does not reorder messages
    assert sorted(map(str, said(thanks.messages))) == sorted(map(str, branch))


async def test_a_tab_that_joins_loses_it_with_the_first(saver: Any) -> None:
    thread = after_model(saver, moderate, on_disconnect="continue")
    held = await thread.spoken(u1="one")
    given = run_input(*held, SECRET, thread="t")
    run = thread.agent.run(given)
    events = [await anext(run)]
    joined = collect(thread.agent.connect(run_input(*given.messages, thread="t")))
    events += [event async for event in run]
    for heard in (events, await joined):
        assert dumped(fold(heard, given.messages).messages) == dumped(held)


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
    number: int


class Replaced(TypedDict):
    messages: list[Any]
    history: list[AnyMessage]


async def answer(state: Any) -> dict[str, Any]:
    """Answer, into both channels."""
    answer = AIMessage(f"re {(state.get('history') or state['messages'])[-1].text}")
    return {"history": [answer], "messages": [answer]}


async def answer_all(state: Any) -> dict[str, Any]:
    return {"messages": [*state["messages"], *(await answer(state))["messages"]], "number": 1}


async def answer_messages(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(f"re {state['messages'][-1].text}")]}


async def take(state: Any) -> dict[str, Any]:
    return {"history": state["messages"], "messages": [ALL]}


async def empty(state: Any) -> dict[str, Any]:
    return {"history": state["messages"], "messages": []}


async def clear(state: Any) -> dict[str, Any]:
    return {"messages": [ALL]}


async def forget_all_but_the_last(state: Any) -> dict[str, Any]:
    return {"messages": gone(state["messages"][:-1])}


async def sum_up(state: Any) -> dict[str, Any]:
    return {"messages": [ALL, AIMessage("In short.")]}


async def compact(state: Any) -> dict[str, Any]:
    """Keep the first message, and put a summary in the place of the others."""
    return {"messages": [ALL, state["messages"][0], AIMessage("In short.")]}


async def sum_up_by_ids(state: Any) -> dict[str, Any]:
    messages = state["messages"]
    return {"messages": [*gone(messages), AIMessage("In short.")] if len(messages) > 2 else []}


OTHER_SHAPES: dict[str, tuple[Any, Sequence[Any]]] = {
    "it is moved to another channel": (Kept, [take, answer]),
    "it is cleared at the end": (Kept, [answer_messages, clear]),
    "it is cleared before each turn": (Kept, [forget_all_but_the_last, answer_messages]),
    "it is summed up as a whole": (Kept, [answer_messages, sum_up]),
    "it is summed up in two steps": (Kept, [answer_messages, clear, sum_up]),
    "it is compacted behind a head": (Kept, [answer_messages, compact]),
    "it is summed up by ids": (Kept, [answer_messages, sum_up_by_ids]),
    "each write replaces it": (Replaced, [empty, answer]),
    "its answer replaces it": (Replaced, [answer_messages]),
    "it is not stored": (Untracked, [answer_all]),
}


@pytest.mark.parametrize("shape", OTHER_SHAPES)
async def test_a_graph_that_keeps_its_conversation_in_another_way_takes_nothing_from_its_clients(
    saver: Any, shape: str
) -> None:
    state, nodes = OTHER_SHAPES[shape]
    thread = chat(*nodes, state=state, checkpointer=saver)
    held = await thread.spoken(u1="one", u2="two")
    words = [one for one in said(held) if one != "In short."]
    assert words == ["one", "re one", "two", "re two"]
    assert said((await thread.connect(*held)).messages) == said(held)
    if state is Kept and "moved" not in shape and "compacted" not in shape:
        edited = await thread.say(*edit(held, "u2"))
        assert "re new" in said(edited.messages)


async def test_messages_as_dicts_take_nothing_from_the_client(saver: Any) -> None:
    async def convert(state: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": one.text} for one in state["messages"]]}

    assert said(await chat(convert, state=Replaced, checkpointer=saver).spoken(u1="one")) == ["one"]


async def test_the_same_words_from_several_calls_stay_several_messages() -> None:
    async def judges(state: Any) -> Any:
        votes = [await Scripted(["yes"]).ainvoke("x") for _ in range(3)]
        return {"messages": [AIMessage(one.text, name=f"j{at}") for at, one in enumerate(votes)]}

    thread = chat(judges, checkpointer=InMemorySaver())
    recorded = await thread.say("q")
    recorded.check_snapshot()
    assert said(recorded.messages) == ["q", "yes", "yes", "yes"]
    assert [one.name for one in await thread.stored()] == [None, "j0", "j1", "j2"]


@pytest.mark.parametrize("words", ["edited", "u2"])
async def test_an_edit_of_a_message_that_was_summed_up(saver: Any, words: str) -> None:
    writer = Scripted(*[["All so far."]] * 9)
    middleware = SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 2))
    thread = talk(saver, tools=[], middleware=[middleware])
    held = await thread.spoken(u1="u1", u2="u2", u3="u3", u4="u4")
    assert "u2" not in {message.id for message in await thread.stored()}
    assert any("All so far." in text for text in thread.asked)
    old, before = await thread.checkpoint(), await thread.texts()
    again = await thread.say(*edit(held, "u2", words))
    assert await thread.texts() == ["u1", "1: re u1", words, f"5: re {words}"]
    assert said(again.messages) == await thread.texts()
    assert await thread.texts(old) == before


@pytest.mark.parametrize("turns", [[], ["two"]], ids=["the newest turn", "an earlier one"])
async def test_a_message_that_was_removed_runs_again_only_with_other_words(
    saver: Any, turns: list[str]
) -> None:
    thread = after_model(saver, moderate)
    held = await thread.spoken(u1="one")
    await thread.say(*held, SECRET)
    for text in turns:
        await thread.say(*held, text)
    before, calls = await thread.texts(), thread.calls
    await thread.say(*held, SECRET)
    assert (await thread.texts(), thread.calls) == (before, calls)
    edited = await thread.say(*held, user("harmless", "secret"))
    assert await thread.texts() == [*before, "harmless", f"{calls + 1}: re harmless"]
    assert said(edited.snapshot)[-2:] == (await thread.texts())[-2:]


async def ask(state: Any) -> dict[str, Any]:
    if "ask" in state["messages"][-2].text:
        interrupt("ok?")
    return {}


EDITS: dict[str, tuple[list[Any], dict[str, str], list[tuple[str, str]], list[str]]] = {
    # the nodes; the turns; edits, each in the list of the first tab; what is in the thread then
    "in a branch that another tab has left": (
        [],
        {"u1": "one", "u2": "two"},
        [("u1", "edited"), ("u2", "stale")],
        ["edited", "3: re edited", "stale", "4: re stale"],
    ),
    "of what was cut, in a branch that was left": (
        [cut],
        {"u0": "zero", "u1": "one", "u2": "two", "u3": "cut"},
        [("u0", "other"), ("u1", "edited")],
        ["other", "5: re other", "edited", "6: re edited"],
    ),
    "of a trimmed message, behind a branch that was left": (
        [trim],
        {"u1": "u1", "u2": "u2", "u3": "u3"},
        [("u3", "other"), ("u2", "edited")],
        ["u1", "edited", "5: re edited"],
    ),
}


@pytest.mark.parametrize("case", EDITS)
async def test_an_edit_in_a_stale_tab_is_heard_and_does_not_bring_its_branch_back(
    saver: Any, case: str
) -> None:
    nodes, turns, edits, texts = EDITS[case]
    thread = after_model(saver, *nodes)
    held = await thread.spoken(**turns)
    for name, words in edits:
        await thread.say(*edit(held, name, words))
    assert await thread.texts() == texts


async def test_an_edit_of_a_trimmed_message_during_a_pause(saver: Any) -> None:
    thread = after_model(saver, trim, ask, approvals=ApprovalOptions(when_paused="cancel"))
    held = await thread.spoken(u1="u1", u2="u2", u3="u3")
    await thread.say(*held, user("ask", "u4"), outcome="interrupt")
    await thread.say(*edit(held, "u2"))
    assert await thread.texts() == ["u1", "new", "5: re new"]


def as_copilotkit(messages: Sequence[Message]) -> list[Message]:
    """Its instructions come first, under a new id each time."""
    return [SystemMessage(id=str(uuid4()), role="system", content="Be brief."), *messages]


def as_assistant_ui(messages: Sequence[Message]) -> list[Message]:
    """It drops the encrypted values of assistant messages."""
    bare = {"encrypted_value": None}
    return [one.model_copy(update=bare) if one.role == "assistant" else one for one in messages]


@pytest.mark.parametrize("form", [as_copilotkit, as_assistant_ui])
async def test_histories_of_front_ends(saver: Any, form: Any) -> None:
    thread = after_model(saver, moderate)

    async def tell(*messages: Message) -> list[Message]:
        return (await thread.say(*form(messages), protocol_version=None)).messages

    held = await tell(user("one", "u1"))
    await tell(*held, SECRET)
    last = await tell(*held, SECRET, NOTED, user("two", "u2"))
    await check_gone(thread)
    assert [one for one in said(last) if one != "Be brief."] == await thread.texts()
    await tell(user("edited", "u1"))
    await tell(*last, user("three", "u3"))
    assert (await thread.texts())[::2] == ["edited", "three"]


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
