"""Messages that are half: a model has failed or was stopped in the middle, or a connection broke.
Clients get the whole of them, and lose calls that were not finished; no model is sent those."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message, Tool, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import RetryPolicy

from langgraph_agui import AGUIMiddleware, LangGraphAgent, RunLimits, agui_messages_to_langchain
from tests.kit.deep import together
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.run.talking import by_role, chat, left_at, looking, talk, thought

PAINT = Tool(name="paint", description="Paint.", parameters={"type": "object", "properties": {}})
HALF, RED = '{"color": "r', '{"color": "red"}'
ARGUMENTS = pytest.mark.parametrize("arguments", ["", HALF, RED], ids=["none", "half", "all"])
SAVERS = pytest.mark.parametrize("keeps", [False, True], ids=["no checkpointer", "checkpointer"])
TOOLS = pytest.mark.parametrize("tools", [[], [PAINT]], ids=["own tool", "client's tool"])


@tool
async def paint(color: str) -> str:
    """Paint."""
    if color == "broken":
        raise RuntimeError
    return f"painted {color}"


def begun(arguments: str) -> list[Any]:
    """The chunks of a call that has begun."""
    more = [calling(part(None, arguments))] if arguments else []
    return [calling(part("paint", "", "c1")), *more]


def failing(arguments: str) -> list[Any]:
    return ["Look: ", *begun(arguments), RuntimeError()]


def calls(messages: Sequence[Message]) -> list[str]:
    """The calls that a client holds, and the results."""
    made = [call.id for one in by_role(messages, "assistant") for call in one.tool_calls or ()]
    return made + [one.tool_call_id for one in by_role(messages, "tool")]


def words(messages: Sequence[Message]) -> list[str]:
    return [str(one.content) for one in by_role(messages, "assistant")]


def check_model(model: Scripted) -> None:
    """Its last request has none of the call."""
    for one in model.seen[-1]:
        assert one.type != "tool"
        assert not [*getattr(one, "tool_calls", ()), *getattr(one, "invalid_tool_calls", ())]


def saver_if(keeps: bool) -> Any:
    return InMemorySaver() if keeps else None


@pytest.mark.parametrize("how", ["connect", "run", "the same again"])
async def test_the_whole_message_comes_back(how: str) -> None:
    """The client holds half of its words and arguments, and no encrypted values."""
    turn = [*thought("hmmm"), text_chunk("Let me look", 1), calling(looking(index=2))]
    thread = talk(InMemorySaver(), Scripted(turn, [text_chunk("It is x.", 0)], ["Bye."]))
    whole = (await thread.say(user("hi"))).messages
    half: list[Any] = [one.model_copy(deep=True) for one in whole]
    for one in half[1:]:
        one.encrypted_value = None
        if one.role != "tool":
            one.content = str(one.content)[:2]
        for call in getattr(one, "tool_calls", None) or ():
            call.function.arguments = call.function.arguments[:4]
    news = [user("bye")] if how == "run" else []
    again = await (thread.connect if how == "connect" else thread.say)(*half, *news)
    assert again.messages[: len(whole)] == whole


@together(
    pytest.mark.parametrize(
        ("how", "arguments"),
        [("error", ""), ("error", RED), ("cancel", HALF), ("cancel", RED), ("total", RED)],
    ),
    SAVERS,
    pytest.mark.parametrize("tools", [[], [PAINT], [PAINT]], ids=["own", "client's", "client's 2"]),
)
async def test_the_client_loses_a_call_with_the_run(
    how: str, arguments: str, keeps: bool, tools: list[Tool]
) -> None:
    end = RuntimeError() if how == "error" else 60.0

    def script(messages: list[Any]) -> list[Any]:
        return ["Fine."] if len(messages) > 1 else ["Look: ", *begun(arguments), end]

    model = Scripted(script=script)
    limits = RunLimits(total=0.1) if how == "total" else None
    patient = chat(talker(model), model=model, checkpointer=saver_if(keeps))
    agent = LangGraphAgent(patient.agent.graph, limits=limits)
    given = run_input("hi", thread="t", run="r", tools=tools)
    running = asyncio.create_task(record_run(agent, given))
    if how == "cancel":
        await model.hung.wait()
        await agent.cancel("t", "r")
    broken = (await running).messages
    said = words(broken)
    assert calls(broken) == calls((await patient.connect(*broken)).messages) == []
    assert said == ["Look: "] or not (model.hung.is_set() or how == "error")
    again = await patient.say(*broken, user("more"), tools=tools)
    assert (calls(again.messages), words(again.messages)) == ([], [*said, "Fine."])
    assert again.last.outcome.pending_tool_call_ids is None
    check_model(model)


@together(
    pytest.mark.parametrize("before", [[], [text_chunk("Look: ", 0)], []], ids=["", "words", "2"]),
    pytest.mark.parametrize("arguments", ["", HALF]),
    SAVERS,
    pytest.mark.parametrize("tools", [[PAINT], [], [PAINT], [PAINT]]),
)
async def test_a_client_that_was_cut_off_loses_it_at_the_next_sight(
    arguments: str, before: list[Any], keeps: bool, tools: list[Tool]
) -> None:
    """The thread has never kept its message, so nobody would ever answer it. The words before it
    stay."""
    model = Scripted(["Hello."], [*before, *begun(arguments), 60.0], ["Fine."])
    thread = chat(talker(model), model=model, checkpointer=saver_if(keeps))
    first = (await thread.say("hi")).messages
    given = run_input(*first, user("go", "u1"), thread="t", tools=tools)
    held = await left_at(thread.agent, given, "TOOL_CALL_ARGS" if arguments else "TOOL_CALL_START")
    assert calls(held) == ["c1"]
    shown = (await thread.connect(*held)).messages
    again = await thread.say(*held, user("more"), tools=tools)
    left = ["Hello.", *(["Look: "] if before else [])]
    assert (calls(shown), words(shown)) == ([], left)
    assert (calls(again.messages), words(again.messages)) == ([], [*left, "Fine."])
    assert again.last.outcome.pending_tool_call_ids is None
    check_model(model)


async def test_a_message_that_says_nothing_else_goes_and_its_reasoning_stays() -> None:
    model = Scripted([thinking("hm", 0), *begun('{"co'), RuntimeError()], ["Fine."])
    thread = chat(talker(model), model=model, checkpointer=InMemorySaver())
    broken = (await thread.say("hi", outcome="model_error")).messages
    assert [(one.role, one.content) for one in broken] == [("user", "hi"), ("reasoning", "hm")]


@SAVERS
async def test_calls_of_a_node_that_fails_behind_its_model_go_too(keeps: bool) -> None:
    """They are whole, but no graph keeps their message."""
    model = Scripted(["Look: ", *begun(RED)], ["Fine."])

    async def node(state: Chat) -> Any:
        answer = await model.ainvoke(state["messages"])
        if answer.tool_calls:
            raise RuntimeError
        return {"messages": [answer]}

    thread = chat(node, model=model, checkpointer=saver_if(keeps))
    broken = await thread.say("hi", tools=[PAINT], outcome="graph_error")
    assert (calls(broken.messages), words(broken.messages)) == ([], ["Look: "])
    assert calls((await thread.say(*broken.messages, "more")).messages) == []


async def test_calls_that_the_graph_keeps_stay() -> None:
    """The model has ended, and its tool has not: the next run answers the call."""
    model = Scripted(begun('{"color": "broken"}'), ["Fine."])
    thread = talk(InMemorySaver(), model, tools=[paint])
    broken = await thread.say("hi", outcome="tool_error")
    assert calls(broken.messages) == ["c1"]
    assert calls((await thread.say(*broken.messages, "more")).messages) == ["c1", "c1"]


async def test_a_run_that_is_stopped_as_its_message_is_kept() -> None:
    """However the stop falls between the end of the node and the state behind it: the tab has the
    calls that the thread has, by their ids."""

    def stop_after(turns: int) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(stop_after, turns - 1)
        else:
            stops.append(loop.create_task(thread.agent.cancel("t", "r")))

    async def node(state: Chat) -> Any:
        answer = await thread.model.ainvoke(state["messages"])
        stop_after(turns)
        return {"messages": [answer]}

    async def last(state: Chat) -> Any:
        await asyncio.Event().wait()

    stops: list[asyncio.Task[bool]] = []
    for turns in range(24):
        thread = chat(node, last, model=Scripted(begun(RED)), checkpointer=InMemorySaver())
        stopped = await thread.say("hi", run="r", outcome="cancelled")
        assert await stops.pop()
        assert calls(stopped.messages) == calls((await thread.connect()).messages), turns


def holding(name: str, arguments: str) -> AssistantMessage:
    call = {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": arguments}}
    half = {"id": name, "role": "assistant", "content": "Look: ", "toolCalls": [call]}
    return AssistantMessage.model_validate(half)


@SAVERS
async def test_its_id_is_free_for_the_next_call(keeps: bool) -> None:
    """The client still holds the first one when the model makes the second."""
    saver = saver_if(keeps)
    if keeps:
        await talk(saver, Scripted(["Hello."])).say(user("before", "u0"))
    thread = talk(saver, Scripted(begun(RED), ["Fine."]), tools=[paint])
    half = holding("lc_run--1", '{"col')
    again = (await thread.say(user("hi", "u1"), half, user("more"))).messages
    assert by_role(again, "tool")[-1].content == "painted red"
    made = [call for one in by_role(again, "assistant") for call in one.tool_calls or ()]
    assert '{"col' not in [call.function.arguments for call in made]


def told(name: str, content: str = "done") -> ToolMessage:
    return ToolMessage(id=name, tool_call_id="c1", content=content)


async def test_a_call_whose_arguments_are_wrong_keeps_its_result() -> None:
    """The model has finished it, and the graph has told it what is wrong."""
    given = [holding("lc_run--1", '{"col'), told("r1", "No JSON.")]
    answer, result = agui_messages_to_langchain(given)
    assert isinstance(answer, AIMessage)
    assert [call["args"] for call in answer.invalid_tool_calls] == ['{"col']
    assert result.type == "tool"


@pytest.mark.parametrize("order", [1, -1], ids=["client's last", "client's first"])
def test_a_call_goes_with_all_of_its_results(order: int) -> None:
    """A page has answered a call that was not finished; an earlier one had the same id."""
    results = [told("m:c1:unfinished", "Interrupted"), told("own")]
    held = [holding("m0", "{}"), told("r0"), holding("m", '{"co'), *results[::order]]
    made = agui_messages_to_langchain(held)
    assert [(one.type, one.id) for one in made] == [("ai", "m0"), ("tool", "r0"), ("ai", "m")]
    assert [len(getattr(one, "tool_calls", ())) for one in made] == [1, 0, 0]


@ARGUMENTS
async def test_a_node_that_is_tried_again(arguments: str) -> None:
    builder, model = StateGraph(Chat), Scripted(failing(arguments), ["Fine."])
    retry = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=RuntimeError)
    builder.add_node("model", talker(model), retry_policy=retry).set_entry_point("model")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input("hi", thread="t", tools=[PAINT]))
    assert (calls(recorded.messages), words(recorded.messages)) == ([], ["Fine."])
    assert recorded.last.outcome.pending_tool_call_ids is None


@together(ARGUMENTS, pytest.mark.parametrize("handled", [False, True, False, True]))
async def test_the_model_of_a_subagent(arguments: str, handled: bool) -> None:
    researcher = create_agent(Scripted(failing(arguments)), [], name="researcher")

    @tool
    async def delegate() -> str:
        """Ask the researcher."""
        try:
            await researcher.ainvoke({"messages": [("user", "go")]})
        except RuntimeError:
            if not handled:
                raise
        return "nothing"

    model = Scripted([calling(part("delegate", "{}", "d1"))], ["Fine."])
    thread = talk(InMemorySaver(), model, tools=[delegate], middleware=[AGUIMiddleware()])
    recorded = await thread.say("hi", outcome="success" if handled else "model_error")
    again = await thread.say(*recorded.messages, "more")
    for held in (recorded.messages, again.messages):
        assert calls(held).count("c1") in (0, 2)  # gone, or with a result
    assert "paint" not in str(model.seen[-1])


@ARGUMENTS
async def test_a_callback_handler_answers_it(arguments: str) -> None:
    """Its client gets no snapshot."""
    received = ReceivedEvents()
    with pytest.raises(RuntimeError):
        await Scripted(failing(arguments)).ainvoke("hi", received.config)
    held = received.check()
    assert calls(held) == ["c1", "c1"]
    (answer,) = agui_messages_to_langchain(held)
    assert isinstance(answer, AIMessage)
    assert (answer.text, answer.tool_calls, answer.invalid_tool_calls) == ("Look: ", [], [])
