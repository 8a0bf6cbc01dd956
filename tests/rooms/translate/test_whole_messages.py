"""Messages that arrive in one piece: from models that do not stream, from nodes that write them,
from caches; and those that nobody may see."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages import ToolMessage as Result
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, sync_talker, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input
from tests.kit.run.thread_client import Client

HELLO = [("assistant", "Hello")]


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


def without_ids(recorded: RecordedRun) -> list[Any]:
    """The messages without ids, which the envelope of a reasoning message names too."""
    return [{**dump, "id": "", "encryptedValue": None} for dump in dumped(recorded.messages[1:])]


@pytest.mark.parametrize("node", [talker, sync_talker])
async def test_a_model_that_does_not_stream(node: Any) -> None:
    turn = [thinking("hm"), text_chunk("Look", 1), call("look", "c1", 2, q=1)]
    recorded = await recording(node(Scripted(turn, disable_streaming=True)))
    assert without_ids(recorded) == without_ids(await recording(node(Scripted(turn))))
    assert recorded.types.count("TEXT_MESSAGE_CONTENT") == 1


@pytest.mark.parametrize(
    "written",
    [
        *([AIMessage("Hello")], [AIMessage("Hello", id="m1")], AIMessage("Hello")),
        *([("assistant", "Hello")], [{"role": "ai", "content": "Hello", "id": "m2"}]),
        [AIMessage([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}])],
    ],
    ids=str,
)
async def test_a_node_that_writes_a_message(written: Any) -> None:
    async def node(state: Any) -> Any:
        return {"messages": written}

    recorded = await recording(node, returning(name="after"))
    assert texts(recorded) == HELLO
    names = {"STEP_STARTED": "(", "STEP_FINISHED": ")", "TEXT_MESSAGE_START": "text"}
    names |= {"TEXT_MESSAGE_END": "end", "MESSAGES_SNAPSHOT": "snapshot"}
    order = [names[kind] for kind in recorded.types if kind in names]
    first = written[0] if isinstance(written, list) else written
    if isinstance(first, AIMessage):
        assert order == ["(", "text", "end", ")", "(", ")", "snapshot"]
    assert order[-1] == "snapshot"


async def test_calls_and_results_of_plain_nodes() -> None:
    calls = [{"name": "look", "args": {"q": 1}, "id": "c1"}]
    recorded = await recording(
        returning(AIMessage("", tool_calls=calls), name="ask"),
        returning(Result("found", tool_call_id="c1", id="r1"), name="use"),
        returning(HumanMessage("And?", id="h1")),
    )
    [result] = recorded.of("TOOL_CALL_RESULT")
    assert (result.message_id, result.content) == ("r1", "found")
    assert texts(recorded)[-1] == ("user", "And?")
    assert recorded.last.outcome.pending_tool_call_ids is None


async def test_system_messages_are_not_told_and_an_answer_that_is_replaced_is_lost() -> None:
    agent = agent_of(
        returning(SystemMessage("SECRET"), AIMessage("a", id="a1"), name="one"),
        returning(RemoveMessage(id="a1"), AIMessage("b"), name="two"),
    )
    recorded = await record_run(agent, run_input("hi"))
    assert "SECRET" not in str(recorded.events)
    assert (texts(recorded), starts(recorded)) == ([("assistant", "b")], 2)


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
    assert (texts(recorded), starts(recorded)) == (HELLO, 1)


async def test_a_nested_agent_whose_messages_are_returned() -> None:
    inner = chain_of(talker(Scripted(["one"]), "a"), talker(Scripted(["two"]), "b"))

    async def node(state: Chat) -> Any:
        return await inner.ainvoke(state)

    assert texts(await recording(node)) == [("assistant", "one"), ("assistant", "two")]


async def test_messages_modified_under_their_ids() -> None:
    async def edit(state: Chat) -> Any:
        first, last = state["messages"]
        return {"messages": [HumanMessage("better", id=first.id), AIMessage("new", id=last.id)]}

    recorded = await record_run(agent_of(talker(Scripted(["old"])), edit), run_input("hi"))
    # The stream cannot take words back: the snapshot does.
    assert [message.content for message in recorded.snapshot] == ["better", "new"]
    assert texts(recorded) == [("assistant", "new")]
    assert starts(recorded) == 1


async def test_a_cached_node_is_told_again() -> None:
    model, policy = Scripted(["Hello"]), CachePolicy(key_func=lambda _: "same")
    builder = StateGraph(Chat).add_node("model", talker(model), cache_policy=policy)
    agent = LangGraphAgent(builder.add_edge(START, "model").compile(cache=InMemoryCache()))
    for _ in range(2):
        recorded = await record_run(agent, run_input("hi"))
        recorded.check_snapshot()
        assert texts(recorded) == HELLO
    assert len(model.seen) == 1


def hidden(*turn: Any, **fields: Any) -> Any:
    return Scripted(list(turn), **fields).with_config(tags=["nostream"])


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("returned", [True, False])
async def test_nostream_leaves_no_trace(streaming: bool, returned: bool) -> None:
    async def node(state: Chat) -> Any:
        reply = await hidden("SECRET", disable_streaming=not streaming).ainvoke("x")
        return {"messages": [reply, await Scripted(["Hello"]).ainvoke("x")][not returned :]}

    recorded = await recording(node)
    assert "SECRET" not in str(recorded.events)
    assert texts(recorded) == HELLO


async def test_a_hidden_call_and_its_result_stay_hidden_in_the_next_run() -> None:
    """Another agent object on the same thread, as after a restart."""
    saver = InMemorySaver()
    router = talker(hidden(call("look", "hidden-call")), "router")
    result = returning(Result("SECRET", tool_call_id="hidden-call"), name="tool")
    client = Client(agent_of(router, result, talker(Scripted(["Hello"])), checkpointer=saver))
    first = await client.send("hi")
    client.agent = agent_of(talker(Scripted(["b"])), checkpointer=saver)
    second = await client.send("more")
    for recorded in (first, second):
        recorded.check_snapshot()
        assert "hidden-call" not in str(recorded.events)
    assert texts(second) == [*HELLO, ("user", "more"), ("assistant", "b")]


@pytest.mark.parametrize("back", ["Hello", "Bye"])
async def test_a_message_that_a_node_changes_and_another_changes_back(back: str) -> None:
    """The model gets what the graph has, not what it had between."""
    model = Scripted(["Hello"], ["Done."])

    def rewrite(text: str) -> Any:
        def node(state: Chat) -> dict[str, Any]:
            last = state["messages"][-1]
            return {"messages": [AIMessage(text, id=last.id)] if last.text != "Done." else []}

        node.__name__ = f"rewrite_{text}"
        return node

    client = Client(agent_of(talker(model), rewrite("Changed"), rewrite(back)))
    await client.send("hi")
    await client.send("more")
    assert model.seen[-1][1].content == back
