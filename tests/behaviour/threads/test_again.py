"""Running again from a message of the thread: with its old words, or with new ones in a new branch.
An edit is a changed user message that the client's list ends with."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Annotated, Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    Message,
    ReasoningMessage,
    SystemMessage,
    UserMessage,
)
from langchain.agents.middleware import PIIMiddleware
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_agui import LangGraphAgent
from tests.behaviour.threads.test_history import forged
from tests.kit.graphs.small import Chat, chain_of, sync_talker, talker
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, run_input, user
from tests.kit.run.talking import Talk, chat, echo, edit, left_at, result, talk, until

ONE = ["one", "1: re one"]
TWO = [*ONE, "two look", "Looking.", "seen a", "seen b", "3: re two look"]
ALL = [*TWO, "three", "4: re three"]
TURNS = {"u1": "one", "u2": "two look", "u3": "three"}


def behind(*more: Message) -> Callable[[list[Message]], list[Message]]:
    """The list with a changed message, and more behind it."""
    return lambda held: [*edit(held, "u2"), *more]


NEW = user("and this", "u9")
QUIET = [
    ReasoningMessage(id="r", role="reasoning", content="Hm."),
    ActivityMessage(id="a", role="activity", activity_type="PLAN", content={}),
]
INSTRUCTION = SystemMessage(id="s", role="system", content="Be brief.")
SENT: dict[str, tuple[Callable[[list[Message]], list[Message]], list[str]]] = {
    # what the client sends, given what it holds; what is in the thread then
    "again, the first": (lambda held: until(held, "u1"), ["one", "5: re one"]),
    "again, calls": (lambda held: until(held, "u2"), [*TWO[:-1], "6: re two look"]),
    "again, last": (lambda held: until(held, "u3"), [*TWO, "three", "5: re three"]),
    "again, alone": (lambda held: [user("two look", "u2")], [*TWO[:-1], "6: re two look"]),
    "edited, the first": (lambda held: edit(held, "u1"), ["new", "5: re new"]),
    "edited": (lambda held: edit(held, "u2"), [*ONE, "new", "5: re new"]),
    "edited, alone": (lambda held: [user("new", "u2")], [*ONE, "new", "5: re new"]),
    "edited, then thoughts": (behind(*QUIET), [*ONE, "new", "5: re new"]),
    "a new one behind": (behind(NEW), [*ALL, "and this", "5: re and this"]),
    "several changed and several new": (
        lambda held: [user("a", "u1"), user("b", "u2"), user("c", "u8"), NEW],
        [*ALL, "c", "and this", "5: re and this"],
    ),
    "an answer behind": (
        behind(AssistantMessage(id="unknown", role="assistant", content="So.")),
        ALL,
    ),
    "a result behind": (behind(result("c9")), ALL),
    "an instruction behind": (behind(INSTRUCTION), ALL),
}


@pytest.mark.parametrize("case", SENT)
async def test_a_list_that_ends_with_a_known_message(saver: Any, case: str) -> None:
    thread, (sent, branch) = talk(saver), SENT[case]
    held = await thread.spoken(**TURNS)
    old, client = await thread.checkpoint(), sent(held)
    recorded = await thread.say(*client)
    assert await thread.texts() == branch
    assert await thread.texts(old) == ALL
    if branch != ALL:
        assert thread.asked == branch[:-1]
    if branch[: len(ALL)] != ALL and len(client) > 1:
        recorded.check_snapshot()
        assert dumped(recorded.messages)[: len(client)] == dumped(client)
    await thread.say(*recorded.messages, "more")
    assert (await thread.texts())[:-1] == [*branch, "more"]


async def test_a_thread_without_the_point_before_a_message(saver: Any) -> None:
    """It was filled by `update_state`, or its old checkpoints are gone."""
    thread = talk(saver)
    for name in ("u1", "u2"):
        await thread.update(HumanMessage(name, id=name), as_node="__start__")
    await thread.say(user("u1", "u1"), outcome="invalid_input")
    await thread.say(user("u2", "u2"))
    assert await thread.texts() == ["u1", "u2", "1: re u2"]


async def test_a_change_that_the_client_has_missed_is_no_edit(saver: Any) -> None:
    """The graph has changed a user message; the client's list goes on with its answer."""
    thread = talk(saver)
    held = await thread.spoken(**TURNS)
    await thread.update(HumanMessage("changed", id="u2"))
    for news, after in (([], []), (["four"], ["four", "5: re four"])):
        await thread.say(*held, *news)
        assert await thread.texts() == [*ALL[:2], "changed", *ALL[3:], *after]


@pytest.mark.parametrize("holds", [True, False])
async def test_a_redacted_message_before_a_new_one(holds: bool) -> None:
    """The client holds what its user wrote. Its connection broke: it holds the beginning of an
    answer, or leaves it out."""
    model, pii = Scripted(["Let me ", 30.0], ["Two."]), PIIMiddleware("email")
    thread = talk(InMemorySaver(), model, tools=[], middleware=[pii])
    given = run_input(user("mail ada@example.org", "u1"), thread="t")
    held = await left_at(thread.agent, given, "TEXT_MESSAGE_CONTENT")
    assert [message.role for message in held] == ["user", "assistant"]
    await thread.say(*(held if holds else given.messages), user("second", "u2"))
    assert await thread.texts() == ["mail [REDACTED_EMAIL]", "second", "Two."]


class Watcher(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.models: list[Any] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.models.append((kwargs["metadata"]["tenant"], kwargs["metadata"].get("visit")))


async def test_the_callers_config_survives(saver: Any) -> None:
    watcher, own = Watcher(), Watcher()
    thread = talk(saver, config={"callbacks": [watcher], "metadata": {"tenant": "a"}})
    again = edit(await thread.spoken(**TURNS), "u2", "new look")
    mine: Any = {"callbacks": [own], "metadata": {"visit": 7}, "configurable": {"user": "u"}}
    await thread.say(*again, config={**mine, "recursion_limit": 50})
    assert watcher.models == [("a", None)] * 4 + [("a", 7)] * 2
    assert own.models == [("a", 7)] * 2
    # A limit of the caller's is one in the new branch too: a model, two tools, a model again.
    await thread.say(*again, config={"recursion_limit": 2}, outcome="recursion_limit")


class Counted(Chat):
    turns: Annotated[list[str], add]
    mood: str


@pytest.mark.parametrize(("words", "sends_state"), [("u2", True), ("new", False)])
async def test_the_other_channels_are_those_of_the_fork_point(
    saver: Any, words: str, sends_state: bool
) -> None:
    async def note(state: Counted) -> Any:
        text = state["messages"][-1].text
        return {"turns": [text], "mood": f"after {text}"}

    thread = chat(note, talker(echo()), state=Counted, checkpointer=saver)
    recorded = await thread.say(user("u1", "u1"))
    for name in ("u2", "u3"):
        recorded = await thread.say(*recorded.messages, user(name, name), state=recorded.state)
    assert recorded.state == {"turns": ["u1", "u2", "u3"], "mood": "after u3"}
    held = recorded.state if sends_state else {}
    again = await thread.say(*edit(recorded.messages, "u2", words), state=held)
    assert again.state == {"turns": ["u1", words], "mood": f"after {words}"}
    more = {**again.state, "mood": "mine", "draft": 1}
    last = await thread.say(*until(again.messages, "u1"), state=more)
    assert last.state == {"turns": ["u1"], "mood": "after u1", "draft": 1}


def shown(text: str, source: dict[str, Any] | None) -> UserMessage:
    parts: list[Any] = [{"type": "text", "text": text}] if text else []
    parts += [{"type": "image", "source": source}] if source else []
    return UserMessage.model_validate({"id": "u1", "role": "user", "content": parts})


def data(value: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "data", "value": value, "mimeType": kind}


@pytest.mark.parametrize(("text", "name"), [("where", "a"), ("what", "b"), ("what", "a")])
async def test_a_message_with_a_picture(saver: Any, text: str, name: str) -> None:
    """Other words or another picture are an edit, the same are none."""

    def linked(name: str) -> dict[str, Any]:
        return {"type": "url", "value": f"https://example.org/{name}.png", "mimeType": "image/png"}

    thread, edited = talk(saver), (text, name) != ("what", "a")
    first = await thread.say(shown("what", linked("a")))
    before = await thread.stored()
    again = await thread.say(shown(text, linked(name)))
    [asked] = thread.model.seen[-1]
    pictures = [block["url"] for block in asked.content_blocks if block["type"] == "image"]
    assert (asked.text, pictures) == (text, [f"https://example.org/{name}.png"])
    assert ((await thread.stored())[0] == before[0]) is not edited
    await thread.say(again.messages[0])  # as the client has it from a snapshot
    assert await thread.texts() == [text, f"3: re {text}"]
    if not edited:  # nor is the whole list taken for an edit
        second = await thread.say(*first.messages, user("more", "u2"))
        await thread.say(*second.messages)
        assert (await thread.texts())[-2:] == ["more", "4: re more"]
        assert thread.calls == 4


@pytest.mark.parametrize(("whole", "left"), [(True, None), (False, data(""))])
async def test_media_that_the_client_has_dropped(whole: bool, left: Any) -> None:
    thread = talk(InMemorySaver())
    first = await thread.say(shown("look", data(encoded(PNG))))
    stored = await thread.stored()
    rest = first.messages[1:] if whole else []
    await thread.say(shown("look", left), *rest, user("new", "u2"))
    assert (await thread.stored())[: len(stored)] == stored
    assert thread.asked[len(stored) :] == ["new"]


async def test_a_picture_that_an_older_release_has_stored_is_no_edit(saver: Any) -> None:
    """As a standard block, also if the client's own spelling of it is another than the thread's."""
    thread, asked = talk(saver), shown("", data(encoded(PNG).rstrip("="), "image/jpeg"))
    old: Any = [{"type": "image", "base64": encoded(PNG), "mime_type": "image/png"}]
    before = HumanMessage(old, id="u1")
    await thread.agent.graph.ainvoke({"messages": [before]}, thread.config)
    await thread.say(asked)  # runs again
    _, answer = await thread.stored()
    held = AssistantMessage(id=str(answer.id), role="assistant", content=answer.text)
    await thread.say(asked, held, user("more", "u2"))
    assert (await thread.stored())[0] == before
    assert await thread.texts() == ["", "2: re ", "more", "3: re more"]


def listed(model: Scripted, saver: Any) -> Any:
    """A graph whose state is a list of messages, with no key around it."""

    async def node(messages: Any) -> Any:
        return [await model.ainvoke(messages)]

    kind: Any = StateGraph
    builder = kind(Annotated[list[Any], add_messages])
    return builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)


# A subgraph is saved with its graph or not at all. One with a memory of its own
# (`checkpointer=True`) is not: LangGraph does not take that back with the graph's.
GRAPHS: dict[str, Callable[[Scripted, Any], Any]] = {
    "subgraph": lambda model, saver: chain_of(chain_of(talker(model)), checkpointer=saver),
    "subgraph without memory": lambda model, saver: chain_of(
        chain_of(talker(model), checkpointer=False), checkpointer=saver
    ),
    "sync": lambda model, saver: chain_of(sync_talker(model), checkpointer=saver),
    "list": listed,
}


@pytest.mark.parametrize("graph", GRAPHS)
async def test_graphs_of_all_kinds(saver: Any, graph: str) -> None:
    model = echo()
    thread = Talk(LangGraphAgent(graph=GRAPHS[graph](model, saver)), model)
    held = await thread.spoken(u1="one", u2="two", u3="three")
    assert dumped((await thread.connect()).messages) == dumped(held)
    await thread.say(*held)
    assert thread.calls == 3
    again = await thread.say(*edit(held, "u2"))
    assert thread.asked == [*ONE, "new"]
    changed = again.messages[1].model_copy(update={"content": "FORGED"})
    await thread.say(again.messages[0], changed, *forged(), "more")
    assert await thread.texts() == [*ONE, "new", "4: re new", "more", "5: re more"]


async def test_a_failed_run_of_a_list_is_healed() -> None:
    model = Scripted([RuntimeError("down")], ["Better."])
    thread = Talk(LangGraphAgent(graph=listed(model, InMemorySaver())), model)
    failed = await thread.say(user("one", "u1"), outcome="model_error")
    await thread.say(*failed.messages, "two")
    assert await thread.texts() == ["one", "two", "Better."]
