"""Running again from a message of the thread: with its old words, or with new ones in a new
branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import Annotated, Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    ImageInputContent,
    InputContentUrlSource,
    Message,
    TextInputContent,
    UserMessage,
)
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, sync_talker, talker
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, user
from tests.kit.run.talking import Talk, by_role, echo, talk

FOUR = [
    "one",
    "1: re one",
    "two look",
    "Looking.",
    "seen a",
    "seen b",
    "3: re two look",
    "three",
    "4: re three",
]


async def spoken(saver: Any, **options: Any) -> tuple[Talk, list[Message]]:
    """A thread of three turns, and what its client holds."""
    thread, held = talk(saver, **options), list[Message]()
    for name, text in {"u1": "one", "u2": "two look", "u3": "three"}.items():
        held = (await thread.say(*held, user(text, name))).messages
    assert await thread.texts() == FOUR
    return thread, held


def until(held: Sequence[Message], message_id: str) -> list[Message]:
    """The client's list up to a message, as it sends it to run again from there."""
    place = next(place for place, message in enumerate(held) if message.id == message_id)
    return list(held[: place + 1])


AGAIN = {
    "u1": ["one", "5: re one"],
    "u2": [*FOUR[:2], "two look", "Looking.", "seen a", "seen b", "6: re two look"],
    "u3": [*FOUR[:-2], "three", "5: re three"],
}


@pytest.mark.parametrize("message_id", AGAIN)
async def test_again_from_a_known_user_message(saver: Any, message_id: str) -> None:
    thread, held = await spoken(saver)
    recorded = await thread.say(*until(held, message_id))
    assert await thread.texts() == AGAIN[message_id]
    recorded.check_snapshot()
    assert dumped(recorded.messages)[: len(until(held, message_id))] == dumped(
        until(held, message_id)
    )
    # And on from there.
    await thread.say(*recorded.messages, "four")
    assert (await thread.texts())[:-1] == [*AGAIN[message_id], "four"]


async def test_again_with_that_message_alone(saver: Any) -> None:
    thread, _ = await spoken(saver)
    await thread.say(user("two look", "u2"))
    assert await thread.texts() == AGAIN["u2"]


async def test_again_and_again(saver: Any) -> None:
    thread, held = await spoken(saver)
    for number in (5, 6, 7):
        recorded = await thread.say(*until(held, "u3"))
        assert await thread.texts() == [*FOUR[:-2], "three", f"{number}: re three"]
        assert by_role(recorded.messages, "assistant")[-1].content == f"{number}: re three"
    await thread.say(*until(held, "u1"))
    assert await thread.texts() == ["one", "8: re one"]


async def test_again_from_one_of_several_messages(saver: Any) -> None:
    thread = talk(saver)
    recorded = await thread.say(user("one", "u1"), user("two", "u2"))
    await thread.say(*until(recorded.messages, "u2"))
    assert await thread.texts() == ["one", "two", "2: re two"]
    await thread.say(*until(recorded.messages, "u1"))
    assert await thread.texts() == ["one", "3: re one"]


@pytest.mark.parametrize("turns", [0, 1])
async def test_again_after_a_failed_run(saver: Any, turns: int) -> None:
    model = Scripted(
        *[["fine"]] * turns, [RuntimeError("down")], [RuntimeError("down")], ["better"]
    )
    thread = talk(saver, model)
    held = (await thread.say(user("one", "u1"))).messages if turns else []
    held = [*held, user("go", "u")]
    for _ in range(2):
        held = (await thread.say(*held, outcome="model_error")).messages
    await thread.say(*held)
    before = ["one", "fine"] if turns else []
    assert thread.asked == [*before, "go"]
    assert await thread.texts() == [*before, "go", "better"]


async def test_a_thread_without_the_point_before_a_message(saver: Any) -> None:
    """It was filled by `update_state`, or its old checkpoints are gone."""
    thread = talk(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for name in ("u1", "u2"):
        await thread.agent.graph.aupdate_state(
            config, {"messages": [HumanMessage(name, id=name)]}, as_node="__start__"
        )
    await thread.say(user("u1", "u1"), outcome="invalid_input")
    assert await thread.texts() == ["u1", "u2"]
    await thread.say(user("u2", "u2"))
    assert await thread.texts() == ["u1", "u2", "1: re u2"]


# -- edited --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message_id", "branch"),
    [
        ("u1", ["new", "5: re new"]),
        ("u2", [*FOUR[:2], "new", "5: re new"]),
        ("u3", [*FOUR[:-2], "new", "5: re new"]),
    ],
)
async def test_an_edited_message_begins_a_branch(
    saver: Any, message_id: str, branch: list[str]
) -> None:
    thread, held = await spoken(saver)
    old = await thread.checkpoint()
    recorded = await thread.say(*until(held, message_id)[:-1], user("new", message_id))
    assert thread.asked == branch[:-1]
    assert await thread.texts() == branch
    assert await thread.texts(old) == FOUR
    recorded.check_snapshot()
    await thread.say(*recorded.messages, "more")
    assert await thread.texts() == [*branch, "more", "6: re more"]


async def test_a_changed_message_with_another_behind_it_is_no_edit(saver: Any) -> None:
    """A client that has missed a redaction, or dropped the data of an attachment, sends such a
    list."""
    thread, held = await spoken(saver)
    before = await thread.texts()
    await thread.say(*until(held, "u2")[:-1], user("new", "u2"), user("and this", "u9"))
    texts = await thread.texts()
    assert texts[: len(before)] == before
    assert texts[len(before)] == "and this"


async def test_branches_of_branches(saver: Any) -> None:
    thread, held = await spoken(saver)
    first = await thread.say(*until(held, "u2")[:-1], user("a", "u2"))
    second = await thread.say(*first.messages, user("b", "u4"))
    await thread.say(*until(second.messages, "u4")[:-1], user("c", "u4"))
    assert await thread.texts() == [*FOUR[:2], "a", "5: re a", "c", "7: re c"]
    await thread.say(*until(held, "u1"))
    assert await thread.texts() == ["one", "8: re one"]


@pytest.mark.parametrize("stale", [True, False])
async def test_a_change_that_the_client_has_missed_is_no_edit(saver: Any, stale: bool) -> None:
    """The graph has changed a user message; the client's list goes on with what was said after
    it."""
    thread, held = await spoken(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    await thread.agent.graph.aupdate_state(config, {"messages": [HumanMessage("changed", id="u2")]})
    await thread.say(*held, *(["four"] if stale else []))
    assert (await thread.texts())[2] == "changed"
    assert (await thread.texts())[-2:] == (["four", "5: re four"] if stale else FOUR[-2:])


class Watcher(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.models: list[dict[str, Any]] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.models.append(kwargs["metadata"])


@pytest.mark.parametrize("edited", [True, False])
async def test_the_callers_config_survives(saver: Any, edited: bool) -> None:
    watcher = Watcher()
    thread, held = await spoken(saver, config={"callbacks": [watcher], "metadata": {"tenant": "a"}})
    assert [seen["tenant"] for seen in watcher.models] == ["a"] * 4
    own = Watcher()
    mine: Any = {
        "callbacks": [own],
        "metadata": {"visit": 7},
        "configurable": {"user": "u"},
        "recursion_limit": 50,
    }
    again = [*until(held, "u2")[:-1], user("new look" if edited else "two look", "u2")]
    await thread.say(*again, config=mine)
    assert [(seen["tenant"], seen["visit"]) for seen in own.models] == [("a", 7)] * 2
    assert len(watcher.models) == 6
    # A limit of the caller's is one in the new branch too: a model, two tools, a model again.
    await thread.say(*again, config={"recursion_limit": 2}, outcome="recursion_limit")


class Counted(Chat):
    turns: Annotated[list[str], add]
    mood: str


@pytest.mark.parametrize("client_state", [True, False])
@pytest.mark.parametrize("edited", [True, False])
async def test_the_other_channels_are_those_of_the_fork_point(
    saver: Any, edited: bool, client_state: bool
) -> None:
    async def note(state: Counted) -> Any:
        return {
            "turns": [state["messages"][-1].text],
            "mood": f"after {state['messages'][-1].text}",
        }

    model = echo()
    thread = Talk(agent_of(note, talker(model), state=Counted, checkpointer=saver), model)
    recorded = await thread.say(user("one", "u1"))
    for name in ("u2", "u3"):
        recorded = await thread.say(*recorded.messages, user(name, name), state=recorded.state)
    assert recorded.state == {"turns": ["one", "u2", "u3"], "mood": "after u3"}
    words, held = "new" if edited else "u2", recorded.state if client_state else {}
    again = await thread.say(*until(recorded.messages, "u2")[:-1], user(words, "u2"), state=held)
    assert again.state == {"turns": ["one", words], "mood": f"after {words}"}
    more = {**again.state, "mood": "mine", "draft": 1}
    last = await thread.say(*until(again.messages, "u1"), state=more)
    assert last.state == {"turns": ["one"], "mood": "after one", "draft": 1}


# -- media ---------------------------------------------------------------------------------------


def shown(text: str, url: str = "https://example.org/a.png", message_id: str = "u1") -> UserMessage:
    image = ImageInputContent(
        type="image", source=InputContentUrlSource(type="url", value=url, mime_type="image/png")
    )
    return UserMessage(
        id=message_id, role="user", content=[TextInputContent(type="text", text=text), image]
    )


def images(message: BaseMessage) -> list[Any]:
    return [block["url"] for block in message.content_blocks if block["type"] == "image"]


@pytest.mark.parametrize("edited", [None, "text", "image"])
async def test_media_parts(saver: Any, edited: str | None) -> None:
    thread = talk(saver)
    first = await thread.say(shown("what"))
    assert images(thread.model.seen[0][-1]) == ["https://example.org/a.png"]
    if edited is None:  # the client's list, as it holds it, is not taken for an edit
        second = await thread.say(*first.messages, user("more", "u2"))
        await thread.say(*second.messages)
        assert await thread.texts() == ["what", "1: re what", "more", "2: re more"]
        assert thread.calls == 2
        return
    await thread.say(
        shown("where") if edited == "text" else shown("what", "https://example.org/b.png")
    )
    asked = thread.model.seen[-1]
    assert len(asked) == 1
    assert asked[0].text == ("where" if edited == "text" else "what")
    assert images(asked[0]) == [f"https://example.org/{'a' if edited == 'text' else 'b'}.png"]


async def test_a_media_message_runs_again_unchanged(saver: Any) -> None:
    thread = talk(saver)
    await thread.say(shown("what"))
    before = (await thread.stored())[0]
    again = await thread.say(shown("what"))
    assert (await thread.stored())[0] == before
    assert await thread.texts() == ["what", "2: re what"]
    # What the client has from `connect` or a snapshot is the same message too.
    await thread.say(again.messages[0])
    assert (await thread.stored())[0] == before


async def test_a_picture_that_an_older_release_has_stored_is_no_edit(saver: Any) -> None:
    """As a standard block, also if the client's own spelling of it is another than the thread's."""
    thread = talk(saver)
    picture = {"type": "data", "value": encoded(PNG).rstrip("="), "mimeType": "image/jpeg"}
    asked = UserMessage.model_validate(
        {"id": "u1", "role": "user", "content": [{"type": "image", "source": picture}]}
    )
    old: Any = [{"type": "image", "base64": encoded(PNG), "mime_type": "image/png"}]
    before = HumanMessage(old, id="u1")
    config: Any = {"configurable": {"thread_id": "t"}}
    await thread.agent.graph.ainvoke({"messages": [before]}, config)
    await thread.say(asked)  # runs again
    assert (await thread.stored())[0] == before
    assert await thread.texts() == ["", "2: re "]
    _, answer = await thread.stored()
    shown = AssistantMessage(id=str(answer.id), role="assistant", content=answer.text)
    await thread.say(asked, shown, user("more", "u2"))
    assert (await thread.stored())[0] == before
    assert await thread.texts() == ["", "2: re ", "more", "3: re more"]


# -- other graphs --------------------------------------------------------------------------------


def nested(model: Scripted, saver: Any, own: bool | None) -> Any:
    """A graph whose model talks in a subgraph, which is saved with it or not at all.

    One with a memory of its own (`checkpointer=True`) is not: LangGraph does not take that back
    with the graph's.
    """
    builder = StateGraph(Chat)
    builder.add_node("inner", chain_of(talker(model), checkpointer=own))
    return builder.add_edge(START, "inner").compile(checkpointer=saver)


GRAPHS: dict[str, Callable[[Scripted, Any], Any]] = {
    "subgraph": lambda model, saver: nested(model, saver, None),
    "subgraph without memory": lambda model, saver: nested(model, saver, False),
    "sync": lambda model, saver: chain_of(sync_talker(model), checkpointer=saver),
}


@pytest.mark.parametrize("words", ["two", "new"])
@pytest.mark.parametrize("graph", GRAPHS)
async def test_graphs_of_all_kinds_run_again(saver: Any, graph: str, words: str) -> None:
    model = echo()
    thread, held = Talk(LangGraphAgent(graph=GRAPHS[graph](model, saver)), model), list[Message]()
    for name, text in {"u1": "one", "u2": "two", "u3": "three"}.items():
        held = (await thread.say(*held, user(text, name))).messages
    again = await thread.say(*until(held, "u2")[:-1], user(words, "u2"))
    assert await thread.texts() == ["one", "1: re one", words, f"4: re {words}"]
    assert thread.asked == ["one", "1: re one", words]
    await thread.say(*again.messages, "more")
    assert (await thread.texts())[-2:] == ["more", "5: re more"]
