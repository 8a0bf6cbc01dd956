"""Shared state on the wire: odd keys and values in the real client, and what must never get
there."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from ag_ui.core import ResumeEntry
from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, PredictState, Private, StateOptions, emit_state
from tests.kit.expect.canary import CANARY, check_bytes
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user

ODD_KEYS = ["", "/", "~", "~1", "~0/", "a/b", "ключ", "🗝", "-", "0", " ", '"', "\\", "\n"]
REFUSED_KEYS = ["__proto__", "constructor"]
Messages = Annotated[list[AnyMessage], add_messages]


class Odd(TypedDict, total=False):
    messages: Messages
    doc: Any
    log: Annotated[list[Any], operator.add]


@dataclass
class Point:
    x: int
    when: datetime


def steps(*updates: dict[str, Any], state: Any = Odd) -> Any:
    """A graph that writes one update after the other."""

    def writer(number: int, update: dict[str, Any]) -> Any:
        async def node(state: Any) -> dict[str, Any]:
            return update

        node.__name__ = f"step{number}"
        return node

    return chain_of(*(writer(number, update) for number, update in enumerate(updates)), state=state)


def no_json(text: bytes, number: float, place: int, large: int) -> list[Any]:
    point = Point(place, datetime(2026, 1, 2, tzinfo=UTC))
    return [text, number, {1, place}, point, object(), "\ud83d", large]


ODD_STEPS = [
    {"doc": {key: [[], [[1, None]], {}] for key in [*ODD_KEYS, "constructor"]}},
    {"doc": {key: [[None], [[1, None, 2]], {key: None}] for key in ODD_KEYS + REFUSED_KEYS}},
    {"doc": {key: {"n": None, key: [[[]]]} for key in ODD_KEYS[3:]}, "log": [[[]], None]},
    {"doc": {key: {"n": [None], key: [[[0]]]} for key in ODD_KEYS[:9]}, "log": [{"": {"/": 0}}]},
    {"doc": None},
    {"doc": no_json(b"bytes", float("nan"), 1, 2**70)},
    {"doc": no_json(b"other", float("inf"), 2, 2**70 + 1)},
    {"doc": {(1, 2): "tuple", 3: "number", None: "none", "3": "text"}},
]


@pytest.mark.parametrize("send", ["patches", "snapshots"])
async def test_odd_keys_and_values_replay_in_the_node_client(
    send: Any, node_client: NodeClient
) -> None:
    agent = LangGraphAgent(steps(*ODD_STEPS), state=StateOptions(send=send))
    given = run_input("hi", state={"mine": {"~/": [[None]]}}, run="r", thread="t")
    recorded = await record_run(agent, given)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    body = b"".join([piece async for piece in agent.stream_sse(given)])
    ran = await node_client.arun(sse=body.decode(), state=given.state, threadId="t", runId="r")
    assert (ran.error, ran.warnings) == (None, [])
    assert ran.state == recorded.state
    assert ran.state["mine"] == {"~/": [[None]]}
    assert set(ran.state["doc"]) >= {"3", "3'", "null"}
    assert ("STATE_DELTA" in recorded.types) == (send == "patches")


async def test_an_odd_key_of_the_state_itself(node_client: NodeClient) -> None:
    fields: Any = dict.fromkeys([*ODD_KEYS, "constructor"], Any)
    state = TypedDict("state", {"messages": Messages, **fields}, total=False)  # type: ignore[misc]
    before, after = ({key: ["x" * 300, {"n": n}] for key in fields} for n in (0, 1))
    agent = LangGraphAgent(steps(before, *({key: after[key]} for key in fields), state=state))
    given = run_input("hi", run="r", thread="t")
    body = b"".join([piece async for piece in agent.stream_sse(given)])
    ran = await node_client.arun(sse=body.decode(), threadId="t", runId="r")
    assert (ran.warnings, ran.state) == ([], after)
    assert ran.events.count("STATE_DELTA") == len(fields)


class Secretive(TypedDict, total=False):
    messages: Messages
    shown: Any
    secret: Annotated[str, Private]
    trail: Annotated[list[str], Private, operator.add]
    left_out: str


class Given(TypedDict, total=False):
    messages: Messages
    shown: Any
    secret: str
    trail: list[str]
    left_out: str


async def secretive(state: Secretive) -> dict[str, Any]:
    system = SystemMessage(f"prompt {CANARY}")
    emit_state({"secret": CANARY, "shown": 1, "left_out": CANARY})
    emit_state([{"op": "add", "path": "/secret", "value": CANARY}])
    model = Scripted([call("remember", "c1", secret=CANARY)], disable_streaming=True)
    await model.with_config(tags=["nostream"]).ainvoke([system])
    values = {"secret": CANARY, "trail": [CANARY], "left_out": CANARY, "shown": 2}
    return {**values, "messages": [system]}


async def asking(state: Secretive) -> dict[str, Any]:
    answer = interrupt({"message": "go on?"})
    return {"secret": f"{CANARY} {answer}", "shown": 3}


async def test_a_canary_in_private_keys_messages_and_the_system_prompt_never_leaves() -> None:
    builder = StateGraph(Secretive, input_schema=Given, output_schema=Given)
    builder.add_sequence([secretive, asking]).set_entry_point("secretive")
    options = StateOptions(exclude={"left_out"}, predict=[PredictState("remember", "secret")])
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), state=options)

    async def checked(given: Any, events: Any) -> RecordedRun:
        recorded = RecordedRun(await collect(events), given)
        wires = [event.model_dump(by_alias=True, mode="json") for event in recorded.events]
        check_bytes(json.dumps(wires).encode())
        return recorded

    first = run_input(user("hi", "u"), thread="t")
    paused = await checked(first, agent.run(first))
    [asked] = paused.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")
    again = run_input(user("hi", "u"), thread="t", resume=[answer], state={"shown": 2})
    check_bytes(b"".join([piece async for piece in agent.stream_sse(again)]))
    shown = run_input(thread="t")
    assert (await checked(shown, agent.connect(shown))).state == {"shown": 3}
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values  # type: ignore[union-attr]
    assert (CANARY in stored["secret"], stored["trail"]) == (True, [CANARY])


async def test_nobody_writes_a_private_key() -> None:
    builder = StateGraph(Secretive).set_entry_point("node")
    builder.add_node("node", lambda state: {"shown": [state.get("secret"), state.get("trail")]})
    forged = run_input("hi", state={"secret": "forged", "trail": ["forged"]})
    for saver in (None, InMemorySaver()):
        recorded = await record_run(LangGraphAgent(builder.compile(saver)), forged)
        assert recorded.state["shown"] == [None, []]
    refusing = LangGraphAgent(builder.compile(), state=StateOptions(forbidden_change="refuse"))
    assert (await record_run(refusing, forged)).last.code == "state_refused"
