"""What state costs on the wire, up to states that are larger than one event may be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent, StateOptions
from langgraph_agui.protocol import Fold, decode
from langgraph_agui.protocol.sse import MAX_FRAME, SSEDecoder, encode
from tests.behaviour.state.clients import Client, agent_of, writing
from tests.kit.deep import deep
from tests.kit.graphs.small import Chat
from tests.kit.run.agents import RecordedRun, record_run, run_input

STEPS = 10


class Channels(Chat, total=False):
    left: dict[str, Any]
    right: dict[str, Any]
    progress: dict[str, Any]
    doc: dict[str, Any]


def rows(size: int) -> dict[str, Any]:
    row = {"title": "a row", "tags": ["alpha", "beta"], "body": "x" * 400, "done": False}
    return {f"row-{n}": {"id": n, **row} for n in range(size // len(json.dumps(row)))}


async def step_sizes(several: bool, size: int) -> list[int]:
    """The sizes of the frames that tell state, of which the first tells `size` bytes, and each
    later one a small change, in one of several channels or in one that has all."""

    def held(step: int) -> dict[str, Any]:
        progress = {"step": step, "label": f"step {step}"}
        parts = {"left": rows(size // 2), "right": rows(size // 2), "progress": progress}
        return parts if several else {"doc": parts}

    async def load(state: Any) -> Any:
        return held(0)

    async def work(state: Any) -> Any:
        whole = state.get("doc", state)
        step = whole["progress"]["step"] + 1
        changed = {"progress": {"step": step, "label": f"step {step}"}}
        return changed if several else {"doc": {**whole, **changed}}

    def after(state: Any) -> str:
        return "work" if state.get("doc", state)["progress"]["step"] < STEPS else "__end__"

    builder = StateGraph(Channels).add_node(load).add_node(work)
    builder.add_edge(START, "load").add_edge("load", "work")
    builder.add_conditional_edges("work", after)
    agent = LangGraphAgent(builder.compile(InMemorySaver()))
    given = run_input("hi")
    body = b"".join([batch async for batch in agent.stream_sse(given)])
    recorded = RecordedRun(list(decode([body])), given)
    assert (recorded.last.type.value, recorded.state) == ("RUN_FINISHED", held(STEPS))
    assert size < len(body) < 1.5 * size
    frames = body.split(b"\n\n")
    return [len(frame) for frame in frames if frame.startswith(b'data: {"type":"STATE_')]


@pytest.mark.parametrize("several", [True, False], ids=["channels", "one channel"])
async def test_a_state_goes_out_once_and_steps_are_as_small_beside_twice_the_state(
    several: bool,
) -> None:
    (_, *small), (_, *large) = [await step_sizes(several, size) for size in (200_000, 400_000)]
    assert len(small) == len(large) == STEPS
    assert max(large) < 1024
    assert max(abs(one - other) for one, other in zip(small, large, strict=True)) <= 8


class Large(Chat, total=False):
    a: Any
    b: Any
    c: Any
    doc: str


def held_after(body: bytes) -> tuple[Any, list[str]]:
    """What a client holds that reads these bytes, and the types of what it was told."""
    frames = [frame.decode() for frame in body.split(b"\n\n")]
    # A client counts as JavaScript does.
    assert all(len(frame.encode("utf-16-le")) // 2 <= MAX_FRAME for frame in frames)
    decoder, fold = SSEDecoder(), Fold()
    events: list[Any] = []
    for begin in range(0, len(body), 1 << 20):  # a frame counts while it is unfinished
        events += decoder.feed(body[begin : begin + (1 << 20)])
    for event in [*events, *decoder.finish()]:
        fold.feed(event)
    assert fold.warnings == []
    return fold.state, [event["type"] for event in events]


@pytest.mark.parametrize(
    ("values", "fits", "send"),
    [
        pytest.param({"a": "é" * 6_000_000}, True, "patches", id="two bytes each"),
        pytest.param({"a": "\x01" * 1_500_000}, True, "snapshots", id="escaped"),
        pytest.param({"a": "\x01" * 2_000_000}, False, "patches", id="escaped, too large"),
        pytest.param({"a": "😀" * 5_500_000}, False, "snapshots", id="two units", marks=deep),
        pytest.param({k: k * 4_000_000 for k in "abc"}, True, "snapshots", id="several"),
    ],
)
async def test_a_client_holds_what_fits_and_goes_on_with_that(
    values: Any, fits: bool, send: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def numbered(n: int) -> dict[str, Any]:
        return {key: {"text": text, "n": n} for key, text in values.items()}

    nodes = (writing("first", **numbered(1)), writing("second", doc="small", **numbered(2)))
    agent = agent_of(*nodes, schema=Large, state=StateOptions(send=send))
    shown = {"doc": "small"} | (numbered(2) if fits else {})
    run = [piece async for piece in agent.stream_sse(run_input("hi", thread="t"))]
    state, types = held_after(b"".join(run))
    assert types[-1] == "RUN_FINISHED"
    assert "STATE_DELTA" in types or send == "snapshots" or not fits
    assert state == shown
    assert fits or "The state 'a' is too large for a client and is not shown" in caplog.text

    connected = [encode(event) async for event in agent.connect(run_input(thread="t"))]
    assert held_after(b"".join(connected))[0] == shown


async def test_what_has_become_too_large_is_not_replaced_by_what_the_client_held_before() -> None:
    saw: list[int] = []
    values = iter(["small", "\x01" * 2_000_000, None])

    async def node(state: Large) -> dict[str, Any]:
        saw.append(len(state.get("a") or ""))
        value = next(values)
        return {"messages": [AIMessage("done")], **({"a": value} if value else {})}

    client = Client(agent_of(node, schema=Large))
    for text in ("one", "two", "three"):
        await client.say(text)
    assert saw == [0, 5, 2_000_000]


async def test_one_of_two_large_values_is_sent_as_a_change() -> None:
    """Both sides of "what is smaller" are measured alike, whatever is in the values."""

    def parts(by: int) -> list[float]:
        return [number / by for number in range(1000)]

    nodes = (writing("first", a=parts(7), b=parts(9)), writing("second", b=parts(11)))
    recorded = await record_run(agent_of(*nodes, schema=Large), run_input("hi"))
    assert [recorded.types.count(f"STATE_{kind}") for kind in ("SNAPSHOT", "DELTA")] == [1, 1]
