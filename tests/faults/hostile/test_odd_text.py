"""U+0000, which Postgres refuses, and halves of surrogate pairs, which UTF-8 has not: no client
loses a thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol.input import clean_input
from langgraph_agui.protocol.schema import parse_input
from tests.faults.hostile.requests import caller, resolved, tool, user, wire
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.run.agents import RecordedRun, collect

POSTGRES = pytest.mark.xdist_group("postgres")
ODD = {"zero": "a\0b", "half": "a\ud800b"}


class State(Chat):
    note: str
    data: Any


def agent(saver: Any, **written: Any) -> LangGraphAgent:
    says = {"messages": [AIMessage("ok")], **written}
    return agent_of(lambda _: says, state=State, checkpointer=saver)


async def check_runs(agent: LangGraphAgent, number: int, **changes: Any) -> None:
    sent = {**wire(user(id_=f"u{number}"), runId=f"r{number}"), **changes}
    events = await collect(agent.run(parse_input(sent)))
    assert events[-1].type.value == "RUN_FINISHED", events[-1]
    assert "RUN_ERROR" not in [event.type.value for event in events]


TEXTS: dict[str, Any] = {
    "message": lambda odd: {"messages": [user(odd)]},
    "part": lambda odd: {"messages": [user([{"type": "text", "text": odd}])]},
    "state": lambda odd: {"state": {"note": odd}},
    "state inside": lambda odd: {"state": {"data": [{"x": odd}]}},
    "key": lambda odd: {"state": {"data": {odd: 1}}},
    "props": lambda odd: {"forwardedProps": {"x": odd}},
    "context": lambda odd: {"context": [{"description": odd, "value": odd}]},
    "tools": lambda odd: {"tools": [tool("f", odd, title=odd)]},
    "answer": lambda odd: {"resume": [resolved("i", odd)]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("place", TEXTS)
def test_text_is_cleaned(place: str, odd: str) -> None:
    cleaned = clean_input(parse_input(wire(**TEXTS[place](odd))))
    assert cleaned.input == parse_input(wire(**TEXTS[place]("a\ufffdb")))


def test_what_is_clean_stays_the_same_object() -> None:
    state = {"text": "ä\ufffd 😀 \\u0000", "deep": {"x": [1.5, None, True]}}
    given, plain = parse_input(wire(state=state)), parse_input(wire())
    assert clean_input(given).input == given
    assert clean_input(plain).input is plain


@POSTGRES
@pytest.mark.parametrize("place", ["message", "state", "key"])
async def test_a_thread_goes_on_after_it(place: str, postgres_saver: AsyncPostgresSaver) -> None:
    made = agent(postgres_saver)
    for number, odd in enumerate(ODD.values(), 1):
        await check_runs(made, number, **TEXTS[place](odd))
    await check_runs(made, 9)
    stored = await made.graph.aget_state({"configurable": {"thread_id": "t"}})
    shown = json.dumps([str(stored.values), [one.content for one in stored.values["messages"]]])
    assert not {one for one in ("\\u0000", "\\ud800") if one in shown}


IDS: dict[str, Any] = {
    "threadId": lambda odd: {"threadId": odd},
    "runId": lambda odd: {"runId": odd},
    "parentRunId": lambda odd: {"parentRunId": odd},
    "message id": lambda odd: {"messages": [user(id_=odd)]},
    "toolCallId": lambda odd: {"messages": [{**user(), "role": "tool", "toolCallId": odd}]},
    "tool call id": lambda odd: {"messages": [caller(odd)]},
    "subagentRunId": lambda odd: {"messages": [user(role="assistant", subagentRunId=odd)]},
    "interruptId": lambda odd: {"resume": [resolved(odd, 1)]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", IDS)
async def test_ids_are_refused(name: str, odd: str) -> None:
    made = agent(InMemorySaver())
    for way in (made.run, made.connect):
        last: Any = (await collect(way(parse_input(wire(**IDS[name](odd))))))[-1]
        assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
        assert last.message.startswith(f"The {name} 'a\\")


@POSTGRES
@pytest.mark.parametrize("by", ["input", "node"])
async def test_a_thread_that_was_damaged_goes_on(
    by: str, postgres_saver: AsyncPostgresSaver
) -> None:
    """What was written is beside the last checkpoint, and Postgres refuses the next one for
    ever."""
    made, odd = agent(postgres_saver), {"note": "a\0b"}
    await check_runs(made, 1)
    damaging: Any = agent(postgres_saver, **(odd if by == "node" else {})).graph
    given = {"messages": [("human", "x")], **(odd if by == "input" else {})}
    with pytest.raises(Exception, match="u0000"):
        await damaging.ainvoke(given, {"configurable": {"thread_id": "t"}})
    await check_runs(made, 2)
    await check_runs(made, 3)


@POSTGRES
async def test_what_models_and_tools_say_is_stored_as_it_is(
    postgres_saver: AsyncPostgresSaver,
) -> None:
    """Messages are stored as bytes; only what a node writes into a channel of text is refused by
    Postgres."""
    made = agent(postgres_saver, messages=[AIMessage("a\0b")])
    await check_runs(made, 1)
    await check_runs(made, 2)


async def test_half_of_a_surrogate_pair_in_a_key() -> None:
    """JSON spells it, and no checkpointer takes it: such arguments are kept as text."""
    message = caller("c", arguments='{"a": {"\\ud83d": null}}')
    given = parse_input(wire(message))
    recorded = RecordedRun(await collect(agent(InMemorySaver()).run(given)), given)
    assert recorded.last.type.value == "RUN_FINISHED"
    [kept] = [one for one in recorded.messages if one.id == "a"]
    assert (
        kept.model_dump(by_alias=True)["toolCalls"][0]["function"]
        == (message["toolCalls"][0]["function"])
    )


async def test_an_empty_id_in_a_thread_is_not_shown_to_another_client() -> None:
    made = agent(InMemorySaver())
    for message in (caller("", name="", arguments="", id_=""), user("hello", "u9")):
        given = parse_input(wire(message))
        recorded = RecordedRun(await collect(made.run(given)), given)
        assert recorded.last.type.value == "RUN_FINISHED"
    assert all(one.id for one in recorded.messages)
