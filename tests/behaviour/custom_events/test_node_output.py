"""What nodes send besides messages and state: activities of their own, and the result of the
run."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, emit_activity, emit_result
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.joining import join_after


async def test_activities_live_and_for_one_who_joins() -> None:
    plain = {"type": "ACTIVITY_SNAPSHOT", "of": "no activity"}

    async def node(state: Chat) -> dict[str, Any]:
        found = emit_activity("app:search", {"hits": 1})
        emit_activity("app:search", {"hits": 2}, message_id=found)
        kind, write = {"activity_type": "app:map"}, get_stream_writer()
        write(ActivitySnapshotEvent(message_id="mine", content={"at": [1, 2]}, **kind))
        more = [{"op": "replace", "path": "/at/1", "value": 3}]
        write(ActivityDeltaEvent(message_id="mine", patch=more, **kind))
        write(plain)
        return {"messages": [await Scripted(["a", 0.01, "b"]).ainvoke(state["messages"])]}

    agent = LangGraphAgent(chain_of(node))
    joined = await join_after(agent, 8, run_input(thread="t", run="live"))
    assert [event.value for event in joined.live.of("CUSTOM")] == [plain]
    assert len(joined.joined) == 1
    for recorded in (joined.live, *joined.joined):
        shown = [(o.activity_type, o.content) for o in recorded.messages if o.role == "activity"]
        assert shown == [("app:search", {"hits": 2}), ("app:map", {"at": [1, 3]})]


class Topic(TypedDict, total=False):
    topic: str
    words: int


async def sets(state: Chat) -> dict[str, Any]:
    emit_result("first")
    emit_result({"answer": 42})
    return {"messages": [("ai", "done")]}


async def counts(state: Topic) -> dict[str, Any]:
    return {"words": len(state["topic"].split())}


async def says(state: Chat) -> dict[str, Any]:
    return {"messages": [("ai", "done")]}


@entrypoint()
async def work(given: dict[str, Any]) -> None:
    emit_result({"answer": 42})


@pytest.mark.parametrize(
    ("graph", "result"),
    [
        pytest.param(chain_of(sets), {"answer": 42}, id="a node sets it"),
        pytest.param(
            chain_of(counts, state=Topic), {"topic": "two words", "words": 2}, id="no messages"
        ),
        pytest.param(work, {"answer": 42}, id="a function that returns nothing"),
        pytest.param(chain_of(says), None, id="a graph with messages has none"),
    ],
)
async def test_the_result_of_a_run(graph: Any, result: Any) -> None:
    recorded = await record_run(LangGraphAgent(graph), run_input(state={"topic": "two words"}))
    assert recorded.last.result == result


def test_outside_of_a_run_nothing_happens() -> None:
    emit_result(1)
    assert emit_activity("app:map", {}, message_id="m") == "m"
