"""Shared state, out and in."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input

Messages = Annotated[list[AnyMessage], add_messages]


class Typed(TypedDict, total=False):
    messages: Messages
    count: int
    notes: Annotated[list[str], operator.add]
    thing: Any


class Model(BaseModel):
    messages: Messages = []
    count: int = 0


@dataclass
class Data:
    messages: Messages = field(default_factory=list)
    count: int = 0


def writing(name: str = "node", **values: Any) -> Any:
    async def node(state: Any) -> dict[str, Any]:
        return values

    node.__name__ = name
    return node


async def recording(
    *nodes: Any, state: Any = Typed, held: Any = None, **options: Any
) -> RecordedRun:
    recorded = await record_run(
        agent_of(*nodes, state=state, **options), run_input("hi", state=held or {})
    )
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


async def sse_of(agent: LangGraphAgent, given: Any) -> str:
    return b"".join([batch async for batch in agent.stream_sse(given)]).decode()


@pytest.mark.parametrize("state", [Typed, Model, Data], ids=["TypedDict", "pydantic", "dataclass"])
async def test_state_of_every_kind(state: Any) -> None:
    recorded = await recording(writing(count=1), talker_of_any("a"), state=state)
    assert recorded.state["count"] == 1
    assert [message.content for message in recorded.messages] == ["hi", "a"]


def talker_of_any(text: str) -> Any:
    async def model(state: Any) -> dict[str, Any]:
        return {"messages": [await Scripted([text]).ainvoke("x")]}

    return model


async def test_each_superstep_is_told_and_messages_are_no_state() -> None:
    recorded = await recording(
        writing("one", count=1), writing("two", count=2, notes=["n"]), held={"notes": []}
    )
    snapshots = [event.snapshot for event in recorded.of("STATE_SNAPSHOT")]
    assert [snapshot["count"] for snapshot in snapshots] == [1, 2]
    assert all("messages" not in snapshot for snapshot in snapshots)


async def test_nothing_is_told_when_nothing_changed() -> None:
    assert (await recording(talker_of_any("a"), state=Data, held={"count": 0})).of(
        "STATE_SNAPSHOT"
    ) == []
    same = await recording(writing(count=1), held={"count": 1, "notes": []})
    assert same.of("STATE_SNAPSHOT") == []


async def test_what_only_the_client_knows_survives() -> None:
    recorded = await recording(writing(count=2), held={"count": 1, "theme": "dark"})
    assert recorded.state["theme"] == "dark"
    assert recorded.state["count"] == 2


async def test_the_output_schema_is_respected() -> None:
    class Shown(TypedDict):
        messages: Messages
        count: int

    class Private(Typed, total=False):
        secret: str

    builder = StateGraph(Private, input_schema=Shown, output_schema=Shown)
    builder.add_node("node", writing(count=1, secret="CANARY"))
    builder.add_edge(START, "node")
    agent, given = (
        LangGraphAgent(graph=builder.compile()),
        run_input("hi", state={"secret": "from outside"}),
    )
    assert "CANARY" not in await sse_of(agent, given)
    assert (await record_run(agent, given)).state["count"] == 1


async def test_a_system_prompt_never_leaves() -> None:
    async def node(state: Any) -> Any:
        system = SystemMessage("CANARY")
        return {
            "messages": [system, await Scripted(["a"]).ainvoke([system, *state["messages"]])],
            "count": 1,
        }

    sse = await sse_of(agent_of(node, state=Typed, checkpointer=InMemorySaver()), run_input("hi"))
    assert "RUN_FINISHED" in sse
    assert "CANARY" not in sse


cycle: dict[str, Any] = {"a": 1}
cycle["self"] = cycle


class Bad:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (b"hi", {"__type__": "bytes", "base64": "aGk="}),
        (Bad(), {"__type__": "object", "class": f"{__name__}.Bad"}),
        (cycle, {"a": 1, "self": {"__type__": "cycle"}}),
        (float("nan"), None),
        ({1: {2, 3}}, {"1": [2, 3]}),
        (Model(count=1), {"messages": [], "count": 1}),
        ("\ud83d", "\ufffd"),
    ],
    ids=["bytes", "object", "cycle", "nan", "set", "pydantic", "surrogate"],
)
async def test_what_is_no_json_never_cuts_the_stream(value: Any, seen: Any) -> None:
    agent = agent_of(writing(thing=value), talker(Scripted(["a"])), state=Typed)
    recorded = await record_run(agent, run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.state["thing"] == seen
    assert "RUN_FINISHED" in await sse_of(agent, run_input("hi"))


async def test_a_change_in_place_is_seen_at_the_end() -> None:
    thing: dict[str, int] = {}

    async def later(state: Any) -> Any:
        state["thing"]["n"] = 5
        return {"count": 1}

    recorded = await recording(writing("one", thing=thing), later)
    assert recorded.state["thing"] == {"n": 5}


@pytest.mark.parametrize("fresh", [False, True], ids=["the-same", "under-a-fresh-top"])
async def test_a_change_in_place_that_is_returned_is_seen_with_its_superstep(fresh: bool) -> None:
    async def changing(state: Any) -> Any:
        state["thing"]["rows"][0]["n"] = 5
        return {"thing": {**state["thing"]} if fresh else state["thing"]}

    rows = [{"n": 0, "text": "x" * 99}, {"n": 1, "text": "y" * 99}]
    recorded = await recording(writing("one", thing={"rows": rows}), changing, talker_of_any("a"))
    assert recorded.state["thing"]["rows"][0]["n"] == 5
    (patch,) = recorded.of("STATE_DELTA")
    assert [operation.model_dump() for operation in patch.delta] == [
        {"op": "replace", "path": "/thing/rows/0/n", "value": 5}
    ]
    started = next(event for event in recorded.of("STEP_STARTED") if event.step_name == "model")
    assert recorded.events.index(patch) < recorded.events.index(started)


async def test_state_in_reaches_the_node() -> None:
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append({key: value for key, value in state.items() if key != "messages"})
        return {}

    await recording(node, held={"count": 3, "notes": ["a"], "unknown": 1, "messages": ["forged"]})
    assert seen == [{"count": 3, "notes": ["a"]}]


async def test_an_echoed_state_does_not_run_reducers_again() -> None:
    async def node(state: Any) -> Any:
        return {"notes": [f"turn {len(state['messages'])}"], "count": state.get("count", 0) + 1}

    agent = agent_of(node, state=Typed, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("hi", thread="t"))
    assert first.state == {"notes": ["turn 1"], "count": 1}
    second = await record_run(
        agent, run_input(*first.messages, "more", thread="t", state=first.state)
    )
    assert second.state == {"notes": ["turn 1", "turn 2"], "count": 2}


async def test_an_echoed_placeholder_does_not_replace_the_value_behind_it() -> None:
    seen: list[Any] = []

    async def node(state: Any) -> Any:
        seen.append(state.get("thing"))
        return {"thing": b"hi"}

    agent = agent_of(node, state=Typed, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("hi", thread="t"))
    await record_run(agent, run_input(*first.messages, "more", thread="t", state=first.state))
    assert seen == [None, b"hi"]


async def test_messages_in_the_state_do_not_enter() -> None:
    calls: list[Any] = []

    async def node(state: Any) -> Any:
        calls.append(state["messages"])
        return {"count": 1}

    agent = agent_of(node, state=Typed, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("hi", thread="t"))
    forged = {**first.state, "messages": [{"role": "user", "content": "FORGED"}]}
    await record_run(agent, run_input(*first.messages, thread="t", state=forged))
    assert all("FORGED" not in str(seen) for seen in calls)


async def test_what_the_client_changed_overwrites() -> None:
    agent = agent_of(writing("node", count=9), state=Typed, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("hi", thread="t", state={"notes": ["a"]}))
    changed = {**first.state, "notes": ["b"], "theme": "dark"}
    second = await record_run(agent, run_input(*first.messages, "more", thread="t", state=changed))
    assert second.state == {"count": 9, "notes": ["b"], "theme": "dark"}
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values
    assert stored["notes"] == ["b"]


@pytest.mark.parametrize("value", [None, [], 3, "text"])
async def test_a_state_that_is_no_object(value: Any) -> None:
    recorded = await record_run(
        agent_of(writing(count=1), state=Typed), run_input("hi", state=value)
    )
    assert recorded.state == {"count": 1, "notes": []}
