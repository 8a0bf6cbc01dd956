"""`record_run`: what it records and refuses, and how a `RecordedRun` goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import (
    Event,
    ResumeEntry,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    Tool,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
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
from langgraph_agui.protocol import ProtocolError
from langgraph_agui.testing import RecordedRun, Reply, ScriptedChatModel, call, record_run
from tests.behaviour.testing.checking import checked

PAGE_TOOL = Tool(name="get_city", description="Return the city that the user is in.")


class Notes(AgentState[Any]):
    notes: list[str]


def transfer(to: str, amount: int) -> str:
    """Transfer money to a person."""
    return f"Sent {amount} euros to {to}."


def add_note(note: str, runtime: ToolRuntime[None, Notes]) -> Command[Any]:
    """Add a note."""
    return state_update(runtime, "Noted.", {"notes": [*runtime.state.get("notes", []), note]})


def make_agent(*replies: Any) -> LangGraphAgent:
    graph = create_agent(
        ScriptedChatModel(*replies),
        [transfer, add_note],
        middleware=[HumanInTheLoopMiddleware({"transfer": True}), AGUIMiddleware()],
        state_schema=Notes,
        checkpointer=InMemorySaver(),
    )
    return LangGraphAgent(graph, name="bank")


def over_http(agent: LangGraphAgent) -> AGUIClient:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    return AGUIClient("http://test/agent", http_client=AsyncClient(transport=ASGITransport(app)))


@pytest.fixture(params=["in process", "over HTTP"])
def reach(request: pytest.FixtureRequest) -> Any:
    """How the agent is reached: as it is, or by its client."""
    return over_http if request.param == "over HTTP" else lambda agent: agent


def told(run: RecordedRun) -> list[tuple[str, object]]:
    return [(message.role, message.content) for message in run.messages]


async def test_a_conversation(reach: Any) -> None:
    first = checked(await record_run(reach(make_agent("Hello!", "Fine.")), "Hi"))
    assert told(first) == [("user", "Hi"), ("assistant", "Hello!")]
    assert (first.outcome, first.error, first.interrupts) == ("success", None, [])
    assert (first.events[0].type, first.events[-1].type) == ("RUN_STARTED", "RUN_FINISHED")
    second = checked(await first.then("How are you?"))
    assert told(second)[2:] == [("user", "How are you?"), ("assistant", "Fine.")]
    assert (second.text, first.text) == ("Fine.", "Hello!")
    assert second.input.thread_id == first.input.thread_id
    assert second.input.run_id != first.input.run_id


@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval(reach: Any, approved: bool) -> None:
    agent = make_agent(call("transfer", to="Ada", amount=5), lambda messages: messages[-1].text)
    asked = checked(await record_run(reach(agent), "Send Ada 5 euros"))
    assert (asked.outcome, asked.text, len(asked.interrupts)) == ("interrupt", "", 1)
    done = checked(await asked.answer({"approved": approved}))
    assert (done.outcome, done.interrupts) == ("success", [])
    assert ("Sent 5 euros to Ada." in done.text) is approved


@pytest.mark.parametrize("given", [None, "Ben got it."])
async def test_approvals_as_calls(given: str | None) -> None:
    """The guarded call is pending too, for it has no result. A client's result of it is ignored."""
    graph = make_agent(call("transfer", to="Ada", amount=5), lambda messages: messages[-1].text)
    agent = LangGraphAgent(graph.graph, approvals=ApprovalOptions(ask_by="tool_call"))
    asked = checked(await record_run(agent, "Send Ada 5 euros"))
    guarded, approval = asked.pending_tool_calls
    assert [one.function.name for one in (guarded, approval)] == ["transfer", "request_approval"]
    if given is None:
        yes = ToolMessage(id="m", tool_call_id=approval.id, content='{"approved": true}')
        done = await asked.then(yes)
    else:
        done = await asked.answer(given, {"approved": True})
    assert (done.text, done.pending_tool_calls) == ("Sent 5 euros to Ada.", [])


async def test_answers_are_in_the_order_of_the_interrupts() -> None:
    def script(messages: list[BaseMessage]) -> Reply:
        if messages[-1].type != "tool":
            return [call("transfer", to="Ada", amount=5), call("transfer", to="Ben", amount=6)]
        return " ".join(one.text for one in messages if one.type == "tool")

    asked = checked(await record_run(make_agent(script), "Send money"))
    cancelled = ResumeEntry(interrupt_id=asked.interrupts[0].id, status="cancelled")
    done = checked(await asked.answer(cancelled, {"approved": True}))
    assert "Sent 6 euros to Ben." in done.text
    assert "Ada" not in done.text


async def test_a_tool_of_the_client(reach: Any) -> None:
    agent = make_agent(call("get_city"), lambda messages: f"You are in {messages[-1].text}.")
    asked = checked(await record_run(reach(agent), "Where am I?", tools=[PAGE_TOOL]))
    [pending] = asked.pending_tool_calls
    assert pending.function.name == "get_city"
    done = checked(await asked.answer("Oslo"))
    assert (done.text, done.pending_tool_calls) == ("You are in Oslo.", [])


async def test_a_tool_of_the_client_that_fails() -> None:
    agent = make_agent(call("get_city"), lambda messages: messages[-1].text)
    asked = checked(await record_run(agent, "Where am I?", tools=[PAGE_TOOL]))
    [pending] = asked.pending_tool_calls
    result = ToolMessage(id="m", tool_call_id=pending.id, content="", error="The user refused.")
    done = checked(await asked.then(result, "Never mind."))
    assert done.text == "Never mind."


async def test_results_of_each_kind() -> None:
    agent = make_agent(
        [call("get_city"), call("get_city"), call("get_city")],
        lambda messages: " ".join(one.text for one in messages if one.type == "tool"),
    )
    asked = checked(await record_run(agent, "Where am I?", tools=[PAGE_TOOL]))
    failed = ToolMessage(
        id="m", tool_call_id=asked.pending_tool_calls[2].id, content="", error="No map."
    )
    done = checked(await asked.answer("Oslo", {"city": "Rome"}, failed))
    assert done.text == 'Oslo {"city": "Rome"} No map.'


@pytest.mark.parametrize("answers", [(), ("Oslo", "Rome")])
async def test_each_question_has_one_answer(answers: tuple[str, ...]) -> None:
    asked = await record_run(make_agent(call("get_city")), "Where?", tools=[PAGE_TOOL])
    with pytest.raises(ValueError, match=rf"for each of \['get_city'\]; {len(answers)} came"):
        await asked.answer(*answers)


async def test_an_approval_has_one_answer() -> None:
    asked = await record_run(make_agent(call("transfer", to="Ada", amount=5)), "Send 5 euros")
    with pytest.raises(ValueError, match=r"for each of \['Tool execution requires approval'\]"):
        await asked.answer()


async def test_nothing_to_answer() -> None:
    run = await record_run(make_agent("Hello!"), "Hi")
    with pytest.raises(
        ValueError, match=r"for no answer; 0 came. This is RecordedRun\(outcome='su"
    ):
        await run.answer()


async def test_state(reach: Any) -> None:
    replies = [call("add_note", note="tea"), "Noted.", call("add_note", note="milk"), "Noted."]
    first = checked(await record_run(reach(make_agent(*replies)), "Tea", state={"notes": ["rice"]}))
    assert first.state == {"notes": ["rice", "tea"]}
    second = checked(await first.then("Milk", state={"notes": ["tea"]}))
    assert second.state == {"notes": ["tea", "milk"]}


async def test_the_state_is_sent_back_as_it_is() -> None:
    replies = [call("add_note", note="tea"), "Noted.", "Hello!"]
    first = checked(await record_run(make_agent(*replies), "Tea"))
    second = checked(await first.then("Hi"))
    assert second.input.state == second.state == {"notes": ["tea"]}


async def test_messages_and_whole_inputs() -> None:
    agent = make_agent("Hello!", "Hello again.", "Bye.")
    message = UserMessage(id="m1", content="Hi")
    assert told(checked(await record_run(agent, message)))[0] == ("user", "Hi")
    given = RunAgentInput(
        protocol_version="1.0", thread_id="t1", run_id="r1", messages=[message], state={}
    )
    run = checked(await record_run(agent, given))
    assert run.input is given
    assert checked(await run.then("Bye")).input.thread_id == "t1"


async def test_the_answer_to_a_part_of_the_conversation() -> None:
    """A client may send its last message alone; then the snapshot brings earlier answers."""
    first = await record_run(make_agent("Hello!", "Hello again."), "Hi")
    again = UserMessage(id="m1", content="And now?")
    part = first.input.model_copy(update={"run_id": "r2", "messages": [again]})
    second = await record_run(first.agent, part)
    assert (len(second.messages), second.text) == (4, "Hello again.")


@pytest.mark.parametrize("given", [["Hi"], {"role": "user", "content": "Hi"}, HumanMessage("Hi")])
async def test_something_else_is_refused(given: Any) -> None:
    first = await record_run(make_agent("Hello!"), "Hi")
    with pytest.raises(TypeError, match=f"messages of ag_ui.core .* not {type(given).__name__}"):
        await record_run(first.agent, given)
    with pytest.raises(TypeError, match=f"messages of ag_ui.core .* not {type(given).__name__}"):
        await first.then(given)


async def test_a_graph_is_no_agent() -> None:
    graph: Any = make_agent("Hello!").graph
    with pytest.raises(TypeError, match=r"as LangGraphAgent\(graph\) has; CompiledStateGraph"):
        await record_run(graph, "Hi")


@pytest.mark.parametrize("options", [{"state": {}}, {"tools": [PAGE_TOOL]}])
async def test_a_whole_input_has_its_own_state_and_tools(options: dict[str, Any]) -> None:
    first = await record_run(make_agent("Hello!"), "Hi")
    with pytest.raises(TypeError, match="A whole input has its own"):
        await record_run(first.agent, first.input, **options)


async def test_options_of_each_run() -> None:
    """As the factories of a route give them: here, who asks."""

    def greet(state: MessagesState, runtime: Runtime[str]) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Hello, {runtime.context}.")]}

    builder = StateGraph(MessagesState, context_schema=str).add_node(greet)
    graph = builder.add_edge(START, "greet").compile(checkpointer=InMemorySaver())
    config = {"tags": ["test"]}
    first = checked(await record_run(LangGraphAgent(graph), "Hi", context="Ada", config=config))
    assert (first.text, first.options) == ("Hello, Ada.", {"context": "Ada", "config": config})
    assert checked(await first.then("Hi again")).text == "Hello, Ada."
    with pytest.raises(TypeError, match="tool"):
        await record_run(LangGraphAgent(graph), "Hi", tool=PAGE_TOOL)


async def test_a_run_that_fails(reach: Any) -> None:
    agent = make_agent("Hello!", ["Let me ", ConnectionError("secret")], "Now.")
    first = checked(await record_run(reach(agent), "Hi"))
    failed = checked(await first.then("And now?"))
    assert (failed.outcome, failed.text) == ("error", "Let me ")
    assert failed.error is not None
    assert failed.error.code == "model_error"
    assert failed.error.message.startswith("The model could not answer.")
    assert repr(failed) == (
        "RecordedRun(outcome='error', code='model_error', "
        f"message={failed.error.message!r}, text='Let me ')"
    )
    assert checked(await failed.then("And now?")).text == "Now."


class Rude:
    """An agent that breaks rules of AG-UI."""

    def __init__(self, *events: Event) -> None:
        self.events, self.closed = events, False

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Event]:
        try:
            yield RunStartedEvent(
                thread_id=run_input.thread_id, run_id=run_input.run_id, protocol_version="1.0"
            )
            for event in self.events:
                yield event
        finally:
            self.closed = True


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([TextMessageContentEvent(message_id="m1", delta="Hello")], "not-open"),
        ([], "truncated-stream"),
        ([RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0")], "run-active"),
    ],
)
async def test_a_stream_that_breaks_a_rule(events: list[Event], code: str) -> None:
    agent = Rude(*events)
    with pytest.raises(ProtocolError) as refused:
        await record_run(agent, "Hi")
    assert refused.value.code == code
    assert agent.closed


async def test_calls_of_an_agent_of_before_1_0() -> None:
    """It names no pending calls: its clients count them."""
    agent = Rude(
        ToolCallStartEvent(tool_call_id="c1", tool_call_name="get_city"),
        ToolCallEndEvent(tool_call_id="c1"),
        TextMessageChunkEvent(message_id="m1", role="assistant", delta="Where "),
        TextMessageChunkEvent(delta="are you?"),
        RunFinishedEvent(thread_id="t1", run_id="r1"),
    )
    given = RunAgentInput(thread_id="t1", run_id="r1", messages=[], tools=[PAGE_TOOL])
    run = await record_run(agent, given)
    assert ([one.id for one in run.pending_tool_calls], run.text) == (["c1"], "Where are you?")
