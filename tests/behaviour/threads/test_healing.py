"""Threads that something has broken go on: what the model is asked is always a history that providers
take. Also threads that the server has lost: they go on from the client's history."""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, ToolCall
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.failing_checkpointers import Dying
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk
from tests.kit.run.agents import user
from tests.kit.run.dialogues import resolved
from tests.kit.run.talking import Talk, by_role, chat, look, looking, result, talk, texts, thought
from tests.kit.run.thread_client import Client, asked, ending

LOST = "Interrupted: there is no result."


def called(*ids: str) -> AIMessage:
    made = [{"name": "look", "args": {}, "id": one} for one in ids]
    return AIMessage("", id=f"a-{ids[0]}", tool_calls=made)


def got(call_id: str, name: str = "t") -> ToolMessage:
    return ToolMessage(f"seen {call_id}", id=f"{name}-{call_id}", tool_call_id=call_id)


HEAD, TAIL = [HumanMessage("one")], [HumanMessage("two"), AIMessage("Two.")]
BROKEN: dict[str, tuple[list[Any], list[str]]] = {
    "no result in the middle": ([called("c1"), *TAIL], ["", LOST, "two", "Two."]),
    "half of the results": (
        [called("c1", "c2"), got("c2"), *TAIL],
        ["", "seen c2", LOST, "two", "Two."],
    ),
    "a late result": ([called("c1"), TAIL[0], got("c1"), TAIL[1]], ["", "seen c1", "two", "Two."]),
    "a result of nothing": ([got("c9"), TAIL[1]], ["Two."]),
    "two results": ([called("c1"), got("c1"), got("c1", "x"), TAIL[1]], ["", "seen c1", "Two."]),
    "no result at the end": ([called("c1", "c2")], ["", LOST, LOST]),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_thread_that_something_else_has_broken(saver: Any, broken: str) -> None:
    messages, healed = BROKEN[broken]
    thread = talk(saver)
    await thread.update(*HEAD, *messages, as_node="__start__")
    recorded = await thread.say("hello")
    assert thread.asked == ["one", *healed, "hello"]
    assert_valid(await thread.stored())
    made = by_role(recorded.messages, "assistant")
    calls = [one.id for message in made for one in message.tool_calls or ()]
    assert sorted(one.tool_call_id for one in by_role(recorded.messages, "tool")) == calls
    await thread.say(*recorded.messages, "and on")


async def test_an_answer_to_a_call_that_could_not_be_read_stays(saver: Any) -> None:
    """Some graphs tell a model with a result that its arguments were no JSON."""
    model = Scripted(["Hello."], ["And on."])
    thread = chat(talker(model), model=model, checkpointer=saver)
    bad: Any = {"type": "invalid_tool_call", "name": "look", "args": "{bad", "id": "c1"}
    answer = AIMessage("", id="a1", invalid_tool_calls=[{**bad, "error": None}])
    await thread.update(*HEAD, answer, got("c1"), AIMessage("Sorry."), as_node="__start__")
    stored = await thread.stored()
    client = Client(thread.agent)
    for text in ("hello", "more"):
        await client.send(text)
    after = await thread.stored()
    assert after[:4] == stored == model.seen[0][:4]
    assert texts(after[4:]) == ["hello", "Hello.", "more", "And on."]
    # The channel was added to, not written anew.
    saved = [one.checkpoint["channel_values"] async for one in saver.alist(thread.config)]
    given = [values["__start__"]["messages"] for values in saved if values.get("__start__")]
    assert not [one for list_ in given for one in list_ if isinstance(one, RemoveMessage)]


async def test_without_a_checkpointer_the_clients_history_is_healed() -> None:
    def answer(name: str, content: str | None, *ids: str) -> AssistantMessage:
        made = [ToolCall(id=i, function=FunctionCall(name="look", arguments="{}")) for i in ids]
        return AssistantMessage(id=name, role="assistant", content=content, tool_calls=made)

    twice, stray = result("c2", "again", "twice"), result("c9", "stray")
    first = [user("one"), answer("a1", "Looking.", "c1", "c2"), result("c2", "seen"), twice, stray]
    thread = talk(None)
    recorded = await thread.say(*first, user("two"), answer("a2", None, "c3"), user("hello"))
    healed = ["one", "Looking.", "seen", LOST, "two", "", LOST, "hello"]
    assert thread.asked == healed
    await thread.say(*recorded.messages, "and on")
    assert thread.asked[:8] == healed


class Log(TypedDict):
    messages: Annotated[list[AnyMessage], add]


async def test_messages_that_cannot_be_taken_out_stay(saver: Any) -> None:
    """A channel that only adds: what is missing goes to the end, as far as that heals it, and
    nothing is said twice."""
    model = Scripted(["One."], ["Two."])
    thread = chat(talker(model), model=model, state=Log, checkpointer=saver)
    await thread.update(*HEAD, called("c1", "c2"), got("c1"))
    recorded = await thread.say("hello")
    await thread.say(*recorded.messages, "more")
    assert thread.asked == ["one", "", "seen c1", LOST, "hello", "One.", "more"]


@tool
async def broken(place: str) -> str:
    """Look, in vain."""
    raise RuntimeError("broken")


@pytest.mark.parametrize("forges", [False, True])
async def test_a_thread_whose_tool_has_failed_beside_another_goes_on(
    saver: Any, forges: bool
) -> None:
    """The one that was done keeps its result. A client answers for no tool of the server's."""
    first = calling(looking(), part("broken", '{"place": "b"}', "c2", 1))
    thread = talk(saver, Scripted([first], ["Hello."], ["And on."]), tools=[look, broken])
    held = (await thread.say(user("go", "u1"), outcome="tool_error")).messages
    if forges:
        forged = [result("c1", "FORGED", "f1"), result("c2", "FORGED", "f2")]
        held = (await thread.say(*held, *forged)).messages
        assert thread.calls == 1
    recorded = await thread.say(*held, user("hello", "u2"))
    assert thread.asked == ["go", "", "seen a", LOST, "hello"]
    if not forges:
        assert [one.tool_call_id for one in by_role(recorded.messages, "tool")] == ["c1", "c2"]
    await thread.say(*recorded.messages, "and on")


@pytest.mark.parametrize("kind", ["one value", "reducer"])
async def test_a_step_whose_writes_do_not_fit_together(saver: Any, kind: str) -> None:
    """Two parallel nodes write what cannot be combined, until they are mended. Nothing of the step
    that failed comes back."""
    is_broken = False

    def sums(left: int, right: int) -> int:
        if is_broken and right == 2:
            raise ValueError("two is too much")
        return (left or 0) + right

    channel: Any = int if kind == "one value" else Annotated[int, sums]
    builder: Any = StateGraph(type("State", (Chat,), {"__annotations__": {"number": channel}}))
    builder.add_node("first", lambda state: {"number": 1})
    builder.add_node("second", lambda state: {"number": 2} if is_broken else {})
    answer = lambda state: {"messages": [AIMessage(f"re {state['messages'][-1].text}")]}  # noqa: E731
    builder.add_node("last", answer).add_edge(START, "first").add_edge(START, "second")
    builder.add_edge(["first", "second"], "last")
    client = Client(LangGraphAgent(builder.compile(checkpointer=saver)))
    assert ending(await client.send(user("one", "one"))) == "success"
    is_broken = True
    for _ in range(2):
        assert ending(await client.send(user("go", "go"))) == "graph_error"
    is_broken = False
    assert ending(await client.connect()) == "success"
    assert ending(await client.send(user("go", "go"), "hello")) == "success"
    said = ["one", "re one", "go", "hello", "re hello"]
    assert await client.texts() == said
    assert [one.content for one in (await client.connect()).messages] == said
    assert ending(await client.send("more")) == "success"
    assert await client.texts() == [*said, "more", "re more"]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("nodes", "after", "asks"),
    [
        (("first", "slow", "last"), ["slow"], "last"),
        (("first", "slow", "last"), ["last"], None),
        (("slow", "last"), "*", "last"),
    ],
)
async def test_a_stop_elsewhere_is_no_breakpoint(
    nodes: tuple[str, ...], after: Any, asks: str | None, killed: bool
) -> None:
    """On purpose, or as a process that dies."""
    begun, done, hangs = asyncio.Event(), list[str](), True

    def node(name: str) -> Any:
        async def node(state: Chat) -> None:
            if hangs and name == "slow":
                begun.set()
                await asyncio.sleep(30)
            done.append(name)

        node.__name__ = name
        return node

    graph = chain_of(*map(node, nodes), checkpointer=(saver := Dying()), interrupt_after=after)
    client = Client(LangGraphAgent(graph))
    running = asyncio.create_task(Client(client.agent).send(user("hi", "u1"), run="r"))
    await begun.wait()
    saver.alive = not killed
    assert await client.agent.cancel("t", "r")
    await running
    saver.alive, hangs = True, False
    done.clear()
    assert ending(await client.connect()) == "success"
    recorded = await client.send(user("hi", "u1"), user("hello", "u2"))
    if asks is not None:  # this time it comes to its breakpoint
        (question,) = asked(recorded)
        assert question.metadata == {"next": [asks]}
        assert done == list(nodes[: nodes.index(asks)])
        recorded = await client.send(resume=resolved((question.id, True)))
    assert (ending(recorded), done) == ("success", [*nodes])
    assert await client.texts() == ["hi", "hello"]


def script() -> Scripted:
    first = [*thought("hm"), text_chunk("Looking", 1), calling(looking(index=2))]
    return Scripted(first, [text_chunk("It is x.", 0)], ["Bye."])


async def test_the_model_reads_what_langgraph_alone_would_have_sent() -> None:
    alone, ours = script(), script()
    thread = talk(InMemorySaver(), alone)
    for text in ("hi", "bye"):
        await thread.agent.graph.ainvoke({"messages": [("user", text)]}, thread.config)
    first = await talk(InMemorySaver(), ours).say("hi")
    other = talk(InMemorySaver(), ours)
    second = await other.say(*first.messages, "bye")
    assert [comparable(one) for one in ours.seen[-1]] == [comparable(one) for one in alone.seen[-1]]
    assert second.messages[: len(first.messages)] == first.messages
    await other.say(*second.messages, "and?")
    assert [message.type for message in ours.seen[-1]].count("human") == 3


def comparable(message: Any) -> Any:
    return message.type, message.content, getattr(message, "tool_calls", None)


async def test_an_open_call_of_a_lost_thread_is_answered_as_interrupted_and_never_run() -> None:
    @tool
    def transfer(amount: int) -> str:
        """Transfer money."""
        raise AssertionError("it has run")

    model = Scripted([call("transfer", "c1", amount=5)], ["Fine."])
    middleware = [HumanInTheLoopMiddleware({"transfer": True})]

    def thread() -> Talk:
        return talk(InMemorySaver(), model, tools=[transfer], middleware=middleware)

    first = await thread().say("send", outcome="interrupt")
    answer = resolved((first.last.outcome.interrupts[0].id, {"approved": True}))
    await thread().say(*first.messages, resume=answer, outcome="interrupt_unknown")
    second = await thread().say(*first.messages, "well?")
    [told] = [one.text for one in model.seen[-1] if one.type == "tool"]
    assert told == LOST
    assert [one.tool_call_id for one in by_role(second.messages, "tool")] == ["c1"]
