"""What a Runnable returns: messages are told once, all else is the run's result, and what it takes
is neither."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Event
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda

from langgraph_agui import astream_agui
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.handlers import ReceivedEvents, deltas

Anything = Runnable[Any, Any]


async def through_handler(runnable: Anything, value: Any) -> list[Event]:
    received = ReceivedEvents()
    await runnable.ainvoke(value, received.config)
    received.check()
    return received.events


async def through_stream(runnable: Anything, value: Any) -> list[Event]:
    given = run_input()
    recorded = RecordedRun(await collect(astream_agui(runnable, value, given)), given)
    recorded.check_snapshot()
    return recorded.events


sources = pytest.mark.parametrize("events_of", [through_handler, through_stream])
prompt = ChatPromptTemplate.from_template("say {q}")
SHAPES = {
    "bare": lambda message: message,
    "list": lambda message: [message],
    "messages": lambda message: {"messages": [message]},
    "another key": lambda message: {"answer": message},
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def result(events: list[Any]) -> Any:
    assert events[-1].type.value == "RUN_FINISHED", events[-1]
    return events[-1].result


def texts(events: list[Any]) -> list[str]:
    return [
        "".join(deltas([event])) for event in events if event.type.value == "TEXT_MESSAGE_CONTENT"
    ]


@sources
@shapes
@pytest.mark.parametrize("message_id", [None, "k"])
async def test_a_message_is_told_once(events_of: Any, shape: Any, message_id: str | None) -> None:
    """One that is made, and one that a model has said."""
    made = RunnableLambda(lambda _: shape(AIMessage("hi", id=message_id)))
    changed = {} if message_id else {"id": None}
    repeat = RunnableLambda(lambda one: shape(one.model_copy(update=changed)))
    for runnable in (made, Scripted(["hi"]) | repeat):
        events = await events_of(runnable, "x")
        assert (texts(events), result(events)) == (["hi"], None)


few_shot = ChatPromptTemplate.from_messages([("user", "2 + 2"), ("ai", "CANARY"), ("user", "{q}")])
said = prompt | Scripted(["hi"])


@sources
@pytest.mark.parametrize(("runnable", "told", "results"), [
    pytest.param(Scripted(["hi"]), ["hi"], [None], id="model"),
    pytest.param(said | RunnableLambda(lambda message: message), ["hi"], [None], id="message"),
    pytest.param(said | StrOutputParser(), ["hi"], [None, "hi"], id="parser"),
    pytest.param(RunnableLambda(lambda _: AIMessage("hi")), ["hi"], [None], id="made"),
    pytest.param(RunnableLambda(lambda _: [AIMessage("hi"), AIMessage("hi")]), ["hi", "hi"], [None],
        id="two_of_the_same_words"),
    pytest.param(RunnableLambda(lambda q: [HumanMessage(q), AIMessage("hi")]), ["hi"], [None],
        id="the_users_words"),
    pytest.param(few_shot, [], [None], id="examples"),
    pytest.param(few_shot | RunnableLambda(lambda value: value), [], [None], id="examples_returned"),
    pytest.param(few_shot | Scripted(["hi"]), ["hi"], [None], id="examples_to_a_model"),
])  # fmt: skip
async def test_what_it_returns_is_told_and_its_input_is_not(
    events_of: Any, runnable: Anything, told: list[str], results: list[Any]
) -> None:
    events = await events_of(runnable, "CANARY")
    assert "CANARY" not in "".join(event.model_dump_json() for event in events)
    assert texts(events) == told
    assert result(events) in results


@sources
@pytest.mark.parametrize("value", [{"answer": 42}, {}, ["a"], "text", 0])
async def test_what_holds_no_messages_is_the_result(events_of: Any, value: Any) -> None:
    events = await events_of(RunnableLambda(lambda _: value), {"messages": [("user", "CANARY")]})
    assert (texts(events), result(events)) == ([], value)
    assert "CANARY" not in "".join(event.model_dump_json() for event in events)
