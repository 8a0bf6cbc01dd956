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
from tests.kit.models.turns import Call, Text, Turn, turn
from tests.kit.run.agents import collect, record_run, run_input, user
from tests.kit.waiting import eventually
from tests.rooms.compat.test_client_tools import warnings
from tests.rooms.compat.test_inputs import PAINT


def designed(*components: Any) -> Turn:
    given = {"surfaceId": "s1", "components": [*components]}
    return turn(Call("render_a2ui", given, id=f"r{len(components)}"))


ASK = turn(Call("generate_a2ui", {"intent": "create"}, id="c1"))
DESIGN = designed({"id": "root", "component": "Text", "text": "Hello"})
ANSWER = turn(Text("Here it is."))
TWICE = (ASK, DESIGN, ANSWER, ASK, designed(), DESIGN, ANSWER)
"""Two runs; in the second, the toolkit asks the model again, as the first design is none."""

EMPTY = {"type": "object", "properties": {}}
RENDER = Tool(name="render_a2ui", description="Render.", parameters=EMPTY)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A server whose connections stay open, as a provider's do: a client keeps them, with their
    event loop."""
    isolate(monkeypatch)
    with ProviderServer(keep_alive=True) as running:
        yield running


def graph_of(server: ProviderServer, provider: str = "openai", saver: Any = None) -> Any:
    """Both models have one address, so they have one client."""
    name = provider.removesuffix("-whole")
    whole = name != provider
    model, designer = (make_model(name, server, disable_streaming=whole) for _ in range(2))
    server.script(name, *TWICE)
    return create_agent(model, [get_a2ui_tools({"model": designer})], checkpointer=saver)


def surfaces(messages: list[Any]) -> list[str]:
    results = [json.loads(one.content) for one in messages if is_result(one)]
    operations = [one["a2ui_operations"][0] for one in results]
    return [operation["createSurface"]["surfaceId"] for operation in operations]


def is_result(message: Any) -> bool:
    return "tool" in (getattr(message, "role", None), getattr(message, "type", None))


@deep
async def test_one_client_serves_both_models(server: ProviderServer) -> None:
    """In one run after the other."""
    agent = LangGraphAgent(graph_of(server))
    for _ in range(2):
        recorded = await record_run(agent, run_input("draw"))
        assert recorded.last.type == "RUN_FINISHED", recorded.last
        recorded.check_snapshot()
        assert surfaces(recorded.messages) == ["s1"]
        assert recorded.messages[-1].content == "Here it is."
        assert "render_a2ui" in [event.tool_call_name for event in recorded.of("TOOL_CALL_START")]
        assert all(event.metadata is None for event in recorded.of("TOOL_CALL_RESULT"))


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "openai-whole"])
def test_without_an_event_loop(provider: str, server: ProviderServer) -> None:
    """A graph that is invoked synchronously, more than once."""
    graph = graph_of(server, provider)
    for _ in range(2):
        assert surfaces(graph.invoke({"messages": [("user", "draw")]})["messages"]) == ["s1"]


def is_designing() -> bool:
    """Whether a thread is in the toolkit's loop."""
    stacks = [traceback.extract_stack(frame) for frame in sys._current_frames().values()]
    names = {frame.name for stack in stacks for frame in stack}
    return "run_a2ui_generation_with_recovery" in names


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
    await eventually(lambda: len(server.requests) == 2, "the design begins")
    design = server.requests[1]
    await eventually(design.held.is_set, "the design begins")
    assert is_designing()
    if way == "cancelled":
        assert await agent.cancel(given.thread_id, given.run_id)
    else:
        reading.cancel()
    await asyncio.wait({reading})
    await eventually(design.left.is_set, "the request ends")
    await eventually(lambda: not is_designing(), "the thread ends")
    assert len(server.requests) == 2


@pytest.mark.parametrize("others", [[], [PAINT]], ids=["alone", "another"])
async def test_the_pages_renderer_is_in_use(
    others: list[Tool], server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A page sends `render_a2ui`, which the designing model calls. A tool that nothing calls is
    still reported."""
    agent = LangGraphAgent(graph_of(server))
    await record_run(agent, run_input("draw", tools=[RENDER, *others]))
    found = warnings(caplog)
    assert ["'paint'" in one and "render_a2ui" not in one for one in found] == [True] * len(others)
