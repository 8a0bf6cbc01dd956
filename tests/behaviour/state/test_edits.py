"""Shared state where it once went wrong: lost edits, values that were told to nobody or to the
wrong one."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable
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
from langgraph_agui.protocol import Fold
from tests.kit.expect.canary import CANARY
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, plain, record_run, record_until, run_input, user


class Paper(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    log: Annotated[list[Any], operator.add]


class Typed(BaseModel):
    doc: int = 0


class Client:
    """What a client holds of a thread, from run to run."""

    def __init__(self, agent: LangGraphAgent, state: Any = None) -> None:
        self.agent = agent
        self.messages: list[Any] = []
        self.state: Any = state or {}

    async def say(self, *messages: Any, **fields: Any) -> RecordedRun:
        """Run the agent with what the client holds and `messages`."""
        given = run_input(*self.messages, *messages, thread="t", state=self.state, **fields)
        return self.take(await record_run(self.agent, given))

    async def answer(
        self, recorded: RecordedRun, *messages: Any, status: str = "resolved"
    ) -> RecordedRun:
        """Answer what `told` has asked, and say more beside."""
        entry = {
            "interruptId": recorded.last.outcome.interrupts[0].id,
            "status": status,
            "payload": "yes",
        }
        return await self.say(*messages, resume=[entry])

    async def connect(self) -> RecordedRun:
        given = run_input(*self.messages, thread="t", state=self.state)
        return self.take(RecordedRun([event async for event in self.agent.connect(given)], given))

    async def leave(self, message: str, until: Callable[[Any], bool]) -> None:
        """Run the agent, and stop reading when the state is what is waited for."""
        given = run_input(*self.messages, message, thread="t", state=self.state)
        fold = await record_until(self.agent, given, until)
        self.messages, self.state = fold.messages, fold.state

    @property
    def stored(self) -> Any:
        """The thread's state."""
        return self.agent.graph.get_state({"configurable": {"thread_id": "t"}}).values  # type: ignore[union-attr]

    def take(self, recorded: RecordedRun) -> RecordedRun:
        """Hold what a client holds after `told`."""
        self.messages, self.state = recorded.messages, recorded.state
        return recorded


def agent_of(*nodes: Any, schema: Any = Paper, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(chain_of(*nodes, state=schema, checkpointer=InMemorySaver()), **options)


def finished(recorded: RecordedRun) -> bool:
    return recorded.last.type.value == "RUN_FINISHED"


def code(recorded: RecordedRun) -> Any:
    assert recorded.last.type.value == "RUN_ERROR", recorded.last
    return recorded.last.code


def texts(recorded: RecordedRun) -> str:
    return json.dumps([plain(event) for event in recorded.events])


def states(recorded: RecordedRun, kind: str = "") -> list[tuple[Any, Any]]:
    """The events, all or of one kind, each with what the client's state was after it."""
    fold = Fold(recorded.input.messages, recorded.input.state)
    found = []
    for event in recorded.events:
        fold.feed(event)
        if kind in ("", event.type.value):
            found.append((event, fold.state))
    return found


# -- what a client has changed -------------------------------------------------------------------


def merged(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    return {**(old or {}), **(new or {})}


class Merging(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Annotated[dict[str, Any] | None, merged]


async def test_an_edit_that_comes_with_an_edited_message_where_the_channel_held_nothing_yet() -> (
    None
):
    saw: list[Any] = []

    async def node(state: Merging) -> dict[str, Any]:
        saw.append(state.get("doc"))
        return {"doc": {"graph": 1}, "messages": [AIMessage("done")]}

    client = Client(agent_of(node, schema=Merging))
    await client.say(user("hi", "u1"))
    client.messages, client.state = [], {"doc": {"mine": 2}}
    recorded = await client.say(user("hi, edited", "u1"))
    assert finished(recorded)
    assert saw == [None, {"mine": 2}]
    assert client.state == {"doc": {"mine": 2, "graph": 1}}
    assert client.stored["doc"] == client.state["doc"]


class Around(Paper, total=False):
    title: str


def with_a_paused_subgraph(saw: list[Any], **options: Any) -> LangGraphAgent:
    async def first(state: Around) -> dict[str, Any]:
        return {"doc": "graph's", "title": "graph's"}

    async def ask(state: Paper) -> dict[str, Any]:
        interrupt("go on?")
        saw.append(state["doc"])
        return {"messages": [AIMessage("done")]}

    async def last(state: Around) -> dict[str, Any]:
        saw.append((state["doc"], state["title"]))
        return {}

    builder = StateGraph(Around)
    builder.add_node("first", first)
    builder.add_node("inner", chain_of(ask, state=Paper))
    builder.add_node("last", last)
    builder.add_edge(START, "first").add_edge("first", "inner").add_edge("inner", "last")
    return LangGraphAgent(
        builder.compile(checkpointer=InMemorySaver()), state=StateOptions(**options)
    )


async def test_what_a_paused_subgraph_shares_is_not_changed_and_the_client_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    saw: list[Any] = []
    client = Client(with_a_paused_subgraph(saw))
    paused = await client.say("hi")
    client.state |= {"doc": "mine", "title": "mine"}
    caplog.clear()
    recorded = await client.answer(paused)
    assert finished(recorded)
    assert saw == ["graph's", ("graph's", "mine")]
    assert "left out: 'doc'" in caplog.text
    assert client.state == {"doc": "graph's", "log": [], "title": "mine"}
    assert (client.stored["doc"], client.stored["title"]) == ("graph's", "mine")


async def test_what_a_paused_subgraph_shares_is_refused_where_refusals_are_errors() -> None:
    saw: list[Any] = []
    client = Client(with_a_paused_subgraph(saw, forbidden_change="refuse"))
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    recorded = await client.answer(paused)
    assert (code(recorded), client.state["doc"], saw) == ("state_refused", "mine", [])
    client.state["doc"] = "graph's"
    assert finished(await client.answer(paused))
    assert saw == ["graph's", ("graph's", "graph's")]


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
    await client.answer(paused)
    # the answer's stream did not get through
    client.messages, client.state = (
        messages,
        {**state, "doc": "mine"},
    )
    recorded = await client.answer(paused, "use my text")
    assert finished(recorded)
    assert saw == [None, "mine"]
    assert (client.state["doc"], client.stored["doc"]) == ("mine", "mine")


def pausing_within_a_call(*unprepared_for: str) -> LangGraphAgent:
    """A graph that pauses between a call and its result; what leads on from there takes no such
    last message."""

    async def ask(state: Paper) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])]}

    async def review(state: Paper) -> dict[str, Any]:
        interrupt("go on?")
        return {"messages": [AIMessage("done")]}

    def route(state: Paper) -> str:
        if state["messages"][-1].type in unprepared_for:
            raise ValueError("Not prepared for this")
        return END

    builder = StateGraph(Paper)
    builder.add_node("ask", ask)
    builder.add_node("review", review)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda state: "review", ["review"])
    builder.add_conditional_edges("review", route, [END])
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))


async def test_an_edit_stays_when_the_pause_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(pausing_within_a_call("tool"))
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    recorded = await client.answer(paused, status="cancelled")
    assert finished(recorded)
    assert "are answered with the next message" in caplog.text
    assert (client.state["doc"], client.stored["doc"]) == ("mine", "mine")


async def test_an_edit_that_cannot_be_written_when_the_pause_is_given_up_is_not_taken_from_the_client() -> (
    None
):
    client = Client(pausing_within_a_call("ai", "tool"))
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    await client.answer(paused, status="cancelled")
    assert client.state["doc"] == "mine"


@pytest.mark.parametrize("hidden", [True, False])
async def test_a_revert_counts_although_the_last_message_is_one_that_clients_never_see(
    hidden: bool,
) -> None:
    saw: list[Any] = []

    async def node(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        messages = [AIMessage("done"), *([SystemMessage("a note to itself")] if hidden else [])]
        return {"doc": "new", "messages": messages} if len(saw) == 1 else {"messages": messages}

    client = Client(agent_of(node), {"doc": "old"})
    await client.say("hi")
    assert client.state["doc"] == "new"
    client.state["doc"] = "old"
    await client.say("use the old one")
    assert saw == ["old", "old"]
    assert (client.state["doc"], client.stored["doc"]) == ("old", "old")


async def test_an_edit_with_some_of_the_results_is_kept_and_written_with_the_last_one() -> None:
    saw: list[Any] = []

    async def node(state: Paper) -> dict[str, Any]:
        saw.append(state.get("doc"))
        if len(saw) > 1:
            return {"messages": [AIMessage("done")]}
        calls = [{"name": "f", "args": {}, "id": call_id} for call_id in ("c1", "c2")]
        return {"doc": "graph's", "messages": [AIMessage("", tool_calls=calls)]}

    def result(call_id: str) -> ToolMessage:
        return ToolMessage(id=f"of {call_id}", role="tool", tool_call_id=call_id, content="1")

    client = Client(agent_of(node))
    tools = [Tool(name="f", description="f", parameters={})]
    await client.say("hi", tools=tools)
    client.state["doc"] = "mine"
    assert finished(await client.say(result("c1"), tools=tools))
    assert (client.state["doc"], client.stored["doc"], len(saw)) == ("mine", "graph's", 1)
    assert finished(await client.say(result("c2"), tools=tools))
    assert (saw, client.state["doc"], client.stored["doc"]) == ([None, "mine"], "mine", "mine")


def asking_function(**options: Any) -> LangGraphAgent:
    @entrypoint(checkpointer=InMemorySaver())
    async def function(given: dict[str, Any], *, previous: Any = None) -> dict[str, Any]:
        return {"answer": interrupt("go on?"), "doc": given["doc"]}

    return LangGraphAgent(function, state=StateOptions(**options))


async def test_a_function_goes_on_with_the_input_that_it_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(asking_function(), {"doc": "first"})
    paused = await client.say("hi")
    client.state["doc"] = "mine"
    recorded = await client.answer(paused)
    assert finished(recorded)
    assert "unknown channel" not in caplog.text
    assert client.state == {"answer": "yes", "doc": "first"}


async def test_what_a_function_was_given_is_no_edit_when_it_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(asking_function(forbidden_change="refuse"), {"doc": "first"})
    paused = await client.say("hi")
    assert client.state == {"doc": "first"}
    assert finished(await client.answer(paused))
    assert "left out" not in caplog.text


# -- what stays private --------------------------------------------------------------------------


@pytest.mark.parametrize("as_patch", [True, False])
async def test_hidden_reasoning_stays_hidden_in_what_is_emitted(as_patch: bool) -> None:
    value = [
        {"type": "reasoning", "reasoning": CANARY, "id": "r"},
        {"type": "text", "text": "words"},
    ]

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
    graph = chain_of(lambda state: {}, state=Keeping)
    agent = LangGraphAgent(graph, state=options)
    recorded = json.dumps(agent.capabilities().custom)
    assert "doc" in recorded
    assert not any(word in recorded for word in ("CANARY", "ecret", "word"))


async def test_what_a_subgraph_marks_as_private_is_not_shown_while_it_runs() -> None:
    class Inner(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        doc: Annotated[Any, Private]
        log: Annotated[list[Any], operator.add]

    async def raw(state: Inner) -> dict[str, Any]:
        return {"doc": CANARY, "log": ["raw"]}

    async def clean(state: Inner) -> dict[str, Any]:
        return {"doc": "clean", "log": ["clean"]}

    recorded = await record_run(
        agent_of(chain_of(raw, clean, state=Inner)), run_input("hi", thread="t")
    )
    assert CANARY not in texts(recorded)
    seen = [state.get("log") for _, state in states(recorded)]
    assert ["raw"] in seen
    assert recorded.state == {"doc": "clean", "log": ["raw", "clean"]}


# -- those who join ------------------------------------------------------------------------------


@pytest.mark.parametrize("send", ["patches", "snapshots"])
@pytest.mark.parametrize("joins", ["while it is shown", "when it is over"])
async def test_no_preview_stays_with_a_client_that_comes_back_to_a_run(
    send: Any, joins: str
) -> None:
    shown, over = asyncio.Event(), asyncio.Event()

    async def first(state: Paper) -> dict[str, Any]:
        emit_state({"progress": 0.3})
        await shown.wait()
        return {"doc": "graph's"}

    async def second(state: Paper) -> dict[str, Any]:
        over.set()
        await asyncio.sleep(0.05)
        return {"messages": [AIMessage("done")]}

    agent = agent_of(first, second, on_disconnect="continue", state=StateOptions(send=send))
    client = Client(agent, {"mine": 1})
    await client.leave("hi", lambda state: "progress" in state)
    if joins == "when it is over":
        shown.set()
        await over.wait()
    else:
        asyncio.get_running_loop().call_later(0.05, shown.set)
    assert finished(await client.connect())
    assert client.state == {"mine": 1, "doc": "graph's", "log": []}


async def test_no_preview_stays_where_the_graph_has_no_state() -> None:
    shown, over = asyncio.Event(), asyncio.Event()

    async def first(state: Chat) -> dict[str, Any]:
        emit_state({"progress": 0.3})
        await shown.wait()
        return {}

    async def second(state: Chat) -> dict[str, Any]:
        over.set()
        await asyncio.sleep(0.05)
        return {"messages": [AIMessage("done")]}

    client = Client(agent_of(first, second, schema=Chat, on_disconnect="continue"))
    await client.leave("hi", lambda state: "progress" in state)
    shown.set()
    await over.wait()
    assert finished(await client.connect())
    assert client.state == {}


async def joined_at_once(
    agent: LangGraphAgent, first: Client, second: Client
) -> tuple[RecordedRun, RecordedRun]:
    """`first` runs the agent, `second` joins before anything is told of the state."""
    given = run_input("hi", thread="t", state=first.state)
    running = agent.run(given)
    events = [await anext(running)]
    joining = asyncio.create_task(second.connect())
    await asyncio.sleep(0)
    events += [event async for event in running]
    return first.take(RecordedRun(events, given)), await joining


@pytest.mark.parametrize("send", ["patches", "snapshots"])
async def test_who_joins_early_holds_in_the_end_what_the_graph_holds(send: Any) -> None:
    async def node(state: Paper) -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return {"log": [len(state["doc"])]}

    agent = agent_of(
        node, on_disconnect="continue", state=StateOptions(send=send, client_keys={"tab"})
    )
    edit = "edit " * 100  # so that changes beside it are smaller than the whole
    first, second = Client(agent, {"doc": edit}), Client(agent, {"doc": "stale", "tab": 2})
    recorded, received = await joined_at_once(agent, first, second)
    assert finished(recorded)
    assert finished(received)
    assert first.state == {"doc": edit, "log": [len(edit)]}
    assert second.state == {**first.state, "tab": 2}


async def test_who_joins_early_is_not_told_what_another_client_has_sent() -> None:
    async def node(state: Paper) -> dict[str, Any]:
        return {}

    agent = agent_of(node, on_disconnect="continue", state=StateOptions(forbidden_change="refuse"))
    first, second = Client(agent, {"doc": "edit", "unknown": "guess"}), Client(agent, {"tab": 2})
    recorded, received = await joined_at_once(agent, first, second)
    assert code(recorded) == code(received) == "state_refused"
    assert second.state == {"tab": 2}
    assert not any(word in texts(received) for word in ("edit", "guess"))


# -- the agent's schema --------------------------------------------------------------------------


def writing(*values: Any, **options: Any) -> LangGraphAgent:
    """An agent that previews 5 and writes the next value, in each run."""
    rest = iter(values)

    async def node(state: Paper) -> dict[str, Any]:
        emit_state({"doc": 5})
        return {"doc": next(rest), "messages": [AIMessage("done")]}

    return agent_of(node, state=StateOptions(**options, schema=Typed))


async def test_a_value_that_does_not_fit_leaves_nothing_of_a_preview() -> None:
    client = Client(writing(1, "no number"))
    assert finished(await client.say("hi"))
    recorded = await client.say("again")
    assert 5 in [state.get("doc") for _, state in states(recorded)]
    assert (code(recorded), client.state["doc"]) == ("state_invalid", 1)
    assert "no number" not in texts(recorded)


async def test_what_does_not_fit_may_be_shown_where_that_is_not_checked() -> None:
    client = Client(writing("no number", 2, check=False))
    assert finished(await client.say("hi"))
    assert client.state["doc"] == "no number"
    client.state["doc"] = "neither"
    assert code(await client.say("again")) == "state_invalid"
    client.state["doc"] = 1
    assert finished(await client.say("again"))
    assert client.state["doc"] == 2


async def test_what_the_thread_holds_already_ends_no_run() -> None:
    client = Client(writing("no number", 2))
    assert code(await client.say("hi")) == "state_invalid"
    assert client.stored["doc"] == "no number"
    assert finished(await client.connect())
    assert client.state["doc"] == "no number"
    assert finished(await client.say("again"))
    assert (client.state["doc"], client.stored["doc"]) == (2, 2)


# -- predictions ---------------------------------------------------------------------------------


class Document(AgentState[Any], total=False):
    doc: Any


async def calling_twice() -> RecordedRun:
    """A model calls the same tool twice, and gives both calls one id."""

    @tool
    async def write(doc: str) -> str:
        """Write."""
        await asyncio.sleep(0.02)
        return "done"

    def turn(letter: str) -> list[Any]:
        return [calling(part("write", '{"doc": "' + letter, "call_0")), calling(part(None, '!"}'))]

    graph = create_agent(Scripted(turn("A"), turn("B"), ["done"]), [write], state_schema=Document)
    agent = LangGraphAgent(graph, state=StateOptions(predict=[PredictState("write", "doc")]))
    return await record_run(agent, run_input("hi", state={"doc": "old"}))


async def test_a_call_id_that_comes_again_is_previewed_while_its_call_runs() -> None:
    recorded = await calling_twice()
    during = [(event.step_name, state["doc"]) for event, state in states(recorded, "STEP_FINISHED")]
    assert during[:4] == [("model", "A!"), ("tools", "A!"), ("model", "B!"), ("tools", "B!")]
    assert recorded.state["doc"] == "old"
