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
ODD = pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"], ids=["zero", "half"])


class State(Chat):
    note: str
    data: Any


def agent(saver: Any, **written: Any) -> LangGraphAgent:
    says = {"messages": [AIMessage("ok")], **written}
    return agent_of(lambda _: says, state=State, checkpointer=saver)


async def run(agent: LangGraphAgent, number: int, **changes: Any) -> RecordedRun:
    given = parse_input({**wire(user(id_=f"u{number}"), runId=f"r{number}"), **changes})
    recorded = RecordedRun(await collect(agent.run(given)), given)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return recorded


def texts(odd: str) -> dict[str, Any]:
    """Input with a text in each place."""
    messages = [user(odd), user([{"type": "text", "text": odd}], "u2")]
    state = {"note": odd, "data": [{"x": odd}, {odd: 1}]}
    context = [{"description": odd, "value": odd}]
    tools, resume = [tool("f", odd, title=odd)], [resolved("i", odd)]
    props = {"forwardedProps": {"x": odd}}
    return {
        "messages": messages,
        "state": state,
        "context": context,
        "tools": tools,
        "resume": resume,
    } | props


@ODD
def test_text_is_cleaned_everywhere(odd: str) -> None:
    cleaned = clean_input(parse_input(wire(**texts(odd))))
    assert cleaned.input == parse_input(wire(**texts("a\ufffdb")))


def test_what_is_clean_stays_the_same_object() -> None:
    state = {"text": "ä\ufffd 😀 \\u0000", "deep": {"x": [1.5, None, True]}}
    given, plain = parse_input(wire(state=state)), parse_input(wire())
    assert clean_input(given).input == given
    assert clean_input(plain).input is plain


@POSTGRES
async def test_a_thread_goes_on_after_it(postgres_saver: AsyncPostgresSaver) -> None:
    made = agent(postgres_saver)
    for number, odd in enumerate(["a\0b", "a\ud800b", "fine"]):
        given = {**texts(odd), "resume": None}
        for place in ("messages", "state"):
            await run(made, number, **{place: given[place]})
    stored = await made.graph.aget_state({"configurable": {"thread_id": "t"}})
    shown = json.dumps([str(stored.values), [one.content for one in stored.values["messages"]]])
    assert not {one for one in ("\\u0000", "\\ud800") if one in shown}


@ODD
async def test_ids_are_refused(odd: str) -> None:
    made, result = agent(InMemorySaver()), {**user(), "role": "tool", "toolCallId": odd}
    for name, changes in {
        **{name: {name: odd} for name in ("threadId", "runId", "parentRunId")},
        "message id": {"messages": [user(id_=odd)]},
        "toolCallId": {"messages": [result]},
        "tool call id": {"messages": [caller(odd)]},
        "subagentRunId": {"messages": [user(role="assistant", subagentRunId=odd)]},
        "interruptId": {"resume": [resolved(odd, 1)]},
    }.items():
        for way in (made.run, made.connect):
            last: Any = (await collect(way(parse_input(wire(**changes)))))[-1]
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
    await run(made, 1)
    damaging: Any = agent(postgres_saver, **(odd if by == "node" else {})).graph
    given = {"messages": [("human", "x")], **(odd if by == "input" else {})}
    with pytest.raises(Exception, match="u0000"):
        await damaging.ainvoke(given, {"configurable": {"thread_id": "t"}})
    for number in (2, 3):
        await run(made, number)


async def test_half_of_a_surrogate_pair_in_a_key() -> None:
    """JSON spells it, and no checkpointer takes it: such arguments are kept as text."""
    message = caller("c", arguments='{"a": {"\\ud83d": null}}')
    recorded = await run(agent(InMemorySaver()), 1, messages=[message])
    [kept] = [one for one in recorded.messages if one.id == "a"]
    assert (
        kept.model_dump(by_alias=True)["toolCalls"][0]["function"]
        == message["toolCalls"][0]["function"]
    )


async def test_an_empty_id_in_a_thread_is_not_shown_to_another_client() -> None:
    made = agent(InMemorySaver())
    await run(made, 1, messages=[caller("", name="", arguments="", id_="")])
    assert all(one.id for one in (await run(made, 2)).messages)
