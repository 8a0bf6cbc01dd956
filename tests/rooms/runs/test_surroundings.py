"""What surrounds a run: its configuration, other threads, work left behind, events of any size."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from langgraph_agui import LangGraphAgent
from langgraph_agui.messages.content import warn_left_out
from langgraph_agui.protocol import SSEDecoder
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE


class Count(TypedDict):
    n: int


async def test_cancel_may_come_from_another_thread() -> None:
    asleep = asyncio.Event()

    async def sleep(state: Chat) -> Any:
        asleep.set()
        await asyncio.sleep(60)

    agent, given = agent_of(sleep), run_input("hi")
    run = asyncio.create_task(record_run(agent, given))
    await asleep.wait()
    assert await asyncio.to_thread(asyncio.run, agent.cancel(given.thread_id, given.run_id))
    recorded = await asyncio.wait_for(run, PATIENCE)
    assert recorded.last.outcome.type == "cancelled"


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


async def test_media_that_nobody_can_show_leave_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    image = {"type": "image", "mime_type": "image/png"}

    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage([{"type": "text", "text": "Look: "}, image])]}

    warn_left_out.cache_clear()  # it says so once, and other tests draw too
    with caplog.at_level(logging.WARNING):
        recorded = await record_run(agent_of(node), run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "Look: "]
    assert "'image' content without a counterpart" in caplog.text


async def sse(agent: LangGraphAgent, given: Any) -> list[dict[str, Any]]:
    decoder, frames = SSEDecoder(), list[dict[str, Any]]()
    async for piece in agent.stream_sse(given):
        frames += decoder.feed(piece)
    decoder.finish()
    return frames


LARGE = 11 * 1024 * 1024


async def test_a_text_of_any_size_arrives() -> None:
    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage("x" * LARGE)]}

    frames = await sse(agent_of(node), run_input("hi"))
    assert (
        sum(len(frame["delta"]) for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")
        == LARGE
    )
    assert frames[-1]["type"] == "RUN_FINISHED"
    assert "MESSAGES_SNAPSHOT" not in [frame["type"] for frame in frames], "no client would take it"


async def test_a_result_that_no_client_takes_ends_the_run_with_a_code() -> None:
    async def node(state: Chat) -> Any:
        return {"messages": [ToolMessage("x" * LARGE, tool_call_id="c1")]}

    frames = await sse(agent_of(talker(Scripted([call("look", "c1")])), node), run_input("hi"))
    assert (frames[-1]["type"], frames[-1]["code"]) == ("RUN_ERROR", "event_too_large")
    assert max(len(json.dumps(frame)) for frame in frames) < LARGE
