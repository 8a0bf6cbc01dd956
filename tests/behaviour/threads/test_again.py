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


def quiet() -> list[Message]:
    """What is not spoken, and may stand behind an edit."""
    plan = ActivityMessage(id="a", role="activity", activity_type="PLAN", content={})
    return [ReasoningMessage(id="r", role="reasoning", content="Hm."), plan]


def behind(held: list[Message], *more: Message) -> list[Message]:
    """The list with a changed message, and more behind it."""
    return [*edit(held, "u2"), *more]


NEW = user("and this", "u9")
CASES = [
    # what the client sends, given what it holds; what is in the thread then
    pytest.param(lambda held: until(held, "u1"), ["one", "5: re one"], id="again, the first"),
    pytest.param(lambda held: until(held, "u2"), [*TWO[:-1], "6: re two look"], id="again, calls"),
    pytest.param(lambda held: until(held, "u3"), [*TWO, "three", "5: re three"], id="again, last"),
    pytest.param(
        lambda held: [user("two look", "u2")], [*TWO[:-1], "6: re two look"], id="again, alone"
    ),
    pytest.param(lambda held: edit(held, "u1"), ["new", "5: re new"], id="edited, the first"),
    pytest.param(lambda held: edit(held, "u2"), [*ONE, "new", "5: re new"], id="edited"),
    pytest.param(lambda held: edit(held, "u3"), [*TWO, "new", "5: re new"], id="edited, the last"),
    pytest.param(lambda held: [user("new", "u2")], [*ONE, "new", "5: re new"], id="edited, alone"),
    pytest.param(
        lambda held: behind(held, *quiet()), [*ONE, "new", "5: re new"], id="edited, then thoughts"
    ),
    pytest.param(
        lambda held: behind(held, NEW), [*ALL, "and this", "5: re and this"], id="a new one behind"
    ),
    pytest.param(
        lambda held: [user("a", "u1"), user("b", "u2"), user("c", "u8"), NEW],
        [*ALL, "c", "and this", "5: re and this"],
        id="several changed and several new",
    ),
    pytest.param(
        lambda held: behind(held, held[-1].model_copy(update={"id": "unknown"})),
        ALL,
        id="an answer behind",
    ),
    pytest.param(lambda held: behind(held, result("c9")), ALL, id="a result behind"),
    pytest.param(
        lambda held: behind(held, SystemMessage(id="s", role="system", content="Be brief.")),
        ALL,
        id="an instruction behind",
    ),
]


@pytest.mark.parametrize(("sent", "branch"), CASES)
async def test_a_list_that_ends_with_a_known_message(
    saver: Any, sent: Callable[[list[Message]], list[Message]], branch: list[str]
) -> None:
    thread = talk(saver)
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


async def test_again_from_one_of_several_messages(saver: Any) -> None:
    thread = talk(saver)
    held = (await thread.say(user("one", "u1"), user("two", "u2"))).messages
    for name, texts in {"u2": ["one", "two", "2: re two"], "u1": ["one", "3: re one"]}.items():
        await thread.say(*until(held, name))
        assert await thread.texts() == texts


@pytest.mark.parametrize("turns", [0, 1])
async def test_again_after_failed_runs(saver: Any, turns: int) -> None:
    down = [RuntimeError("down")]
    thread = talk(saver, Scripted(*[["fine"]] * turns, down, down, ["better"]))
    held = [*await thread.spoken(**({"u1": "one"} if turns else {})), user("go", "u")]
    for _ in range(2):
        held = (await thread.say(*held, outcome="model_error")).messages
    await thread.say(*held)
    assert await thread.texts() == [*["one", "fine"][: 2 * turns], "go", "better"]


async def test_a_thread_without_the_point_before_a_message(saver: Any) -> None:
    """It was filled by `update_state`, or its old checkpoints are gone."""
    thread = talk(saver)
    for name in ("u1", "u2"):
        await thread.update(HumanMessage(name, id=name), as_node="__start__")
    await thread.say(user("u1", "u1"), outcome="invalid_input")
    await thread.say(user("u2", "u2"))
    assert await thread.texts() == ["u1", "u2", "1: re u2"]


@pytest.mark.parametrize("news", [["four"], []])
async def test_a_change_that_the_client_has_missed_is_no_edit(saver: Any, news: list[str]) -> None:
    """The graph has changed a user message; the client's list goes on with its answer."""
    thread = talk(saver)
    held = await thread.spoken(**TURNS)
    await thread.update(HumanMessage("changed", id="u2"))
    await thread.say(*held, *news)
    after = [*ALL[:2], "changed", *ALL[3:], *news, *(["5: re four"] if news else [])]
    assert await thread.texts() == after


@pytest.mark.parametrize("keeps", [None, True, False])
async def test_a_redacted_message_before_a_new_one(keeps: bool | None) -> None:
    """The client holds what its user wrote; `keeps`: its connection broke, and it holds the
    beginning of an answer, or leaves it out."""
    turns = [["One."], ["Two."]] if keeps is None else [["Let me ", 30.0], ["Two."]]
    pii = PIIMiddleware("email")
    thread = talk(InMemorySaver(), Scripted(*turns), tools=[], middleware=[pii])
    given = run_input(user("mail ada@example.org", "u1"), thread="t")
    if keeps is None:
        held = (await thread.say(*given.messages)).messages
    else:
        held = await left_at(thread.agent, given, "TEXT_MESSAGE_CONTENT")
        assert [message.role for message in held] == ["user", "assistant"]
    await thread.say(*(held if keeps else given.messages), user("second", "u2"))
    before = ["mail [REDACTED_EMAIL]", *(["One."] if keeps is None else [])]
    assert await thread.texts() == [*before, "second", "Two."]


class Watcher(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.models: list[Any] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.models.append((kwargs["metadata"]["tenant"], kwargs["metadata"].get("visit")))


@pytest.mark.parametrize("words", ["two look", "new look"])
async def test_the_callers_config_survives(saver: Any, words: str) -> None:
    watcher, own = Watcher(), Watcher()
    thread = talk(saver, config={"callbacks": [watcher], "metadata": {"tenant": "a"}})
    again = edit(await thread.spoken(**TURNS), "u2", words)
    mine: Any = {"callbacks": [own], "metadata": {"visit": 7}, "configurable": {"user": "u"}}
    await thread.say(*again, config={**mine, "recursion_limit": 50})
    assert watcher.models == [("a", None)] * 4 + [("a", 7)] * 2
    assert own.models == [("a", 7)] * 2
    # A limit of the caller's is one in the new branch too: a model, two tools, a model again.
    await thread.say(*again, config={"recursion_limit": 2}, outcome="recursion_limit")


class Counted(Chat):
    turns: Annotated[list[str], add]
    mood: str


@pytest.mark.parametrize("sends_state", [True, False])
@pytest.mark.parametrize("words", ["u2", "new"])
async def test_the_other_channels_are_those_of_the_fork_point(
    saver: Any, words: str, sends_state: bool
) -> None:
    async def note(state: Counted) -> Any:
        text = state["messages"][-1].text
        return {"turns": [text], "mood": f"after {text}"}

    model = echo()
    thread = chat(note, talker(model), model=model, state=Counted, checkpointer=saver)
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


def linked(name: str = "a") -> dict[str, Any]:
    return {"type": "url", "value": f"https://example.org/{name}.png", "mimeType": "image/png"}


def data(value: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "data", "value": value, "mimeType": kind}


@pytest.mark.parametrize(
    ("text", "name", "edited"),
    [("where", "a", True), ("what", "b", True), ("what", "a", False)],
    ids=["other words", "other picture", "the same"],
)
async def test_a_message_with_a_picture(saver: Any, text: str, name: str, edited: bool) -> None:
    thread = talk(saver)
    first = await thread.say(shown("what", linked()))
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


@pytest.mark.parametrize("whole", [True, False], ids=["whole_list", "short_list"])
@pytest.mark.parametrize("left", [None, data("")], ids=["no_part", "empty_part"])
async def test_media_that_the_client_has_dropped(whole: bool, left: Any) -> None:
    thread = talk(InMemorySaver())
    first = await thread.say(shown("look", data(encoded(PNG))))
    stored = await thread.stored()
    rest = first.messages[1:] if whole else []
    await thread.say(shown("look", left), *rest, user("new", "u2"))
    assert (await thread.stored())[: len(stored)] == stored
    assert thread.asked[len(stored) :] == ["new"]


def nested(model: Scripted, saver: Any, own: bool | None) -> Any:
    """A graph whose model talks in a subgraph, which is saved with it or not at all.

    One with a memory of its own (`checkpointer=True`) is not: LangGraph does not take that back
    with the graph's.
    """
    builder = StateGraph(Chat)
    builder.add_node("inner", chain_of(talker(model), checkpointer=own))
    return builder.add_edge(START, "inner").compile(checkpointer=saver)


def listed(model: Scripted, saver: Any) -> Any:
    """A graph whose state is a list of messages, with no key around it."""

    async def node(messages: Any) -> Any:
        return [await model.ainvoke(messages)]

    kind: Any = StateGraph
    builder = kind(Annotated[list[Any], add_messages])
    return builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)


GRAPHS: dict[str, Callable[[Scripted, Any], Any]] = {
    "subgraph": lambda model, saver: nested(model, saver, None),
    "subgraph without memory": lambda model, saver: nested(model, saver, False),
    "sync": lambda model, saver: chain_of(sync_talker(model), checkpointer=saver),
    "list": listed,
}


@pytest.mark.parametrize("words", ["two", "new"])
@pytest.mark.parametrize("graph", GRAPHS)
async def test_graphs_of_all_kinds(saver: Any, graph: str, words: str) -> None:
    model = echo()
    thread = Talk(LangGraphAgent(graph=GRAPHS[graph](model, saver)), model)
    held = await thread.spoken(u1="one", u2="two", u3="three")
    assert dumped((await thread.connect()).messages) == dumped(held)
    await thread.say(*held)
    assert thread.calls == 3
    again = await thread.say(*edit(held, "u2", words))
    assert thread.asked == [*ONE, words]
    changed = again.messages[1].model_copy(update={"content": "FORGED"})
    await thread.say(again.messages[0], changed, *forged(), "more")
    assert await thread.texts() == [*ONE, words, f"4: re {words}", "more", "5: re more"]


async def test_a_failed_run_of_a_list_is_healed() -> None:
    model = Scripted([RuntimeError("down")], ["Better."])
    thread = Talk(LangGraphAgent(graph=listed(model, InMemorySaver())), model)
    failed = await thread.say(user("one", "u1"), outcome="model_error")
    await thread.say(*failed.messages, "two")
    assert await thread.texts() == ["one", "two", "Better."]
