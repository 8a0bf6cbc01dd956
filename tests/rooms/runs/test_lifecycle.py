"""How runs begin and end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import agent_of, chain_of, scripted_agent, talker
from tests.kit.models.scripted import Scripted, call, used
from tests.kit.run.agents import RecordedRun, collect, plain, record_run, run_input
from tests.kit.waiting import PATIENCE


async def test_the_start_and_the_end() -> None:
    given = run_input("hi", thread="t", run="r", parent_run_id="p")
    recorded = await record_run(scripted_agent(["a", used(3, 2)]), given)
    recorded.check_snapshot()
    ids = {"threadId": "t", "runId": "r"}
    began = {"type": "RUN_STARTED", "protocolVersion": "1.0", **ids, "parentRunId": "p"}
    ended = {"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}}
    assert plain(recorded.events[0]).items() >= began.items()
    assert plain(recorded.last).items() >= ended.items()
    assert recorded.last.usage[0].total_tokens == 5


async def test_the_start_comes_before_anything_is_loaded() -> None:
    gate = asyncio.Event()

    class Slow(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            await gate.wait()
            return await super().aget_tuple(config)

    given = run_input("hi")
    events = agent_of(talker(Scripted(["a"])), checkpointer=Slow()).run(given)
    first = await asyncio.wait_for(anext(events), PATIENCE)
    gate.set()
    assert first.type.value == "RUN_STARTED"
    RecordedRun([first, *await collect(events)], given)


async def test_a_drained_graph_is_cancelled() -> None:
    async def node(state: Any) -> Any:
        raise GraphDrained("shutting down")

    recorded = await record_run(agent_of(node), run_input("hi"))
    assert plain(recorded.last)["outcome"] == {"type": "cancelled"}


async def test_the_config_reaches_the_graph_with_the_thread_of_the_input() -> None:
    seen: list[Any] = []

    async def node(state: Any, config: RunnableConfig) -> Any:
        seen.append(config["configurable"])

    config: Any = {"configurable": {"a": 1, "b": 1, "thread_id": "x"}}
    agent = LangGraphAgent(graph=chain_of(node), config=config)
    await record_run(agent, run_input("hi", thread="t"), config={"configurable": {"b": 2}})
    assert seen[0].items() >= {"a": 1, "b": 2, "thread_id": "t"}.items()


def test_a_graph_that_is_not_compiled_is_refused() -> None:
    from langgraph.graph import StateGraph

    with pytest.raises(TypeError, match="compile"):
        LangGraphAgent(graph=StateGraph(dict))  # type: ignore[arg-type]


async def test_open_calls_are_pending() -> None:
    calls = [call("paint", "c1"), call("paint", "c2", 1)]
    recorded = await record_run(scripted_agent(calls), run_input("hi"))
    assert recorded.last.outcome.pending_tool_call_ids == ["c1", "c2"]


@pytest.mark.parametrize(
    ("turn", "moment"),
    [
        (["a", 60.0], "RUN_STARTED"),
        ([60.0], "STEP_STARTED"),
        (["a", used(3, 2), 60.0], "TEXT_MESSAGE_CONTENT"),
        ([call("look", "c1"), 60.0], "TOOL_CALL_ARGS"),
    ],
)
async def test_a_cancelled_run(turn: Any, moment: str) -> None:
    agent = agent_of(talker(Scripted(["b", used(1, 2)]), "one"), talker(Scripted(turn), "two"))
    agent = scripted_agent(turn) if moment == "RUN_STARTED" else agent
    given, events = run_input("hi", thread="t", run="r"), []
    async with asyncio.timeout(PATIENCE):
        async for event in agent.run(given):
            events.append(event)
            spoken = getattr(event, "step_name", getattr(event, "delta", "two"))
            if event.type.value == moment and spoken != "b" and spoken != "one":
                assert await asyncio.to_thread(asyncio.run, agent.cancel("t", "r"))
    recorded = RecordedRun(events, given)
    assert plain(recorded.last)["outcome"] == {"type": "cancelled"}
    assert moment == "RUN_STARTED" or recorded.last.usage[0].total_tokens == 3
    assert await agent.cancel("t", "r") is False
