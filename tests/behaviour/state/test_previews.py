"""What clients see while nodes run: emissions, predictions, tools that write state, subgraphs
(guides/state.md)."""

from __future__ import annotations

import asyncio
import json
import logging
import operator
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, ResumeEntry, Tool, ToolMessage
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.messages import ToolMessage as Result
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_agui import (
    AGUIMiddleware,
    LangGraphAgent,
    PredictState,
    Private,
    StateOptions,
    emit_state,
    state_update,
)
from langgraph_agui.protocol import Fold
from langgraph_agui.testing import ScriptedChatModel, call
from tests.kit.graphs.small import agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.models.scripted import call as calls
from tests.kit.run.agents import RecordedRun, record_run, run_input


class Paper(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    notes: Annotated[list[str], operator.add]
    secret: Annotated[Any, Private]


class Writer(AgentState[Any], total=False):
    doc: Any
    notes: Annotated[list[str], operator.add]


DOC = PredictState("write", "doc")


def history(recorded: RecordedRun, key: str = "doc") -> list[Any]:
    """What the client has seen under a key, one after the other; "-" while it had none."""
    fold = Fold(recorded.input.messages, recorded.input.state)
    seen: list[Any] = []
    for event in recorded.events:
        fold.feed(event)
        value = fold.state.get(key, "-") if isinstance(fold.state, dict) else "-"
        if not seen or json.dumps(value) != json.dumps(seen[-1]):
            seen.append(value)
    assert fold.warnings == []
    return seen


def streamed(name: str, call_id: str, args: Any, size: int = 4, index: int = 0) -> list[Any]:
    """The chunks of a call whose arguments come a few characters at a time, with room for others in
    between."""
    text = json.dumps(args)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chunks = [calling(part(name, "", call_id, index))] + [
        calling(part(None, piece, None, index)) for piece in pieces
    ]
    return [one for chunk in chunks for one in (0.0, chunk)]


def sync_or_async(is_sync: bool, act: Any) -> Any:
    """A node that does `act`."""

    async def node(state: Any) -> Any:
        result = act(state)
        await asyncio.sleep(0)
        return result

    def sync_node(state: Any) -> Any:
        return act(state)

    return sync_node if is_sync else node


# -- emit_state ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_values_are_shown_at_once_and_the_graph_has_the_last_word(sync: bool) -> None:
    def act(state: Any) -> Any:
        emit_state({"doc": "half", "progress": 0.5})
        emit_state({"progress": 1})
        return {"doc": "whole"}

    recorded = await record_run(
        agent_of(sync_or_async(sync, act), state=Paper), run_input("hi", state={"mine": 1})
    )
    assert history(recorded) == ["-", "half", "whole"]
    assert history(recorded, "progress") == ["-", 0.5, 1, "-"]
    assert recorded.state == {"doc": "whole", "notes": [], "mine": 1}


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_patch_is_one_of_what_the_client_sees(sync: bool) -> None:
    def act(state: Any) -> Any:
        emit_state([{"op": "add", "path": "/notes/-", "value": "b"}])
        emit_state(
            [
                {"op": "add", "path": "/notes/-", "value": "c"},
                {"op": "add", "path": "/busy", "value": True},
            ]
        )
        emit_state([{"op": "remove", "path": "/busy"}, {"op": "remove", "path": "/doc"}])
        return {"notes": ["B"]}

    held = {"notes": ["a"], "doc": 1}
    recorded = await record_run(
        agent_of(sync_or_async(sync, act), state=Paper), run_input("hi", state=held)
    )
    assert history(recorded, "notes") == [["a"], ["a", "b"], ["a", "b", "c"], ["a", "B"]]
    assert history(recorded, "busy") == ["-", True, "-"]
    assert history(recorded) == [1, "-", 1]


async def test_a_patch_that_does_not_fit_is_left_out_as_a_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def node(state: Any) -> Any:
        emit_state(
            [{"op": "add", "path": "/doc", "value": 1}, {"op": "remove", "path": "/nothing"}]
        )

    recorded = await record_run(agent_of(node, state=Paper), run_input("hi"))
    assert history(recorded) == ["-"]
    assert "does not fit" in caplog.text


async def test_an_emission_ends_with_its_superstep_whether_or_not_it_was_returned() -> None:
    async def first(state: Any) -> Any:
        emit_state({"doc": "preview"})

    async def second(state: Any) -> Any:
        emit_state({"notes": ["preview"]})
        return {"notes": ["n"]}

    recorded = await record_run(
        agent_of(first, second, state=Paper), run_input("hi", state={"doc": "old"})
    )
    assert history(recorded) == ["old", "preview", "old"]
    assert history(recorded, "notes") == ["-", [], ["preview"], ["n"]]
    order = states(recorded)
    assert order.index({"doc": "old", "notes": ["preview"]}) > order.index(
        {"doc": "preview", "notes": []}
    )
    assert {"doc": "preview", "notes": ["preview"]} not in order


def states(recorded: RecordedRun) -> list[Any]:
    fold, seen = Fold(recorded.input.messages, recorded.input.state), []
    for event in recorded.events:
        fold.feed(event)
        seen.append(fold.state)
    return seen


async def test_nothing_of_an_emission_stays_when_the_node_fails() -> None:
    async def node(state: Any) -> Any:
        emit_state({"doc": "preview", "progress": 1})
        await asyncio.sleep(0.01)
        raise ValueError

    recorded = await record_run(agent_of(node, state=Paper), run_input("hi"))
    assert recorded.last.type.value == "RUN_ERROR"
    assert history(recorded) == ["-", "preview", "-"]
    assert recorded.state == {"notes": []}


async def test_nothing_of_an_emission_stays_when_the_run_is_cancelled() -> None:
    async def node(state: Any) -> Any:
        emit_state({"doc": "preview"})
        await asyncio.sleep(30)

    agent, given = agent_of(node, state=Paper), run_input("hi")
    events: list[Any] = []
    async for event in agent.run(given):
        events.append(event)
        if "preview" in event.model_dump_json():
            await agent.cancel(given.thread_id, given.run_id)
    recorded = RecordedRun(events, given)
    assert recorded.last.outcome.type == "cancelled"
    assert history(recorded) == ["-", "preview", "-"]


async def test_nothing_of_an_emission_stays_while_a_question_is_open() -> None:
    async def node(state: Any) -> Any:
        emit_state({"doc": "preview"})
        await asyncio.sleep(0.01)
        return {"doc": interrupt("which?")}

    agent = agent_of(node, state=Paper, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("hi", thread="t"))
    assert first.last.outcome.type == "interrupt"
    assert history(first) == ["-", "preview", "-"]
    answer = ResumeEntry(
        interrupt_id=first.last.outcome.interrupts[0].id, status="resolved", payload="this"
    )
    second = await record_run(
        agent, run_input(*first.messages, thread="t", state=first.state, resume=[answer])
    )
    assert history(second) == ["-", "preview", "this"]


async def pausing_beside(reply: Any) -> tuple[RecordedRun, RecordedRun]:
    """One node asks while another one has written; then the client answers, with what `reply` makes
    of its state."""

    async def asks(state: Any) -> Any:
        interrupt("go on?")
        await asyncio.sleep(0.01)

    async def writes(state: Any) -> Any:
        return {"doc": "written", "notes": ["x"]}

    builder = StateGraph(Paper)
    builder.add_node("asks", asks)
    builder.add_node("writes", writes)
    builder.add_edge(START, "asks")
    builder.add_edge(START, "writes")
    agent = LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver()))
    first = await record_run(agent, run_input("hi", thread="t"))
    assert first.state == {"doc": "written", "notes": ["x"]}
    answer = ResumeEntry(
        interrupt_id=first.last.outcome.interrupts[0].id, status="resolved", payload="yes"
    )
    given = run_input(*first.messages, thread="t", state=reply(first.state), resume=[answer])
    return first, await record_run(agent, given)


async def test_what_was_written_beside_a_pause_stays_while_the_run_goes_on() -> None:
    _, second = await pausing_beside(lambda state: state)
    assert history(second) == ["written"]
    assert history(second, "notes") == [["x"]]


async def test_what_was_written_beside_a_pause_is_the_graphs_until_it_is_answered() -> None:
    _, second = await pausing_beside(
        lambda state: {"doc": "mine", "notes": [*state["notes"], "y"], "theme": "dark"}
    )
    assert second.state == {"doc": "written", "notes": ["x"], "theme": "dark"}


def test_outside_a_run_nobody_is_told() -> None:
    emit_state({"doc": 1})
    emit_state([{"op": "add", "path": "/doc", "value": 1}])


@pytest.mark.parametrize("bad", ["text", 3, None, {1, 2}], ids=str)
def test_what_is_no_state_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="emit_state takes"):
        emit_state(bad)


@pytest.mark.parametrize(
    "bad", [{"op": "push", "path": "/a"}, {"path": "/a"}, {"op": "add", "value": 1}], ids=str
)
def test_what_is_no_patch_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        emit_state([bad])


async def test_hidden_keys_are_not_shown_and_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def node(state: Any) -> Any:
        for _ in range(3):
            emit_state({"secret": "CANARY", "scratch": "CANARY", "messages": ["CANARY"], "doc": 1})
        emit_state([{"op": "add", "path": "/secret", "value": "CANARY"}])

    agent = LangGraphAgent(graph=chain_of(node, state=Paper), state=StateOptions(include={"doc"}))
    with caplog.at_level(logging.WARNING):
        sent = b"".join([frames async for frames in agent.stream_sse(run_input("hi"))])
    assert b'"doc"' in sent
    assert b"CANARY" not in sent
    warned = [record.getMessage() for record in caplog.records if "secret" in record.getMessage()]
    assert len(warned) == 1
    assert all(key in warned[0] for key in ("messages", "scratch", "secret"))
    assert "CANARY" not in caplog.text


# -- in tools and subagents ----------------------------------------------------------------------


@tool
async def dig(runtime: ToolRuntime) -> str:
    """Dig."""
    emit_state({"progress": "digging"})
    await asyncio.sleep(0)
    return "dug"


@tool
def dig_slowly() -> str:
    """Dig."""
    emit_state({"progress": "digging"})
    return "dug"


@pytest.mark.parametrize("used", [dig, dig_slowly], ids=["async", "sync"])
@pytest.mark.parametrize("whole", [False, True], ids=["ToolNode", "create_agent"])
async def test_tools_emit(used: Any, whole: bool) -> None:
    model = Scripted([calls(used.name, "c1")], ["done"])
    graph = (
        create_agent(model, [used])
        if whole
        else chain_of(talker(model), ToolNode([used]), state=Paper)
    )
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi"))
    assert history(recorded, "progress") == ["-", "digging", "-"]
    (shown,) = [
        event
        for event in recorded.of("STATE_SNAPSHOT", "STATE_DELTA")
        if "digging" in event.model_dump_json()
    ]
    assert shown.subagent_run_id is None


async def digging(state: Any) -> Any:
    emit_state({"progress": "digging", "doc": "preview"})
    await asyncio.sleep(0)
    return {"doc": "inner"}


def subagent_ids(recorded: RecordedRun, word: str) -> set[str | None]:
    """Who has shown the states with this word."""
    events = recorded.of("STATE_SNAPSHOT", "STATE_DELTA")
    return {event.subagent_run_id for event in events if word in event.model_dump_json()}


class Notes(TypedDict, total=False):
    """The state of a graph that keeps its messages to itself."""

    doc: str
    progress: str


async def test_an_emission_in_a_declared_subgraph_is_a_subagents() -> None:
    inner = chain_of(digging, state=Notes)
    builder = StateGraph(Paper)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    (subagent_id,) = subagent_ids(recorded, "digging")
    assert subagent_id is not None
    assert subagent_id.startswith("inner:")
    assert history(recorded) == ["-", "preview", "inner"]
    assert history(recorded, "progress") == ["-", "digging", "-"]


async def test_an_emission_in_an_agent_that_a_tool_calls_is_a_subagents() -> None:
    inner = chain_of(digging, state=Paper)

    @tool
    async def delegate() -> str:
        """Delegate."""
        emit_state({"stage": "before"})
        await inner.ainvoke({"messages": [("user", "go")]})
        return "done"

    graph = create_agent(Scripted([calls("delegate", "c1")], ["done"]), [delegate])
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi"))
    assert history(recorded, "progress") == ["-", "digging", "-"]
    assert history(recorded, "stage") == ["-", "before", "-"]
    assert None not in subagent_ids(recorded, "digging")
    assert None in subagent_ids(recorded, "before")
    assert "inner" not in history(recorded)


# -- predictions ---------------------------------------------------------------------------------


@tool
def write(doc: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write."""
    return state_update(call, "written", {"doc": doc.upper()})


@tool("write")
def write_nothing(doc: str) -> str:
    """Write."""
    return "not written"


@tool("write")
def fail_to_write(doc: str) -> str:
    """Write."""
    raise ValueError("no paper")


def stages(text: str) -> list[str]:
    return [text[:n] for n in range(len(text) + 1)]


def writer(
    used: Any, *middleware: Any, text: str = "abc", saver: Any = None, **options: Any
) -> LangGraphAgent:
    model = Scripted(streamed("write", "c1", {"doc": text}, 1), ["done"])
    graph = create_agent(
        model, [used], state_schema=Writer, middleware=middleware, checkpointer=saver
    )
    return LangGraphAgent(graph=graph, **options)


async def test_arguments_are_shown_as_they_come_and_the_graph_replaces_them() -> None:
    recorded = await record_run(writer(write, state=StateOptions(predict=[DOC])), run_input("hi"))
    assert history(recorded) == ["-", "a", "ab", "abc", "ABC"]


async def test_predictions_that_the_middleware_asks_for() -> None:
    recorded = await record_run(writer(write, AGUIMiddleware(predict=[DOC])), run_input("hi"))
    assert history(recorded) == ["-", "a", "ab", "abc", "ABC"]


async def test_predictions_that_a_model_call_asks_for() -> None:
    model = Scripted(streamed("write", "c1", {"doc": "abc"}, 1))
    told_with = {"predict_state": [{"tool": "write", "tool_argument": "doc", "state_key": "paper"}]}

    async def node(state: Any) -> Any:
        return {"messages": [await model.ainvoke("go", {"metadata": told_with})]}

    recorded = await record_run(agent_of(node, ToolNode([write]), state=Paper), run_input("hi"))
    assert history(recorded, "paper") == ["-", "a", "ab", "abc", "-"]
    assert history(recorded) == ["-", "ABC"]


async def test_without_being_asked_nothing_is_predicted() -> None:
    recorded = await record_run(writer(write), run_input("hi"))
    assert history(recorded) == ["-", "ABC"]


async def test_all_arguments_as_one_object() -> None:
    predict = [PredictState("write", None, "draft")]
    options = StateOptions(predict=predict, client_keys=["draft"])
    recorded = await record_run(writer(write, text="a", state=options), run_input("hi"))
    assert history(recorded, "draft")[-3:] == [{"doc": ""}, {"doc": "a"}, "-"]


@pytest.mark.parametrize("used", [write_nothing, fail_to_write], ids=["writes nothing", "fails"])
async def test_a_call_that_comes_to_nothing_leaves_what_was_there(used: Any) -> None:
    model = Scripted(streamed("write", "c1", {"doc": "ab"}, 1), ["done"])
    node = ToolNode([used], handle_tool_errors=True)
    agent = LangGraphAgent(
        graph=chain_of(talker(model), node, state=Paper), state=StateOptions(predict=[DOC])
    )
    recorded = await record_run(agent, run_input("hi", state={"doc": "old"}))
    assert history(recorded) == ["old", "a", "ab", "old"]


async def test_a_model_that_breaks_off_leaves_what_was_there() -> None:
    broken = Scripted([*streamed("write", "c1", {"doc": "abc"}, 1)[:-4], ValueError("cut")])

    async def node(state: Any) -> Any:
        try:
            return {"messages": [await broken.ainvoke("go")]}
        except ValueError:
            return {"messages": [AIMessage("instead")]}

    agent = LangGraphAgent(graph=chain_of(node, state=Paper), state=StateOptions(predict=[DOC]))
    recorded = await record_run(agent, run_input("hi", state={"doc": "old"}))
    assert history(recorded)[:3] == ["old", "a", "ab"]
    assert history(recorded)[-1] == "old"
    assert recorded.last.type.value == "RUN_FINISHED"


async def test_two_calls_at_once_do_not_fall_back() -> None:
    chunks = [
        *streamed("write", "c1", {"doc": "a"}, 99),
        *streamed("write", "c2", {"doc": "b"}, 99, index=1),
    ]
    graph = chain_of(talker(Scripted(chunks)), ToolNode([write_nothing]), state=Paper)
    recorded = await record_run(
        LangGraphAgent(graph=graph, state=StateOptions(predict=[DOC])), run_input("hi")
    )
    assert history(recorded) == ["-", "a", "b", "-"]


async def test_a_failed_call_does_not_take_that_of_another_one_with_it() -> None:
    """The other one's has a result as well; it stays until the graph says what has come of it."""

    @tool
    def title(text: str) -> str:
        """Name."""
        raise ValueError

    chunks = [
        *streamed("write", "c1", {"doc": "A"}, 99),
        *streamed("title", "c2", {"text": "t"}, 99, index=1),
    ]
    node = ToolNode([write, title], handle_tool_errors=True)
    options = StateOptions(predict=[DOC, PredictState("title", "text")], client_keys=["text"])
    graph = chain_of(talker(Scripted(chunks)), node, state=Paper)
    recorded = await record_run(LangGraphAgent(graph=graph, state=options), run_input("hi"))
    assert history(recorded) == ["-", "A"]
    assert history(recorded, "text") == ["-", "t", "-"]


@pytest.mark.parametrize(
    ("decision", "seen"),
    [
        ({"approved": True}, ["old", "ABC"]),
        ({"approved": True, "editedArgs": {"doc": "better"}}, ["old", "BETTER"]),
        ({"approved": False}, ["old"]),
    ],
    ids=["approve", "edit", "reject"],
)
async def test_a_prediction_under_review(decision: Any, seen: Any) -> None:
    review = HumanInTheLoopMiddleware(interrupt_on={"write": True})
    agent = writer(write, review, saver=InMemorySaver(), state=StateOptions(predict=[DOC]))
    first = await record_run(agent, run_input("hi", thread="t", state={"doc": "old"}))
    assert history(first) == ["old", "a", "ab", "abc", "old"]
    (asked,) = first.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=asked.id, status="resolved", payload=decision)
    second = await record_run(
        agent, run_input(*first.messages, thread="t", state=first.state, resume=[answer])
    )
    assert second.last.type.value == "RUN_FINISHED", second.last
    assert history(second) == seen
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values
    assert stored["doc"] == seen[-1]


async def test_a_call_of_the_clients_own_tool() -> None:
    """It has no result in this run: the graph's state has nothing of it."""
    model = Scripted(streamed("write", "c1", {"doc": "ab"}, 1), ["done"])
    graph = create_agent(
        model,
        [],
        state_schema=Writer,
        middleware=[AGUIMiddleware(predict=[DOC])],
        checkpointer=InMemorySaver(),
    )
    agent = LangGraphAgent(graph=graph)
    mine = [
        Tool(name="write", description="Write.", parameters={"type": "object", "properties": {}})
    ]
    first = await record_run(agent, run_input("hi", thread="t", tools=mine))
    assert history(first) == ["-", "a", "ab", "-"]
    assert first.last.outcome.pending_tool_call_ids == ["c1"]
    assert isinstance(first.messages[-1], AssistantMessage)
    result = ToolMessage(id="r1", role="tool", tool_call_id="c1", content="done")
    second = await record_run(
        agent, run_input(*first.messages, result, thread="t", state=first.state, tools=mine)
    )
    assert "doc" not in second.state
    assert second.messages[-1].content == "done"


async def test_a_long_document_costs_its_size_a_few_times_over() -> None:
    text = "All work and no play. " * 1500
    model = Scripted(streamed("write", "c1", {"doc": text}, 8))
    graph = chain_of(talker(model), ToolNode([write]), state=Paper)
    agent = LangGraphAgent(graph=graph, state=StateOptions(predict=[DOC]))
    recorded = await record_run(agent, run_input("hi"))
    shown = recorded.of("STATE_SNAPSHOT", "STATE_DELTA")
    assert 100 < len(shown) < 400
    assert sum(len(event.model_dump_json()) for event in shown) < 40 * len(text)
    assert recorded.state["doc"] == text.upper()


# -- state_update --------------------------------------------------------------------------------


@tool("note")
def note_by_runtime(text: str, runtime: ToolRuntime) -> Command[Any]:
    """Note."""
    return state_update(runtime, f"noted {text}", {"notes": [text]})


@tool("note")
def note_by_id(text: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Note."""
    return state_update(call, f"noted {text}", {"notes": [text]})


@pytest.mark.parametrize(
    "used", [note_by_runtime, note_by_id], ids=["ToolRuntime", "InjectedToolCallId"]
)
@pytest.mark.parametrize("whole", [False, True], ids=["ToolNode", "create_agent"])
async def test_a_tool_answers_and_writes_in_one(used: Any, whole: bool) -> None:
    model = Scripted([calls("note", "c1", text="x"), calls("note", "c2", 1, text="y")], ["done"])
    if whole:
        graph = create_agent(model, [used], state_schema=Writer)
    else:
        graph = chain_of(talker(model), ToolNode([used]), state=Paper)
    recorded = await record_run(
        LangGraphAgent(graph=graph), run_input("hi", state={"notes": ["old"]})
    )
    assert recorded.state["notes"] == ["old", "x", "y"]
    # Both calls run at once, and either may end first.
    assert {(m.tool_call_id, m.content) for m in recorded.messages if m.role == "tool"} == {
        ("c1", "noted x"),
        ("c2", "noted y"),
    }


def test_without_a_call_there_is_nothing_to_answer() -> None:
    with pytest.raises(ValueError, match="tool call"):
        state_update("", "done", {})


# -- declared subgraphs --------------------------------------------------------------------------


class Inner(TypedDict, total=False):
    doc: Any
    notes: Annotated[list[str], operator.add]
    only_inside: Any


class Outer(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    notes: Annotated[list[str], operator.add]


def noting(name: str, **values: Any) -> Any:
    async def node(state: Any) -> Any:
        await asyncio.sleep(0)
        return values

    node.__name__ = name
    return node


async def test_a_declared_subgraph_is_shown_after_each_of_its_supersteps() -> None:
    inner = chain_of(
        noting("one", doc=1, only_inside="CANARY"),
        noting("two", doc=2),
        noting("three", notes=["n"]),
        state=Inner,
    )
    recorded = await record_run(
        agent_of(inner, noting("after", doc=3), state=Outer),
        run_input("hi", state={"notes": ["a"]}),
    )
    assert history(recorded) == ["-", 1, 2, 3]
    # The inner graph began with ["a"], and gives all that it has back to the outer one's reducer.
    assert history(recorded, "notes") == [["a"], ["a", "n"], ["a", "a", "n"]]
    assert "CANARY" not in "".join(event.model_dump_json() for event in recorded.events)
    (subagent_id,) = subagent_ids(recorded, "") - {None}
    assert subagent_id.startswith("node0:")


async def test_subgraphs_in_subgraphs() -> None:
    innermost = chain_of(
        noting("one", doc=1, only_inside="CANARY"), noting("two", doc=2), state=Inner
    )
    inner = chain_of(innermost, noting("three", doc=3), state=Inner)
    recorded = await record_run(
        agent_of(inner, noting("after", doc=4), state=Outer), run_input("hi")
    )
    assert history(recorded) == ["-", 1, 2, 3, 4]
    assert "CANARY" not in "".join(event.model_dump_json() for event in recorded.events)


async def test_parallel_branches_of_a_subgraph() -> None:
    inner = StateGraph(Inner)
    inner.add_node("first", noting("first", doc="begun"))
    inner.add_node("last", noting("last", notes=["n"]))
    inner.add_edge(START, "first")
    inner.add_edge("first", "last")
    builder = StateGraph(Paper)
    builder.add_node("inner", inner.compile())
    builder.add_node("other", noting("other", notes=["o"]))
    builder.add_conditional_edges(
        START, lambda _: [Send("inner", {}), Send("other", {})], ["inner", "other"]
    )
    builder.add_edge("inner", END)
    recorded = await record_run(
        LangGraphAgent(graph=builder.compile()), run_input("hi", state={"notes": ["a"]})
    )
    assert history(recorded)[:2] == ["-", "begun"]
    assert recorded.state == {"doc": "begun", "notes": ["a", "n", "o"]}
    assert history(recorded, "notes")[-1] == ["a", "n", "o"]


async def test_the_same_subgraph_several_times_at_once() -> None:
    inner = chain_of(noting("one", notes=["n"]), noting("two", notes=["m"]), state=Inner)
    builder = StateGraph(Outer)
    builder.add_node("inner", inner)
    builder.add_conditional_edges(
        START, lambda _: [Send("inner", {}), Send("inner", {})], ["inner"]
    )
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    assert ["n"] in history(recorded, "notes")
    assert recorded.state == {"notes": ["n", "m", "n", "m"]}


@pytest.mark.parametrize("by", ["node", "tool"])
async def test_an_agent_that_is_only_called_keeps_its_state_to_itself(by: str) -> None:
    inner = chain_of(noting("one", doc="CANARY"), noting("two", notes=["CANARY"]), state=Inner)

    async def node(state: Any) -> Any:
        await inner.ainvoke({"doc": "x"})
        return {"doc": "mine"}

    @tool
    async def delegate(call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Delegate."""
        await inner.ainvoke({"doc": "x"})
        return state_update(call, "done", {"doc": "mine"})

    if by == "node":
        agent = agent_of(node, state=Paper)
    else:
        agent = agent_of(
            talker(Scripted([calls("delegate", "c1")])), ToolNode([delegate]), state=Paper
        )
    recorded = await record_run(agent, run_input("hi"))
    assert history(recorded) == ["-", "mine"]
    assert "CANARY" not in "".join(event.model_dump_json() for event in recorded.events)


class Paragraph(BaseModel):
    """A paragraph of the paper."""

    doc: str


@pytest.mark.parametrize("asked_by", ["the agent", "the call"])
async def test_structured_output_is_predicted_while_it_is_written(asked_by: str) -> None:
    """LangChain says of such a call that its answer is data for the program; but it is state."""
    ask = {"tool": "Paragraph", "tool_argument": "doc", "state_key": "doc"}
    config: Any = {"metadata": {"predict_state": [ask]}} if asked_by == "the call" else {}
    options = StateOptions(predict=[PredictState("Paragraph", "doc")])
    model = ScriptedChatModel(call("Paragraph", "p1", doc="Once upon a time"), delay=0.001)
    author = model.with_structured_output(Paragraph, include_raw=True)

    async def write(state: Paper) -> Paper:
        made: Any = await author.ainvoke("Write.", config)
        result = Result("Written.", tool_call_id="p1")
        return {"messages": [made["raw"], result], "doc": made["parsed"].doc}

    graph = StateGraph(Paper).add_node(write).add_edge(START, "write").compile()
    agent = LangGraphAgent(graph, state=options if asked_by == "the agent" else None)
    recorded = await record_run(agent, run_input("Write."))
    recorded.check_snapshot()
    assert history(recorded) == ["-", "Once ", "Once upon ", "Once upon a ", "Once upon a time"]
    assert recorded.types.index("STATE_SNAPSHOT") < recorded.types.index("TOOL_CALL_END")
    assert not recorded.last.outcome.pending_tool_call_ids
