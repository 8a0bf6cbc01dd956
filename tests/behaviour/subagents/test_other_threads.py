"""Graphs inside a node whose stream does not reach ours: a child invoked on a thread of its own,
for example."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.translate.local import sequencer as stream_sequencer
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE


def child() -> Any:
    async def think(state: MessagesState) -> Any:
        return {"messages": [await Scripted(["inner"]).ainvoke("x")]}

    def note(state: MessagesState) -> Any:
        return {"messages": [AIMessage("noted")]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("note", note)
    builder.add_edge(START, "think")
    builder.add_edge("think", "note")
    builder.add_edge("note", END)
    return builder.compile(checkpointer=InMemorySaver())


async def test_nothing_waits_for_a_stream_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_sequencer, "PATIENCE", 30)
    inner = child()

    async def outer(state: MessagesState) -> Any:
        await inner.ainvoke(
            {"messages": [HumanMessage("x")]}, {"configurable": {"thread_id": "another"}}
        )
        return {"messages": [AIMessage("outer")]}

    builder = StateGraph(MessagesState)
    builder.add_node("outer", outer)
    builder.add_edge(START, "outer")
    recorded = await asyncio.wait_for(
        record_run(LangGraphAgent(graph=builder.compile()), run_input("hi")), PATIENCE
    )
    recorded.check_snapshot()
    steps = [
        f"{event.type.value[5:8]} {event.step_name}"
        for event in recorded.of("STEP_STARTED", "STEP_FINISHED")
    ]
    assert steps == ["STA outer", "STA think", "FIN think", "STA note", "FIN note", "FIN outer"]
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == [
        "inner",
        "noted",
        "outer",
    ]
