"""Metrics of runs, errors, readers and of what was left out."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from ag_ui.core import TextMessageStartEvent, Tool, ToolMessage, UserMessage
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import (
    LangGraphAgent,
    ReasoningOptions,
    RunLimits,
    StateOptions,
    agui_messages_to_langchain,
    agui_router,
    emit_state,
    langchain_messages_to_agui,
)
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.messages.content import warn_left_out
from langgraph_agui.middleware import AGUIMiddleware
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.sse import decode
from langgraph_agui.readers.sinks import Broadcaster, EventSink
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.waiting import eventually
from tests.rooms.kernel.conftest import Seen, Unreadable


async def test_times(seen: Seen) -> None:
    agent = agent_of(talker(Scripted([0.2, "a", 0.1, "b"])), name=seen.agent)
    await record_run(agent, run_input("hi", thread="thread-x", run="run-x"))
    times = ("time_to_first_event", "time_to_first_token", "duration")
    first_event, first_token, whole = map(seen.seconds, times)
    assert 0 < first_event <= first_token - 0.2
    assert first_token <= whole - 0.1
    own = {"gen_ai.agent.name": seen.agent}
    (whole_run,), (token,) = (seen.points(f"agui.run.{name}") for name in times[:0:-1])
    assert (whole_run.attributes, token.attributes) == (
        {**own, "agui.run.outcome": "success"},
        own,
    )
    data = seen.reader.get_metrics_data()
    assert data
    assert [one for one in ("thread-x", "run-x") if one in data.to_json()] == []  # no ids


@pytest.mark.parametrize("piece", [thinking("hm"), call("f", "c1", x=1)], ids=["reasoning", "call"])
async def test_reasoning_and_calls_are_tokens_too(seen: Seen, piece: Any) -> None:
    model = Scripted([piece, 0.2, text_chunk("a")])
    await record_run(agent_of(talker(model), name=seen.agent), run_input("hi"))
    assert seen.seconds("time_to_first_token") <= seen.seconds("duration") - 0.2


async def test_no_token_no_time(seen: Seen) -> None:
    async def nothing(state: Chat) -> None: ...

    await record_run(agent_of(nothing, name=seen.agent), run_input("hi"))
    assert seen.points("agui.run.time_to_first_token") == []
    assert seen.seconds("time_to_first_event")


def test_tokens_pass_nobody_who_watches() -> None:
    watched: list[Any] = []
    received: list[Any] = []
    sink = Broadcaster(EventSink(received.append), watch=watched.append)
    sink.event(start := TextMessageStartEvent(message_id="m", role="assistant"))
    sink.fragment(Block("text", "m", 0), "word")
    kinds = [event.type.value for event in received]
    assert kinds == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert watched == [start]


async def test_refusals_are_errors_of_the_agent(seen: Seen) -> None:
    agent = agent_of(talker(Scripted([60.0])), name=seen.agent, limits=RunLimits(runs=1))
    first: Any = agent.run(run_input("hi"))
    await anext(first)
    assert (await record_run(agent, run_input("hi"))).last.code == "too_many_runs"
    given = run_input("hi")
    RecordedRun(list(decode([b"".join([piece async for piece in agent.stream_sse(given)])])), given)
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://test") as client:
        answer = await client.post("/agent", json=given.model_dump(by_alias=True, mode="json"))
    assert answer.status_code == 429
    assert seen.values("agui.errors", "error.type") == {"too_many_runs": 3}
    assert seen.value("agui.runs.active") == 1
    await first.aclose()
    assert seen.value("agui.runs.active") == 0


async def test_a_connect_that_fails_is_an_error_of_the_agent(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["a"])), checkpointer=Unreadable(), name=seen.agent)
    given = run_input()
    RecordedRun(await collect(agent.connect(given)), given)
    assert (seen.values("agui.errors", "error.type"), seen.spans) == ({"state_error": 1}, [])


async def test_a_reader_that_never_reads(seen: Seen) -> None:
    agent, given = (
        agent_of(talker(Scripted(["x" * 50_000, "y" * 50_000])), name=seen.agent),
        run_input("hi"),
    )
    assert seen.value("agui.readers") is None
    reader = await agent.begin(given)
    await eventually(lambda: seen.value("agui.runs.active") == 0, "the end of the run")
    waiting = seen.value("agui.queue.bytes")
    assert seen.value("agui.readers") == 1
    body = b""
    async with reader:
        while frames := await reader.take_frames():
            body += frames
        assert seen.value("agui.queue.bytes") == 0
    RecordedRun(list(decode([body])), given)
    # The texts of the closing snapshot are those of the conversation.
    assert waiting == pytest.approx(len(body) - 100_000, rel=0.1)
    assert seen.value("agui.readers") == 0


async def test_a_reader_that_leaves_or_is_forgotten(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["x" * 50_000])), name=seen.agent)
    left, forgotten = (await agent.begin(run_input("hi")), await agent.begin(run_input("hi")))
    await eventually(lambda: seen.value("agui.runs.active") == 0, "the end of the runs")
    whole = seen.value("agui.queue.bytes")
    assert whole
    async with left:
        pass
    assert seen.value("agui.readers") == 1
    assert seen.value("agui.queue.bytes") == pytest.approx(whole / 2, rel=0.1)
    del forgotten
    gc.collect()
    assert (seen.value("agui.readers"), seen.value("agui.queue.bytes")) == (0, 0)


async def test_a_reader_that_was_let_go(seen: Seen) -> None:
    agent = agent_of(
        talker(Scripted(["x" * 50_000] * 4)), name=seen.agent, limits=RunLimits(unread=100_000)
    )
    reader = await agent.begin(run_input("hi"))
    await eventually(lambda: seen.value("agui.runs.active") == 0, "the end of the run")
    assert seen.values("agui.errors", "error.type") == {"reader_too_slow": 1}
    assert seen.value("agui.queue.bytes") < 1_000  # type: ignore[operator]
    async with reader:
        pass


async def test_clients_that_join(seen: Seen) -> None:
    model, given = Scripted(["a", 0.3, "b"]), run_input("hi")
    agent = agent_of(talker(model), name=seen.agent)
    first: Any = agent.run(given)
    events = [await anext(first)]
    await model.hung.wait()
    joined: Any = agent.connect(given)
    others = [await anext(joined)]
    assert (seen.value("agui.readers"), seen.value("agui.runs.active")) == (2, 1)
    RecordedRun([*others, *await collect(joined)], given)
    RecordedRun([*events, *await collect(first)], given)
    assert (seen.value("agui.readers"), seen.value("agui.runs.active")) == (0, 0)


class State(Chat):
    own: Any
    too: int


def change_state() -> None:
    emit_state({"own": 1, "too": 2})


def node_of(returned: Any = None, work: Any = None) -> Any:
    """A node that does some work and returns something."""

    async def node(state: Any) -> Any:
        if work:
            work()
        return returned

    return node


@tool
def taken() -> str:
    """A tool of the server."""
    return ""


MINE = Tool(name="taken", description="The client's.", parameters={})
FORGED = UserMessage(id="m", content="hi", encrypted_value="forged")
STRAY = ToolMessage(id="x", role="tool", content="42", tool_call_id="unknown")
SIGNED = [thinking("hm", signature="x" * 500)]
NO_IMAGE = AIMessage([{"type": "image", "mime_type": "image/png"}], id="m")
HUGE = [AIMessage("x" * 6_000_000, id=f"m{number}") for number in range(2)]
PATCH: list[Any] = [{"op": "remove", "path": "/not/there"}]
HIDDEN = StateOptions(exclude=["own", "too"])


def said(*turn: Any) -> Any:
    return talker(Scripted(list(turn) or ["a"]))


def graph(*nodes: Any, saver: Any = None) -> Any:
    return chain_of(*nodes, state=State, checkpointer=saver)


def drop_two() -> None:
    agui_messages_to_langchain([{"id": "m", "role": "oracle"}, 5])  # type: ignore[list-item]


def drop_one() -> None:
    langchain_messages_to_agui([object()])  # type: ignore[list-item]


HI, MEMORY = run_input("hi"), InMemorySaver()
STATE = run_input("hi", state={"mine": 1, "too": 2})
TOOLS = create_agent(Scripted(["a"]), [taken], middleware=[AGUIMiddleware()])
SHORT = {"reasoning": ReasoningOptions(max_bytes=10)}


@pytest.mark.parametrize(
    ("kind", "count", "graph", "given", "options"),
    [
        ("hidden_state", 2, graph(node_of(work=change_state)), HI, {"state": HIDDEN}),
        ("state_patch", 1, graph(node_of(work=lambda: emit_state(PATCH))), HI, {}),
        ("client_state", 2, chain_of(said(), checkpointer=MEMORY), STATE, {}),
        ("opaque_value", 1, graph(said(*SIGNED)), HI, SHORT),
        ("opaque_value", 1, graph(said()), run_input(FORGED), {}),
        ("message", 1, graph(node_of(work=drop_one)), HI, {}),
        ("input", 2, graph(node_of(work=drop_two)), HI, {}),
        ("content", 1, graph(node_of({"messages": [NO_IMAGE]})), HI, {}),
        ("tool_result", 1, graph(said(), saver=MEMORY), run_input("hi", STRAY, "more"), {}),
        ("large_state", 1, graph(node_of({"own": "x" * 11_000_000})), HI, {}),
        ("tool", 1, TOOLS, run_input("hi", tools=[MINE]), {}),
    ],
)
async def test_what_is_left_out_is_counted(
    seen: Seen, kind: str, count: int, graph: Any, given: Any, options: Any
) -> None:
    warn_left_out.cache_clear()
    await record_run(LangGraphAgent(graph, seen.agent, **options), given)
    assert seen.values("agui.values.dropped", "agui.value.kind") == {kind: count}


async def test_a_snapshot_that_is_too_large_for_the_wire_is_counted(seen: Seen) -> None:
    agent, given = agent_of(node_of({"messages": HUGE}), name=seen.agent), run_input("hi")
    RecordedRun(list(decode([frame async for frame in agent.stream_sse(given)])), given)
    assert seen.values("agui.values.dropped", "agui.value.kind") == {"large_snapshot": 1}


def test_what_an_input_has_too_much_is_counted(seen: Seen) -> None:
    nobody = Seen(None, seen.exporter, seen.reader)  # type: ignore[arg-type]
    before = nobody.values("agui.values.dropped", "agui.value.kind").get("input", 0)
    parse_input(
        {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "oracle"}], "novelty": 1}
    )
    assert nobody.values("agui.values.dropped", "agui.value.kind")["input"] == before + 2
