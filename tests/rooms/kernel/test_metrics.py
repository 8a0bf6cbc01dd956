"""Metrics of runs, errors, readers and of what was left out."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import TextMessageStartEvent, Tool, ToolMessage, UserMessage
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

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
from langgraph_agui.middleware import AGUIMiddleware
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.sse import decode
from langgraph_agui.readers.sinks import Broadcaster, EventSink
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.waiting import eventually
from tests.rooms.kernel.conftest import Seen


async def test_times(seen: Seen) -> None:
    agent = agent_of(talker(Scripted([0.2, "a", 0.1, "b"])), name=seen.agent)
    await record_run(agent, run_input("hi"))
    first_event, first_token, whole = (
        seen.seconds(f"agui.run.{name}")
        for name in ("time_to_first_event", "time_to_first_token", "duration")
    )
    assert first_event is not None
    assert first_token is not None
    assert whole is not None
    assert 0 < first_event <= first_token - 0.2
    assert first_token <= whole - 0.1
    (point,) = seen.points("agui.run.duration")
    assert point.attributes == {"gen_ai.agent.name": seen.agent, "agui.run.outcome": "success"}
    (point,) = seen.points("agui.run.time_to_first_token")
    assert point.attributes == {"gen_ai.agent.name": seen.agent}


@pytest.mark.parametrize(
    "piece", [thinking("hm"), call("f", "c1", x=1)], ids=["reasoning", "tool call"]
)
async def test_reasoning_and_calls_are_tokens_too(seen: Seen, piece: Any) -> None:
    await record_run(
        agent_of(talker(Scripted([piece, 0.2, text_chunk("a")])), name=seen.agent), run_input("hi")
    )
    first_token, whole = (
        seen.seconds(f"agui.run.{name}") for name in ("time_to_first_token", "duration")
    )
    assert first_token is not None
    assert whole is not None
    assert first_token <= whole - 0.2


async def test_no_token_no_time(seen: Seen) -> None:
    async def nothing(state: Chat) -> None: ...

    await record_run(agent_of(nothing, name=seen.agent), run_input("hi"))
    assert seen.seconds("agui.run.time_to_first_token") is None
    assert seen.seconds("agui.run.time_to_first_event") is not None


def test_tokens_pass_nobody_who_watches() -> None:
    watched: list[Any] = []
    received: list[Any] = []
    sink = Broadcaster(EventSink(received.append), watch=watched.append)
    sink.event(start := TextMessageStartEvent(message_id="m", role="assistant"))
    sink.fragment(Block("text", "m", 0), "word")
    assert [event.type.value for event in received] == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
    ]
    assert watched == [start]


async def test_interrupts(seen: Seen) -> None:
    async def node(state: Chat) -> None:
        interrupt("sure?")

    agent = agent_of(node, checkpointer=InMemorySaver(), name=seen.agent)
    await record_run(agent, run_input("hi"))
    assert seen.value("agui.interrupts") == 1
    await record_run(agent, run_input("hi"))
    assert seen.value("agui.interrupts") == 2


async def test_errors_by_code(seen: Seen) -> None:
    agent = agent_of(talker(Scripted([ValueError("secret")])), name=seen.agent)
    for _ in range(2):
        await record_run(agent, run_input("hi"))
    assert seen.values("agui.errors", "error.type") == {"model_error": 2}
    (point,) = seen.points("agui.run.duration")
    assert dict(point.attributes or {})["error.type"] == "model_error"
    assert "secret" not in seen.dump()


async def test_refusals_are_errors_of_the_agent(seen: Seen) -> None:
    agent = agent_of(talker(Scripted([60.0])), name=seen.agent, limits=RunLimits(runs=1))
    first: Any = agent.run(run_input("hi"))
    await anext(first)
    refused = await record_run(agent, run_input("hi"))
    assert refused.last.code == "too_many_runs"
    given = run_input("hi")
    RecordedRun(list(decode([b"".join([piece async for piece in agent.stream_sse(given)])])), given)
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://test") as client:
        answer = await client.post(
            "/agent", json=run_input("hi").model_dump(by_alias=True, mode="json")
        )
    assert answer.status_code == 429
    assert seen.values("agui.errors", "error.type") == {"too_many_runs": 3}
    assert seen.value("agui.runs.active") == 1
    await first.aclose()
    assert seen.value("agui.runs.active") == 0


async def test_a_connect_that_fails_is_an_error_of_the_agent(seen: Seen) -> None:
    class Broken(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise ConnectionError("secret")

    agent = agent_of(talker(Scripted(["a"])), checkpointer=Broken(), name=seen.agent)
    given = run_input()
    RecordedRun(await collect(agent.connect(given)), given)
    assert seen.values("agui.errors", "error.type") == {"state_error": 1}
    assert seen.spans == []


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


# -- what is left out ----------------------------------------------------------------------------


async def _hidden_state(name: str) -> None:
    class Own(Chat):
        own: int
        too: int

    async def node(state: Chat) -> None:
        emit_state({"own": 1, "too": 2})

    await record_run(
        LangGraphAgent(chain_of(node, state=Own), name, state=StateOptions(exclude=["own", "too"])),
        run_input("hi"),
    )


async def _state_patch(name: str) -> None:
    async def node(state: Chat) -> None:
        emit_state([{"op": "remove", "path": "/not/there"}])

    await record_run(agent_of(node, name=name), run_input("hi"))


async def _client_state(name: str) -> None:
    agent = agent_of(talker(Scripted(["a"])), checkpointer=InMemorySaver(), name=name)
    await record_run(agent, run_input("hi", state={"mine": 1, "too": 2}))


async def _opaque_value(name: str) -> None:
    model = Scripted([thinking("hm", signature="x" * 500)])
    await record_run(
        agent_of(talker(model), name=name, reasoning=ReasoningOptions(max_bytes=10)),
        run_input("hi"),
    )


async def _clients_opaque_value(name: str) -> None:
    forged = UserMessage(id="m", content="hi", encrypted_value="forged")
    await record_run(agent_of(talker(Scripted(["a"])), name=name), run_input(forged))


async def _message(name: str) -> None:
    def node(state: Chat) -> None:
        langchain_messages_to_agui([object()])  # type: ignore[list-item]

    await record_run(agent_of(node, name=name), run_input("hi"))


async def _clients_message(name: str) -> None:
    def node(state: Chat) -> None:
        agui_messages_to_langchain([{"id": "m", "role": "oracle"}, 5])  # type: ignore[list-item]

    await record_run(agent_of(node, name=name), run_input("hi"))


async def _content(name: str) -> None:
    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage([{"type": "image", "mime_type": "image/png"}], id="m")]}

    await record_run(agent_of(node, name=name), run_input("hi"))


async def _tool_result(name: str) -> None:
    agent = agent_of(talker(Scripted(["a"])), checkpointer=InMemorySaver(), name=name)
    stray = ToolMessage(id="x", role="tool", content="42", tool_call_id="unknown")
    await record_run(agent, run_input("hi", stray, "more"))


async def _large_state(name: str) -> None:
    class Big(Chat):
        big: str

    async def node(state: Big) -> Any:
        return {"big": "x" * 11_000_000}

    await record_run(agent_of(node, state=Big, name=name), run_input("hi"))


async def _large_snapshot(name: str) -> None:
    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage("x" * 6_000_000, id=f"m{number}") for number in range(2)]}

    given = run_input("hi")
    frames = [frame async for frame in agent_of(node, name=name).stream_sse(given)]
    RecordedRun(list(decode(frames)), given)


async def _tool(name: str) -> None:
    @tool
    def taken() -> str:
        """A tool of the server."""
        return ""

    graph = create_agent(Scripted(["a"]), [taken], middleware=[AGUIMiddleware()])
    mine = Tool(name="taken", description="The client's.", parameters={})
    await record_run(LangGraphAgent(graph, name=name), run_input("hi", tools=[mine]))


CASES: list[tuple[Callable[[str], Any], str, int]] = [
    (_hidden_state, "hidden_state", 2),
    (_state_patch, "state_patch", 1),
    (_client_state, "client_state", 2),
    (_opaque_value, "opaque_value", 1),
    (_clients_opaque_value, "opaque_value", 1),
    (_message, "message", 1),
    (_clients_message, "input", 2),
    (_content, "content", 1),
    (_tool_result, "tool_result", 1),
    (_large_state, "large_state", 1),
    (_large_snapshot, "large_snapshot", 1),
    (_tool, "tool", 1),
]


@pytest.mark.parametrize(
    ("make", "kind", "count"), CASES, ids=[make.__name__ for make, *_ in CASES]
)
async def test_what_is_left_out_is_counted(
    seen: Seen, make: Callable[[str], Any], kind: str, count: int
) -> None:
    await make(seen.agent)
    assert seen.values("agui.values.dropped", "agui.value.kind") == {kind: count}


def test_what_an_input_has_too_much_is_counted(seen: Seen) -> None:
    nobody = Seen(None, seen.exporter, seen.reader)  # type: ignore[arg-type]
    before = nobody.values("agui.values.dropped", "agui.value.kind").get("input", 0)
    parse_input(
        {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "oracle"}], "novelty": 1}
    )
    assert nobody.values("agui.values.dropped", "agui.value.kind")["input"] == before + 2


async def test_no_ids_in_metrics(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["a"])), name=seen.agent)
    await record_run(agent, run_input("hi", thread="thread-x", run="run-x"))
    data = seen.reader.get_metrics_data()
    assert data
    assert "thread-x" not in data.to_json()
    assert "run-x" not in data.to_json()
