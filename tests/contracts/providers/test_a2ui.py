"""`get_a2ui_tools`, whose model shares its client with the agent's model, as `openai` has it."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import Tool
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, get_a2ui_tools
from tests.kit.deep import deep
from tests.kit.models.fixtures import isolate
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.turns import Call, Text, Turn
from tests.kit.run.agents import collect, record_run, run_input, user
from tests.kit.waiting import eventually
from tests.rooms.compat.test_client_tools import warnings
from tests.rooms.compat.test_inputs import PAINT

ROOT = {"id": "root", "component": "Text", "text": "Hello"}
ASK = Turn([Call("generate_a2ui", {"intent": "create"}, id="c1")])
DESIGN = Turn([Call("render_a2ui", {"surfaceId": "s1", "components": [ROOT]}, id="r1")])
INVALID = Turn([Call("render_a2ui", {"surfaceId": "s1", "components": []}, id="r0")])
ANSWER = Turn([Text("Here it is.")])
RENDER = Tool(
    name="render_a2ui", description="Render.", parameters={"type": "object", "properties": {}}
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A server whose connections stay open, as a provider's do: a client keeps them, with their
    event loop."""
    isolate(monkeypatch)
    with ProviderServer(keep_alive=True) as running:
        yield running


PROVIDERS = pytest.mark.parametrize(
    ("provider", "streams"),
    [("openai", True), ("openai-chat", True), ("openai", False)],
    ids=["responses", "chat", "whole"],
)


def graph_of(
    server: ProviderServer, provider: str = "openai", saver: Any = None, *, streams: bool = True
) -> Any:
    """Both models have one address, so they have one client."""
    model, designer = (
        make_model(provider, server, disable_streaming=not streams) for _ in range(2)
    )
    return create_agent(model, [get_a2ui_tools({"model": designer})], checkpointer=saver)


def surfaces(messages: list[Any]) -> list[str]:
    contents = [
        json.loads(one.content)
        for one in messages
        if getattr(one, "role", None) == "tool" or one.type == "tool"
    ]
    return [
        operation["createSurface"]["surfaceId"]
        for one in contents
        for operation in one["a2ui_operations"][:1]
    ]


@deep
@PROVIDERS
async def test_one_client_serves_both_models(
    provider: str, streams: bool, server: ProviderServer
) -> None:
    """In one run after the other, and where the toolkit asks the model again."""
    server.script(provider, ASK, DESIGN, ANSWER, ASK, INVALID, DESIGN, ANSWER)
    agent = LangGraphAgent(graph_of(server, provider, streams=streams))
    for _ in range(2):
        recorded = await record_run(agent, run_input("draw"))
        assert recorded.last.type == "RUN_FINISHED", recorded.last
        recorded.check_snapshot()
        assert surfaces([one for one in recorded.messages if one.role == "tool"]) == ["s1"]
        assert recorded.messages[-1].content == "Here it is."
        assert "render_a2ui" in [event.tool_call_name for event in recorded.of("TOOL_CALL_START")]
        assert all(event.metadata is None for event in recorded.of("TOOL_CALL_RESULT"))


@PROVIDERS
def test_without_an_event_loop(provider: str, streams: bool, server: ProviderServer) -> None:
    """A graph that is invoked synchronously, more than once."""
    graph = graph_of(server, provider, streams=streams)
    server.script(provider, ASK, DESIGN, ANSWER, ASK, INVALID, DESIGN, ANSWER)
    for _ in range(2):
        messages = graph.invoke({"messages": [("user", "draw")]})["messages"]
        assert surfaces([one for one in messages if one.type == "tool"]) == ["s1"]


def is_designing() -> bool:
    """Whether a thread is in the toolkit's loop."""
    stacks = [traceback.extract_stack(frame) for frame in sys._current_frames().values()]
    return any(
        frame.name == "run_a2ui_generation_with_recovery" for stack in stacks for frame in stack
    )


@pytest.mark.parametrize("way", ["cancelled", "left"])
async def test_a_run_that_stops_ends_the_design(way: str, server: ProviderServer) -> None:
    """The model's request ends, and so does the thread that waits for it."""
    server.script("openai", ASK, Reply(DESIGN, hold_after=1), DESIGN, DESIGN)
    agent = LangGraphAgent(graph_of(server, saver=InMemorySaver()))
    given = run_input(user("draw"), thread="t")

    async def read() -> None:
        async with aclosing(agent.run(given)) as events:
            await collect(events)

    reading = asyncio.create_task(read())
    await eventually(
        lambda: len(server.requests) == 2 and server.requests[1].held.is_set(), "the design begins"
    )
    assert is_designing()
    if way == "cancelled":
        assert await agent.cancel(given.thread_id, given.run_id)
    else:
        reading.cancel()
    await asyncio.wait({reading})
    await eventually(lambda: server.requests[1].disconnected, "the request ends")
    await eventually(lambda: not is_designing(), "the thread ends")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("sent", "named"), [([RENDER], []), ([RENDER, PAINT], ["paint"])], ids=["alone", "another"]
)
async def test_the_pages_renderer_is_in_use(
    sent: list[Tool], named: list[str], server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A page sends `render_a2ui`, which the designing model calls. A tool that nothing calls is
    still reported."""
    server.script("openai", ASK, DESIGN, ANSWER)
    await record_run(LangGraphAgent(graph_of(server)), run_input("draw", tools=sent))
    found = warnings(caplog)
    assert len(found) == len(named)
    assert all("'paint'" in one and "render_a2ui" not in one for one in found)
