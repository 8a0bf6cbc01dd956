"""Messages that arrive in one piece: from models that do not stream, from nodes that write them,
from caches."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import AssistantMessage
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, sync_talker, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input, user


def returning(*messages: Any, name: str = "node") -> Any:
    """A node that returns `messages`."""

    async def node(state: Any) -> dict[str, Any]:
        return {"messages": list(messages)}

    node.__name__ = name
    return node


async def recording(*nodes: Any, **options: Any) -> RecordedRun:
    recorded = await record_run(agent_of(*nodes, **options), run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


def texts(recorded: RecordedRun) -> list[Any]:
    return [(message.role, message.content) for message in recorded.messages[1:]]


def starts(recorded: RecordedRun) -> int:
    return len(recorded.of("TEXT_MESSAGE_START"))


@pytest.mark.parametrize("node", [talker, sync_talker])
async def test_a_model_that_does_not_stream(node: Any) -> None:
    turn = [thinking("hm"), text_chunk("Look", 1), call("look", "c1", 2, q=1)]
    recorded = await recording(node(Scripted(turn, disable_streaming=True)))
    streamed = await recording(node(Scripted(turn)))
    assert without_ids(recorded) == without_ids(streamed)
    assert recorded.types.count("TEXT_MESSAGE_CONTENT") == 1


def without_ids(recorded: RecordedRun) -> list[Any]:
    """The messages without ids, which the envelope of a reasoning message names too."""
    return [{**dump, "id": "", "encryptedValue": None} for dump in dumped(recorded.messages[1:])]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("Hello"),
        AIMessage("Hello", id="m1"),
        ("assistant", "Hello"),
        ("ai", "Hello"),
        {"role": "assistant", "content": "Hello"},
        {"role": "ai", "content": "Hello", "id": "m2"},
        AIMessage([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]),
    ],
    ids=str,
)
async def test_a_node_that_writes_a_message(message: Any) -> None:
    recorded = await recording(returning(message))
    assert texts(recorded) == [("assistant", "Hello")]
    assert starts(recorded) == 1
    assert recorded.types.index("TEXT_MESSAGE_END") < recorded.types.index("MESSAGES_SNAPSHOT")


async def test_a_written_message_is_inside_the_step_of_its_node() -> None:
    recorded = await recording(returning(AIMessage("Hello")), returning(AIMessage("x"), name="b"))
    names = {"STEP_STARTED": "(", "STEP_FINISHED": ")", "TEXT_MESSAGE_START": "text"}
    assert [names[kind] for kind in recorded.types if kind in names] == ["(", "text", ")"] * 2


async def test_a_message_not_in_a_list() -> None:
    async def node(state: Any) -> Any:
        return {"messages": AIMessage("Hello")}

    assert texts(await recording(node)) == [("assistant", "Hello")]


async def test_calls_and_results_of_plain_nodes() -> None:
    calls = [{"name": "look", "args": {"q": 1}, "id": "c1"}]
    recorded = await recording(
        returning(AIMessage("", tool_calls=calls), name="ask"),
        returning(ToolMessage("found", tool_call_id="c1", id="r1")),
    )
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert (result.message_id, result.content) == ("r1", "found")
    assert recorded.last.outcome.pending_tool_call_ids is None


async def test_a_users_message_written_by_a_node() -> None:
    recorded = await recording(returning(HumanMessage("And?", id="h1")))
    assert texts(recorded) == [("user", "And?")]


async def test_system_messages_are_not_told_and_an_answer_that_is_replaced_is_lost() -> None:
    agent = agent_of(
        returning(SystemMessage("SECRET"), AIMessage("a", id="a1"), name="one"),
        returning(RemoveMessage(id="a1"), AIMessage("b"), name="two"),
    )
    recorded = await record_run(agent, run_input("hi"))
    assert not any("SECRET" in event.model_dump_json() for event in recorded.events)
    assert [message.content for message in recorded.messages[1:]] == ["b"]
    assert starts(recorded) == 2


@pytest.mark.parametrize("copied_id", [None, "copy"])
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("nested", [True, False])
async def test_a_copy_of_a_reply_is_told_once(
    copied_id: str | None, streaming: bool, nested: bool
) -> None:
    model = Scripted(["Hel", "lo"], disable_streaming=not streaming)

    async def node(state: Chat) -> Any:
        if nested:
            reply = (await chain_of(talker(model, "inner")).ainvoke(state))["messages"][-1]
        else:
            reply = await model.ainvoke("x")
        return {"messages": [AIMessage(reply.content, id=copied_id)]}

    recorded = await recording(node, clients=ClientOptions(subagents="inline"))
    assert texts(recorded) == [("assistant", "Hello")]
    assert starts(recorded) == 1


async def test_a_copy_that_says_something_else_is_a_message() -> None:
    async def node(state: Chat) -> Any:
        reply = await Scripted(["draft"]).ainvoke("x")
        return {"messages": [AIMessage(f"{reply.content}, improved")]}

    assert [content for _, content in texts(await recording(node))] == ["draft, improved"]


async def test_a_nested_agent_whose_messages_are_returned() -> None:
    inner = chain_of(talker(Scripted(["one"]), "a"), talker(Scripted(["two"]), "b"))

    async def node(state: Chat) -> Any:
        return await inner.ainvoke(state)

    assert texts(await recording(node)) == [("assistant", "one"), ("assistant", "two")]


async def test_a_message_modified_under_its_id() -> None:
    async def edit(state: Chat) -> Any:
        return {"messages": [AIMessage("new", id=state["messages"][-1].id)]}

    recorded = await record_run(agent_of(talker(Scripted(["old"])), edit), run_input("hi"))
    # The stream cannot take words back: the snapshot does.
    assert texts(recorded) == [("assistant", "new")]
    assert starts(recorded) == 1


async def test_a_users_message_modified_under_its_id() -> None:
    async def edit(state: Chat) -> Any:
        return {"messages": [HumanMessage("better", id=state["messages"][0].id), AIMessage("a")]}

    recorded = await record_run(agent_of(edit), run_input("hi"))
    assert [message.content for message in recorded.snapshot] == ["better", "a"]


async def test_a_cached_node_is_told_again() -> None:
    model = Scripted(["Hello"])
    builder = StateGraph(Chat)
    policy = CachePolicy(key_func=lambda _: "same")
    builder.add_node("model", talker(model), cache_policy=policy)
    builder.add_edge(START, "model")
    agent = LangGraphAgent(graph=builder.compile(cache=InMemoryCache()))
    for _ in range(2):
        recorded = await record_run(agent, run_input("hi"))
        recorded.check_snapshot()
        assert texts(recorded) == [("assistant", "Hello")]
    assert len(model.seen) == 1


def hidden(model: Any) -> Any:
    return model.with_config(tags=["nostream"])


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("returned", [True, False])
async def test_nostream_leaves_no_trace(streaming: bool, returned: bool) -> None:
    model = hidden(Scripted(["SECRET"], disable_streaming=not streaming))

    async def router(state: Chat) -> Any:
        reply = await model.ainvoke("x")
        return {"messages": [reply]} if returned else {}

    recorded = await recording(router, talker(Scripted(["visible"])))
    assert not any("SECRET" in event.model_dump_json() for event in recorded.events)
    assert texts(recorded) == [("assistant", "visible")]


async def test_a_hidden_call_with_a_tool_leaves_no_trace() -> None:
    recorded = await recording(
        talker(hidden(Scripted([call("look", "hidden-call")])), "router"),
        returning(ToolMessage("SECRET", tool_call_id="hidden-call"), name="tool"),
        talker(Scripted(["visible"])),
    )
    assert texts(recorded) == [("assistant", "visible")]
    assert not any("hidden-call" in event.model_dump_json() for event in recorded.events)


async def test_hidden_and_visible_calls_in_one_node() -> None:
    async def node(state: Chat) -> Any:
        first = await Scripted(["a"]).ainvoke("x")
        await hidden(Scripted(["SECRET"])).ainvoke("x")
        return {"messages": [first, await Scripted(["b"]).ainvoke("x")]}

    assert [content for _, content in texts(await recording(node))] == ["a", "b"]


async def test_an_inner_call_is_seen_live_and_withdrawn_when_its_node_has_ended() -> None:

    async def node(state: Chat) -> Any:
        await Scripted(["thought"]).ainvoke("x")
        return {"messages": [await Scripted(["answer"]).ainvoke("x")]}

    recorded = await recording(node)
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["thought", "answer"]
    assert [content for _, content in texts(recorded)] == ["answer"]


async def test_a_hidden_message_stays_hidden_in_the_next_run() -> None:
    """Another agent object on the same thread, as after a restart."""
    saver = InMemorySaver()
    router = talker(hidden(Scripted([call("look", "c1")])), "router")
    first = await record_run(
        agent_of(router, talker(Scripted(["a"])), checkpointer=saver), run_input("hi", thread="t")
    )
    again = run_input(*first.messages, "more", thread="t")
    recorded = await record_run(agent_of(talker(Scripted(["b"])), checkpointer=saver), again)
    recorded.check_snapshot()
    answers = [
        message.content for message in recorded.messages if isinstance(message, AssistantMessage)
    ]
    assert answers == ["a", "b"]


@pytest.mark.parametrize("back", ["Hello", "Bye"])
async def test_a_message_that_a_node_changes_and_another_changes_back(back: str) -> None:
    """The client's value for it follows: the model gets what the graph has, not what it had
    between."""
    model = Scripted(["Hello"], ["Done."])

    async def talk(state: Chat) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def rewrite(text: str) -> Any:
        def node(state: Chat) -> dict[str, Any]:
            last = state["messages"][-1]
            return {"messages": [AIMessage(text, id=last.id)] if last.text != "Done." else []}

        node.__name__ = f"rewrite_{text}"
        return node

    first_node, second_node = rewrite("Changed"), rewrite(back)
    agent = LangGraphAgent(chain_of(talk, first_node, second_node))
    first = await record_run(agent, run_input(user("hi")))
    await record_run(agent, run_input(*first.messages, user("more")))
    assert model.seen[-1][1].content == back
