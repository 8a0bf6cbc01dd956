"""What a client has changed, those who join, and values that do not fit, over whole runs."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_agui import (
    LangGraphAgent,
    ReasoningOptions,
    StateOptions,
    emit_state,
)
from tests.behaviour.state.clients import (
    THREAD,
    Client,
    Paper,
    agent_of,
    history,
    told,
    writing,
)
from tests.kit.deep import together
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.thread_client import ending
from tests.kit.waiting import eventually


class Merging(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Annotated[dict[str, Any] | None, lambda old, new: {**(old or {}), **(new or {})}]


def noting(saw: list[Any], first: Any = None, then: Any = None) -> Any:
    """A node that notes the document, and returns `first` or what it returns each time."""

    async def node(state: Any) -> dict[str, Any]:
        saw.append(state.get("doc"))
        return {"messages": [AIMessage("done")], **((first if len(saw) == 1 else then) or {})}

    return node


async def test_an_edit_with_an_edited_message_where_the_channel_held_nothing_yet() -> None:
    saw: list[Any] = []
    writes = {"doc": {"graph": 1}}
    client = Client(agent_of(noting(saw, writes, writes), schema=Merging))
    await client.say(user("hi", "u1"))
    client.messages, client.state = [], {"doc": {"mine": 2}}
    await client.say(user("hi, edited", "u1"), ends="success")
    assert saw == [None, {"mine": 2}]
    assert client.stored["doc"] == client.state["doc"] == {"mine": 2, "graph": 1}


class Around(Paper, total=False):
    title: str


@pytest.mark.parametrize("refuses", [False, True])
async def test_what_a_paused_subgraph_shares_is_not_changed(refuses: bool, caplog: Any) -> None:
    saw: list[Any] = []

    async def ask(state: Paper) -> dict[str, Any]:
        interrupt("go on?")
        saw.append(state["doc"])
        return {"messages": [AIMessage("done")]}

    async def last(state: Around) -> dict[str, Any]:
        saw.append((state["doc"], state["title"]))
        return {}

    options = StateOptions(forbidden_change="refuse" if refuses else "ignore")
    nodes = (writing(doc="graph's", title="graph's"), chain_of(ask, state=Paper), last)
    client = Client(agent_of(*nodes, schema=Around, state=options))
    paused = await client.say("hi")
    client.state |= {"doc": "mine", "title": "mine"}
    recorded = await client.answer(paused)
    if refuses:
        assert (ending(recorded), client.state["doc"], saw) == ("state_refused", "mine", [])
        client.state["doc"] = "graph's"
        recorded = await client.answer(paused)
    else:
        assert "left out: 'doc'" in caplog.text
    assert (ending(recorded), saw) == ("success", ["graph's", ("graph's", "mine")])
    assert client.state == {"doc": "graph's", "log": [], "title": "mine"}
    assert (client.stored["doc"], client.stored["title"]) == ("graph's", "mine")


async def test_what_was_stored_beside_a_failure_is_not_taken_back() -> None:
    saver, saw = InMemorySaver(), list[Any]()

    def is_stored() -> bool:
        held = saver.get_tuple(THREAD)
        return held is not None and "doc" in [one[1] for one in held.pending_writes or ()]

    async def fail(state: Paper) -> dict[str, Any]:
        if state["messages"][-1].content == "fail":
            await eventually(is_stored, "the other node's write is stored")
            raise RuntimeError
        return {}

    builder = StateGraph(Paper).add_node("write", noting(saw, {"doc": "theirs"})).add_node(fail)
    builder.add_edge(START, "write").add_edge(START, "fail")
    client = Client(LangGraphAgent(builder.compile(checkpointer=saver)), {"doc": "mine"})
    await client.say("fail", ends="graph_error")
    assert client.state["doc"] == "mine"
    await client.say("go on")
    assert (saw, client.state["doc"]) == (["mine", "theirs"], "theirs")


@pytest.mark.parametrize("written", [True, False])
async def test_an_edit_stays_with_the_client_when_the_pause_is_given_up(
    written: bool, caplog: Any
) -> None:
    """The graph pauses between a call and its result, and cannot route the result on; unless it can
    route the call, the edit cannot be written."""

    async def ask(state: Paper) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])]}

    async def review(state: Paper) -> dict[str, Any]:
        interrupt("go on?")
        return {"messages": [AIMessage("done")]}

    def route(state: Paper) -> str:
        if state["messages"][-1].type in ["tool"] + ["ai"] * (not written):
            raise ValueError("Not prepared for this")
        return END

    builder = StateGraph(Paper).add_node(ask).add_node(review).add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda state: "review", ["review"])
    builder.add_conditional_edges("review", route, [END])
    client = Client(LangGraphAgent(builder.compile(checkpointer=InMemorySaver())))
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    recorded = await client.answer(paused, payload=None)
    assert client.state["doc"] == "mine"
    if written:
        assert (recorded.last.type.value, client.stored["doc"]) == ("RUN_FINISHED", "mine")
        assert "are answered with the next message" in caplog.text


async def test_an_edit_with_some_of_the_results_is_written_with_the_last_one() -> None:
    saw: list[Any] = []
    calls = [{"name": "f", "args": {}, "id": call_id} for call_id in ("c1", "c2")]
    asking = {"doc": "graph's", "messages": [AIMessage("", tool_calls=calls)]}
    client = Client(agent_of(noting(saw, asking)))
    tools = [Tool(name="f", description="f", parameters={})]
    await client.say("hi", tools=tools)
    client.state["doc"] = "mine"
    for call_id, stored in (("c1", "graph's"), ("c2", "mine")):
        result = ToolMessage(id=f"of {call_id}", role="tool", tool_call_id=call_id, content="1")
        assert (await client.say(result, tools=tools)).last.type.value == "RUN_FINISHED"
        assert (client.state["doc"], client.stored["doc"]) == ("mine", stored)
    assert saw == [None, "mine"]


@pytest.mark.parametrize("edits", [True, False])
async def test_a_function_goes_on_with_its_input_and_its_echo_is_no_edit(
    edits: bool, caplog: Any
) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    async def function(given: dict[str, Any], *, previous: Any = None) -> dict[str, Any]:
        return {"answer": interrupt("go on?"), "doc": given["doc"]}

    options = StateOptions(forbidden_change="ignore" if edits else "refuse")
    client = Client(LangGraphAgent(function, state=options), {"doc": "first"})
    paused = await client.say("hi")
    assert client.state == {"doc": "first"}
    if edits:
        client.state["doc"] = "mine"
    await client.answer(paused, ends="success")
    assert client.state == {"answer": "yes", "doc": "first"}
    assert "unknown channel" not in caplog.text
    assert edits or "left out" not in caplog.text


async def test_hidden_reasoning_stays_hidden_in_what_is_emitted() -> None:
    thought = {"type": "reasoning", "reasoning": "CANARY", "id": "r"}
    value = [thought, {"type": "text", "text": "words"}]

    async def node(state: Paper) -> dict[str, Any]:
        emit_state([{"op": "add", "path": "/doc", "value": value}])
        emit_state({"log": value})
        return {}

    agent = agent_of(node, reasoning=ReasoningOptions(visibility="hidden"))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert "CANARY" not in told(recorded)
    for key in ("doc", "log"):
        assert "words" in json.dumps(history(recorded, key))


@together(
    pytest.mark.parametrize("send", ["patches", "snapshots"]),
    pytest.mark.parametrize(("over", "schema"), [(False, Paper), (True, Paper), (True, Chat)]),
)
async def test_no_preview_stays_with_a_client_that_comes_back(
    send: Any, over: bool, schema: Any
) -> None:
    """It comes back while the preview is shown or when that is over; `Chat` has no other state."""
    shown, begun, joined = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def first(state: Any) -> dict[str, Any]:
        emit_state({"progress": 0.3})
        await shown.wait()
        return {"doc": "graph's"} if schema is Paper else {}

    async def second(state: Any) -> dict[str, Any]:
        begun.set()
        await joined.wait()
        return {"messages": [AIMessage("done")]}

    options = StateOptions(send=send)
    agent = agent_of(first, second, schema=schema, on_disconnect="continue", state=options)
    client = Client(agent, {"mine": 1})
    await client.leave("hi", lambda _, state: "progress" in state)
    if over:
        shown.set()
        await begun.wait()
    assert ending(await client.connect(lambda: (shown.set(), joined.set()))) == "success"
    assert client.state == {"mine": 1} | ({"doc": "graph's", "log": []} if schema is Paper else {})


@pytest.mark.parametrize(("send", "refuses"), [("patches", False), ("snapshots", True)])
async def test_who_joins_early_holds_what_the_graph_holds_and_not_what_another_has_sent(
    send: Any, refuses: bool
) -> None:
    joined = asyncio.Event()

    async def node(state: Paper) -> dict[str, Any]:
        await joined.wait()
        return {"log": [len(state["doc"])]}

    forbidden = "refuse" if refuses else "ignore"
    options = StateOptions(send=send, client_keys={"tab"}, forbidden_change=forbidden)
    agent = agent_of(node, on_disconnect="continue", state=options)
    edit = "edit " * 100  # so that changes beside it are smaller than the whole
    first = Client(agent, {"doc": edit} | ({"unknown": "guess"} if refuses else {}))
    second = Client(agent, {"tab": 2} if refuses else {"doc": "stale", "tab": 2})

    given = first.given("hi")
    running = agent.run(given)
    events = [await anext(running)]
    joining = asyncio.create_task(second.connect(joined.set))
    await asyncio.sleep(0)  # it joins before anything is told of the state
    events += [event async for event in running]
    recorded, received = first.take(RecordedRun(events, given)), await joining
    if refuses:
        assert ending(recorded) == ending(received) == "state_refused"
        assert second.state == {"tab": 2}
        assert not any(word in told(received) for word in ("edit", "guess"))
    else:
        assert ending(recorded) == ending(received) == "success"
        assert first.state == {"doc": edit, "log": [len(edit)]}
        assert second.state == {**first.state, "tab": 2}


class Typed(BaseModel):
    doc: int = 0


def previewing(*values: Any, **options: Any) -> Client:
    """A client of an agent that previews 5 and writes the next value, in each run."""
    rest = iter(values)

    async def node(state: Paper) -> dict[str, Any]:
        emit_state({"doc": 5})
        return {"doc": next(rest), "messages": [AIMessage("done")]}

    return Client(agent_of(node, state=StateOptions(**options, schema=Typed)))


async def test_a_value_that_does_not_fit_leaves_nothing_of_a_preview_and_ends_one_run() -> None:
    client = previewing(1, "no number", 2)
    await client.say("hi", ends="success")
    recorded = await client.say("again", ends="state_invalid")
    assert history(recorded) == [1, 5, 1]
    assert "no number" not in told(recorded)
    assert client.stored["doc"] == "no number"
    assert ending(await client.connect()) == "success"
    assert client.state["doc"] == "no number"
    await client.say("again", ends="success")
    assert (client.state["doc"], client.stored["doc"]) == (2, 2)


async def test_what_does_not_fit_may_be_shown_where_that_is_not_checked() -> None:
    client = previewing("no number", 2, check=False)
    await client.say("hi", ends="success")
    assert client.state["doc"] == "no number"
    client.state["doc"] = "neither"
    await client.say("again", ends="state_invalid")
    client.state["doc"] = 1
    await client.say("again", ends="success")
    assert client.state["doc"] == 2
