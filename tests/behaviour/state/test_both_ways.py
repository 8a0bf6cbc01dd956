"""Shared state, out and in: kinds of state, values that are no JSON, what is told and what not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from langgraph_agui import LangGraphAgent
from tests.behaviour.state.clients import Client, Paper, writing
from tests.kit.graphs.small import agent_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input

Messages = Annotated[list[AnyMessage], add_messages]


class Model(BaseModel):
    messages: Messages = []
    doc: Any = 0


@dataclass
class Data:
    messages: Messages = field(default_factory=list)
    doc: Any = 0


async def model(state: Any) -> dict[str, Any]:
    return {"messages": [await Scripted(["a"]).ainvoke("x")]}


async def recording(*nodes: Any, state: Any = Paper) -> RecordedRun:
    recorded = await record_run(agent_of(*nodes, state=state), run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


@pytest.mark.parametrize("state", [Model, Data])
async def test_state_of_every_kind(state: Any) -> None:
    recorded = await recording(writing(doc=1), model, state=state)
    assert recorded.state["doc"] == 1
    assert all("messages" not in event.snapshot for event in recorded.of("STATE_SNAPSHOT"))
    assert [message.content for message in recorded.messages] == ["hi", "a"]


@pytest.mark.parametrize("stored", [False, True])
async def test_a_list_of_messages_without_a_key_is_the_state(stored: bool) -> None:
    model = Scripted(["Hello"])

    async def node(messages: list[BaseMessage]) -> Any:
        return [await model.ainvoke(messages)]

    builder = StateGraph(Annotated[list, add_messages])  # type: ignore[type-var]
    builder.add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver() if stored else None)
    client = Client(LangGraphAgent(graph))
    (await client.say("hi")).check_snapshot()
    await client.say("more")
    assert [message.content for message in client.messages] == ["hi", "Hello", "more", "Hello"]
    seen = [[message.content for message in messages] for messages in model.seen]
    assert seen == [["hi"], ["hi", "Hello", "more"]]


async def test_a_system_prompt_never_leaves() -> None:
    async def node(state: Any) -> Any:
        system = SystemMessage("CANARY")
        answer = await Scripted(["a"]).ainvoke([system, *state["messages"]])
        return {"messages": [system, answer], "doc": 1}

    recorded = await recording(node)
    assert "CANARY" not in "".join(event.model_dump_json() for event in recorded.events)


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
        (Model(doc=1), {"messages": [], "doc": 1}),
        ("\ud83d", "\ufffd"),
    ],
    ids=["bytes", "object", "cycle", "nan", "set", "pydantic", "surrogate"],
)
async def test_what_is_no_json_never_cuts_the_stream(value: Any, seen: Any) -> None:
    assert (await recording(writing(doc=value), model)).state["doc"] == seen
    agent = agent_of(writing(doc=value), state=Paper)
    sse = b"".join([batch async for batch in agent.stream_sse(run_input("hi"))])
    assert b"RUN_FINISHED" in sse


async def test_a_change_in_place_is_seen_at_the_end() -> None:
    async def later(state: Any) -> Any:
        state["doc"]["n"] = 5
        return {"log": [1]}

    assert (await recording(writing("one", doc={}), later)).state["doc"] == {"n": 5}


async def test_a_change_in_place_that_is_returned_is_a_patch_of_its_superstep() -> None:
    async def changing(state: Any) -> Any:
        state["doc"]["rows"][0]["n"] = 5
        return {"doc": {**state["doc"]}}

    rows = [{"n": 0, "text": "x" * 99}, {"n": 1, "text": "y" * 99}]
    recorded = await recording(writing("one", doc={"rows": rows}), changing, model)
    (patch,) = recorded.of("STATE_DELTA")
    operations = [operation.model_dump() for operation in patch.delta]
    assert operations == [{"op": "replace", "path": "/doc/rows/0/n", "value": 5}]
    (started,) = [event for event in recorded.of("STEP_STARTED") if event.step_name == "model"]
    assert recorded.events.index(patch) < recorded.events.index(started)
