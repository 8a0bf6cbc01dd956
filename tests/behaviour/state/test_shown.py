"""What clients see: kinds of state, values that are no JSON, and while nodes run emissions,
predictions, tools that write state, subgraphs (guides/state.md)."""

from __future__ import annotations

import asyncio
import json
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
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
from langgraph_agui.testing import ScriptedChatModel, call
from tests.behaviour.state.clients import (
    Client,
    Paper,
    agent_of,
    history,
    states,
    told,
    writing,
)
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.models.scripted import call as calls
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.thread_client import ending


class Writer(AgentState[Any], total=False):
    doc: Any
    log: Annotated[list[str], operator.add]


DOC = PredictState("write", "doc")


async def running(given: Any, *, state: Any = None) -> RecordedRun:
    """A run of an agent, or of a graph."""
    agent = given if isinstance(given, LangGraphAgent) else LangGraphAgent(given)
    return await record_run(agent, run_input("hi", state=state or {}))


def streamed(name: str, call_id: str, args: Any, size: int = 1, index: int = 0) -> list[Any]:
    """The chunks of a call whose arguments come `size` characters at a time, with room for others
    in between."""
    text = json.dumps(args)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chunks = [calling(part(name, "", call_id, index))]
    chunks += [calling(part(None, piece, None, index)) for piece in pieces]
    return [one for chunk in chunks for one in (0.0, chunk)]


def shown_by(recorded: RecordedRun, word: str) -> set[str]:
    """Who has shown the states with this word: subagents without their number, or ''."""
    events = recorded.of("STATE_SNAPSHOT", "STATE_DELTA")
    told = [event for event in events if word in event.model_dump_json()]
    return {(event.subagent_run_id or "").split(":")[0] for event in told}


async def test_values_and_patches_are_shown_at_once_and_the_graph_has_the_last_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def act(state: Any) -> Any:  # sync: in a thread
        emit_state({"doc": "half", "progress": 0.5})
        emit_state({"progress": 1})
        emit_state([{"op": "add", "path": "/log/-", "value": "b"}])
        emit_state([{"op": "remove", "path": "/mine"}, {"op": "remove", "path": "/doc"}])
        add = {"op": "add", "path": "/unseen", "value": 1}
        emit_state([add, {"op": "remove", "path": "/nothing"}])  # left out as a whole
        return {"doc": "whole", "log": ["B"]}

    recorded = await running(agent_of(act), state={"mine": 1, "log": ["a"]})
    assert history(recorded) == ["-", "half", "-", "whole"]
    assert history(recorded, "progress") == ["-", 0.5, 1, "-"]
    assert history(recorded, "log") == [["a"], ["a", "b"], ["a", "B"]]
    assert history(recorded, "mine") == [1, "-", 1]
    assert history(recorded, "unseen") == ["-"]
    assert "does not fit" in caplog.text


async def test_nothing_of_an_emission_stays_when_the_run_is_cancelled() -> None:
    async def node(state: Any) -> Any:
        emit_state({"doc": "preview", "progress": 1})
        await asyncio.Event().wait()

    client = Client(agent_of(node))
    given, events = client.given("hi"), []
    async for event in client.agent.run(given):
        events.append(event)
        if "preview" in event.model_dump_json():
            await client.agent.cancel(given.thread_id, given.run_id)
    recorded = client.take(RecordedRun(events, given))
    assert history(recorded) == ["-", "preview", "-"]
    assert (ending(recorded), client.state) == ("cancelled", {"log": []})


async def test_what_was_written_beside_a_pause_is_the_graphs_until_it_is_answered() -> None:
    async def asks(state: Any) -> Any:
        interrupt("go on?")
        await asyncio.sleep(0)

    builder = StateGraph(Paper).add_node("asks", asks).add_edge(START, "asks")
    builder.add_node("writes", writing(doc="written", log=["x"])).add_edge(START, "writes")
    for edits in ({}, {"doc": "mine", "log": ["x", "y"], "theme": "dark"}):
        client = Client(LangGraphAgent(builder.compile(checkpointer=InMemorySaver())))
        paused = await client.say("hi")
        assert client.state == {"doc": "written", "log": ["x"]}
        client.state |= edits
        recorded = await client.answer(paused)
        assert client.state == {**edits, "doc": "written", "log": ["x"]}
        assert edits or (history(recorded), history(recorded, "log")) == (["written"], [["x"]])


@pytest.mark.parametrize(
    ("bad", "error"),
    [(bad, "emit_state takes") for bad in ("text", None, {1, 2})]
    + [([{"op": "push", "path": "/a"}], "validation error")]
    + [([{"path": "/a"}], "validation error"), ([{"op": "add", "value": 1}], "validation error")],
)
def test_what_is_no_state_and_no_patch_is_refused(bad: Any, error: str) -> None:
    with pytest.raises(ValueError if "validation" in error else TypeError, match=error):
        emit_state(bad)


async def test_hidden_keys_are_not_shown_and_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def node(state: Any) -> Any:
        for _ in range(3):
            emit_state({"secret": "CANARY", "scratch": "CANARY", "messages": ["CANARY"], "doc": 1})
        emit_state([{"op": "add", "path": "/secret", "value": "CANARY"}])

    recorded = await running(agent_of(node, state=StateOptions(include={"doc"})))
    assert history(recorded) == ["-", 1, "-"]
    assert "CANARY" not in told(recorded) + caplog.text
    (warning,) = [text for text in caplog.messages if "secret" in text]
    assert all(key in warning for key in ("messages", "scratch", "secret"))


async def digging(state: Any) -> Any:
    emit_state({"progress": "digging", "doc": "preview"})
    await asyncio.sleep(0)
    return {"doc": "inner"}


class Notes(TypedDict, total=False):
    """The state of a graph that keeps its messages to itself."""

    doc: str
    progress: str


async def test_an_emission_in_a_declared_subgraph_is_a_subagents() -> None:
    recorded = await running(agent_of(chain_of(digging, state=Notes)))
    assert shown_by(recorded, "digging") == {"node0"}
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

    recorded = await running(
        create_agent(Scripted([calls("delegate", "c1")], ["done"]), [delegate])
    )
    assert history(recorded, "progress") == ["-", "digging", "-"]
    assert history(recorded, "stage") == ["-", "before", "-"]
    assert "" not in shown_by(recorded, "digging")
    assert "" in shown_by(recorded, "before")
    assert history(recorded) == ["-", "preview", "-"]


@tool
def write(doc: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write."""
    return state_update(call, "written", {"doc": doc.upper()})


@tool("write")
def write_nothing(doc: str) -> str:
    """Write."""
    return "not written"


def writer(*middleware: Any, saver: Any = None, tools: Any = (write,), **options: Any) -> Any:
    model = Scripted(streamed("write", "c1", {"doc": "abc"}), ["done"])
    schema: Any = {"state_schema": Writer, "middleware": middleware, "checkpointer": saver}
    return LangGraphAgent(create_agent(model, [*tools], **schema), **options)


async def predicting(*nodes: Any, more: Any = ()) -> RecordedRun:
    options = StateOptions(predict=[DOC, *more], client_keys=["text"])
    return await running(agent_of(*nodes, state=options))


@pytest.mark.parametrize("asked", [True, False])
async def test_arguments_are_shown_as_they_come_if_a_middleware_asks_for_that(asked: bool) -> None:
    recorded = await running(writer(*[AGUIMiddleware(predict=[DOC])] * asked))
    assert history(recorded) == ["-", *["a", "ab", "abc"] * asked, "ABC"]


async def test_two_calls_at_once_end_each_for_itself() -> None:
    @tool
    def title(text: str) -> str:
        """Name."""
        raise ValueError

    def both(name: str, args: Any) -> Any:
        chunks = streamed("write", "c1", {"doc": "a"}, 99)
        return talker(Scripted([*chunks, *streamed(name, "c2", args, 99, index=1)]))

    recorded = await predicting(both("write", {"doc": "b"}), ToolNode([write_nothing]))
    assert history(recorded) == ["-", "a", "b", "-"]  # it does not fall back

    tools = ToolNode([write, title], handle_tool_errors=True)
    more = [PredictState("title", "text")]
    recorded = await predicting(both("title", {"text": "t"}), tools, more=more)
    assert history(recorded) == ["-", "a", "A"]  # not taken with the one that failed
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
    agent = writer(review, saver=InMemorySaver(), state=StateOptions(predict=[DOC]))
    client = Client(agent, {"doc": "old"})
    first = await client.say("hi")
    assert history(first) == ["old", "a", "ab", "abc", "old"]
    second = await client.answer(first, payload=decision, ends="success")
    assert history(second) == seen
    assert client.stored["doc"] == seen[-1]


async def test_a_call_of_the_clients_own_tool_leaves_nothing_in_the_state() -> None:
    client = Client(writer(AGUIMiddleware(predict=[DOC]), saver=InMemorySaver(), tools=()))
    parameters = {"type": "object", "properties": {}}
    tools = [Tool(name="write", description="Write.", parameters=parameters)]
    first = await client.say("hi", tools=tools)
    assert history(first) == ["-", "a", "ab", "abc", "-"]
    assert first.last.outcome.pending_tool_call_ids == ["c1"]
    result = ToolMessage(id="r1", role="tool", tool_call_id="c1", content="done")
    await client.say(result, tools=tools)
    assert "doc" not in client.state
    assert client.messages[-1].content == "done"


async def test_a_long_document_costs_its_size_a_few_times_over() -> None:
    text = "All work and no play. " * 1500
    model = Scripted(streamed("write", "c1", {"doc": text}, 8))
    recorded = await predicting(talker(model), ToolNode([write]))
    shown = recorded.of("STATE_SNAPSHOT", "STATE_DELTA")
    assert 100 < len(shown) < 400
    assert sum(len(event.model_dump_json()) for event in shown) < 40 * len(text)
    assert recorded.state["doc"] == text.upper()


class Paragraph(BaseModel):
    """A paragraph of the paper."""

    text: str


@pytest.mark.parametrize("by_call", [False, True])
async def test_structured_output_is_predicted_while_it_is_written(by_call: bool) -> None:
    """LangChain says of such a call that its answer is data for the program; but it is state."""
    ask = {"tool": "Paragraph", "tool_argument": "text", "state_key": "doc"}
    config: Any = {"metadata": {"predict_state": [ask]}} if by_call else {}
    options = None if by_call else StateOptions(predict=[PredictState("Paragraph", "text", "doc")])
    model = ScriptedChatModel(call("Paragraph", "p1", text="Once upon a time"), delay=0.001)
    author = model.with_structured_output(Paragraph, include_raw=True)

    async def node(state: Any) -> Any:
        made: Any = await author.ainvoke("Write.", config)
        result = Result("Written.", tool_call_id="p1")
        return {"messages": [made["raw"], result], "doc": made["parsed"].text}

    recorded = await running(agent_of(node, state=options))
    recorded.check_snapshot()
    assert history(recorded) == ["-", "Once ", "Once upon ", "Once upon a ", "Once upon a time"]
    assert recorded.types.index("STATE_SNAPSHOT") < recorded.types.index("TOOL_CALL_END")
    assert not recorded.last.outcome.pending_tool_call_ids


@tool
def note(text: str, runtime: ToolRuntime) -> Command[Any]:
    """Note."""
    return state_update(runtime, f"noted {text}", {"log": [text]})


async def test_a_tool_answers_and_writes_in_one() -> None:
    model = Scripted([calls("note", "c1", text="x"), calls("note", "c2", 1, text="y")], ["done"])
    graph = create_agent(model, [note], state_schema=Writer)
    recorded = await running(graph, state={"log": ["old"]})
    assert recorded.state["log"] == ["old", "x", "y"]
    # Both calls run at once, and either may end first.
    results = {(m.tool_call_id, m.content) for m in recorded.messages if m.role == "tool"}
    assert results == {("c1", "noted x"), ("c2", "noted y")}


def test_outside_a_run_nobody_is_told_and_without_a_call_there_is_nothing_to_answer() -> None:
    emit_state({"doc": 1})
    emit_state([{"op": "add", "path": "/doc", "value": 1}])
    with pytest.raises(ValueError, match="tool call"):
        state_update("", "done", {})


class Inner(TypedDict, total=False):
    doc: Any
    log: Annotated[list[str], operator.add]
    only_inside: Any


async def test_declared_subgraphs_are_shown_after_each_of_their_supersteps() -> None:
    one, two = writing("one", doc=1, only_inside="CANARY"), writing("two", doc=2)
    inner = chain_of(chain_of(one, two, state=Inner), writing("three", log=["n"]), state=Inner)
    recorded = await running(agent_of(inner, writing("after", doc=3)), state={"log": ["a"]})
    assert history(recorded) == ["-", 1, 2, 3]
    # Each inner graph began with ["a"], and gives all that it has to the reducer around it.
    seen = history(recorded, "log")
    assert (seen[0], seen[-1]) == (["a"], ["a", "a", "a", "n"])
    assert "CANARY" not in told(recorded)
    assert shown_by(recorded, "") == {"", "node0"}


async def test_what_a_subgraph_marks_as_private_is_not_shown_while_it_runs() -> None:
    class Marked(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        doc: Annotated[Any, Private]
        log: Annotated[list[Any], operator.add]

    raw, clean = writing("raw", doc="CANARY", log=["raw"]), writing(doc="clean", log=["clean"])
    recorded = await running(agent_of(chain_of(raw, clean, state=Marked)))
    assert "CANARY" not in told(recorded)
    assert ["raw"] in history(recorded, "log")
    assert recorded.state == {"doc": "clean", "log": ["raw", "clean"]}


async def test_the_same_subgraph_several_times_at_once() -> None:
    inner = chain_of(writing("one", log=["n"]), writing("two", log=["m"]), state=Inner)
    builder = StateGraph(Paper).add_node("inner", inner).add_edge("inner", END)
    builder.add_conditional_edges(START, lambda _: [Send("inner", {})] * 2, ["inner"])
    recorded = await running(builder.compile())
    assert ["n"] in history(recorded, "log")
    assert recorded.state == {"log": ["n", "m", "n", "m"]}


@pytest.mark.parametrize("by", ["node", "tool"])
async def test_an_agent_that_is_only_called_keeps_its_state_to_itself(by: str) -> None:
    inner = chain_of(writing("one", doc="CANARY"), writing("two", log=["CANARY"]), state=Inner)

    async def node(state: Any) -> Any:
        await inner.ainvoke({"doc": "x"})
        return {"doc": "mine"}

    @tool
    async def delegate(call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Delegate."""
        return state_update(call, "done", await node({}))

    model = talker(Scripted([calls("delegate", "c1")]))
    recorded = await running(agent_of(*([node] if by == "node" else [model, ToolNode([delegate])])))
    assert history(recorded) == ["-", "mine"]
    assert "CANARY" not in told(recorded)


async def test_a_call_id_that_comes_again_is_previewed_while_its_call_runs() -> None:
    def turn(letter: str) -> list[Any]:
        return [calling(part("write", '{"doc": "' + letter, "call_0")), calling(part(None, '!"}'))]

    model = Scripted(turn("A"), turn("B"), ["done"])
    graph = create_agent(model, [write_nothing], state_schema=Writer)
    agent = LangGraphAgent(graph, state=StateOptions(predict=[DOC]))
    recorded = await running(agent, state={"doc": "old"})
    during = [(event.step_name, state["doc"]) for event, state in states(recorded, "STEP_FINISHED")]
    assert during[:4] == [("model", "A!"), ("tools", "A!"), ("model", "B!"), ("tools", "B!")]
    assert recorded.state["doc"] == "old"


Messages = Annotated[list[AnyMessage], add_messages]


class Model(BaseModel):
    messages: Messages = []
    doc: Any = 0


@dataclass
class Data:
    messages: Messages = field(default_factory=list)
    doc: Any = 0


async def model(state: Any) -> dict[str, Any]:
    return {"messages": [await Scripted(["a"]).ainvoke("x")]}


async def recording(*nodes: Any, schema: Any = Paper) -> RecordedRun:
    recorded = await running(chain_of(*nodes, state=schema))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


@pytest.mark.parametrize("state", [Model, Data])
async def test_state_of_every_kind(state: Any) -> None:
    recorded = await recording(writing(doc=1), model, schema=state)
    assert recorded.state["doc"] == 1
    assert all("messages" not in event.snapshot for event in recorded.of("STATE_SNAPSHOT"))
    assert [message.content for message in recorded.messages] == ["hi", "a"]


@pytest.mark.parametrize("stored", [False, True])
async def test_a_list_of_messages_without_a_key_is_the_state(stored: bool) -> None:
    model = Scripted(["Hello"])

    async def node(messages: list[BaseMessage]) -> Any:
        return [await model.ainvoke(messages)]

    builder = StateGraph(Annotated[list, add_messages])  # type: ignore[type-var]
    builder.add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver() if stored else None)
    client = Client(LangGraphAgent(graph))
    (await client.say("hi")).check_snapshot()
    await client.say("more")
    assert [message.content for message in client.messages] == ["hi", "Hello", "more", "Hello"]
    seen = [[message.content for message in messages] for messages in model.seen]
    assert seen == [["hi"], ["hi", "Hello", "more"]]


async def test_a_system_prompt_never_leaves() -> None:
    async def node(state: Any) -> Any:
        system = SystemMessage("CANARY")
        answer = await Scripted(["a"]).ainvoke([system, *state["messages"]])
        return {"messages": [system, answer], "doc": 1}

    recorded = await recording(node)
    assert "CANARY" not in told(recorded)


cycle: dict[str, Any] = {"a": 1}
cycle["self"] = cycle


class Bad:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (b"hi", {"__type__": "bytes", "base64": "aGk="}),
        (Bad(), {"__type__": "object", "class": f"{__name__}.Bad"}),
        (cycle, {"a": 1, "self": {"__type__": "cycle"}}),
        (float("nan"), None),
        ({1: {2, 3}}, {"1": [2, 3]}),
        (Model(doc=1), {"messages": [], "doc": 1}),
        ("\ud83d", "\ufffd"),
    ],
    ids=["bytes", "object", "cycle", "nan", "set", "pydantic", "surrogate"],
)
async def test_what_is_no_json_never_cuts_the_stream(value: Any, seen: Any) -> None:
    assert (await recording(writing(doc=value), model)).state["doc"] == seen
    agent = LangGraphAgent(chain_of(writing(doc=value), state=Paper))
    sse = b"".join([batch async for batch in agent.stream_sse(run_input("hi"))])
    assert b"RUN_FINISHED" in sse


async def test_a_change_in_place_is_seen_at_the_end() -> None:
    async def later(state: Any) -> Any:
        state["doc"]["n"] = 5
        return {"log": [1]}

    assert (await recording(writing("one", doc={}), later)).state["doc"] == {"n": 5}


async def test_a_change_in_place_that_is_returned_is_a_patch_of_its_superstep() -> None:
    async def changing(state: Any) -> Any:
        state["doc"]["rows"][0]["n"] = 5
        return {"doc": {**state["doc"]}}

    rows = [{"n": 0, "text": "x" * 99}, {"n": 1, "text": "y" * 99}]
    recorded = await recording(writing("one", doc={"rows": rows}), changing, model)
    (patch,) = recorded.of("STATE_DELTA")
    operations = [operation.model_dump() for operation in patch.delta]
    assert operations == [{"op": "replace", "path": "/doc/rows/0/n", "value": 5}]
    (started,) = [event for event in recorded.of("STEP_STARTED") if event.step_name == "model"]
    assert recorded.events.index(patch) < recorded.events.index(started)
