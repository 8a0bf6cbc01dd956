"""A run loads its thread's checkpoint once: for its plan and for the graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.graphs import loaded
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.waiting import PATIENCE


class Counting(InMemorySaver):
    """Counts how often the last checkpoint of a thread is loaded."""

    loads = 0

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        place = config["configurable"]
        self.loads += not place.get("checkpoint_id") and not place.get("checkpoint_ns")
        return await super().aget_tuple(config)


async def loads_of(agent: LangGraphAgent, given: Any) -> int:
    before = agent.graph.checkpointer.loads
    recorded = await record_run(agent, given)
    assert recorded.last.type.value == "RUN_FINISHED"
    return int(agent.graph.checkpointer.loads - before)


async def texts(agent: LangGraphAgent) -> list[Any]:
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    return [message.content for message in stored.values["messages"]]


@pytest.mark.parametrize(("fresh", "loads"), [(PATIENCE, 1), (0.0, 2)])
async def test_a_run_loads_its_thread_once(
    fresh: float, loads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice if others may have written since the plan, as a webhook does."""
    monkeypatch.setattr(loaded, "FRESH", fresh)
    agent = LangGraphAgent(chain_of(talker(Scripted(["one"], ["two"])), checkpointer=Counting()))
    assert await loads_of(agent, run_input("hi", thread="t")) == 1 + (not fresh)
    assert await loads_of(agent, run_input("go on", thread="t")) == loads
    assert await texts(agent) == ["hi", "one", "go on", "two"]


async def test_a_node_that_reads_the_thread_sees_it_as_it_is() -> None:
    """By its own configuration too, which leads to the checkpointer that the graph runs with."""
    seen: list[int] = []

    async def first(state: Chat) -> dict[str, Any]:
        return {"messages": [AIMessage("first", id="a1")]}

    async def second(state: Chat, config: RunnableConfig) -> None:
        own = {**config["configurable"], "checkpoint_ns": ""}
        for place in ({"thread_id": "t"}, own, own):
            stored = await graph.aget_state({"configurable": place})
            seen.append(len(stored.values["messages"]))

    graph = chain_of(first, second, checkpointer=InMemorySaver())
    await record_run(LangGraphAgent(graph), run_input("hi", thread="t"))
    assert seen == [2, 2, 2]


async def test_a_paused_thread_is_loaded_again() -> None:
    """LangGraph applies pending writes to the checkpoint that it gets."""

    async def ask(state: Chat) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("really?")))]}

    agent = LangGraphAgent(chain_of(ask, checkpointer=Counting()))
    paused = await record_run(agent, run_input("hi", thread="t"))
    (asked,) = paused.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")
    await record_run(agent, run_input(*paused.messages, thread="t", resume=[answer]))
    assert await texts(agent) == ["hi", "yes"]


async def test_what_is_written_before_the_graph_runs_is_loaded() -> None:
    """A thread that was killed in the middle of a superstep is ended first, and then loaded."""
    one, two = talker(Scripted(["one"])), talker(Scripted(["two"]), "other")
    agent = LangGraphAgent(chain_of(one, two, checkpointer=Counting()))
    killed = {"messages": [HumanMessage("hi", id="u1")]}
    await agent.graph.aupdate_state({"configurable": {"thread_id": "t"}}, killed, "__start__")
    await record_run(agent, run_input(user("hi", "u1"), user("go on", "u2"), thread="t"))
    assert await texts(agent) == ["hi", "go on", "one", "two"]


class Counted(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that counts its runs in itself."""

    runs = 0

    async def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        self.runs += 1
        async for part in super().astream(*args, **kwargs):
            yield part


async def test_a_graph_of_a_class_of_its_own_runs_itself() -> None:
    graph = chain_of(talker(Scripted(["one"], ["two"])), checkpointer=InMemorySaver())
    graph.__class__ = Counted
    agent = LangGraphAgent(graph)
    for text in ("hi", "go on"):
        await record_run(agent, run_input(text, thread="t"))
    assert graph.runs == 2
