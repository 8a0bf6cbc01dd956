"""What state costs on the wire: the whole once, then what a step changed."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import decode
from tests.behaviour.state.test_both_ways import Messages
from tests.kit.graphs.small import scripted_agent, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input

STEPS = 50
MEGABYTE = 1_000_000


class Channels(TypedDict, total=False):
    messages: Messages
    left: dict[str, Any]
    right: dict[str, Any]
    progress: dict[str, Any]


class Document(TypedDict, total=False):
    messages: Messages
    doc: dict[str, Any]


def rows(size: int) -> dict[str, Any]:
    row = {"title": "a row", "tags": ["alpha", "beta"], "body": "x" * 400, "done": False}
    return {
        f"row-{number}": {"id": number, **row} for number in range(size // len(json.dumps(row)))
    }


def progress(step: int) -> dict[str, Any]:
    return {"step": step, "label": f"step {step}"}


def held(shape: type, size: int, step: int) -> dict[str, Any]:
    """The state after `step` steps."""
    parts = {"left": rows(size // 2), "right": rows(size // 2), "progress": progress(step)}
    return parts if shape is Channels else {"doc": parts}


def stepping(shape: type, size: int) -> LangGraphAgent:
    """A node writes `size` bytes, `STEPS` supersteps change one small field each, then the model
    answers."""

    async def load(state: Any) -> Any:
        return held(shape, size, 0)

    async def work(state: Any) -> Any:
        if shape is Channels:
            return {"progress": progress(state["progress"]["step"] + 1)}
        return {"doc": {**state["doc"], "progress": progress(state["doc"]["progress"]["step"] + 1)}}

    def after(state: Any) -> str:
        return "work" if state.get("doc", state)["progress"]["step"] < STEPS else "model"

    builder = StateGraph(shape)
    builder.add_node("load", load)
    builder.add_node("work", work)
    builder.add_node("model", talker(Scripted(["done"])))
    builder.add_edge(START, "load")
    builder.add_edge("load", "work")
    builder.add_conditional_edges("work", after, ["work", "model"])
    builder.add_edge("model", END)
    return LangGraphAgent(
        graph=builder.compile(checkpointer=InMemorySaver()), config={"recursion_limit": STEPS + 10}
    )


async def frames_of(shape: type, size: int) -> list[bytes]:
    """The frames of one run, which is verified and folded as a client would do it."""
    agent, given = stepping(shape, size), run_input("hi")
    body = b"".join([batch async for batch in agent.stream_sse(given)])
    recorded = RecordedRun(list(decode([body])), given)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.state == held(shape, size, STEPS)
    assert [message.content for message in recorded.messages] == ["hi", "done"]
    *frames, rest = body.split(b"\n\n")
    assert rest == b""
    return [frame + b"\n\n" for frame in frames]


def steps_of(frames: list[bytes]) -> list[int]:
    """The sizes of the frames that tell state, after the first, which tells the whole."""
    return [len(frame) for frame in frames if frame.startswith(b'data: {"type":"STATE_')][1:]


@pytest.mark.parametrize("shape", [Channels, Document], ids=["channels", "one channel"])
async def test_a_megabyte_goes_out_once_and_steps_stay_small(shape: type) -> None:
    frames = await frames_of(shape, MEGABYTE)
    assert MEGABYTE < sum(map(len, frames)) < 1.5 * MEGABYTE
    steps = steps_of(frames)
    assert len(steps) == STEPS
    assert max(steps) < 1024


@pytest.mark.parametrize("shape", [Channels, Document], ids=["channels", "one channel"])
async def test_a_step_is_as_small_beside_twice_the_state(shape: type) -> None:
    small, large = (
        steps_of(await frames_of(shape, MEGABYTE // 2)),
        steps_of(await frames_of(shape, MEGABYTE)),
    )
    assert len(small) == len(large)
    assert max(abs(one - other) for one, other in zip(small, large, strict=True)) <= 8


async def test_the_cost_of_a_clients_own_keys_grows_with_their_number() -> None:
    costs: list[float] = []
    for count in (2_000, 20_000):
        agent, given = (
            scripted_agent(["done"]),
            run_input("hi", state={f"key {n}": n for n in range(count)}),
        )
        start = process_time()
        recorded = await record_run(agent, given)
        costs.append(process_time() - start)
        assert recorded.last.outcome.type == "success"
        assert len(recorded.state) == count
    assert costs[1] < 40 * costs[0]
