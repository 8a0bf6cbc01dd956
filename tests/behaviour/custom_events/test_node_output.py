"""What nodes send besides messages and state: activities of their own, and the result of the
run."""

from __future__ import annotations

from typing import Any

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, emit_activity, emit_result
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.joining import join_after


class Topic(TypedDict, total=False):
    topic: str
    words: int


async def test_activities() -> None:
    async def node(state: Chat) -> dict[str, Any]:
        found = emit_activity("app:search", {"hits": 1})
        emit_activity("app:search", {"hits": 2}, message_id=found)
        event = ActivitySnapshotEvent(
            message_id="mine", activity_type="app:map", content={"at": [1, 2]}
        )
        get_stream_writer()(event)
        get_stream_writer()({"type": "ACTIVITY_SNAPSHOT", "of": "no activity"})
        return {"messages": [("ai", "done")]}

    recorded = await record_run(LangGraphAgent(chain_of(node)), run_input("hi"))
    shown = [
        (one.activity_type, one.content) for one in recorded.messages if one.role == "activity"
    ]
    assert shown == [("app:search", {"hits": 2}), ("app:map", {"at": [1, 2]})]
    assert [event.value for event in recorded.of("CUSTOM")] == [
        {"type": "ACTIVITY_SNAPSHOT", "of": "no activity"}
    ]


async def test_one_who_joins_gets_the_activities_too() -> None:
    async def node(state: Chat) -> dict[str, Any]:
        found = emit_activity("app:search", {"hits": 1})
        more = [{"op": "replace", "path": "/hits", "value": 2}]
        get_stream_writer()(
            ActivityDeltaEvent(message_id=found, activity_type="app:search", patch=more)
        )
        return {"messages": [await Scripted(["a", 0.01, "b"]).ainvoke(state["messages"])]}

    joined = await join_after(LangGraphAgent(chain_of(node)), 5, run_input(thread="t", run="live"))
    for recorded in (joined.live, *joined.joined):
        assert [one.content for one in recorded.messages if one.role == "activity"] == [{"hits": 2}]
    assert len(joined.joined) == 1


async def test_a_result_that_a_node_sets() -> None:
    async def node(state: Chat) -> dict[str, Any]:
        emit_result("first")
        emit_result({"answer": 42})
        return {"messages": [("ai", "done")]}

    recorded = await record_run(LangGraphAgent(chain_of(node)), run_input("hi"))
    assert recorded.last.result == {"answer": 42}


async def test_the_output_of_a_graph_without_messages_is_its_result() -> None:
    async def node(state: Topic) -> dict[str, Any]:
        return {"words": len(state["topic"].split())}

    agent = LangGraphAgent(chain_of(node, state=Topic))
    recorded = await record_run(agent, run_input(state={"topic": "two words"}))
    assert recorded.last.result == {"topic": "two words", "words": 2}


async def test_a_function_that_returns_nothing_keeps_its_result() -> None:
    @entrypoint()
    async def work(given: dict[str, Any]) -> None:
        emit_result({"answer": 42})

    assert (await record_run(LangGraphAgent(work), run_input("hi"))).last.result == {"answer": 42}


async def test_a_graph_with_messages_has_none() -> None:
    async def node(state: Chat) -> dict[str, Any]:
        return {"messages": [("ai", "done")]}

    assert (await record_run(LangGraphAgent(chain_of(node)), run_input("hi"))).last.result is None


def test_outside_of_a_run_nothing_happens() -> None:
    emit_result(1)
    assert emit_activity("app:map", {}, message_id="m") == "m"
