"""A run ends with one terminal event, whatever its end would hold."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui.protocol import decode
from tests.kit.graphs.small import agent_of
from tests.kit.run.agents import RecordedRun, record_run, run_input

MEGABYTE = 1024 * 1024


class Large(TypedDict, total=False):
    a: str
    b: str
    c: Any


async def whole_state(state: Large) -> Large:
    return {"a": "x" * 6 * MEGABYTE, "b": "y" * 6 * MEGABYTE}


async def large_question(state: Large) -> Large:
    return {"c": interrupt("x" * 11 * MEGABYTE)}


@pytest.mark.parametrize("node", [whole_state, large_question], ids=["the result", "an interrupt"])
async def test_an_end_that_no_client_takes_is_an_error(node: Any) -> None:
    given, agent = run_input("hi"), agent_of(node, state=Large, checkpointer=InMemorySaver())
    events = [*decode([chunk async for chunk in agent.stream_sse(given)])]
    last = RecordedRun(events, given).last
    assert (last.type.value, last.code) == ("RUN_ERROR", "event_too_large")


async def test_the_result_holds_what_a_node_has_changed_in_place() -> None:
    kept: dict[str, Any] = {"x": 1}

    async def first(state: Large) -> Large:
        return {"c": kept}

    async def second(state: Large) -> Large:
        kept["x"] = 2
        return {}

    recorded = await record_run(agent_of(first, second, state=Large), run_input("hi"))
    assert recorded.last.result == recorded.state == {"c": {"x": 2}}
