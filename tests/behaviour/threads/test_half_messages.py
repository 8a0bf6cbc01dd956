"""Messages that are half: a model has failed or was stopped in the middle, or a connection broke.
Clients get the whole of them, and lose calls that were not finished; no model is sent those."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message, Tool, ToolMessage
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import RetryPolicy

from langgraph_agui import LangGraphAgent, RunLimits, agui_messages_to_langchain
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.run.talking import by_role, chat, left_at, looking, talk, thought

PAINT = Tool(name="paint", description="Paint.", parameters={"type": "object", "properties": {}})
HALF, RED = '{"color": "r', '{"color": "red"}'
ARGUMENTS = pytest.mark.parametrize("arguments", ["", HALF, RED], ids=["none", "half", "all"])


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


@pytest.mark.parametrize(
    ("how", "arguments", "keeps", "by_client"),
    [
        ("error", "", False, True),
        ("error", RED, True, True),
        ("error", RED, False, False),
        ("cancel", HALF, True, False),
        ("cancel", RED, False, True),
        ("total", RED, True, True),
    ],
)
async def test_the_client_loses_a_call_with_the_run(
    how: str, arguments: str, keeps: bool, by_client: bool
) -> None:
    tools = [PAINT] if by_client else []
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


@pytest.mark.parametrize(
    ("arguments", "words_before", "keeps", "by_client"),
    [
        ("", False, False, True),
        (HALF, False, True, True),
        ("", True, True, False),
        (HALF, True, False, True),
        (HALF, False, False, False),
    ],
)
async def test_a_client_that_was_cut_off_loses_it_at_the_next_sight(
    arguments: str, words_before: bool, keeps: bool, by_client: bool
) -> None:
    """The thread has never kept its message, so nobody would ever answer it. The words before it
    stay."""
    tools, before = ([PAINT] if by_client else []), ["Look: "] * words_before
    model = Scripted(["Hello."], [*before, *begun(arguments), 60.0], ["Fine."])
    thread = chat(talker(model), model=model, checkpointer=saver_if(keeps))
    first = (await thread.say("hi")).messages
    given = run_input(*first, user("go", "u1"), thread="t", tools=tools)
    held = await left_at(thread.agent, given, "TOOL_CALL_ARGS" if arguments else "TOOL_CALL_START")
    assert calls(held) == ["c1"]
    shown = (await thread.connect(*held)).messages
    again = await thread.say(*held, user("more"), tools=tools)
    left = ["Hello.", *before]
    assert (calls(shown), words(shown)) == ([], left)
    assert (calls(again.messages), words(again.messages)) == ([], [*left, "Fine."])
    assert again.last.outcome.pending_tool_call_ids is None
    check_model(model)


async def test_a_message_that_says_nothing_else_goes_and_its_reasoning_stays() -> None:
    model = Scripted([thinking("hm", 0), *begun('{"co'), RuntimeError()], ["Fine."])
    thread = chat(talker(model), model=model, checkpointer=InMemorySaver())
    broken = (await thread.say("hi", outcome="model_error")).messages
    assert [(one.role, one.content) for one in broken] == [("user", "hi"), ("reasoning", "hm")]


async def test_calls_of_a_node_that_fails_behind_its_model_go_too() -> None:
    """They are whole, but no graph keeps their message."""
    model = Scripted(["Look: ", *begun(RED)], ["Fine."])

    async def node(state: Chat) -> Any:
        answer = await model.ainvoke(state["messages"])
        if answer.tool_calls:
            raise RuntimeError
        return {"messages": [answer]}

    thread = chat(node, model=model, checkpointer=InMemorySaver())
    broken = await thread.say("hi", tools=[PAINT], outcome="graph_error")
    assert (calls(broken.messages), words(broken.messages)) == ([], ["Look: "])
    assert calls((await thread.say(*broken.messages, "more")).messages) == []


def holding(name: str, arguments: str) -> AssistantMessage:
    call = {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": arguments}}
    half = {"id": name, "role": "assistant", "content": "Look: ", "toolCalls": [call]}
    return AssistantMessage.model_validate(half)


async def test_its_id_is_free_for_the_next_call() -> None:
    """The client still holds the first one when the model makes the second."""
    thread = talk(InMemorySaver(), Scripted(["Hello."], begun(RED), ["Fine."]), tools=[paint])
    await thread.say(user("before", "u0"))
    half = holding("lc_run--1", '{"col')
    again = (await thread.say(user("hi", "u1"), half, user("more"))).messages
    assert by_role(again, "tool")[-1].content == "painted red"
    made = [call for one in by_role(again, "assistant") for call in one.tool_calls or ()]
    assert '{"col' not in [call.function.arguments for call in made]


def told(name: str, content: str = "done") -> ToolMessage:
    return ToolMessage(id=name, tool_call_id="c1", content=content)


@pytest.mark.parametrize("order", [1, -1], ids=["client's last", "client's first"])
def test_a_call_goes_with_all_of_its_results(order: int) -> None:
    """A page has answered a call that was not finished; an earlier one had the same id. One whose
    arguments are wrong keeps its result: the graph has told the model."""
    results = [told("m:c1:unfinished", "Interrupted"), told("own")]
    held = [holding("m0", "{}"), told("r0"), holding("m", '{"co'), *results[::order]]
    made = agui_messages_to_langchain(held)
    assert [(one.type, one.id) for one in made] == [("ai", "m0"), ("tool", "r0"), ("ai", "m")]
    assert [len(getattr(one, "tool_calls", ())) for one in made] == [1, 0, 0]
    answer, result = agui_messages_to_langchain([holding("lc_run--1", '{"col'), told("r1")])
    assert isinstance(answer, AIMessage)
    assert ([call["args"] for call in answer.invalid_tool_calls], result.type) == (
        ['{"col'],
        "tool",
    )


@ARGUMENTS
async def test_a_node_that_is_tried_again(arguments: str) -> None:
    builder, model = StateGraph(Chat), Scripted(failing(arguments), ["Fine."])
    retry = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=RuntimeError)
    builder.add_node("model", talker(model), retry_policy=retry).set_entry_point("model")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input("hi", thread="t", tools=[PAINT]))
    assert (calls(recorded.messages), words(recorded.messages)) == ([], ["Fine."])
    assert recorded.last.outcome.pending_tool_call_ids is None


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
