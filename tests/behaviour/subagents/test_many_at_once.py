"""Many subagents at once: the work for each does not grow with the number of those beside it."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage
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

FEW, MANY = 30, 240


class Notes(TypedDict, total=False):
    messages: list[Any]
    notes: Annotated[list[str], operator.add]


async def work_for(number: int) -> int:
    """The instructions of the package for a run in which so many graphs write at the same time."""
    inner = chain_of(talker(Scripted(["a ", "note"]), "write"))

    async def expert(state: Any) -> Notes:
        found = await inner.ainvoke({"messages": state["messages"]})
        return {"notes": [found["messages"][-1].content]}

    builder = StateGraph(Notes)
    builder.add_node("expert", expert)
    builder.add_node("sum", lambda state: {"messages": [AIMessage("done", id="sum")]})
    builder.add_conditional_edges(
        START, lambda state: [Send("expert", {"messages": ["hi"]}) for _ in range(number)]
    )
    builder.add_edge("expert", "sum")
    given = run_input("hi")
    with Instructions() as done:
        events = await collect(LangGraphAgent(builder.compile()).run(given))
    recorded = RecordedRun(events, given)
    assert len(recorded.of("SUBAGENT_FINISHED")) == number
    names = {
        event.step_name for event in recorded.of("STEP_STARTED") if event.subagent_run_id is None
    }
    assert names == {"expert", *(f"expert ({place})" for place in range(2, number + 1)), "sum"}
    return done.count


async def test_eight_times_as_many_are_about_eight_times_the_work() -> None:
    """If each looked at all the others, it would be fifteen times and more."""
    await work_for(1)

    assert await work_for(MANY) < 9 * await work_for(FEW)
