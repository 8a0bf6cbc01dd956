"""U+0000, which Postgres refuses, and halves of surrogate pairs, which UTF-8 has not: no client
loses a thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol.input import clean_input
from langgraph_agui.protocol.schema import parse_input

POSTGRES = pytest.mark.xdist_group("postgres")
ODD = {"zero": "a\0b", "half": "a\ud800b"}


class State(MessagesState):
    note: str
    data: Any


def make_agent(saver: Any, written: dict[str, Any] | None = None) -> LangGraphAgent:
    builder = StateGraph(State)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")], **(written or {})})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return LangGraphAgent(builder.compile(checkpointer=saver))


def wire(number: int = 1, **changes: Any) -> dict[str, Any]:
    message = {"id": f"u{number}", "role": "user", "content": "hello"}
    return {
        "threadId": "t",
        "runId": f"r{number}",
        "protocolVersion": "1.0",
        "messages": [message],
        **changes,
    }


async def run(agent: LangGraphAgent, sent: dict[str, Any]) -> Any:
    events = [event async for event in agent.run(parse_input(sent))]
    assert [event.type.value for event in events[1:-1]].count("RUN_ERROR") == 0
    return events[-1]


TEXTS: dict[str, Any] = {
    "message": lambda odd: {"messages": [{"id": "u1", "role": "user", "content": odd}]},
    "part": lambda odd: {
        "messages": [{"id": "u1", "role": "user", "content": [{"type": "text", "text": odd}]}]
    },
    "state": lambda odd: {"state": {"note": odd}},
    "state inside": lambda odd: {"state": {"data": [{"x": odd}]}},
    "key": lambda odd: {"state": {"data": {odd: 1}}},
    "props": lambda odd: {"forwardedProps": {"x": odd}},
    "context": lambda odd: {"context": [{"description": odd, "value": odd}]},
    "tools": lambda odd: {
        "tools": [{"name": "f", "description": odd, "parameters": {"title": odd}}]
    },
    "answer": lambda odd: {"resume": [{"interruptId": "i", "status": "resolved", "payload": odd}]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("place", TEXTS)
def test_text_is_cleaned(place: str, odd: str) -> None:
    cleaned = clean_input(parse_input(wire(**TEXTS[place](odd))))
    assert cleaned.input == parse_input(wire(**TEXTS[place]("a\ufffdb")))


def test_what_is_clean_stays_the_same_object() -> None:
    given = parse_input(
        wire(state={"text": "ä\ufffd 😀 \\u0000", "deep": {"x": [1.5, None, True]}})
    )
    assert clean_input(given).input == given
    plain = parse_input(wire())
    assert clean_input(plain).input is plain


@POSTGRES
@pytest.mark.parametrize("place", ["message", "state", "key"])
async def test_a_thread_goes_on_after_it(place: str, postgres_saver: AsyncPostgresSaver) -> None:
    agent = make_agent(postgres_saver)
    for number, odd in enumerate(ODD.values(), 1):
        last = await run(agent, {**wire(number), **TEXTS[place](odd)})
        assert last.type.value == "RUN_FINISHED", last
    assert (await run(agent, wire(9))).type.value == "RUN_FINISHED"
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    shown = json.dumps(
        [str(stored.values), [message.content for message in stored.values["messages"]]]
    )
    assert "\\u0000" not in shown
    assert "\\ud800" not in shown


IDS: dict[str, Any] = {
    "threadId": lambda odd: {"threadId": odd},
    "runId": lambda odd: {"runId": odd},
    "parentRunId": lambda odd: {"parentRunId": odd},
    "message id": lambda odd: {"messages": [{"id": odd, "role": "user", "content": "x"}]},
    "toolCallId": lambda odd: {
        "messages": [{"id": "t", "role": "tool", "toolCallId": odd, "content": "x"}]
    },
    "tool call id": lambda odd: {
        "messages": [
            {
                "id": "a",
                "role": "assistant",
                "toolCalls": [
                    {"id": odd, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            }
        ]
    },
    "subagentRunId": lambda odd: {
        "messages": [{"id": "a", "role": "assistant", "content": "x", "subagentRunId": odd}]
    },
    "interruptId": lambda odd: {"resume": [{"interruptId": odd, "status": "cancelled"}]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", IDS)
async def test_ids_are_refused(name: str, odd: str) -> None:
    agent = make_agent(InMemorySaver())
    for way in (agent.run, agent.connect):
        events = [event async for event in way(parse_input(wire(**IDS[name](odd))))]
        last: Any = events[-1]
        assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input")
        assert last.message.startswith(f"The {name} 'a\\")


@POSTGRES
@pytest.mark.parametrize("by", ["input", "node"])
async def test_a_thread_that_was_damaged_goes_on(
    by: str, postgres_saver: AsyncPostgresSaver
) -> None:
    """What was written is beside the last checkpoint, and Postgres refuses the next one for
    ever."""
    agent = make_agent(postgres_saver)
    assert (await run(agent, wire())).type.value == "RUN_FINISHED"
    damaging: Any = make_agent(postgres_saver, {"note": "a\0b"} if by == "node" else None).graph
    given = {"messages": [("human", "x")], **({"note": "a\0b"} if by == "input" else {})}
    with pytest.raises(Exception, match="u0000"):
        await damaging.ainvoke(given, {"configurable": {"thread_id": "t"}})
    for number in (2, 3):
        last = await run(agent, wire(number))
        assert last.type.value == "RUN_FINISHED", last


@POSTGRES
async def test_what_models_and_tools_say_is_stored_as_it_is(
    postgres_saver: AsyncPostgresSaver,
) -> None:
    """Messages are stored as bytes; only what a node writes into a channel of text is refused by
    Postgres."""
    agent = make_agent(postgres_saver, {"messages": [AIMessage("a\0b")]})
    assert (await run(agent, wire())).type.value == "RUN_FINISHED"
    assert (await run(agent, wire(2))).type.value == "RUN_FINISHED"
