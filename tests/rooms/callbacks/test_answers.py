"""What a Runnable returns: messages are told once, all else is the run's result, and what it takes
is neither."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Event
from langchain_core.messages import AIMessage
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
@pytest.mark.parametrize("runnable", [
    Scripted(["hi"]),
    prompt | Scripted(["hi"]),
    prompt | Scripted(["hi"]) | RunnableLambda(lambda message: message),
    prompt | Scripted(["hi"]) | StrOutputParser(),
    RunnableLambda(lambda _: AIMessage("hi")),
    RunnableLambda(lambda _: AIMessage("hi", id="k")),
], ids=["model", "prompt", "message", "parser", "made", "made_with_id"])  # fmt: skip
async def test_the_input_is_told_nowhere(events_of: Any, runnable: Anything) -> None:
    events = await events_of(runnable, "CANARY")
    assert "CANARY" not in "".join(event.model_dump_json() for event in events)
    assert result(events) in (None, "hi")
    assert texts(events) == ["hi"]


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


@sources
async def test_two_messages_of_the_same_words_are_two(events_of: Any) -> None:
    events = await events_of(RunnableLambda(lambda _: [AIMessage("hi"), AIMessage("hi")]), "x")
    assert texts(events) == ["hi", "hi"]


@sources
@pytest.mark.parametrize("value", [{"answer": 42}, {}, ["a"], "text", 0])
async def test_what_holds_no_messages_is_the_result(events_of: Any, value: Any) -> None:
    events = await events_of(RunnableLambda(lambda _: value), {"messages": [("user", "CANARY")]})
    assert result(events) == value
    assert texts(events) == []
    assert "CANARY" not in "".join(event.model_dump_json() for event in events)


few_shot = ChatPromptTemplate.from_messages([("user", "2 + 2"), ("ai", "CANARY"), ("user", "{q}")])


@sources
@pytest.mark.parametrize(("runnable", "recorded"), [
    (few_shot, []),
    (few_shot | RunnableLambda(lambda value: value), []),
    (few_shot | Scripted(["hi"]), ["hi"]),
], ids=["alone", "at_the_end", "with_a_model"])  # fmt: skip
async def test_examples_in_a_prompt_are_told_nowhere(
    events_of: Any, runnable: Anything, recorded: list[str]
) -> None:
    events = await events_of(runnable, "x")
    assert "CANARY" not in "".join(event.model_dump_json() for event in events)
    assert texts(events) == recorded
    assert result(events) is None
