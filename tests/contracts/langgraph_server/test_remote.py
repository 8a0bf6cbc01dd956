"""`LangGraphAgent` over a `RemoteGraph`, against a LangGraph server that really runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import Tool, ToolMessage
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.messages import ToolCall as LCToolCall
from langchain_core.messages import ToolMessage as LCToolMessage
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Interrupt, StateSnapshot
from langgraph_sdk.client import LangGraphClient, get_client

from langgraph_agui import ClientOptions, LangGraphAgent, PredictState, StateOptions
from langgraph_agui.graphs import adapt_graph
from langgraph_agui.protocol import fold
from tests.behaviour.wrap.test_stream_transformers import said
from tests.contracts.langgraph_server.conftest import Clients, load
from tests.contracts.langgraph_server.graphs import Context
from tests.contracts.langgraph_server.subagent_graphs import CHANNELS
from tests.kit.deep import deep
from tests.kit.expect.canary import check_events
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input, user
from tests.kit.run.dialogues import answering
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import eventually

pytestmark = pytest.mark.xdist_group("remote")


async def run(
    client: Client, *new: Any, outcome: str = "success", heals: bool = False, **fields: Any
) -> RecordedRun:
    """A run; with `heals` only its snapshot tells all."""
    recorded = await client.send(*new, **fields)
    assert ending(recorded) == outcome
    if recorded.last.type.value == "RUN_FINISHED" and not heals:
        recorded.check_snapshot()
    return recorded


def texts(recorded: RecordedRun) -> list[str]:
    """What the assistant has said."""
    said = [one for one in recorded.messages if one.role == "assistant" and one.content]
    return [str(one.content) for one in said]


def delta(recorded: RecordedRun, kind: str = "TEXT_MESSAGE_CONTENT") -> str:
    return "".join(event.delta for event in recorded.of(kind))


async def test_text_is_streamed_and_the_server_owns_the_history(client_of: Clients) -> None:
    client = client_of("text")
    client.thread = f"a thread of the client's {uuid4()}"
    first = await run(client, "one")
    assert delta(first) == "I heard human:one"
    assert first.types.count("STEP_STARTED") == first.types.count("STEP_FINISHED") == 1
    assert [(one.input_tokens, one.output_tokens) for one in first.last.usage] == [(3, 5)]
    second = await run(client, "two")
    answer = "I heard human:one / ai:I heard human:one / human:two"
    assert texts(second)[-1] == answer
    assert [message.role for message in second.messages] == ["user", "assistant"] * 2
    client.held = []
    assert delta(await run(client, "three", heals=True)) == f"{answer} / ai:{answer} / human:three"


async def test_calls_of_one_message_and_their_results(client_of: Clients) -> None:
    recorded = await run(client_of("parallel_tools"), "weather?")
    calls = [(one.tool_call_id, one.tool_call_name) for one in recorded.of("TOOL_CALL_START")]
    assert calls == [("c1", "weather"), ("c2", "weather")]
    assert len(recorded.of("TOOL_CALL_ARGS")) == 3
    results = recorded.of("TOOL_CALL_RESULT")
    assert [(one.tool_call_id, one.content, one.metadata) for one in results] == [
        ("c1", "sunny in Rome", None),
        ("c2", "sunny in Oslo", {"status": "error"}),
    ]
    assert texts(recorded) == ["Looking.", "Both found."]
    assert [one.step_name for one in recorded.of("STEP_STARTED")] == ["caller", "tools", "closer"]
    assert [event.value for event in recorded.of("CUSTOM")] == [{"progress": "looking up"}]
    assert recorded.state == {"notes": ["looked up"]}
    assert recorded.last.outcome.pending_tool_call_ids is None


@pytest.mark.parametrize("lost", [False, True])
async def test_reasoning_and_its_signature_come_back(client_of: Clients, lost: bool) -> None:
    """Also if the server has lost the thread."""
    client = client_of("reasoning")
    first = await run(client, "one")
    assert delta(first, "REASONING_MESSAGE_CONTENT") == "Let me think."
    assert {event.subtype for event in first.of("REASONING_ENCRYPTED_VALUE")} == {"message"}
    client.thread = str(uuid4()) if lost else client.thread
    assert texts(await run(client, "two")) == ["Seen: [].", "Seen: ['SIG-1']."]


@deep
async def test_models_at_once_are_kept_apart(client_of: Clients) -> None:
    streams = await asyncio.gather(run(client_of("many"), "go"), run(client_of("at_once"), "go"))
    for stream, expected in zip(streams, (["one two three"] * 2, ["ab", "xy"]), strict=True):
        assert texts(stream) == expected
        last_start = len(stream.types) - stream.types[::-1].index("TEXT_MESSAGE_START")
        assert stream.types.index("TEXT_MESSAGE_END") >= last_start, "told one after the other"


async def test_what_nodes_and_quiet_models_say_and_state(client_of: Clients) -> None:
    client = client_of("mixed")
    recorded = await run(client, "go", state={"file": "f", "mine": 1})
    assert texts(recorded) == ["made by a node", "copied words"]
    assert recorded.state == {"file": "f", "mine": 1, "notes": ["s"]}
    values = (await load(client)).values
    assert (values["file"], values["notes"], "mine" in values) == ("f", ["s"], False)


async def test_an_id_that_comes_late(client_of: Clients) -> None:
    recorded = await run(client_of("flips"), "go")
    assert recorded.of("TEXT_MESSAGE_CONTENT")[0].delta == "flip"  # has not waited for the rest
    assert texts(recorded) == ["flip flop!"]
    assert recorded.messages[-1].id == "resp_1"


async def test_hidden_tags(client_of: Clients) -> None:
    """A server passes on the tags of a model call."""
    hides = ClientOptions(hidden_tags=["skip_stream"])
    recorded = await run(client_of("tagged", clients=hides), "hi")
    assert (texts(recorded), "secret" in str(recorded.events)) == (["shown"], False)
    assert "secret" in str((await run(client_of("tagged"), "hi")).events)


async def test_previews_and_patches_of_a_state(client_of: Clients) -> None:
    client = client_of("boards", state=StateOptions(predict=[PredictState("jot", "note")]))
    first = await run(client, "go")
    assert [card["id"] for card in first.state["cards"]] == [0, 1, 2, 3, 4, 5]
    assert first.state.keys() == {"cards"}
    seen = [fold(first.events[:number]).state for number in range(len(first.events))]
    shown = [state for number, state in enumerate(seen) if state and state != seen[number - 1]]
    previews = [{"note": "wri"}, {"note": "written"}, {"note": "for now"}]
    previews.append({"note": "for now", "draft": 1})
    # nobody answers the call
    assert shown == [*previews, {"note": "written", **first.state}, first.state]
    edited = [
        {**card, "text": "mine"} if card["id"] == 2 else card for card in first.state["cards"]
    ]
    second = await run(client, "more", state={"cards": edited})
    new = {"id": 6, "text": "new"}
    assert second.state["cards"] == [*edited, new]
    patches = [one.model_dump() for event in second.of("STATE_DELTA") for one in event.delta]
    assert {"op": "add", "path": "/cards/-", "value": new} in patches


async def test_what_the_output_does_not_show_stays_on_the_server(client_of: Clients) -> None:
    client = client_of("narrow")
    assert (await run(client, "go")).state == {"notes": ["n"]}
    assert (await client.connect()).state == {"notes": ["n"]}
    strict = client_of("narrow", state=StateOptions(forbidden_change="refuse"))
    await run(strict, "go", state={"file": "x"}, outcome="state_refused")


async def test_context_and_client_tools_reach_the_graph(client_of: Clients) -> None:
    tool = Tool(name="pick", description="Pick.", parameters={"type": "object", "properties": {}})
    agent = client_of("contextual").agent
    for context in ({"user": "ann"}, Context("ann")):
        recorded = await record_run(agent, run_input("go", tools=[tool]), context=context)
        assert recorded.state == {"notes": ["ann", "pick"]}


async def test_a_call_that_the_client_answers(client_of: Clients) -> None:
    client = client_of("client_tool")
    first = await run(client, "go")
    assert first.last.outcome.pending_tool_call_ids == ["p1"]
    result = ToolMessage(id="t1", role="tool", tool_call_id="p1", content="seven")
    lost = Client(client.agent, str(uuid4()), client.held)
    for each in (client, lost):  # also if the server has lost the thread
        assert texts(await run(each, result)) == ["The client said seven."]
    before = (await load(lost)).values
    await run(lost)  # all once more
    assert (await load(lost)).values == before


async def test_a_message_is_edited(client_of: Clients) -> None:
    client = client_of("text")
    await run(client, "one")
    await run(client, user("two", "u2"))
    client.held = client.held[:2]
    edited = await run(client, user("two!", "u2"))
    answer = "I heard human:one / ai:I heard human:one / human:two!"
    assert texts(edited) == ["I heard human:one", answer]
    again = await run(client, "three")
    assert texts(again)[-1] == f"{answer} / ai:{answer} / human:three"


async def test_a_message_that_its_graph_has_removed_does_not_come_back(client_of: Clients) -> None:
    client = client_of("moderated")
    first = await run(client, "one")
    secret = user("my pin is 1234", "secret")
    assert dumped((await run(client, secret, heals=True)).messages) == dumped(first.messages)
    again = await run(client, secret, "two", heals=True)
    assert [message.content for message in again.messages] == ["one", "1 left", "two", "3 left"]


@pytest.mark.parametrize("name", ["asking", "nested"])
async def test_a_question(client_of: Clients, name: str) -> None:
    client = client_of(name)
    (question,) = asked(await run(client, "go", outcome="interrupt", state={"file": "old"}))
    assert question.message == "Which one?"
    state = {**client.state, "file": "new"}  # changed while it waits
    second = await run(client, resume=answering([question], "blue"), state=state)
    assert [text for text in texts(second) if "said" in text] == ["You said blue."]
    assert len({*texts(second)}) == len(texts(second))
    if name == "asking":  # the graph inside another one returns its own
        assert second.state == {"file": "new", "notes": ["asked"]}


async def test_a_question_to_a_client_of_before_1_0(client_of: Clients) -> None:
    client = client_of("asking")
    paused = await record_run(
        client.agent, run_input("go", thread=client.thread, protocol_version=None)
    )
    [event] = paused.of("CUSTOM")
    assert (event.name, paused.last.outcome) == ("on_interrupt", None)
    command = {"resume": "blue", "interruptEvent": event.value}
    given = {"protocol_version": None, "forwarded_props": {"command": command}}
    client.held = paused.messages
    assert texts(await client.send(**given))[-1] == "You said blue."


@deep
async def test_a_breakpoint(client_of: Clients) -> None:
    client = client_of("stops")
    first = await run(client, "go", outcome="interrupt")
    assert texts(first) == ["First."]
    second = await run(client, resume=answering(asked(first), {"type": "approve"}))
    assert texts(second) == ["First.", "Second."]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("broken", "graph_error", "Before."), ("broken_model", "model_error", "Half a")],
)
async def test_a_failure_has_a_code_and_no_text(
    client_of: Clients, name: str, code: str, said: str
) -> None:
    recorded = await run(client_of(name), "go", outcome=code)
    assert "hunter2" not in "".join(event.model_dump_json() for event in recorded.events)
    assert texts(recorded) == [said]


async def test_too_many_steps(client_of: Clients) -> None:
    agent = client_of("parallel_tools").agent
    recorded = await record_run(agent, run_input("go"), config={"recursion_limit": 1})
    assert ending(recorded) == "recursion_limit"


async def test_no_server() -> None:
    client = LangGraphClient(httpx.AsyncClient(base_url="http://127.0.0.1:9"))
    nobody = Client(LangGraphAgent(RemoteGraph("text", client=client)))
    await run(nobody, "go", outcome="state_error")


@pytest.mark.parametrize("way", ["leaves", "cancels", "somebody else"])
async def test_stopping(way: str, server: str, client_of: Clients, tmp_path: Path) -> None:
    """It stops the run on the server."""
    client, file = client_of("slowly"), tmp_path / "beats"
    given = run_input("go", thread=client.thread, state={"file": str(file)})
    events = client.agent.run(given)
    async for event in events:
        if event.type == "STEP_STARTED" and event.step_name == "slow":
            break
    await eventually(file.exists, "the node has begun")
    runs = get_client(url=server).runs
    if way == "leaves":
        await events.aclose()
    elif way == "cancels":
        assert await client.agent.cancel(given.thread_id, given.run_id)
    else:
        await runs.cancel(client.thread, (await runs.list(client.thread))[0]["run_id"])
    rest: list[Any] = [event async for event in events]
    assert [one.outcome.type for one in rest[-1:]] == ["cancelled"] * (way != "leaves")
    await eventually(lambda: file.read_text().endswith("cancelled"), "the node is cancelled")


@deep
async def test_a_busy_thread_refuses(server: str, client_of: Clients, tmp_path: Path) -> None:
    client, file = client_of("slowly"), tmp_path / "beats"
    runs = get_client(url=server).runs
    given = {"messages": [{"type": "human", "content": "go"}], "file": str(file)}
    begun = await runs.create(client.thread, "slowly", input=given, if_not_exists="create")
    await eventually(file.exists, "the node has begun, so the thread's state has a next node")
    await run(client, "and this", outcome="thread_busy")
    await runs.cancel(client.thread, begun["run_id"], wait=True)
    await run(Client(client_of("text").agent, client.thread), "now", heals=True)


async def test_the_state_of_a_thread(server: str, client_of: Clients) -> None:
    client = client_of("nested")
    client.thread = f"thread {uuid4()}"
    unknown = await load(client)
    found = (unknown.values, unknown.next, unknown.created_at, unknown.interrupts)
    assert found == ({}, (), None, ())
    made = await get_client(url=server).threads.create()
    never_run = await load(Client(client.agent, made["thread_id"]))
    assert (never_run.values, never_run.created_at) == ({}, None)
    await run(client, user("go", "u1"), outcome="interrupt")
    stored = await load(client, subgraphs=True)
    assert stored.values["messages"] == [HumanMessage("go", id="u1")]
    (interrupt,) = stored.interrupts
    assert isinstance(interrupt, Interrupt)
    assert interrupt.value == {"question": "Which one?"}
    inner = stored.tasks[0].state
    assert isinstance(inner, StateSnapshot)
    assert [message.text for message in inner.values["messages"]] == ["go", "From inside."]


async def test_what_is_written_into_a_thread(client_of: Clients) -> None:
    client = client_of("text")
    first = await run(client, "one")
    call: LCToolCall = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
    blocks: Any = [{"type": "text", "text": "t"}]
    written = [
        AIMessage(blocks, id="a1", tool_calls=[call], additional_kwargs={"k": 1}),
        LCToolMessage("r", tool_call_id="c", id="t1", status="error", artifact={"z": 1}, name="f"),
    ]
    removals = [RemoveMessage(id=message.id) for message in first.messages]
    config: Any = {"configurable": {"thread_id": client.thread}}
    graph = adapt_graph(client.agent.graph)
    await graph.update_state(config, {"messages": [*written, *removals]}, "model")
    assert (await load(client)).values["messages"] == written


@pytest.mark.parametrize(
    "name", [*CHANNELS][:1] + [pytest.param(one, marks=deep) for one in [*CHANNELS][1:]]
)
async def test_no_tool_is_shown_as_failed(client_of: Clients, name: str) -> None:
    """Results stand in any channel, and an agent may end by a call: the client is told what it is
    told of the graph here."""
    client, here = client_of(name), Client(LangGraphAgent(CHANNELS[name]()))
    first, expected = await run(client, "hi", heals=True), await run(here, "hi", heals=True)
    told = [
        sorted((one.tool_call_id, one.content, one.metadata) for one in each.of("TOOL_CALL_RESULT"))
        for each in (first, expected)
    ]
    assert told[0] == told[1]
    assert not first.last.outcome.pending_tool_call_ids
    assert dumped((await client.connect(*client.held)).messages) == dumped(first.messages)
    second: Any = await run(client, "more", heals=True)
    assert not [one for one in second.messages if one.role == "tool" and one.error is not None]


@pytest.mark.parametrize(
    ("name", "text"), [("held", "I look. Found ***"), ("held_inside", "I am ***Thanks.")]
)
async def test_messages_are_held_until_guardrails_have_run(
    client_of: Clients, name: str, text: str
) -> None:
    client = client_of(name, clients=ClientOptions(hold_messages=True))
    recorded = await client.send("Hi")
    check_events(recorded.events)
    shown = await client.connect()
    assert shown.messages == [one for one in recorded.messages if one.subagent_run_id is None]
    assert said(recorded) == text
    if name == "held":
        results = [event.content for event in recorded.of("TOOL_CALL_RESULT")]
        assert results == ["Ann is ***."] * 2
    else:
        assert recorded.of("SUBAGENT_STARTED")
