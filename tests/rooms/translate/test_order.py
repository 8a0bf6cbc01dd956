"""Random graphs of nodes that write, stream and give way: what a node says stays inside its step,
in order."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import adispatch_custom_event
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.translate.local.sequencer import StreamSequencer
from tests.kit.deep import example_count
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input

Acts = list[str]
acts = st.lists(st.sampled_from(["write", "stream", "yield", "dispatch", "nested"]), max_size=5)
node_plans = st.tuples(st.booleans(), acts)
graphs = st.lists(st.lists(node_plans, min_size=1, max_size=3), min_size=1, max_size=3)


def write(name: str, number: int) -> None:
    get_stream_writer()([name, number])


async def perform(name: str, plan: Acts) -> dict[str, Any]:
    messages = []
    for number, act in enumerate(plan):
        match act:
            case "write":
                write(name, number)
            case "stream":
                messages.append(
                    await Scripted([f"{name}#{number}a", f"{name}#{number}b"]).ainvoke("x")
                )
            case "yield":
                await asyncio.sleep(0)
            case "dispatch":
                await adispatch_custom_event("dispatched", [name, number])
            case "nested":
                messages += await nested(f"{name}>{number}")
    return {"messages": messages}


async def nested(name: str) -> list[Any]:
    async def inner(state: Any) -> Any:
        write(name, 0)
        return {"messages": [await Scripted([f"{name}#1"]).ainvoke("x")]}

    inner.__name__ = name
    result = await chain_of(inner).ainvoke({"messages": []})
    return list(result["messages"])


def perform_sync(name: str, plan: Acts) -> dict[str, Any]:
    messages = []
    for number, act in enumerate(plan):
        if act == "write":
            write(name, number)
        elif act in ("stream", "nested"):
            messages.append(Scripted([f"{name}#{number}a", f"{name}#{number}b"]).invoke("x"))
    return {"messages": messages}


def build(layers: list[list[tuple[bool, Acts]]]) -> Any:
    builder = StateGraph(Chat)
    before: list[str] = [START]
    for depth, layer in enumerate(layers):
        names = [f"n{depth}{chr(97 + place)}" for place in range(len(layer))]
        for name, (sync, plan) in zip(names, layer, strict=True):
            if sync:
                builder.add_node(name, lambda state, name=name, plan=plan: perform_sync(name, plan))
            else:

                async def node(state: Any, name: str = name, plan: Acts = plan) -> Any:
                    return await perform(name, plan)

                builder.add_node(name, node)
            for source in before:
                builder.add_edge(source, name)
        before = names
    return builder.compile()


def check_order(recorded: RecordedRun) -> None:
    """Each word is said while its node's step is open; words of a kind keep the order in which they
    were sent."""
    opened: set[str] = set()
    finished: set[str] = set()
    last: dict[tuple[str, str], int] = {}
    for event in recorded.events:
        kind = event.type.value
        if kind == "STEP_STARTED":
            assert event.step_name not in opened | finished, "a step of its own for each node"
            layers = {step[:2] for step in opened if ">" not in step}
            assert layers <= {event.step_name[:2]}, (
                "a superstep begins when the one before it is told"
            )
            opened.add(event.step_name)
        elif kind == "STEP_FINISHED":
            opened.remove(event.step_name)
            finished.add(event.step_name)
        elif kind == "CUSTOM":
            name, number = event.value
            assert name in opened, f"{event.name} of {name} outside its step"
            assert last.get((event.name, name), -1) < number
            last[event.name, name] = number
        elif kind == "TEXT_MESSAGE_CONTENT":
            assert event.delta.partition("#")[0] in opened, f"{event.delta} outside its step"


@settings(max_examples=example_count(15, 30))
@given(graphs)
@example([[(False, []), (False, ["yield", "yield", "nested"])]])
def test_whatever_a_node_says_stays_inside_its_step(layers: list[list[tuple[bool, Acts]]]) -> None:
    async def run() -> RecordedRun:
        return await record_run(LangGraphAgent(graph=build(layers)), run_input("hi"))

    recorded = asyncio.run(run())
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    check_order(recorded)
    planned = [
        act
        for layer in layers
        for sync, plan in layer
        for act in plan
        if not sync or act == "write"
    ]
    assert len(recorded.of("CUSTOM")) == sum(
        act in ("write", "dispatch", "nested") for act in planned
    )


async def test_an_end_that_never_comes_holds_up_one_superstep_at_most() -> None:
    """A task that leaves by a command to the parent graph has no end in the stream."""
    order, recorded = StreamSequencer(asyncio.get_running_loop()), list[str]()
    order.put(("end", "task"), lambda: recorded.append("end"))
    order.put(None, lambda: recorded.append("next"))
    order.put(("start", "other"), lambda: recorded.append("start"))
    assert recorded == []
    order.end_superstep()
    assert recorded == ["end", "next"]
