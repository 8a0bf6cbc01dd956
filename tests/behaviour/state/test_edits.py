"""What a client has changed, what stays private, those who join, and what the agent's schema says,
each over whole runs."""

from __future__ import annotations

import asyncio
import json
import operator
from typing import Annotated, Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_agui import (
    LangGraphAgent,
    PredictState,
    Private,
    ReasoningOptions,
    StateOptions,
    emit_state,
)
from tests.behaviour.state.clients import Client, Paper, agent_of, states
from tests.kit.expect.canary import CANARY
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, plain, record_run, run_input, user


def ending(recorded: RecordedRun) -> str:
    """`RUN_FINISHED`, or the code of the error."""
    return getattr(recorded.last, "code", None) or recorded.last.type.value


def texts(recorded: RecordedRun) -> str:
    return json.dumps([plain(event) for event in recorded.events])


def merged(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    return {**(old or {}), **(new or {})}


class Merging(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Annotated[dict[str, Any] | None, merged]


async def test_an_edit_with_an_edited_message_where_the_channel_held_nothing_yet() -> None:
    saw: list[Any] = []

    async def node(state: Merging) -> dict[str, Any]:
        saw.append(state.get("doc"))
        return {"doc": {"graph": 1}, "messages": [AIMessage("done")]}

    client = Client(agent_of(node, schema=Merging))
    await client.say(user("hi", "u1"))
    client.messages, client.state = [], {"doc": {"mine": 2}}
    assert ending(await client.say(user("hi, edited", "u1"))) == "RUN_FINISHED"
    assert saw == [None, {"mine": 2}]
    assert client.stored["doc"] == client.state["doc"] == {"mine": 2, "graph": 1}


class Around(Paper, total=False):
    title: str


@pytest.mark.parametrize("refuses", [False, True])
async def test_what_a_paused_subgraph_shares_is_not_changed(
    refuses: bool, caplog: pytest.LogCaptureFixture
) -> None:
    saw: list[Any] = []

    async def first(state: Around) -> dict[str, Any]:
        return {"doc": "graph's", "title": "graph's"}

    async def ask(state: Paper) -> dict[str, Any]:
        interrupt("go on?")
        saw.append(state["doc"])
        return {"messages": [AIMessage("done")]}

    async def last(state: Around) -> dict[str, Any]:
        saw.append((state["doc"], state["title"]))
        return {}

    options = StateOptions(forbidden_change="refuse" if refuses else "ignore")
    client = Client(agent_of(first, chain_of(ask, state=Paper), last, schema=Around, state=options))
    paused = await client.say("hi")
    client.state |= {"doc": "mine", "title": "mine"}
    recorded = await client.answer(paused)
    if refuses:
        assert (ending(recorded), client.state["doc"], saw) == ("state_refused", "mine", [])
        client.state["doc"] = "graph's"
        recorded = await client.answer(paused)
    else:
        assert "left out: 'doc'" in caplog.text
    assert ending(recorded) == "RUN_FINISHED"
    assert saw == ["graph's", ("graph's", "mine")]
    assert client.state == {"doc": "graph's", "log": [], "title": "mine"}
    assert (client.stored["doc"], client.stored["title"]) == ("graph's", "mine")


async def test_an_edit_beside_answers_that_are_spent_counts_with_the_new_message() -> None:
    saw: list[Any] = []

    async def ask(state: Paper) -> dict[str, Any]:
        if len(state["messages"]) == 1:
            interrupt("go on?")
        saw.append(state.get("doc"))
        return {"messages": [AIMessage("done")]}

    client = Client(agent_of(ask))
    paused = await client.say("hi")
    messages, state = client.messages, client.state
    await client.answer(paused)  # whose stream does not get through
    client.messages, client.state = messages, {**state, "doc": "mine"}
    assert ending(await client.answer(paused, "use my text")) == "RUN_FINISHED"
    assert saw == [None, "mine"]
    assert (client.state["doc"], client.stored["doc"]) == ("mine", "mine")


@pytest.mark.parametrize("written", [True, False])
async def test_an_edit_stays_with_the_client_when_the_pause_is_given_up(
    written: bool, caplog: pytest.LogCaptureFixture
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

    builder = StateGraph(Paper).add_node("ask", ask).add_node("review", review)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda state: "review", ["review"])
    builder.add_conditional_edges("review", route, [END])
    client = Client(LangGraphAgent(builder.compile(checkpointer=InMemorySaver())))
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    recorded = await client.answer(paused, status="cancelled")
    assert client.state["doc"] == "mine"
    if written:
        assert (ending(recorded), client.stored["doc"]) == ("RUN_FINISHED", "mine")
        assert "are answered with the next message" in caplog.text


@pytest.mark.parametrize("hidden", [True, False])
async def test_a_revert_counts_also_after_a_message_that_clients_never_see(hidden: bool) -> None:
    saw: list[Any] = []

    async def node(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        messages = [AIMessage("done"), *([SystemMessage("a note to itself")] if hidden else [])]
        return {"messages": messages} | ({"doc": "new"} if len(saw) == 1 else {})

    client = Client(agent_of(node), {"doc": "old"})
    await client.say("hi")
    assert client.state["doc"] == "new"
    client.state["doc"] = "old"
    await client.say("use the old one")
    assert (saw, client.state["doc"], client.stored["doc"]) == (["old", "old"], "old", "old")


async def test_an_edit_with_some_of_the_results_is_written_with_the_last_one() -> None:
    saw: list[Any] = []

    async def node(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        if len(saw) > 1:
            return {"messages": [AIMessage("done")]}
        calls = [{"name": "f", "args": {}, "id": call_id} for call_id in ("c1", "c2")]
        return {"doc": "graph's", "messages": [AIMessage("", tool_calls=calls)]}

    client = Client(agent_of(node))
    tools = [Tool(name="f", description="f", parameters={})]
    await client.say("hi", tools=tools)
    client.state["doc"] = "mine"
    for call_id, stored in (("c1", "graph's"), ("c2", "mine")):
        result = ToolMessage(id=f"of {call_id}", role="tool", tool_call_id=call_id, content="1")
        assert ending(await client.say(result, tools=tools)) == "RUN_FINISHED"
        assert (client.state["doc"], client.stored["doc"]) == ("mine", stored)
    assert saw == [None, "mine"]


@pytest.mark.parametrize("edits", [True, False])
async def test_a_function_goes_on_with_its_input_and_its_echo_is_no_edit(
    edits: bool, caplog: pytest.LogCaptureFixture
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
    assert ending(await client.answer(paused)) == "RUN_FINISHED"
    assert client.state == {"answer": "yes", "doc": "first"}
    assert "unknown channel" not in caplog.text
    assert edits or "left out" not in caplog.text


@pytest.mark.parametrize("as_patch", [True, False])
async def test_hidden_reasoning_stays_hidden_in_what_is_emitted(as_patch: bool) -> None:
    thought = {"type": "reasoning", "reasoning": CANARY, "id": "r"}
    value = [thought, {"type": "text", "text": "words"}]

    async def node(state: Paper) -> dict[str, Any]:
        emit_state([{"op": "add", "path": "/doc", "value": value}] if as_patch else {"doc": value})
        return {}

    recorded = await record_run(
        agent_of(node, reasoning=ReasoningOptions(visibility="hidden")), run_input("hi", thread="t")
    )
    assert CANARY not in texts(recorded)
    assert any("words" in json.dumps(state) for _, state in states(recorded))


class Secret(BaseModel):
    """CANARY"""

    field: str = CANARY


class Flat(BaseModel):
    doc: str = ""
    secret: Secret | None = None


class Recursive(BaseModel):
    doc: str = ""
    children: list[Recursive] = []
    secret: Secret | None = None
    word: str = CANARY


class Keeping(Paper, total=False):
    children: list[Any]
    secret: Annotated[Any, Private]
    word: str


@pytest.mark.parametrize("schema", [Flat, Recursive])
def test_the_schema_for_clients_tells_nothing_of_private_keys(schema: Any) -> None:
    options = StateOptions(exclude={"word"}, schema=schema)
    agent = LangGraphAgent(chain_of(lambda state: {}, state=Keeping), state=options)
    told = json.dumps(agent.capabilities().custom)
    assert [word in told for word in ("doc", "CANARY", "ecret", "word")] == [True] + [False] * 3


async def test_what_a_subgraph_marks_as_private_is_not_shown_while_it_runs() -> None:
    class Inner(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        doc: Annotated[Any, Private]
        log: Annotated[list[Any], operator.add]

    async def raw(state: Inner) -> dict[str, Any]:
        return {"doc": CANARY, "log": ["raw"]}

    async def clean(state: Inner) -> dict[str, Any]:
        return {"doc": "clean", "log": ["clean"]}

    agent = agent_of(chain_of(raw, clean, state=Inner))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert CANARY not in texts(recorded)
    assert ["raw"] in [state.get("log") for _, state in states(recorded)]
    assert recorded.state == {"doc": "clean", "log": ["raw", "clean"]}


@pytest.mark.parametrize(
    ("send", "over", "schema"),
    [
        ("patches", False, Paper),
        ("snapshots", False, Paper),
        ("patches", True, Paper),
        ("snapshots", True, Paper),
        ("patches", True, Chat),
    ],
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
    assert ending(await client.connect(lambda: (shown.set(), joined.set()))) == "RUN_FINISHED"
    assert client.state == {"mine": 1} | ({"doc": "graph's", "log": []} if schema is Paper else {})


@pytest.mark.parametrize("send", ["patches", "snapshots"])
@pytest.mark.parametrize("refuses", [False, True])
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
        assert not any(word in texts(received) for word in ("edit", "guess"))
    else:
        assert ending(recorded) == ending(received) == "RUN_FINISHED"
        assert first.state == {"doc": edit, "log": [len(edit)]}
        assert second.state == {**first.state, "tab": 2}


class Typed(BaseModel):
    doc: int = 0


def writing(*values: Any, **options: Any) -> Client:
    """A client of an agent that previews 5 and writes the next value, in each run."""
    rest = iter(values)

    async def node(state: Paper) -> dict[str, Any]:
        emit_state({"doc": 5})
        return {"doc": next(rest), "messages": [AIMessage("done")]}

    return Client(agent_of(node, state=StateOptions(**options, schema=Typed)))


async def test_a_value_that_does_not_fit_leaves_nothing_of_a_preview() -> None:
    client = writing(1, "no number")
    assert ending(await client.say("hi")) == "RUN_FINISHED"
    recorded = await client.say("again")
    assert 5 in [state.get("doc") for _, state in states(recorded)]
    assert (ending(recorded), client.state["doc"]) == ("state_invalid", 1)
    assert "no number" not in texts(recorded)


async def test_what_does_not_fit_may_be_shown_where_that_is_not_checked() -> None:
    client = writing("no number", 2, check=False)
    assert ending(await client.say("hi")) == "RUN_FINISHED"
    assert client.state["doc"] == "no number"
    client.state["doc"] = "neither"
    assert ending(await client.say("again")) == "state_invalid"
    client.state["doc"] = 1
    assert ending(await client.say("again")) == "RUN_FINISHED"
    assert client.state["doc"] == 2


async def test_what_the_thread_holds_already_ends_no_run() -> None:
    client = writing("no number", 2)
    assert ending(await client.say("hi")) == "state_invalid"
    assert client.stored["doc"] == "no number"
    assert ending(await client.connect()) == "RUN_FINISHED"
    assert client.state["doc"] == "no number"
    assert ending(await client.say("again")) == "RUN_FINISHED"
    assert (client.state["doc"], client.stored["doc"]) == (2, 2)


class Document(AgentState[Any], total=False):
    doc: Any


async def test_a_call_id_that_comes_again_is_previewed_while_its_call_runs() -> None:
    @tool
    async def write(doc: str) -> str:
        """Write."""
        return "done"

    def turn(letter: str) -> list[Any]:
        return [calling(part("write", '{"doc": "' + letter, "call_0")), calling(part(None, '!"}'))]

    graph = create_agent(Scripted(turn("A"), turn("B"), ["done"]), [write], state_schema=Document)
    agent = LangGraphAgent(graph, state=StateOptions(predict=[PredictState("write", "doc")]))
    recorded = await record_run(agent, run_input("hi", state={"doc": "old"}))
    during = [(event.step_name, state["doc"]) for event, state in states(recorded, "STEP_FINISHED")]
    assert during[:4] == [("model", "A!"), ("tools", "A!"), ("model", "B!"), ("tools", "B!")]
    assert recorded.state["doc"] == "old"
