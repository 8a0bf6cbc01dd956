"""The work for what a subagent says, and for many subagents at once, does not grow with what is
beside it."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.faults.slow.test_long_histories import Instructions
from tests.kit.deep import deep
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, run_input

pytestmark = deep


def calling_much(count: int) -> Any:
    """A declared subgraph that returns so many calls and results."""

    async def report(state: Any) -> dict[str, list[BaseMessage]]:
        said: list[BaseMessage] = []
        for number in range(count):
            asked: Any = {"name": "look", "id": f"c{number}", "args": {}}
            said.append(AIMessage("look", id=f"a{number}", tool_calls=[asked]))
            said.append(ToolMessage("found", tool_call_id=f"c{number}"))
        return {"messages": said}

    return chain_of(chain_of(report, name="inner"))


class Notes(TypedDict, total=False):
    messages: list[Any]
    notes: Annotated[list[str], operator.add]


def at_once(count: int) -> Any:
    """So many graphs that write at the same time."""
    inner = chain_of(talker(Scripted(["a ", "note"]), "write"))

    async def expert(state: Any) -> Notes:
        found = await inner.ainvoke({"messages": state["messages"]})
        return {"notes": [found["messages"][-1].content]}

    builder = StateGraph(Notes)
    builder.add_node("expert", expert)
    builder.add_node("sum", lambda state: {"messages": [AIMessage("done", id="sum")]})
    fan: Any = lambda state: [Send("expert", {"messages": ["hi"]})] * count  # noqa: E731
    builder.add_conditional_edges(START, fan)
    builder.add_edge("expert", "sum")
    return builder.compile()


async def work_for(build: Any, count: int) -> int:
    """The instructions of the package for a run."""
    given = run_input("hi")
    with Instructions() as done:
        events = await collect(LangGraphAgent(build(count)).run(given))
    recorded = RecordedRun(events, given)
    told = recorded.of("TOOL_CALL_RESULT" if build is calling_much else "SUBAGENT_FINISHED")
    assert len(told) == count
    if build is at_once:
        steps = [one for one in recorded.of("STEP_STARTED") if one.subagent_run_id is None]
        names = {"expert", *(f"expert ({place})" for place in range(2, count + 1)), "sum"}
        assert {one.step_name for one in steps} == names
    return done.count


@pytest.mark.parametrize(
    ("build", "few", "many", "times"), [(calling_much, 30, 120, 5), (at_once, 30, 240, 9)]
)
async def test_the_work_grows_as_the_number(build: Any, few: int, many: int, times: float) -> None:
    """If each looked at all the others, it would be the square."""
    await work_for(build, 1)  # what is done but once
    assert await work_for(build, many) < times * await work_for(build, few)
