"""The metadata of traces: thread and run, at the root and at all children."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import UserMessage
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, astream_agui
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input


@tool
def look() -> str:
    """Look."""
    return "seen"


def every(run: Any) -> Iterator[Any]:
    yield run
    for child in run.child_runs:
        yield from every(child)


@pytest.mark.parametrize(
    "checkpointer", [InMemorySaver, lambda: None], ids=["threads", "no threads"]
)
async def test_root_and_children_have_the_ids(checkpointer: Any) -> None:
    graph = create_agent(
        Scripted([call("look", "c1")], ["done"]), [look], checkpointer=checkpointer()
    )
    collector = RunCollectorCallbackHandler()
    agent = LangGraphAgent(graph, config={"callbacks": [collector]})
    await record_run(agent, run_input("hi", thread="t", run="r"))
    (root,) = collector.traced_runs
    runs = list(every(root))
    assert {run.run_type for run in runs} == {"chain", "llm", "tool"}
    assert {(run.metadata["thread_id"], run.metadata["agui_run"]) for run in runs} == {("t", "r")}


async def test_what_an_application_runs_itself_has_the_metadata_that_it_sets() -> None:
    """`astream_agui` runs the application's Runnable with its configuration, and adds nothing."""
    collector, given = RunCollectorCallbackHandler(), run_input("hi", thread="t", run="r")
    config: Any = {"callbacks": [collector], "metadata": {"thread_id": "mine"}}
    question = UserMessage(id="1", content="hi")
    events = astream_agui(Scripted(["a"]), [("user", question.content)], given, config=config)
    RecordedRun(await collect(events), given)
    (root,) = collector.traced_runs
    assert {run.metadata["thread_id"] for run in every(root)} == {"mine"}
    assert not any("agui_run" in run.metadata for run in every(root))
