"""`LangGraphAgent` over a `RemoteGraph`, against a LangGraph server that really runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import ResumeEntry, Tool, ToolMessage
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.messages import ToolCall as LCToolCall
from langchain_core.messages import ToolMessage as LCToolMessage
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Interrupt, StateSnapshot
from langgraph_sdk.client import LangGraphClient, get_client

from langgraph_agui import ClientOptions, LangGraphAgent, PredictState, StateOptions
from langgraph_agui.graphs import adapt_graph
from langgraph_agui.protocol import fold
from tests.contracts.langgraph_server.graphs import Context
from tests.kit.deep import deep
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.runnables import RunnableConfig

    Agents = Callable[[str], LangGraphAgent]

pytestmark = pytest.mark.xdist_group("remote")


@pytest.fixture
def agent(server: str) -> Agents:
    def make(name: str, **options: Any) -> LangGraphAgent:
        return LangGraphAgent(graph=RemoteGraph(name, url=server), **options)

    return make


async def recorded(agent: LangGraphAgent, *messages: Any, **fields: Any) -> RecordedRun:
    stream = await record_run(agent, run_input(*messages, **fields))
    if stream.last.type == "RUN_FINISHED":
        stream.check_snapshot()
    return stream


def deltas(stream: RecordedRun) -> list[str]:
    return [event.delta for event in stream.of("TEXT_MESSAGE_CONTENT")]


def texts(stream: RecordedRun) -> list[str]:
    return [
        str(message.content)
        for message in stream.messages
        if message.role == "assistant" and message.content
    ]


def answer(stream: RecordedRun, payload: object) -> list[ResumeEntry]:
    return [
        ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload=payload)
        for interrupt in stream.last.outcome.interrupts
    ]


async def test_text_is_streamed(agent: Agents) -> None:
    stream = await recorded(agent("text"), user("hi", "u1"))
    assert "".join(deltas(stream)) == "I heard human:hi"
    assert stream.types.count("STEP_STARTED") == stream.types.count("STEP_FINISHED") == 1
    assert stream.last.outcome.type == "success"
    assert [(usage.input_tokens, usage.output_tokens) for usage in stream.last.usage] == [(3, 5)]
    assert [message.role for message in stream.messages] == ["user", "assistant"]


async def test_calls_of_one_message_and_their_results(agent: Agents) -> None:
    stream = await recorded(agent("parallel_tools"), "weather?")
    starts = stream.of("TOOL_CALL_START")
    assert [(start.tool_call_id, start.tool_call_name) for start in starts] == [
        ("c1", "weather"),
        ("c2", "weather"),
    ]
    assert len(stream.of("TOOL_CALL_ARGS")) == 3
    results = stream.of("TOOL_CALL_RESULT")
    assert [(one.tool_call_id, one.content) for one in results] == [
        ("c1", "sunny in Rome"),
        ("c2", "sunny in Oslo"),
    ]
    assert [(one.metadata or {}).get("status") for one in results] == [None, "error"]
    assert texts(stream) == ["Looking.", "Both found."]
    assert [event.step_name for event in stream.of("STEP_STARTED")] == ["caller", "tools", "closer"]
    assert [event.value for event in stream.of("CUSTOM")] == [{"progress": "looking up"}]
    assert stream.state == {"notes": ["looked up"]}
    assert stream.last.outcome.pending_tool_call_ids is None


async def test_reasoning_and_its_signature_come_back(agent: Agents) -> None:
    thread = str(uuid4())
    first = await recorded(agent("reasoning"), user("one", "u1"), thread=thread)
    thoughts = [event.delta for event in first.of("REASONING_MESSAGE_CONTENT")]
    assert "".join(thoughts) == "Let me think."
    assert {event.subtype for event in first.of("REASONING_ENCRYPTED_VALUE")} == {"message"}
    held = first.messages
    again = await recorded(agent("reasoning"), *held, user("two", "u2"), thread=thread)
    assert texts(again) == ["Seen: [].", "Seen: ['SIG-1']."]


@deep
async def test_models_at_once_are_kept_apart(agent: Agents) -> None:
    streams = await asyncio.gather(recorded(agent("many"), "go"), recorded(agent("at_once"), "go"))
    for stream, expected in zip(streams, (["one two three"] * 2, ["ab", "xy"]), strict=True):
        assert texts(stream) == expected
        ends = [
            stream.types.index("TEXT_MESSAGE_END"),
            len(stream.types) - stream.types[::-1].index("TEXT_MESSAGE_START"),
        ]
        assert ends[0] > ends[1] - 1, "the messages were told one after the other"


async def test_what_nodes_and_quiet_models_say(agent: Agents) -> None:
    stream = await recorded(agent("mixed"), "go")
    assert texts(stream) == ["made by a node", "copied words"]
    assert stream.state == {"notes": ["s"]}


async def test_an_id_that_comes_late(agent: Agents) -> None:
    stream = await recorded(agent("flips"), "go")
    assert deltas(stream)[0] == "flip"  # which has not waited for the rest
    assert "".join(deltas(stream)) == "flip flop!"
    assert stream.messages[-1].id == "resp_1"


async def test_the_server_owns_the_history(agent: Agents) -> None:
    thread = f"a thread of the client's {uuid4()}"
    first = await recorded(agent("text"), user("one", "u1"), thread=thread)
    second = await recorded(agent("text"), *first.messages, user("two", "u2"), thread=thread)
    assert texts(second)[-1] == "I heard human:one / ai:I heard human:one / human:two"
    assert [message.role for message in second.messages] == ["user", "assistant"] * 2
    forgetful = await record_run(agent("text"), run_input(user("three", "u3"), thread=thread))
    assert "".join(deltas(forgetful)).endswith(f"human:two / ai:{texts(second)[-1]} / human:three")


async def test_a_call_that_the_client_answers(agent: Agents) -> None:
    thread = str(uuid4())
    first = await recorded(agent("client_tool"), user("go", "u1"), thread=thread)
    assert first.last.outcome.pending_tool_call_ids == ["p1"]
    result = ToolMessage(id="t1", role="tool", tool_call_id="p1", content="seven")
    second = await recorded(agent("client_tool"), *first.messages, result, thread=thread)
    assert texts(second) == ["The client said seven."]


async def test_previews_and_patches_of_a_state(agent: Agents) -> None:
    options = StateOptions(predict=[PredictState("jot", "note")])
    boards = agent("boards", state=options)
    first = await recorded(boards, "go", thread=(thread := str(uuid4())))
    assert [card["id"] for card in first.state["cards"]] == [0, 1, 2, 3, 4, 5]
    assert first.state.keys() == {"cards"}
    seen = [fold(first.events[:number]).state for number in range(len(first.events))]
    shown = [state for number, state in enumerate(seen) if state and state != seen[number - 1]]
    previews = [
        {"note": "wri"},
        {"note": "written"},
        {"note": "for now"},
        {"note": "for now", "draft": 1},
    ]
    # nobody answers the call
    assert shown == [
        *previews,
        {"note": "written", **first.state},
        first.state,
    ]
    edited = [
        {**card, "text": "mine"} if card["id"] == 2 else card for card in first.state["cards"]
    ]
    second = await recorded(boards, *first.messages, "more", thread=thread, state={"cards": edited})
    assert second.state["cards"] == [*edited, {"id": 6, "text": "new"}]
    added = {"op": "add", "path": "/cards/-", "value": {"id": 6, "text": "new"}}
    patches = [
        operation.model_dump() for event in second.of("STATE_DELTA") for operation in event.delta
    ]
    assert added in patches


@deep
async def test_what_is_changed_while_a_graph_waits(agent: Agents) -> None:
    asking, thread = agent("asking"), str(uuid4())
    paused = await recorded(asking, "go", thread=thread, state={"file": "old"})
    (interrupt,) = paused.last.outcome.interrupts
    resume = [ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload="this")]
    done = await recorded(
        asking,
        *paused.messages,
        thread=thread,
        resume=resume,
        state={**paused.state, "file": "new"},
    )
    assert done.state == {"file": "new", "notes": ["asked"]}


async def test_what_the_output_does_not_show_stays_on_the_server(agent: Agents) -> None:
    narrow, thread = agent("narrow"), str(uuid4())
    first = await recorded(narrow, "go", thread=thread)
    assert first.state == {"notes": ["n"]}
    given = run_input(thread=thread)
    seen = RecordedRun([event async for event in narrow.connect(given)], given)
    assert seen.state == {"notes": ["n"]}
    forged = await recorded(
        agent("narrow", state=StateOptions(forbidden_change="refuse")),
        "go",
        thread=thread,
        state={"file": "x"},
    )
    assert (forged.last.type, forged.last.code) == ("RUN_ERROR", "state_refused")


async def test_the_state_of_a_thread(server: str, agent: Agents) -> None:
    graph = RemoteGraph("nested", url=server)
    thread = "thread " + str(uuid4())
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    unknown = await adapt_graph(graph).load_state(config)
    assert (unknown.values, unknown.next, unknown.created_at, unknown.interrupts) == (
        {},
        (),
        None,
        (),
    )
    made = await get_client(url=server).threads.create()
    never_run = await adapt_graph(graph).load_state(
        {"configurable": {"thread_id": made["thread_id"]}}
    )
    assert (never_run.values, never_run.created_at) == ({}, None)
    await recorded(agent("nested"), user("go", "u1"), thread=thread)
    stored = await adapt_graph(graph).load_state(config, subgraphs=True)
    assert stored.values["messages"] == [HumanMessage("go", id="u1")]
    (interrupt,) = stored.interrupts
    assert isinstance(interrupt, Interrupt)
    assert interrupt.value == {"question": "Which one?"}
    inner = stored.tasks[0].state
    assert isinstance(inner, StateSnapshot)
    assert [message.text for message in inner.values["messages"]] == ["go", "From inside."]


async def test_what_is_written_into_a_thread(server: str, agent: Agents) -> None:
    thread = str(uuid4())
    first = await recorded(agent("text"), user("one", "u1"), thread=thread)
    graph = RemoteGraph("text", url=server)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    call: LCToolCall = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
    written = [
        AIMessage(
            [{"type": "text", "text": "t"}], id="a1", tool_calls=[call], additional_kwargs={"k": 1}
        ),
        LCToolMessage("r", tool_call_id="c", id="t1", status="error", artifact={"z": 1}, name="f"),
    ]
    removals = [RemoveMessage(id=message.id) for message in first.messages]
    await adapt_graph(graph).update_state(config, {"messages": [*written, *removals]}, "model")
    assert (await adapt_graph(graph).load_state(config)).values["messages"] == written


async def test_state_goes_in_and_comes_out(server: str, agent: Agents) -> None:
    thread = str(uuid4())
    stream = await recorded(agent("mixed"), "go", thread=thread, state={"file": "f", "mine": 1})
    stored = await adapt_graph(RemoteGraph("mixed", url=server)).load_state(
        {"configurable": {"thread_id": thread}}
    )
    assert (stored.values["file"], stored.values["notes"], "mine" in stored.values) == (
        "f",
        ["s"],
        False,
    )
    assert stream.state == {"file": "f", "mine": 1, "notes": ["s"]}


async def test_context_and_client_tools_reach_the_graph(agent: Agents) -> None:
    tool = Tool(
        name="pick", description="Pick one.", parameters={"type": "object", "properties": {}}
    )
    contexts = ({"user": "ann"}, Context("ann"))
    runs = [
        record_run(agent("contextual"), run_input("go", tools=[tool]), context=context)
        for context in contexts
    ]
    assert [stream.state for stream in await asyncio.gather(*runs)] == [
        {"notes": ["ann", "pick"]}
    ] * 2


@deep
async def test_a_message_is_edited(agent: Agents) -> None:
    thread = str(uuid4())
    first = await recorded(agent("text"), user("one", "u1"), thread=thread)
    second = await recorded(agent("text"), *first.messages, user("two", "u2"), thread=thread)
    edited = await recorded(agent("text"), *second.messages[:2], user("two!", "u2"), thread=thread)
    assert texts(edited) == [
        "I heard human:one",
        "I heard human:one / ai:I heard human:one / human:two!",
    ]
    again = await recorded(agent("text"), *edited.messages, user("three", "u3"), thread=thread)
    assert "".join(deltas(again)).endswith(
        "human:two! / ai:" + texts(edited)[-1] + " / human:three"
    )


async def test_interrupt_and_answer(agent: Agents) -> None:
    await asyncio.gather(_ask(agent, "asking"), _ask(agent, "nested"))


async def _ask(agent: Agents, name: str) -> None:
    thread = str(uuid4())
    first = await recorded(agent(name), user("go", "u1"), thread=thread)
    (interrupt,) = first.last.outcome.interrupts
    assert interrupt.message == "Which one?"
    second = await recorded(
        agent(name), *first.messages, thread=thread, resume=answer(first, "blue")
    )
    assert second.last.outcome.type == "success"
    assert "You said blue." in texts(second)
    assert len(set(texts(second))) == len(texts(second))


@deep
async def test_a_breakpoint(agent: Agents) -> None:
    thread = str(uuid4())
    first = await recorded(agent("stops"), user("go", "u1"), thread=thread)
    assert texts(first) == ["First."]
    second = await recorded(
        agent("stops"), *first.messages, thread=thread, resume=answer(first, {"type": "approve"})
    )
    assert texts(second) == ["First.", "Second."]


async def test_a_failure_has_a_code_and_no_text(agent: Agents) -> None:
    await asyncio.gather(
        _fail(agent, "broken", "graph_error", "Before."),
        _fail(agent, "broken_model", "model_error", "Half a"),
    )


async def _fail(agent: Agents, name: str, code: str, said: str) -> None:
    stream = await recorded(agent(name), "go")
    assert (stream.last.type, stream.last.code) == ("RUN_ERROR", code)
    assert "hunter2" not in "".join(event.model_dump_json() for event in stream.events)
    assert texts(stream) == [said]


async def test_too_many_steps(agent: Agents) -> None:
    stream = await record_run(
        agent("parallel_tools"), run_input("go"), config={"recursion_limit": 1}
    )
    assert stream.last.code == "recursion_limit"


async def _begin_slowly(agent: LangGraphAgent, given: Any) -> Any:
    events = agent.run(given)
    async for event in events:
        if event.type == "STEP_STARTED" and event.step_name == "slow":
            break
    return events


async def test_leaving_stops_the_run_on_the_server(agent: Agents, tmp_path: Path) -> None:
    file = tmp_path / "beats"
    events = await _begin_slowly(agent("slowly"), run_input("go", state={"file": str(file)}))
    await eventually(file.exists, "the node has begun")
    await events.aclose()
    await eventually(lambda: file.read_text().endswith("cancelled"), "the node is cancelled")


@deep
async def test_a_busy_thread_refuses(server: str, agent: Agents, tmp_path: Path) -> None:
    thread, file = str(uuid4()), tmp_path / "beats"
    runs = get_client(url=server).runs
    given = {"messages": [{"type": "human", "content": "go"}], "file": str(file)}
    run = await runs.create(thread, "slowly", input=given, if_not_exists="create")
    await eventually(file.exists, "the node has begun, so the thread's state has a next node")
    other = await record_run(agent("slowly"), run_input("and this", thread=thread))
    assert (other.last.type, other.last.code) == ("RUN_ERROR", "thread_busy")
    await runs.cancel(thread, run["run_id"], wait=True)
    after = await record_run(agent("text"), run_input("now", thread=thread))
    assert after.last.type == "RUN_FINISHED", after.last


async def test_cancelling(agent: Agents, tmp_path: Path) -> None:
    slow = agent("slowly")
    given = run_input("go", state={"file": str(tmp_path / "beats")})
    events = await _begin_slowly(slow, given)
    assert await slow.cancel(given.thread_id, given.run_id)
    rest = [event async for event in events]
    assert rest[-1].outcome.type == "cancelled"


async def test_a_run_that_somebody_else_stops(server: str, agent: Agents, tmp_path: Path) -> None:
    thread = str(uuid4())
    events = await _begin_slowly(
        agent("slowly"), run_input("go", thread=thread, state={"file": str(tmp_path / "b")})
    )
    runs = get_client(url=server).runs
    (run,) = await runs.list(thread)
    await runs.cancel(thread, run["run_id"])
    rest = [event async for event in events]
    assert rest[-1].outcome.type == "cancelled"


async def test_no_server() -> None:
    client = LangGraphClient(httpx.AsyncClient(base_url="http://127.0.0.1:9"))
    nobody = LangGraphAgent(graph=RemoteGraph("text", client=client))
    stream = await record_run(nobody, run_input("go"))
    assert (stream.last.type, stream.last.code) == ("RUN_ERROR", "state_error")


async def test_hidden_tags(server: str) -> None:
    """A server passes on the tags of a model call."""
    graph, hides = RemoteGraph("tagged", url=server), ClientOptions(hidden_tags=["skip_stream"])
    given = run_input(user("hi"), thread=str(uuid4()))
    run = await record_run(LangGraphAgent(graph, clients=hides), given)
    assert [message.content for message in run.messages] == ["hi", "shown"]
    assert "secret" not in str(run.events)
    given = run_input(user("hi"), thread=str(uuid4()))
    seen = await record_run(LangGraphAgent(graph), given)
    assert "secret" in str(seen.events)
