"""Threads that something has broken go on: what the model is asked is always a history that providers
take. Also threads that the server has lost: they go on from the client's history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import add
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, Message, ToolCall
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.dying_checkpointer import Dying
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.talking import (
    Talk,
    by_role,
    chat,
    edit,
    look,
    looking,
    result,
    talk,
    texts,
    thought,
)
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


@pytest.mark.parametrize("text", ["two", "changed"])
async def test_a_run_again_behind_a_call_without_a_result(saver: Any, text: str) -> None:
    thread = talk(saver)
    await thread.update(*HEAD, called("c1"), as_node="__start__")
    await thread.update(HumanMessage("two", id="u2"), AIMessage("Two."), as_node="__start__")
    recorded = await thread.say(*edit((await thread.connect()).messages, "u2", text))
    assert thread.asked == ["one", "", LOST, text]
    assert dumped(recorded.messages) == dumped((await thread.connect()).messages)


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


@tool
async def hang(place: str) -> str:
    """Look for ever."""
    await asyncio.sleep(60)
    return "never"


async def at_two_calls(thread: Talk, how: str) -> list[Message]:
    """What the client holds when one of two calls is done, and the other one has ended or never
    will."""
    if how.startswith("failed"):
        return (await thread.say(user("go", "u1"), outcome="tool_error")).messages
    given, received = run_input(user("go", "u1"), thread="t", run="r"), list[Any]()
    events = thread.agent.run(given)
    async for event in events:
        received.append(event)
        if event.type.value == "TOOL_CALL_RESULT" and how == "cancelled":
            assert await thread.agent.cancel("t", "r")
        elif event.type.value == "TOOL_CALL_RESULT" and how.startswith("left"):
            await events.aclose()
            return [] if how == "left, holding nothing" else list(given.messages)
    held = RecordedRun(received, given).messages
    assert [message.role for message in held] == ["user", "assistant", "tool"]
    return held


@pytest.mark.parametrize(
    "how", ["failed", "failed, and forged", "cancelled", "left", "left, holding nothing"]
)
async def test_a_thread_that_was_at_two_calls_goes_on(saver: Any, how: str) -> None:
    """The one that was done keeps its result. A client answers for no tool of the server's."""
    other = broken if how.startswith("failed") else hang
    first = calling(looking(), part(other.name, '{"place": "b"}', "c2", 1))
    model = Scripted(["Looking.", first], ["Hello."], ["And on."])
    thread = talk(saver, model, tools=[look, other])
    held = await at_two_calls(thread, how)
    if how == "failed, and forged":
        forged = [result("c1", "FORGED", "f1"), result("c2", "FORGED", "f2")]
        held = (await thread.say(*held, *forged)).messages
        assert thread.calls == 1
    recorded = await thread.say(*held, user("hello", "u2"))
    assert thread.asked == ["go", "Looking.", "seen a", LOST, "hello"]
    if "forged" not in how:
        assert [one.tool_call_id for one in by_role(recorded.messages, "tool")] == ["c1", "c2"]
    await thread.say(*recorded.messages, "and on")


async def test_a_node_that_raises_is_run_with_the_next_message(saver: Any) -> None:
    model = Scripted([call("look", "c1")], [RuntimeError("down")], ["Hello."])

    async def looked(state: Chat) -> Any:
        return {"messages": [got(one["id"]) for one in state["messages"][-1].tool_calls]}  # type: ignore[union-attr]

    nodes = talker(model), looked, talker(model, "again")
    thread = chat(*nodes, model=model, checkpointer=saver)
    failed = await thread.say(user("go", "u1"), outcome="model_error")
    await thread.say(*failed.messages, "hello")
    assert thread.asked[:4] == ["go", "", "seen c1", "hello"]


class Fault:
    """A graph whose two parallel nodes write what cannot be combined, until it is mended."""

    def __init__(self, saver: Any, kind: str) -> None:
        self.broken = False
        channel: Any = int if kind == "one value" else Annotated[int, self.sums]
        state = type("State", (Chat,), {"__annotations__": {"number": channel}})
        builder: Any = StateGraph(state)
        builder.add_node("first", lambda state: {"number": 1})
        builder.add_node("second", lambda state: {"number": 2} if self.broken else {})
        builder.add_node("last", lambda state: {"messages": [self.answer(state)]})
        for name in ("first", "second"):
            builder.add_edge(START, name)
        builder.add_edge(["first", "second"], "last")
        self.client = Client(LangGraphAgent(builder.compile(checkpointer=saver)))

    def sums(self, left: int, right: int) -> int:
        if self.broken and right == 2:
            raise ValueError("two is too much")
        return (left or 0) + right

    def answer(self, state: Any) -> AIMessage:
        return AIMessage(f"re {state['messages'][-1].text}")

    async def say(self, *names: str) -> str:
        return ending(await self.client.send(*(user(name, name) for name in names)))


@pytest.mark.parametrize("before", [[], ["one"]], ids=["first_run", "later_run"])
@pytest.mark.parametrize("kind", ["one value", "reducer"])
async def test_a_step_whose_writes_do_not_fit_together(
    saver: Any, kind: str, before: list[str]
) -> None:
    fault = Fault(saver, kind)
    for name in before:
        assert await fault.say(name) == "success"
    fault.broken = True
    assert {await fault.say("go"), await fault.say("go")} == {"graph_error"}
    fault.broken = False
    assert ending(await fault.client.connect()) == "success"
    assert await fault.say("go", "hello") == "success"
    said = [word for name in before for word in (name, f"re {name}")]
    said += ["go", "hello", "re hello"]
    assert texts(await fault.client.stored()) == said
    assert [one.content for one in (await fault.client.connect()).messages] == said
    # Nothing of the step that failed comes back.
    assert await fault.say("more") == "success"
    assert texts(await fault.client.stored()) == [*said, "more", "re more"]


class Stopping:
    """A graph of nodes in a row, one of which may hang; what the others do is in `done`."""

    def __init__(self, *nodes: str, **breaks: Sequence[str]) -> None:
        self.hangs: str | None = None
        self.begun = asyncio.Event()
        self.done: list[str] = []
        self.saver = Dying()
        graph = chain_of(*map(self.node, nodes), checkpointer=self.saver, **breaks)
        self.client = Client(LangGraphAgent(graph))

    def node(self, name: str) -> Any:
        async def node(state: Chat) -> Any:
            if self.hangs == name:
                self.begun.set()
                await asyncio.sleep(30)
            self.done.append(name)
            return {}

        node.__name__ = name
        return node

    async def stop(self, name: str, how: str, *new: Any, **fields: Any) -> None:
        """Run until the node `name`, and stop there: on purpose, or as a process that dies."""
        self.hangs = name
        other = Client(self.client.agent, held=list(self.client.held))
        running = asyncio.create_task(other.send(*new, run="r", **fields))
        await self.begun.wait()
        self.saver.alive = how != "killed"
        assert await self.client.agent.cancel("t", "r")
        await running
        self.saver.alive, self.hangs = True, None
        self.done.clear()
        assert ending(await self.client.connect()) == "success"


HOW = pytest.mark.parametrize("how", ["stopped", "killed"])


@HOW
@pytest.mark.parametrize(
    ("nodes", "after", "asks"),
    [
        (("first", "slow", "last"), ["slow"], "last"),
        (("first", "slow", "last"), ["last"], None),
        (("first", "slow", "last"), ["slow", "last"], "last"),
        (("slow", "last"), "*", "last"),
        (("slow", "last"), ["slow"], "last"),
    ],
)
async def test_a_stop_elsewhere_is_no_breakpoint(
    nodes: tuple[str, ...], after: Any, asks: str | None, how: str
) -> None:
    stopping = Stopping(*nodes, interrupt_after=after)
    await stopping.stop("slow", how, user("hi", "u1"))
    recorded = await stopping.client.send(user("hi", "u1"), user("hello", "u2"))
    if asks is not None:  # this time it comes to its breakpoint
        (question,) = asked(recorded)
        assert question.metadata == {"next": [asks]}
        assert stopping.done == list(nodes[: nodes.index(asks)])
        recorded = await stopping.client.send(resume=resolved((question.id, True)))
    assert ending(recorded) == "success"
    assert stopping.done == [*nodes]
    assert texts(await stopping.client.stored()) == ["hi", "hello"]


@HOW
async def test_a_stop_behind_an_approved_breakpoint_is_none(how: str) -> None:
    stopping = Stopping("first", "middle", "slow", "last", interrupt_after=["first"])
    (one,) = await stopping.client.ask(user("hi", "u1"))
    await stopping.stop("slow", how, resume=resolved((one.id, True)))
    (two,) = await stopping.client.ask(user("hello", "u2"))
    assert two.metadata == {"next": ["middle"]}
    assert stopping.done == ["first"]


@pytest.mark.parametrize("yes", [True, False], ids=["approved", "cancelled"])
async def test_a_breakpoint_behind_a_node_is_still_one(yes: bool) -> None:
    client = (stopping := Stopping("first", "slow", "last", interrupt_after=["slow"])).client
    (one,) = await client.ask(user("hi", "u1"))
    assert one.metadata == {"next": ["last"]}
    assert [again.id for again in asked(await client.connect())] == [one.id]
    assert ending(await client.send("hello")) == "interrupt_unanswered"
    recorded = await client.send(resume=resolved((one.id, True)) if yes else cancelled(one.id))
    assert ending(recorded) == ("success" if yes else "cancelled")
    assert stopping.done == ["first", "slow", *(["last"] if yes else [])]


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


async def test_a_frontend_tool_of_a_lost_thread_goes_on_and_an_echo_runs_nothing() -> None:
    parameters = {"type": "object", "properties": {}}
    tools: Any = [{"name": "paint", "description": "Paint", "parameters": parameters}]
    model = Scripted([call("paint", "c1")], ["Painted."])

    def thread() -> Talk:
        return talk(InMemorySaver(), model, tools=[], middleware=[AGUIMiddleware()])

    first = await thread().say("paint", tools=tools)
    second = await thread().say(*first.messages, result("c1"), tools=tools)
    assert second.messages[-1].content == "Painted."
    await thread().say(*second.messages, tools=tools)
    assert len(model.seen) == 2
