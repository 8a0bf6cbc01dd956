"""A subagent that says much: the work for each message does not grow with those before it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

import langgraph_agui
from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.deep import deep
from tests.kit.graphs.small import chain_of
from tests.kit.run.agents import RecordedRun, collect, run_input

pytestmark = deep

OURS = str(Path(langgraph_agui.__file__).parent)


async def work_for(pairs: int, mode: Any) -> int:
    """How often functions of the library are called for a declared subgraph that returns so many
    calls and results."""

    async def report(state: Any) -> dict[str, list[BaseMessage]]:
        said: list[BaseMessage] = []
        for number in range(pairs):
            asked: Any = {"name": "look", "id": f"c{number}", "args": {}}
            said.append(AIMessage("look", id=f"a{number}", tool_calls=[asked]))
            said.append(ToolMessage("found", tool_call_id=f"c{number}"))
        return {"messages": said}

    calls = 0

    def count(frame: FrameType, what: str, _: object) -> None:
        nonlocal calls
        calls += what == "call" and frame.f_code.co_filename.startswith(OURS)

    inner = chain_of(report, name="inner")
    agent, given = (
        LangGraphAgent(graph=chain_of(inner), clients=ClientOptions(subagents=mode)),
        run_input("hi"),
    )
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        events = await collect(agent.run(given))
    finally:
        sys.setprofile(before)
    recorded = RecordedRun(events, given)
    recorded.check_snapshot()
    assert len(recorded.of("TOOL_CALL_RESULT")) == pairs
    return calls


@pytest.mark.parametrize("mode", ["attributed"])
async def test_twice_as_much_is_twice_the_work(mode: Any) -> None:
    await work_for(1, mode)  # what is done but once
    assert await work_for(400, mode) < 2.3 * await work_for(200, mode)
