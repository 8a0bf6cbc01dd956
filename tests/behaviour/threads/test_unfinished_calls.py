"""Calls that a model has not finished: it has failed, or was stopped in the middle. Their client
loses them, nobody waits for them, and no model is sent them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message, Tool
from ag_ui.core import ToolMessage as AGUIToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import RetryPolicy

from langgraph_agui import AGUIMiddleware, LangGraphAgent, RunLimits, agui_messages_to_langchain
from langgraph_agui.protocol import Fold
from tests.kit.deep import deep
from tests.kit.graphs.small import Chat, StateGraph, chain_of, talker
from tests.kit.models.scripted import Scripted, calling, part, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user
from tests.kit.run.handlers import ReceivedEvents

PAINT = Tool(name="paint", description="Paint.", parameters={"type": "object", "properties": {}})

# Beginnings of a call: without arguments, with half of them, and with all of them.
ARGUMENTS = pytest.mark.parametrize("arguments", ["", '{"color": "r', '{"color": "red"}'])
SAVERS = pytest.mark.parametrize("keeps", [False, True], ids=["no checkpointer", "checkpointer"])
TOOLS = pytest.mark.parametrize("tools", [[], [PAINT]], ids=["own tool", "client's tool"])


def begun(arguments: str) -> list[Any]:
    """The chunks of a call that has begun."""
    more = [calling(part(None, arguments))] if arguments else []
    return [calling(part("paint", "", "c1")), *more]


def calls(messages: Sequence[Message]) -> list[str]:
    """The calls that a client holds, and the results."""
    held = [one for one in messages if isinstance(one, AssistantMessage)]
    made = [call.id for one in held for call in one.tool_calls or ()]
    return made + [one.tool_call_id for one in messages if isinstance(one, AGUIToolMessage)]


def words(messages: Sequence[Message]) -> list[str]:
    return [str(one.content) for one in messages if one.role == "assistant"]


async def connected(agent: LangGraphAgent, messages: Sequence[Message]) -> list[Message]:
    given = run_input(*messages, thread="t")
    return RecordedRun(await collect(agent.connect(given)), given).messages


def check_model(model: Scripted) -> None:
    """Its last request has none of the call."""
    for message in model.seen[-1]:
        assert not isinstance(message, ToolMessage)
        assert not isinstance(message, AIMessage) or not (
            message.tool_calls or message.invalid_tool_calls
        )


@TOOLS
@SAVERS
@ARGUMENTS
@pytest.mark.parametrize("how", ["error", "cancel", "total", pytest.param("idle", marks=deep)])
async def test_the_client_loses_it_with_the_run(
    how: str, arguments: str, keeps: bool, tools: list[Tool]
) -> None:
    end = RuntimeError() if how == "error" else 60.0

    def script(messages: list[Any]) -> list[Any]:
        return ["Fine."] if len(messages) > 1 else ["Look: ", *begun(arguments), end]

    model = Scripted(script=script)
    limits = RunLimits(**{how: 0.1}) if how in ("total", "idle") else None
    graph = chain_of(talker(model), checkpointer=InMemorySaver() if keeps else None)
    patient = LangGraphAgent(graph)
    agent = LangGraphAgent(graph, limits=limits)
    hi = user("hi")
    running = asyncio.create_task(
        record_run(agent, run_input(hi, thread="t", run="r", tools=tools))
    )
    if how == "cancel":
        await model.hung.wait()
        await agent.cancel("t", "r")
    broken = await running
    said = words(broken.messages)
    assert calls(broken.messages) == []
    assert said == ["Look: "] or not (model.hung.is_set() or how == "error")
    assert calls(await connected(patient, broken.messages)) == []
    more = run_input(*broken.messages, user("more"), thread="t", tools=tools)
    again = await record_run(patient, more)
    assert (calls(again.messages), words(again.messages)) == ([], [*said, "Fine."])
    assert again.last.outcome.pending_tool_call_ids is None
    check_model(model)


async def test_a_message_that_says_nothing_else_goes_and_its_reasoning_stays() -> None:
    model = Scripted([thinking("hm", 0), *begun('{"co'), RuntimeError()], ["Fine."])
    agent = LangGraphAgent(chain_of(talker(model), checkpointer=InMemorySaver()))
    broken = await record_run(agent, run_input(user("hi"), thread="t"))
    assert [(one.role, one.content) for one in broken.messages] == [
        ("user", "hi"),
        ("reasoning", "hm"),
    ]


@SAVERS
async def test_calls_of_a_node_that_fails_behind_its_model_go_too(keeps: bool) -> None:
    """They are whole, but no graph keeps their message."""
    model = Scripted(["Look: ", *begun('{"color": "red"}')], ["Fine."])

    async def node(state: Chat) -> Any:
        answer = await model.ainvoke(state["messages"])
        if answer.tool_calls:
            raise RuntimeError
        return {"messages": [answer]}

    graph = chain_of(node, checkpointer=InMemorySaver() if keeps else None)
    agent = LangGraphAgent(graph)
    broken = await record_run(agent, run_input(user("hi"), thread="t", tools=[PAINT]))
    assert (calls(broken.messages), words(broken.messages)) == ([], ["Look: "])
    again = await record_run(agent, run_input(*broken.messages, user("more"), thread="t"))
    assert calls(again.messages) == []


async def test_calls_that_the_graph_keeps_stay() -> None:
    """The model has ended, and its tool has not: the next run answers the call."""

    @tool
    async def paint(color: str) -> str:
        """Paint."""
        raise RuntimeError

    model = Scripted(begun('{"color": "red"}'), ["Fine."])
    agent = LangGraphAgent(create_agent(model, [paint], checkpointer=InMemorySaver()))
    broken = await record_run(agent, run_input(user("hi"), thread="t"))
    assert broken.last.type == "RUN_ERROR"
    assert calls(broken.messages) == ["c1"]
    again = await record_run(agent, run_input(*broken.messages, user("more"), thread="t"))
    assert calls(again.messages) == ["c1", "c1"]


@pytest.mark.parametrize("turns", range(24))
async def test_a_run_that_is_stopped_as_its_message_is_kept(turns: int) -> None:
    """However the stop falls between the end of the node and the state behind it: the tab has the
    calls that the thread has, by their ids."""
    model = Scripted(begun('{"color": "red"}'))

    def stop_after(turns: int) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(stop_after, turns - 1)
        else:
            stops.append(loop.create_task(agent.cancel("t", "r")))

    async def node(state: Chat) -> Any:
        answer = await model.ainvoke(state["messages"])
        stop_after(turns)
        return {"messages": [answer]}

    async def last(state: Chat) -> Any:
        await asyncio.Event().wait()

    stops: list[asyncio.Task[bool]] = []
    agent = LangGraphAgent(chain_of(node, last, checkpointer=InMemorySaver()))
    stopped = await record_run(agent, run_input(user("hi"), thread="t", run="r"))
    assert await stops[0]
    assert stopped.last.outcome.type == "cancelled"
    assert calls(stopped.messages) == calls(await connected(agent, []))


# A client that was cut off, or whose server has died, holds the call as it came.


def cut_off(arguments: str) -> list[Message]:
    call = {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": arguments}}
    half = AssistantMessage.model_validate(
        {"id": "lc_run--1", "role": "assistant", "content": "Look: ", "toolCalls": [call]}
    )
    return [user("hi", "u1"), half]


@TOOLS
@SAVERS
@pytest.mark.parametrize("arguments", ["", '{"color": "r'])
async def test_a_client_that_was_cut_off_loses_it_at_the_next_sight(
    arguments: str, keeps: bool, tools: list[Tool]
) -> None:
    model = Scripted([*begun(arguments), 60.0], ["Fine."])
    agent = LangGraphAgent(chain_of(talker(model), checkpointer=InMemorySaver() if keeps else None))
    given = run_input(user("hi", "u1"), thread="t", tools=tools)
    fold = Fold(given.messages, given.state)
    async with aclosing(agent.run(given)) as events:
        async for event in events:
            fold.feed(event)
            if event.type.value in ("TOOL_CALL_START", "TOOL_CALL_ARGS"):
                break
        await model.hung.wait()
    assert calls(fold.messages) == ["c1"]
    assert calls(await connected(agent, fold.messages)) == []
    more = run_input(*fold.messages, user("more"), thread="t", tools=tools)
    again = await record_run(agent, more)
    assert calls(again.messages) == []
    assert again.last.outcome.pending_tool_call_ids is None
    check_model(model)


@SAVERS
async def test_its_id_is_free_for_the_next_call(keeps: bool) -> None:
    """The client still holds the first one when the model makes the second."""

    @tool
    def paint(color: str) -> str:
        """Paint."""
        return f"painted {color}"

    model = Scripted(begun('{"color": "red"}'), ["Fine."])
    graph = create_agent(model, [paint], checkpointer=InMemorySaver() if keeps else None)
    agent = LangGraphAgent(graph)
    if keeps:
        await record_run(agent, run_input(user("before", "u0"), thread="t"))
        model = Scripted(begun('{"color": "red"}'), ["Fine."])
        agent = LangGraphAgent(create_agent(model, [paint], checkpointer=graph.checkpointer))
    given = run_input(*cut_off('{"col'), user("more"), thread="t")
    again = await record_run(agent, given)
    results = [str(one.content) for one in again.messages if one.role == "tool"]
    assert results[-1] == "painted red"
    assert not any(
        call.function.arguments == '{"col'
        for one in again.messages
        if isinstance(one, AssistantMessage)
        for call in one.tool_calls or ()
    )


async def test_a_call_whose_arguments_are_wrong_keeps_its_result() -> None:
    """The model has finished it, and the graph has told it what is wrong."""
    told = AGUIToolMessage(id="r1", tool_call_id="c1", content="No JSON.")
    _, answer, result = agui_messages_to_langchain([*cut_off('{"col'), told])
    assert isinstance(answer, AIMessage)
    assert [call["args"] for call in answer.invalid_tool_calls] == ['{"col']
    assert isinstance(result, ToolMessage)


# -- other ways ----------------------------------------------------------------------------------


@ARGUMENTS
async def test_a_node_that_is_tried_again(arguments: str) -> None:
    model = Scripted(["Look: ", *begun(arguments), RuntimeError()], ["Fine."])
    builder = StateGraph(Chat)
    retry = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=RuntimeError)
    builder.add_node("model", talker(model), retry_policy=retry)
    builder.set_entry_point("model")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input(user("hi"), thread="t", tools=[PAINT]))
    assert (calls(recorded.messages), words(recorded.messages)) == ([], ["Fine."])
    assert recorded.last.outcome.pending_tool_call_ids is None


@ARGUMENTS
@pytest.mark.parametrize("handled", [False, True], ids=["ends the run", "is handled"])
async def test_the_model_of_a_subagent(arguments: str, handled: bool) -> None:
    inner = Scripted(["Look: ", *begun(arguments), RuntimeError()])
    researcher = create_agent(inner, [], name="researcher")

    @tool
    async def delegate() -> str:
        """Ask the researcher."""
        try:
            await researcher.ainvoke({"messages": [("user", "go")]})
        except RuntimeError:
            if not handled:
                raise
        return "nothing"

    outer = Scripted([calling(part("delegate", "{}", "d1"))], ["Fine."])
    agent = LangGraphAgent(
        create_agent(outer, [delegate], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver())
    )
    recorded = await record_run(agent, run_input(user("hi"), thread="t"))
    assert recorded.last.type == ("RUN_FINISHED" if handled else "RUN_ERROR")
    held = calls(recorded.messages)
    assert held.count("c1") in (0, 2)  # gone, or with a result
    again = await record_run(agent, run_input(*recorded.messages, user("more"), thread="t"))
    assert calls(again.messages).count("c1") in (0, 2)
    assert "paint" not in str(outer.seen[-1])


@ARGUMENTS
async def test_a_callback_handler_answers_it(arguments: str) -> None:
    """Its client gets no snapshot."""
    received = ReceivedEvents()
    with pytest.raises(RuntimeError):
        await Scripted(["Look: ", *begun(arguments), RuntimeError()]).ainvoke("hi", received.config)
    held = received.check()
    assert calls(held) == ["c1", "c1"]
    (answer,) = agui_messages_to_langchain(held)
    assert isinstance(answer, AIMessage)
    assert (answer.text, answer.tool_calls, answer.invalid_tool_calls) == ("Look: ", [], [])


@pytest.mark.parametrize("order", [1, -1], ids=["client's last", "client's first"])
def test_a_call_goes_with_all_of_its_results(order: int) -> None:
    """A page has answered a call that was not finished; an earlier one had the same id."""
    results = [
        {"id": "m:c1:unfinished", "role": "tool", "toolCallId": "c1", "content": "Interrupted"},
        {"id": "own", "role": "tool", "toolCallId": "c1", "content": "painted"},
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": '{"co'}}
    whole = {**call, "function": {"name": "paint", "arguments": "{}"}}
    held = [
        {"id": "m0", "role": "assistant", "content": "", "toolCalls": [whole]},
        {"id": "r0", "role": "tool", "toolCallId": "c1", "content": "done"},
        {"id": "m", "role": "assistant", "content": "Now", "toolCalls": [call]},
        *results[::order],
    ]
    made = agui_messages_to_langchain(held)
    assert [(one.type, one.id) for one in made] == [("ai", "m0"), ("tool", "r0"), ("ai", "m")]
    assert [len(getattr(one, "tool_calls", ())) for one in made] == [1, 0, 0]
