"""Shared state on the wire: odd keys and values in the real client, and what must never get
there."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, PredictState, Private, StateOptions, emit_state
from tests.kit.expect.canary import CANARY, check_bytes
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import record_run, run_input, user

ODD_KEYS = [
    "",
    "/",
    "~",
    "~1",
    "~0/",
    "a/b",
    "ключ",
    "🗝",
    "-",
    "0",
    " ",
    '"',
    "\\",
    "\n",
    "__proto__",
    "constructor",
]


class Odd(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
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


ODD_STEPS = [
    {"doc": {key: [[], [[1, None]], {}] for key in ODD_KEYS if key != "__proto__"}},
    {"doc": {key: [[None], [[1, None, 2]], {key: None}] for key in ODD_KEYS}},
    {"doc": {key: {"n": None, key: [[[]]]} for key in ODD_KEYS[3:]}, "log": [[[]], None]},
    {
        "doc": {key: {"n": [None], key: [[[0]], "é" * 9]} for key in ODD_KEYS[:9]},
        "log": [{"": {"/": 0}}],
    },
    {"doc": None},
    {
        "doc": [
            b"bytes",
            float("nan"),
            {1, 2},
            Point(1, datetime(2026, 1, 2, tzinfo=UTC)),
            object(),
            "\ud83d",
            2**70,
        ]
    },
    {
        "doc": [
            b"other",
            float("inf"),
            {1, 3},
            Point(2, datetime(2026, 1, 2, tzinfo=UTC)),
            object(),
            "x",
            2**70 + 1,
        ]
    },
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
    events = [
        event.model_dump(by_alias=True, mode="json", exclude_none=False)
        for event in recorded.events
    ]
    body = b"".join([piece async for piece in agent.stream_sse(given)])
    ran = await node_client.arun(sse=body.decode(), state=given.state, threadId="t", runId="r")
    assert ran.accepted, ran.error
    assert ran.warnings == []
    assert ran.state == recorded.state
    assert ran.state["mine"] == {"~/": [[None]]}
    assert set(ran.state["doc"]) >= {"3", "3'", "null"}
    kinds = {event["type"] for event in events if event["type"].startswith("STATE")}
    assert ("STATE_DELTA" in kinds) == (send == "patches")


async def test_an_odd_key_of_the_state_itself(node_client: NodeClient) -> None:
    fields = {key: Any for key in ODD_KEYS if not key.startswith("__")}
    state = TypedDict(
        "state", {"messages": Annotated[list[AnyMessage], add_messages], **fields}, total=False
    )  # type: ignore[misc]
    filler = "x" * 300
    updates = [
        {key: [filler, {"n": 0}] for key in fields},
        *({key: [filler, {"n": 1}]} for key in fields),
    ]
    agent = LangGraphAgent(steps(*updates, state=state))
    given = run_input("hi", run="r", thread="t")
    body = b"".join([piece async for piece in agent.stream_sse(given)])
    ran = await node_client.arun(sse=body.decode(), threadId="t", runId="r")
    assert ran.warnings == []
    assert ran.state == {key: [filler, {"n": 1}] for key in fields}
    assert ran.events.count("STATE_DELTA") == len(fields)


class Secretive(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    shown: Any
    secret: Annotated[str, Private]
    trail: Annotated[list[str], Private, operator.add]
    left_out: str


class Asked(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    shown: Any


class Given(Asked, total=False):
    secret: str
    trail: list[str]
    left_out: str


async def secretive(state: Secretive) -> dict[str, Any]:
    system = SystemMessage(f"prompt {CANARY}")
    emit_state({"secret": CANARY, "shown": 1, "left_out": CANARY})
    emit_state([{"op": "add", "path": "/secret", "value": CANARY}])
    model = Scripted([call("remember", "c1", secret=CANARY)], disable_streaming=True)
    quiet = model.with_config(tags=["nostream"])
    await quiet.ainvoke([system])
    return {
        "secret": CANARY,
        "trail": [CANARY],
        "left_out": CANARY,
        "shown": 2,
        "messages": [system],
    }


async def asking(state: Secretive) -> dict[str, Any]:
    answer = interrupt({"message": "go on?"})
    return {"secret": f"{CANARY} {answer}", "shown": 3}


async def test_a_canary_in_private_keys_messages_and_the_system_prompt_never_leaves() -> None:
    builder = StateGraph(Secretive, input_schema=Given, output_schema=Given)
    builder.add_node("secretive", secretive)
    builder.add_node("asking", asking)
    builder.add_edge(START, "secretive")
    builder.add_edge("secretive", "asking")
    options = StateOptions(exclude={"left_out"}, predict=[PredictState("remember", "secret")])
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), state=options)

    async def bytes_of(given: Any, connect: bool = False) -> bytes:
        events = [] if not connect else [event async for event in agent.connect(given)]
        if connect:
            return "".join(
                f"data: {event.model_dump_json(by_alias=True)}\n\n" for event in events
            ).encode()
        return b"".join([piece async for piece in agent.stream_sse(given)])

    hi = user("hi")
    first = await bytes_of(run_input(hi, thread="t"))
    assert b'"interrupt"' in first
    interrupt_id = json.loads(first.decode().strip().split("\n\n")[-1][6:])["outcome"][
        "interrupts"
    ][0]["id"]
    answer = [{"interruptId": interrupt_id, "status": "resolved", "payload": "yes"}]
    second = await bytes_of(run_input(hi, thread="t", resume=answer, state={"shown": 2}))
    assert b"RUN_FINISHED" in second
    third = await bytes_of(run_input(thread="t"), connect=True)
    for body in (first, second, third):
        check_bytes(body)
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values  # type: ignore[union-attr]
    assert CANARY in stored["secret"]
    assert stored["trail"] == [CANARY]
    assert b'"shown":3' in third.replace(b" ", b"")


async def test_nobody_writes_a_private_key() -> None:
    builder = StateGraph(Secretive)
    builder.add_node("node", lambda state: {"shown": [state.get("secret"), state.get("trail")]})
    builder.add_edge(START, "node")
    for agent in (
        LangGraphAgent(builder.compile()),
        LangGraphAgent(builder.compile(checkpointer=InMemorySaver())),
    ):
        recorded = await record_run(
            agent, run_input("hi", state={"secret": "forged", "trail": ["forged"]})
        )
        assert recorded.state["shown"] == [None, []]
    refusing = LangGraphAgent(builder.compile(), state=StateOptions(forbidden_change="refuse"))
    recorded = await record_run(refusing, run_input("hi", state={"secret": "forged"}))
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "state_refused")
