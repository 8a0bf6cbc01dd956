"""Subagents in threads: of LangGraph, whose stream does not reach ours, and of the machine."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.translate.local import sequencer as stream_sequencer
from tests.kit.deep import example_count
from tests.kit.graphs.small import chain_of, talker
from tests.kit.graphs.subagents import Notes, Topic, asking
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.waiting import PATIENCE


async def test_nothing_waits_for_a_stream_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A child invoked on a thread of its own."""
    monkeypatch.setattr(stream_sequencer, "PATIENCE", 30)

    def note(state: Any) -> Any:
        return {"messages": [AIMessage("noted")]}

    think = talker(Scripted(["inner"]), "think")
    inner = chain_of(think, note, checkpointer=InMemorySaver())

    async def outer(state: Any) -> Any:
        await inner.ainvoke(asking("x"), {"configurable": {"thread_id": "another"}})
        return {"messages": [AIMessage("outer")]}

    running = record_run(LangGraphAgent(chain_of(outer)), run_input("hi"))
    recorded = await asyncio.wait_for(running, PATIENCE)
    recorded.check_snapshot()
    events = recorded.of("STEP_STARTED", "STEP_FINISHED")
    steps = [f"{event.type.value[5:8]} {event.step_name}" for event in events]
    assert steps == ["STA outer", "STA think", "FIN think", "STA note", "FIN note", "FIN outer"]
    deltas = [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")]
    assert deltas == ["inner", "noted", "outer"]


def test_a_graph_whose_first_nodes_begin_in_threads_is_one_subagent() -> None:
    inner: Any = StateGraph(Notes)
    for name in "pqrstuvw":
        inner.add_node(name, lambda _state: {})
        inner.add_edge(START, name)
    graph = chain_of(inner.compile(name="inner"), state=Topic)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    try:
        for _ in range(example_count(25, 38)):
            received = ReceivedEvents()
            graph.invoke(asking("hi"), received.config)
            assert len(received.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED")) == 2
    finally:
        sys.setswitchinterval(before)
