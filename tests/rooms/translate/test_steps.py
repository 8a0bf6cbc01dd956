"""Steps: one for each run of a node, around everything that the node says."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, sync_talker, talker
from tests.kit.models.scripted import Scripted, used
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import PATIENCE


def steps(recorded: RecordedRun) -> list[str]:
    """ "+name" where a step opens, "-name" where it closes; other events of interest by what they
    say."""
    return [word for event in recorded.events if (word := _word(event))]


def _word(event: Any) -> str | None:
    match event.type.value:
        case "STEP_STARTED":
            return f"+{event.step_name}"
        case "STEP_FINISHED":
            return f"-{event.step_name}"
        case "TEXT_MESSAGE_CONTENT":
            return str(event.delta)
        case "CUSTOM":
            return f"{event.name}:{event.value}"
    return None


def writing(name: str, *values: str, sync: bool = False) -> Any:
    """A node that sends writer events."""

    def write() -> None:
        for value in values:
            get_stream_writer()(value)

    async def anode(state: Any) -> dict[str, Any]:
        write()
        return {}

    def node(state: Any) -> dict[str, Any]:
        write()
        return {}

    chosen = node if sync else anode
    chosen.__name__ = name
    return chosen


async def test_nodes_one_after_the_other() -> None:
    recorded = await record_run(
        agent_of(talker(Scripted(["a"]), "one"), talker(Scripted(["b"]), "two")), run_input("hi")
    )
    recorded.check_snapshot()
    assert steps(recorded) == ["+one", "a", "-one", "+two", "b", "-two"]


async def test_the_end_of_a_step_has_the_tokens_of_its_model_calls() -> None:
    models = [Scripted(["a", used(3, 2)]), Scripted(["b", used(5, 4)]), Scripted(["c"])]

    async def both(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"]) for model in models[:2]]}

    recorded = await record_run(agent_of(both, talker(models[2], "none")), run_input("hi"))
    recorded.check_snapshot()
    one, other = [event for event in recorded.events if event.type.value == "STEP_FINISHED"]
    assert [(call["inputTokens"], call["outputTokens"]) for call in one.metadata["usage"]] == [
        (3, 2),
        (5, 4),
    ]
    assert other.metadata is None


@pytest.mark.parametrize("node", [talker, sync_talker])
async def test_a_step_opens_before_what_its_node_streams(node: Any) -> None:
    agent = agent_of(node(Scripted(["a", "b"]), "one"))
    recorded = await record_run(agent, run_input("hi"))
    recorded.check_snapshot()
    begins, *words, ends = steps(recorded)
    assert (begins, "".join(words), ends) == ("+one", "ab", "-one")


@pytest.mark.parametrize("sync", [False, True])
async def test_writer_events_stay_inside_their_step(sync: bool) -> None:
    agent = agent_of(writing("one", "1", "2", sync=sync), writing("two", "3", "4", sync=sync))
    recorded = await record_run(agent, run_input("hi"))
    expected = ["+one", "custom:1", "custom:2", "-one", "+two", "custom:3", "custom:4", "-two"]
    assert steps(recorded) == expected


async def test_dispatched_events_are_in_place() -> None:
    async def one(state: Chat) -> Any:
        await adispatch_custom_event("progress", "before")
        reply = await Scripted(["a"]).ainvoke("x")
        await adispatch_custom_event("progress", "after")
        return {"messages": [reply]}

    recorded = await record_run(agent_of(one), run_input("hi"))
    assert steps(recorded) == ["+one", "progress:before", "a", "progress:after", "-one"]


async def test_fan_out_overlaps_under_names_of_their_own() -> None:
    """Three branches and a barrier: the steps must be open at once."""
    barrier = asyncio.Barrier(3)

    class State(TypedDict):
        done: Annotated[list[str], operator.add]

    async def work(state: Any) -> Any:
        await asyncio.wait_for(barrier.wait(), PATIENCE)
        return {"done": ["x"]}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda _: [Send("work", {}) for _ in range(3)])
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    found = steps(recorded)
    assert sorted(found[:3]) == ["+work", "+work (2)", "+work (3)"]
    assert sorted(found[3:]) == ["-work", "-work (2)", "-work (3)"]
    assert recorded.state == {"done": ["x", "x", "x"]}


async def test_sync_fan_out() -> None:
    builder = StateGraph(Chat)
    for name in ("one", "two", "three"):
        builder.add_node(name, sync_talker(Scripted([f"{name}-a", 0.01, f"{name}-b"]), name))
        builder.add_edge(START, name)
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    recorded.check_snapshot()
    found = steps(recorded)
    for name in ("one", "two", "three"):
        begins, *words, ends = [word for word in found if name in word]
        assert (begins, ends) == (f"+{name}", f"-{name}")
        assert "".join(words) == f"{name}-a{name}-b"


async def test_a_subgraph_is_a_step_around_its_nodes() -> None:
    inner = chain_of(talker(Scripted(["a"]), "inner"), writing("last", "w"))
    builder = StateGraph(Chat)
    builder.add_node("outer", inner)
    builder.add_edge(START, "outer")
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    recorded.check_snapshot()
    assert steps(recorded) == [
        "+outer",
        "+inner",
        "a",
        "-inner",
        "+last",
        "custom:w",
        "-last",
        "-outer",
    ]


@pytest.mark.parametrize("sync", [False, True])
async def test_a_subgraph_invoked_in_a_node(sync: bool) -> None:
    inner = chain_of((sync_talker if sync else talker)(Scripted(["a"]), "inner"))

    async def outer(state: Chat) -> Any:
        return await inner.ainvoke(state)

    def outer_sync(state: Chat) -> Any:
        return inner.invoke(state)

    outer_sync.__name__ = "outer"
    recorded = await record_run(agent_of(outer_sync if sync else outer), run_input("hi"))
    recorded.check_snapshot()
    assert steps(recorded) == ["+outer", "+inner", "a", "-inner", "-outer"]


async def test_each_try_of_a_node_is_a_step() -> None:
    tries: list[int] = []

    async def shaky(state: Chat) -> Any:
        tries.append(1)
        get_stream_writer()(f"try {len(tries)}")
        if len(tries) < 3:
            raise ConnectionError("not now")
        return {"messages": [await Scripted(["done"]).ainvoke("x")]}

    builder = StateGraph(Chat)
    policy = RetryPolicy(max_attempts=3, initial_interval=0.0, backoff_factor=1.0, jitter=False)
    builder.add_node("shaky", shaky, retry_policy=policy)
    builder.add_node("after", writing("after", "w"))
    builder.add_edge(START, "shaky")
    builder.add_edge("shaky", "after")
    builder.add_edge("after", END)
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    recorded.check_snapshot()
    found = steps(recorded)
    assert [word for word in found if word[0] in "+-"] == [
        *["+shaky", "-shaky"] * 3,
        "+after",
        "-after",
    ]
    customs = [word for word in found if word.startswith("custom")]
    assert customs == ["custom:try 1", "custom:try 2", "custom:try 3", "custom:w"]
    last_end = found.index("+after") - 1
    assert found.index("custom:try 1") < found.index("-shaky")
    assert found.index("custom:try 3") < last_end
    assert found.index("done") < last_end < found.index("custom:w")


async def test_loops_take_the_same_name_again() -> None:
    class State(TypedDict):
        n: int

    async def count(state: State) -> Any:
        return {"n": state["n"] + 1}

    builder = StateGraph(State)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    builder.add_conditional_edges("count", lambda state: "count" if state["n"] < 40 else END)
    recorded = await record_run(
        LangGraphAgent(graph=builder.compile()), run_input("hi", state={"n": 0})
    )
    assert steps(recorded) == ["+count", "-count"] * 40
    assert recorded.state == {"n": 40}
