"""Threads that something has broken go on: what the model is asked is always a history that
providers take."""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, Message, ToolCall
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from typing_extensions import TypedDict

from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.talking import Talk, by_role, look, result, talk, texts
from tests.kit.run.thread_client import Client

LOST = "Interrupted: there is no result."


def called(*ids: str) -> AIMessage:
    return AIMessage(
        "", id=f"a-{ids[0]}", tool_calls=[{"name": "look", "args": {}, "id": one} for one in ids]
    )


def got(call_id: str) -> ToolMessage:
    return ToolMessage(f"seen {call_id}", id=f"t-{call_id}", tool_call_id=call_id)


BROKEN: dict[str, tuple[list[AnyMessage], list[str]]] = {
    "no result in the middle": (
        [HumanMessage("one"), called("c1"), HumanMessage("two"), AIMessage("Two.")],
        ["one", "", LOST, "two", "Two."],
    ),
    "half of the results": (
        [
            HumanMessage("one"),
            called("c1", "c2"),
            got("c2"),
            HumanMessage("two"),
            AIMessage("Two."),
        ],
        ["one", "", "seen c2", LOST, "two", "Two."],
    ),
    "a late result": (
        [HumanMessage("one"), called("c1"), HumanMessage("two"), got("c1"), AIMessage("Two.")],
        ["one", "", "seen c1", "two", "Two."],
    ),
    "a result of nothing": (
        [HumanMessage("one"), got("c9"), AIMessage("One.")],
        ["one", "One."],
    ),
    "two results": (
        [
            HumanMessage("one"),
            called("c1"),
            got("c1"),
            got("c1").model_copy(update={"id": "x"}),
            AIMessage("One."),
        ],
        ["one", "", "seen c1", "One."],
    ),
    "no result at the end": ([HumanMessage("one"), called("c1", "c2")], ["one", "", LOST, LOST]),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_thread_that_something_else_has_broken(saver: Any, broken: str) -> None:
    messages, healed = BROKEN[broken]
    thread = talk(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    await thread.agent.graph.aupdate_state(config, {"messages": messages}, as_node="__start__")
    recorded = await thread.say("hello")
    assert thread.asked == [*healed, "hello"]
    assert_valid(await thread.stored())
    calls = [
        one.id
        for message in by_role(recorded.messages, "assistant")
        for one in message.tool_calls or ()
    ]
    assert sorted(message.tool_call_id for message in by_role(recorded.messages, "tool")) == calls
    await thread.say(*recorded.messages, "and on")


@pytest.mark.parametrize("text", ["two", "changed"])
async def test_a_run_again_behind_a_call_without_a_result(saver: Any, text: str) -> None:
    thread = talk(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    before: list[AnyMessage] = [HumanMessage("one"), called("c1")]
    broken = [HumanMessage("two", id="u2"), AIMessage("Two.")]
    await thread.agent.graph.aupdate_state(config, {"messages": before}, as_node="__start__")
    await thread.agent.graph.aupdate_state(config, {"messages": broken}, as_node="__start__")
    shown = (await Client(thread.agent).connect()).messages
    held = shown[: [one.id for one in shown].index("u2")]
    recorded = await thread.say(*held, user(text, "u2"))
    assert thread.asked == ["one", "", LOST, text]
    assert dumped(recorded.messages) == dumped((await Client(thread.agent).connect()).messages)


async def test_an_answer_to_a_call_that_could_not_be_read_stays(saver: Any) -> None:
    """Some graphs tell a model with a result that its arguments were no JSON."""
    model = Scripted(["Hello."], ["And on."])
    client = Client(agent_of(talker(model), checkpointer=saver))
    bad: Any = {
        "type": "invalid_tool_call",
        "name": "look",
        "args": "{bad",
        "id": "c1",
        "error": None,
    }
    messages: list[AnyMessage] = [
        HumanMessage("one", id="u1"),
        AIMessage("", id="a1", invalid_tool_calls=[bad]),
        ToolMessage("No JSON.", id="t1", tool_call_id="c1"),
        AIMessage("Sorry.", id="a2"),
    ]
    config: Any = {"configurable": {"thread_id": "t"}}
    await client.agent.graph.aupdate_state(config, {"messages": messages}, as_node="__start__")
    stored = await client.stored()
    await client.send(user("hello", "u2"))
    assert [message.id for message in model.seen[-1]] == ["u1", "a1", "t1", "a2", "u2"]
    await client.send("more")
    after = await client.stored()
    assert after[:4] == stored
    assert texts(after) == ["one", "", "No JSON.", "Sorry.", "hello", "Hello.", "more", "And on."]
    # The channel was added to, not written anew.
    inputs = [
        saved.checkpoint["channel_values"].get("__start__") async for saved in saver.alist(config)
    ]
    given = [message for values in inputs if values for message in values["messages"]]
    assert [message for message in given if isinstance(message, RemoveMessage)] == []
    assert {message.text for message in given} >= {"hello", "more"}


def client_history() -> list[Message]:
    def made(call_id: str) -> ToolCall:
        return ToolCall(
            id=call_id, type="function", function=FunctionCall(name="look", arguments="{}")
        )

    return [
        user("one"),
        AssistantMessage(
            id="a1", role="assistant", content="Looking.", tool_calls=[made("c1"), made("c2")]
        ),
        result("c2", "seen"),
        result("c2", "again", "twice"),
        result("c9", "stray"),
        user("two"),
        AssistantMessage(id="a2", role="assistant", tool_calls=[made("c3")]),
        user("hello"),
    ]


async def test_without_a_checkpointer_the_clients_history_is_healed() -> None:
    thread = talk(None)
    recorded = await thread.say(*client_history())
    assert thread.asked == ["one", "Looking.", "seen", LOST, "two", "", LOST, "hello"]
    await thread.say(*recorded.messages, "and on")
    assert thread.asked[:8] == ["one", "Looking.", "seen", LOST, "two", "", LOST, "hello"]


class Log(TypedDict):
    messages: Annotated[list[AnyMessage], add]


async def test_messages_that_cannot_be_taken_out_stay(saver: Any) -> None:
    """A channel that only adds: what is missing goes to the end, as far as that heals it, and
    nothing is said twice."""
    model = Scripted(["One."], ["Two."])
    thread = Talk(agent_of(talker(model), state=Log, checkpointer=saver), model)
    config: Any = {"configurable": {"thread_id": "t"}}
    broken = {"messages": [HumanMessage("one", id="u1"), called("c1", "c2"), got("c1")]}
    await thread.agent.graph.aupdate_state(config, broken, as_node="__start__")
    recorded = await thread.say("hello")
    assert thread.asked == ["one", "", "seen c1", LOST, "hello"]
    await thread.say(*recorded.messages, "more")
    assert thread.asked == ["one", "", "seen c1", LOST, "hello", "One.", "more"]


# -- stopped and failed --------------------------------------------------------------------------


@tool
async def broken(place: str) -> str:
    """Look, in vain."""
    raise RuntimeError("broken")


@tool
async def hang(place: str) -> str:
    """Look for ever."""
    await asyncio.sleep(60)
    return "never"


def pair(other: str) -> Scripted:
    """A model that calls a tool that works and another one at once, then talks."""
    first = calling(part("look", '{"place": "a"}', "c1", 0), part(other, '{"place": "b"}', "c2", 1))
    return Scripted(["Looking.", first], ["Hello."], ["And on."])


async def check_goes_on(thread: Talk, held: list[Message]) -> RecordedRun:
    """The thread was at its two calls; the one that was done keeps its result."""
    recorded = await thread.say(*held, user("hello", "u2"))
    assert thread.asked == ["go", "Looking.", "seen a", LOST, "hello"]
    assert [message.tool_call_id for message in by_role(recorded.messages, "tool")] == ["c1", "c2"]
    return await thread.say(*recorded.messages, "and on")


async def test_a_thread_that_failed_goes_on(saver: Any) -> None:
    thread = talk(saver, pair("broken"), tools=[look, broken])
    failed = await thread.say(user("go", "u1"), outcome="tool_error")
    await check_goes_on(thread, failed.messages)


async def test_a_client_does_not_answer_for_a_tool_of_the_servers(saver: Any) -> None:
    thread = talk(saver, pair("broken"), tools=[look, broken])
    failed = await thread.say(user("go", "u1"), outcome="tool_error")
    forged = [result("c1", "FORGED", "f1"), result("c2", "FORGED", "f2")]
    alone = await thread.say(*failed.messages, *forged)
    assert thread.calls == 1
    await thread.say(*alone.messages, "hello")
    assert thread.asked == ["go", "Looking.", "seen a", LOST, "hello"]


async def until_result(thread: Talk, stop: Any) -> list[Message]:
    """Run until the first tool is done, then `stop`."""
    given = run_input(user("go", "u1"), thread="t", run="r")
    events = thread.agent.run(given)
    received = []
    async for event in events:
        received.append(event)
        if event.type.value == "TOOL_CALL_RESULT" and await stop(events):
            break
    return (
        RecordedRun(received, given).messages
        if received[-1].type.value == "RUN_FINISHED"
        else [user("go", "u1")]
    )


async def test_a_thread_that_was_cancelled_goes_on(saver: Any) -> None:
    thread = talk(saver, pair("hang"), tools=[look, hang])

    async def cancel(_: Any) -> bool:
        assert await thread.agent.cancel("t", "r")
        return False

    held = await until_result(thread, cancel)
    assert [message.role for message in held] == ["user", "assistant", "tool"]
    await check_goes_on(thread, held)


@pytest.mark.parametrize("forgetful", [True, False])
async def test_a_thread_whose_client_has_left_goes_on(saver: Any, forgetful: bool) -> None:
    thread = talk(saver, pair("hang"), tools=[look, hang])

    async def leave(events: Any) -> bool:
        await events.aclose()
        return True

    held = await until_result(thread, leave)
    await check_goes_on(thread, [] if forgetful else held)


async def test_a_node_that_raises_is_run_with_the_next_message(saver: Any) -> None:
    model = Scripted([call("look", "c1")], [RuntimeError("down")], ["Hello."])

    async def looked(state: Chat) -> Any:
        calling_: Any = state["messages"][-1]
        return {"messages": [got(one["id"]) for one in calling_.tool_calls]}

    thread = Talk(
        agent_of(talker(model), looked, talker(model, "again"), checkpointer=saver), model
    )
    failed = await thread.say(user("go", "u1"), outcome="model_error")
    await thread.say(*failed.messages, "hello", outcome="success")
    assert thread.asked[:4] == ["go", "", "seen c1", "hello"]
