"""What surrounds a run: its configuration, other threads, work left behind, events of any size."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import decode
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input


class Count(TypedDict):
    n: int


async def test_work_that_a_graph_leaves_behind_comes_to_its_end() -> None:
    """A title or a memory that is made while the user reads: not told any more, and not stopped."""
    left: list[asyncio.Task[Any]] = []
    go_on = asyncio.Event()

    async def node(state: Chat) -> Any:
        async def title() -> Any:
            await go_on.wait()
            return await Scripted(["A title"]).ainvoke("x")

        left.append(asyncio.create_task(title()))
        return {"messages": [await Scripted(["answer"]).ainvoke("x")]}

    recorded = await record_run(agent_of(node), run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "answer"]
    go_on.set()
    assert (await left[0]).text == "A title"


async def test_a_plain_async_tool_stops_with_its_run() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.set()
            raise
        return ""

    agent = agent_of(talker(Scripted([call("wait", "c1")])), ToolNode([wait]))
    events = agent.run(run_input("hi"))
    async for event in events:
        if event.type.value == "TOOL_CALL_END":
            break
    await begun.wait()
    await events.aclose()
    await asyncio.wait_for(stopped.wait(), 1)


async def test_a_workflow_without_messages_runs_as_often_as_it_is_asked_to() -> None:
    agent = agent_of(lambda state: {"n": state["n"] + 1}, state=Count, checkpointer=InMemorySaver())
    recorded = await record_run(agent, run_input(thread="t", state={"n": 1}))
    assert recorded.state == {"n": 2}
    again = await record_run(agent, run_input(thread="t", state=recorded.state))
    assert again.state == {"n": 3}


async def test_raw_parts_are_told_when_asked_for() -> None:
    graph = chain_of(talker(Scripted(["answer"])))
    assert "RAW" not in (await record_run(LangGraphAgent(graph=graph), run_input("hi"))).types
    graph = chain_of(talker(Scripted(["answer"])))
    recorded = await record_run(LangGraphAgent(graph=graph, emit_raw_events=True), run_input("hi"))
    assert {event.event["type"] for event in recorded.of("RAW")} >= {"values", "updates", "tasks"}
    assert {event.source for event in recorded.of("RAW")} == {"langgraph"}


async def test_a_text_of_any_size_arrives_and_a_result_that_is_too_large_ends_the_run() -> None:
    large = "x" * 11 * 1024 * 1024

    async def speak(state: Chat) -> Any:
        return {"messages": [AIMessage(large)]}

    async def answer(state: Chat) -> Any:
        return {"messages": [ToolMessage(large, tool_call_id="c1")]}

    async def frames(*nodes: Any) -> list[Any]:
        return [*decode([piece async for piece in agent_of(*nodes).stream_sse(run_input("hi"))])]

    spoken = await frames(speak)
    assert "".join(getattr(frame, "delta", "") for frame in spoken) == large
    kinds = [frame.type.value for frame in spoken]
    assert (kinds[-1], "MESSAGES_SNAPSHOT" in kinds) == (
        "RUN_FINISHED",
        False,
    )  # no client takes it
    found = await frames(talker(Scripted([call("look", "c1")])), answer)
    assert found[-1].code == "event_too_large"
    assert max(len(frame.model_dump_json()) for frame in found) < len(large)
