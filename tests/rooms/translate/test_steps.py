"""Steps: one for each run of a node, around everything that the node says, in order."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.callbacks import adispatch_custom_event
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, Send
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from langgraph_agui.translate.local.sequencer import StreamSequencer
from tests.kit.graphs.small import Chat, agent_of, chain_of, sync_talker, talker
from tests.kit.models.scripted import Scripted, used
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import PATIENCE


def steps(recorded: RecordedRun) -> list[str]:
    """ "+name" where a step opens, "-name" where it closes; texts and custom events between."""
    marks = {"STEP_STARTED": "+{0.step_name}", "STEP_FINISHED": "-{0.step_name}"}
    marks |= {"TEXT_MESSAGE_CONTENT": "{0.delta}", "CUSTOM": "{0.name}:{0.value}"}
    kinds = [(event, marks.get(event.type.value)) for event in recorded.events]
    return [mark.format(event) for event, mark in kinds if mark]


async def steps_of(graph: Any, **fields: Any) -> list[str]:
    recorded = await record_run(LangGraphAgent(graph), run_input("hi", **fields))
    recorded.check_snapshot()
    return steps(recorded)


async def write(state: Any) -> None:
    get_stream_writer()("w")


async def test_a_subgraph_is_a_step_around_its_nodes() -> None:
    inner = chain_of(talker(Scripted(["a"]), "inner"), write)
    outer = StateGraph(Chat).add_node("outer", inner).add_edge(START, "outer").compile()
    assert await steps_of(chain_of(sync_talker(Scripted(["b"]), "one"))) == ["+one", "b", "-one"]
    told = "+outer +inner a -inner +write custom:w -write -outer"
    assert await steps_of(outer) == told.split()


async def test_the_end_of_a_step_has_the_tokens_of_its_model_calls() -> None:
    models = [Scripted(["a", used(3, 2)]), Scripted(["b", used(5, 4)]), Scripted(["c"])]

    async def both(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"]) for model in models[:2]]}

    recorded = await record_run(agent_of(both, talker(models[2], "none")), run_input("hi"))
    one, other = recorded.of("STEP_FINISHED")
    tokens = [(call["inputTokens"], call["outputTokens"]) for call in one.metadata["usage"]]
    assert tokens == [(3, 2), (5, 4)]
    assert other.metadata is None


class Counted(TypedDict, total=False):
    done: Annotated[list[str], operator.add]


async def test_fan_out_overlaps_under_names_of_their_own() -> None:
    barrier = asyncio.Barrier(3)

    async def work(state: Any) -> Any:
        await asyncio.wait_for(barrier.wait(), PATIENCE)
        return {"done": ["x"]}

    builder = StateGraph(Counted).add_node("work", work)
    builder.add_conditional_edges(START, lambda _: [Send("work", {}) for _ in range(3)])
    found = await steps_of(builder.compile())
    assert sorted(found[:3]) == ["+work", "+work (2)", "+work (3)"]
    assert sorted(found[3:]) == ["-work", "-work (2)", "-work (3)"]


async def test_each_try_of_a_node_is_a_step() -> None:
    tries: list[int] = []

    async def shaky(state: Chat) -> Any:
        tries.append(1)
        get_stream_writer()(f"try {len(tries)}")
        if len(tries) < 3:
            raise ConnectionError("not now")
        return {"messages": [await Scripted(["done"]).ainvoke("x")]}

    policy = RetryPolicy(max_attempts=3, initial_interval=0.0, backoff_factor=1.0, jitter=False)
    builder = StateGraph(Chat).add_node("shaky", shaky, retry_policy=policy)
    builder.add_node(write).add_edge(START, "shaky").add_edge("shaky", "write")
    found = await steps_of(builder.compile())
    edges = [word for word in found if word[0] in "+-"]
    assert edges == [*["+shaky", "-shaky"] * 3, "+write", "-write"]
    customs = [word for word in found if word.startswith("custom")]
    assert customs == ["custom:try 1", "custom:try 2", "custom:try 3", "custom:w"]
    last_end = found.index("+write") - 1
    assert found.index("custom:try 1") < found.index("-shaky")
    assert max(found.index("custom:try 3"), found.index("done")) < last_end


async def test_an_end_that_never_comes_holds_up_one_superstep_at_most() -> None:
    """A task that leaves by a command to the parent graph has no end in the stream."""
    order, recorded = StreamSequencer(asyncio.get_running_loop()), list[str]()
    order.put(("end", "task"), lambda: recorded.append("end"))
    order.put(None, lambda: recorded.append("next"))
    order.put(("start", "other"), lambda: recorded.append("start"))
    assert recorded == []
    order.end_superstep()
    assert recorded == ["end", "next"]


# Layers of nodes, each with whether it runs in a thread, and what it does.
Acts = list[str]
acts = st.lists(st.sampled_from(["write", "stream", "yield", "dispatch", "nested"]), max_size=5)
plans = st.tuples(st.booleans(), acts)
graphs = st.lists(st.lists(plans, min_size=1, max_size=3), min_size=1, max_size=3)


SENT = ("dispatch", False)


def two_words(name: str, number: int) -> Scripted:
    return Scripted([f"{name}#{number}a", f"{name}#{number}b"])


async def perform(name: str, plan: Acts, *, sync: bool) -> dict[str, Any]:
    """What a node does; in a thread, nothing is awaited but what is there at once."""
    messages = []
    for number, act in enumerate(plan):
        match act, sync:
            case "write", _:
                get_stream_writer()([name, number])
            case "stream", True:
                messages.append(two_words(name, number).invoke("x"))
            case "stream", False:
                messages.append(await two_words(name, number).ainvoke("x"))
            case "yield", False:
                await asyncio.sleep(0)
            case "dispatch", False:
                await adispatch_custom_event("dispatched", [name, number])
            case "nested", _:
                inner = chain_of(performing(f"{name}>{number}", ["write", "stream"], sync=sync))
                empty: Any = {"messages": []}
                after = inner.invoke(empty) if sync else await inner.ainvoke(empty)
                messages += after["messages"]
    return {"messages": messages}


def performing(name: str, plan: Acts, *, sync: bool) -> Any:
    async def node(state: Any) -> Any:
        return await perform(name, plan, sync=False)

    def sync_node(state: Any) -> Any:
        try:
            perform(name, plan, sync=True).send(None)
        except StopIteration as over:
            return over.value

    chosen = sync_node if sync else node
    chosen.__name__ = name
    return chosen


def build(layers: list[list[tuple[bool, Acts]]]) -> Any:
    builder, before = StateGraph(Chat), [START]
    for depth, layer in enumerate(layers):
        names = [f"n{depth}{'abc'[place]}" for place in range(len(layer))]
        for name, (sync, plan) in zip(names, layer, strict=True):
            builder.add_node(name, performing(name, plan, sync=sync))
            for source in before:
                builder.add_edge(source, name)
        before = names
    return builder.compile()


def check_order(recorded: RecordedRun) -> None:
    """Each word is said while its node's step is open; words of a kind keep their order."""
    opened, finished = set[str](), set[str]()
    last: dict[tuple[str, str], int] = {}
    for event in recorded.events:
        match event.type.value:
            case "STEP_STARTED":
                assert event.step_name not in opened | finished
                # A superstep begins when the one before it is told.
                assert {step[:2] for step in opened if ">" not in step} <= {event.step_name[:2]}
                opened.add(event.step_name)
            case "STEP_FINISHED":
                opened.remove(event.step_name)
                finished.add(event.step_name)
            case "CUSTOM":
                name, number = event.value
                assert name in opened, f"{event.name} of {name} outside its step"
                assert last.get((event.name, name), -1) < number
                last[event.name, name] = number
            case "TEXT_MESSAGE_CONTENT":
                assert event.delta.partition("#")[0] in opened, f"{event.delta} outside its step"


@given(graphs)
@example([[(False, []), (False, ["yield", "yield", "nested"])]])
def test_whatever_a_node_says_stays_inside_its_step(layers: list[list[tuple[bool, Acts]]]) -> None:
    recorded = asyncio.run(record_run(LangGraphAgent(graph=build(layers)), run_input("hi")))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    check_order(recorded)
    told = [(sync, act) for layer in layers for sync, plan in layer for act in plan]
    customs = [act for sync, act in told if act in ("write", "nested") or (act, sync) == SENT]
    assert len(recorded.of("CUSTOM")) == len(customs)
