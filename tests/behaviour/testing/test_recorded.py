"""`record_run`: what it records and refuses, and how a `RecordedRun` goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import Event, ResumeEntry, RunAgentInput, Tool, ToolMessage, UserMessage
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_agui import (
    AGUIMiddleware,
    ApprovalOptions,
    LangGraphAgent,
    add_langgraph_fastapi_endpoint,
    state_update,
)
from langgraph_agui.client import AGUIClient
from langgraph_agui.protocol import ProtocolError, parse_event
from langgraph_agui.testing import ScriptedChatModel, call, record_run
from tests.behaviour.testing.checking import checked
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, text
from tests.kit.run.wire_events import call as called

PAGE_TOOL = Tool(name="get_city", description="Return the city that the user is in.")
PAY, YES = call("transfer", to="Ada", amount=5), {"approved": True}


class Notes(AgentState[Any]):
    notes: list[str]


def transfer(to: str, amount: int) -> str:
    """Transfer money to a person."""
    return f"Sent {amount} euros to {to}."


def add_note(note: str, runtime: ToolRuntime[None, Notes]) -> Command[Any]:
    """Add a note."""
    return state_update(runtime, "Noted.", {"notes": [*runtime.state.get("notes", []), note]})


def results(messages: list[Any]) -> str:
    """What the model says: the results behind the user's last message."""
    return " ".join(one.text for one in messages if one.type == "tool")


def make_agent(*replies: Any, **options: Any) -> LangGraphAgent:
    middleware = [HumanInTheLoopMiddleware({"transfer": True}), AGUIMiddleware()]
    given: Any = {"middleware": middleware, "state_schema": Notes, "checkpointer": InMemorySaver()}
    graph = create_agent(ScriptedChatModel(*replies), [transfer, add_note], **given)
    return LangGraphAgent(graph, name="bank", **options)


def over_http(agent: LangGraphAgent) -> AGUIClient:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    return AGUIClient("http://test/agent", http_client=AsyncClient(transport=ASGITransport(app)))


@pytest.mark.parametrize("reach", [lambda agent: agent, over_http], ids=["in process", "HTTP"])
async def test_a_conversation(reach: Any) -> None:
    down, note = ConnectionError("secret"), call("add_note", note="tea")
    replies = ["Hello!", ["Let me ", down], [call("get_city")] * 3, results, note, "Noted."]
    replies += [[PAY, call("transfer", to="Ben", amount=6)], results]
    first = checked(await record_run(reach(make_agent(*replies)), "Hi", tools=[PAGE_TOOL]))
    assert [(one.role, one.content) for one in first.messages] == [
        ("user", "Hi"),
        ("assistant", "Hello!"),
    ]
    assert (first.outcome, first.error, first.interrupts, first.text) == (
        "success",
        None,
        [],
        "Hello!",
    )
    with pytest.raises(ValueError, match=r"for no answer; 0 came. This is RecordedRun\(outcome='s"):
        await first.answer()

    failed = checked(await first.then("Where am I?"))
    assert failed.input.thread_id == first.input.thread_id
    assert failed.input.run_id != first.input.run_id
    said = str(failed.error and failed.error.message)
    assert said.startswith("The model could not answer.")
    shown = f"outcome='error', code='model_error', message={said!r}, text='Let me '"
    assert repr(failed) == f"RecordedRun({shown})"

    asked = checked(await failed.then("Where am I?"))
    assert [one.function.name for one in asked.pending_tool_calls] == ["get_city"] * 3
    for answers in ((), ("Oslo", "Rome")):
        expected = rf"for each of \['get_city', .*\]; {len(answers)} came"
        with pytest.raises(ValueError, match=expected):
            await asked.answer(*answers)
    last = asked.pending_tool_calls[2].id
    no_map = ToolMessage(id="m", tool_call_id=last, content="", error="No map.")
    located = checked(await asked.answer("Oslo", {"city": "Rome"}, no_map))
    assert (located.text, located.pending_tool_calls) == ('Oslo {"city": "Rome"} No map.', [])

    noted = checked(await located.then("Tea", state={"notes": ["rice"]}))
    assert (noted.state, noted.text) == ({"notes": ["rice", "tea"]}, "Noted.")
    assert noted.pending_tool_calls == []  # the graph has answered its own
    paying = checked(await noted.then("Send money"))
    assert paying.input.state == paying.state == noted.state
    assert (paying.outcome, paying.text, len(paying.interrupts)) == ("interrupt", "", 2)
    with pytest.raises(ValueError, match=r"for each of \['Tool execution requires approval', "):
        await paying.answer()
    no = ResumeEntry(interrupt_id=paying.interrupts[0].id, status="cancelled")
    paid = checked(await paying.answer(no, YES))
    assert (paid.outcome, paid.interrupts) == ("success", [])
    assert ("Sent 6 euros to Ben." in paid.text, "Ada" in paid.text) == (True, False)


@pytest.mark.parametrize("given", [None, "Ben got it."])
async def test_approvals_as_calls(given: str | None) -> None:
    """The guarded call is pending too, for it has no result. A client's result of it is ignored."""
    agent = make_agent(PAY, results, approvals=ApprovalOptions(ask_by="tool_call"))
    asked = checked(await record_run(agent, "Send Ada 5 euros"))
    guarded, approval = asked.pending_tool_calls
    assert [one.function.name for one in (guarded, approval)] == ["transfer", "request_approval"]
    yes = ToolMessage(id="m", tool_call_id=approval.id, content='{"approved": true}')
    done = await (asked.then(yes) if given is None else asked.answer(given, YES))
    assert (done.text, done.pending_tool_calls) == ("Sent 5 euros to Ada.", [])


async def test_messages_and_whole_inputs() -> None:
    """A client may send its last message alone; then the snapshot brings earlier answers."""
    agent, message = make_agent("Hello!", "Bye.", "Again."), UserMessage(id="m1", content="Hi")
    first = checked(await record_run(agent, message))
    assert first.messages[0] == message
    part = first.input.model_copy()
    part.run_id, part.messages = "r2", [UserMessage(id="m2", content="And now?")]
    second = await record_run(agent, part)
    assert second.input is part
    assert (len(second.messages), second.text) == (4, "Bye.")
    assert checked(await second.then("On")).input.thread_id == part.thread_id
    for options in ({"state": {}}, {"tools": [PAGE_TOOL]}):
        with pytest.raises(TypeError, match="A whole input has its own"):
            await record_run(agent, part, **options)


@pytest.mark.parametrize("given", [["Hi"], {"role": "user", "content": "Hi"}, HumanMessage("Hi")])
async def test_something_else_is_refused(given: Any) -> None:
    first = await record_run(make_agent("Hello!"), "Hi")
    for refused in (record_run(first.agent, given), first.then(given)):
        said = f"messages of ag_ui.core .* not {type(given).__name__}"
        with pytest.raises(TypeError, match=said):
            await refused
    with pytest.raises(TypeError, match=r"as LangGraphAgent\(graph\) has; CompiledStateGraph"):
        await record_run(make_agent().graph, "Hi")  # type: ignore[arg-type]


async def test_options_of_each_run() -> None:
    """As the factories of a route give them: here, who asks."""

    def greet(state: MessagesState, runtime: Runtime[str]) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Hello, {runtime.context}.")]}

    builder = StateGraph(MessagesState, context_schema=str).add_node(greet)
    agent = LangGraphAgent(builder.add_edge(START, "greet").compile(checkpointer=InMemorySaver()))
    options: Any = {"context": "Ada", "config": {"tags": ["test"]}}
    first = checked(await record_run(agent, "Hi", **options))
    assert (first.text, first.options) == ("Hello, Ada.", options)
    assert checked(await first.then("Hi again")).text == "Hello, Ada."
    with pytest.raises(TypeError, match="tool"):
        await record_run(agent, "Hi", tool=PAGE_TOOL)


class Rude:
    """An agent that says just what it is given, behind the start of a run."""

    def __init__(self, *wires: Wire) -> None:
        self.wires, self.closed = wires, False

    async def run(self, given: RunAgentInput) -> AsyncIterator[Event | None]:
        ids = {"threadId": given.thread_id, "runId": given.run_id}
        try:
            for wire in ({**STARTED, **ids}, *self.wires):
                yield parse_event(wire)
        finally:
            self.closed = True


@pytest.mark.parametrize(
    ("wires", "code"),
    [([text("m", "Hello")[1]], "not-open"), ([], "truncated-stream"), ([STARTED], "run-active")],
)
async def test_a_stream_that_breaks_a_rule(wires: list[Wire], code: str) -> None:
    agent: Any = Rude(*wires)
    with pytest.raises(ProtocolError) as refused:
        await record_run(agent, "Hi")
    assert (refused.value.code, agent.closed) == (code, True)


async def test_calls_of_an_agent_of_before_1_0() -> None:
    """It names no pending calls: its clients count them."""
    agent: Any = Rude(*called("c1", name="get_city"), *text("m1", "Where ", "are you?"), FINISHED)
    given = RunAgentInput(thread_id="t", run_id="r", messages=[], tools=[PAGE_TOOL])
    run = await record_run(agent, given)
    assert ([one.id for one in run.pending_tool_calls], run.text) == (["c1"], "Where are you?")
