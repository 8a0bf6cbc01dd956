"""Guardrails that rewrite an answer behind the model: `ClientOptions(hold_messages=True)`."""

from __future__ import annotations

import operator
from typing import Annotated, Any, ClassVar

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    HumanInTheLoopMiddleware,
    PIIMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.stream import StreamTransformer
from langgraph.types import Command, Overwrite

from langgraph_agui import ClientOptions, LangGraphAgent, Private, astream_agui
from tests.behaviour.threads.test_connect import connect
from tests.behaviour.wrap.test_stream_transformers import delegating, look, said
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input


def rewritten(state: Any) -> dict[str, Any] | None:
    answer = state["messages"][-1]
    if not isinstance(answer, AIMessage) or CANARY not in answer.text:
        return None
    return {"messages": [AIMessage(answer.text.replace(CANARY, "***"), id=answer.id)]}


class AfterModel(AgentMiddleware[Any, Any]):
    """Rewrites an answer."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        return rewritten(state)


class AsMapping(AgentMiddleware[Any, Any]):
    """Rewrites an answer, and writes the message as a mapping."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        if (update := rewritten(state)) is None:
            return None
        (answer,) = update["messages"]
        return {"messages": [{"role": "assistant", "content": answer.text, "id": answer.id}]}


class AfterAgent(AgentMiddleware[Any, Any]):
    """Rewrites the last answer."""

    def after_agent(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        return rewritten(state)


class Replaces(AgentMiddleware[Any, Any]):
    """Puts another message in the place of an answer."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        answer = state["messages"][-1]
        if CANARY not in answer.text:
            return None
        return {"messages": [RemoveMessage(id=str(answer.id)), AIMessage("No.", id="other")]}


class BeginsAnew(AgentMiddleware[Any, Any]):
    """Puts another conversation in the place of one with a bad answer."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        *before, answer = state["messages"]
        if CANARY not in answer.text:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *before, AIMessage("No.")]}


class Overwrites(AgentMiddleware[Any, Any]):
    """The same, by LangGraph's `Overwrite`."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        *before, answer = state["messages"]
        if CANARY not in answer.text:
            return None
        return {"messages": Overwrite([*before, AIMessage("No.", id="other")])}


class Refuses(AgentMiddleware[Any, Any]):
    """Fails on an answer."""

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        if CANARY in state["messages"][-1].text:
            raise RuntimeError("not this")
        return None


class Results(AgentMiddleware[Any, Any]):
    """Rewrites results before the model gets them."""

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        told = [
            message.model_copy(update={"content": message.text.replace(CANARY, "***")})
            for message in state["messages"]
            if isinstance(message, ToolMessage) and CANARY in message.text
        ]
        return {"messages": told} if told else None


class Audited(AgentState[Any]):
    audit: Annotated[list[Any], Private, operator.add]


class Audits(AgentMiddleware[Any, Any]):
    """Keeps for itself what other middleware changes."""

    state_schema = Audited

    def __init__(self, changes: AgentMiddleware[Any, Any]) -> None:
        super().__init__()
        self._changes = changes

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> Any:
        return self._kept(state, self._changes.before_model(state, runtime))

    def after_model(self, state: AgentState[Any], runtime: Runtime) -> Any:
        return self._kept(state, self._changes.after_model(state, runtime))

    def _kept(self, state: AgentState[Any], update: Any) -> Any:
        return update and {**update, "audit": [state["messages"][-1]]}


class RefusesResults(AgentMiddleware[Any, Any]):
    """Fails on a result before the model gets it."""

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> None:
        if any(CANARY in message.text for message in state["messages"]):
            raise RuntimeError("not this")


def holding(model: Any, *middleware: Any, hold: bool = True, **fields: Any) -> LangGraphAgent:
    graph = create_agent(
        model,
        fields.pop("tools", []),
        middleware=[*middleware],
        checkpointer=InMemorySaver(),
        **fields,
    )
    return LangGraphAgent(graph, clients=ClientOptions(hold_messages=hold))


async def checked(agent: LangGraphAgent) -> RecordedRun:
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    shown = await connect(agent)
    assert shown.messages == [
        message for message in recorded.messages if message.subagent_run_id is None
    ]
    return recorded


@pytest.mark.parametrize("middleware", [AfterModel, AsMapping, AfterAgent])
@pytest.mark.parametrize("streams", [True, False])
async def test_a_rewritten_answer(middleware: Any, streams: bool) -> None:
    model = Scripted(["I am ", CANARY], disable_streaming=not streams)
    recorded = await checked(holding(model, middleware()))
    assert said(recorded) == recorded.messages[-1].content == "I am ***"


async def test_without_the_option_it_is_seen() -> None:
    agent = holding(Scripted(["I am ", CANARY]), AfterModel(), hold=False)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert CANARY in said(recorded)
    assert recorded.messages[-1].content == "I am ***"


@pytest.mark.parametrize("middleware", [Replaces, BeginsAnew, Overwrites])
async def test_an_answer_that_another_replaces(middleware: Any) -> None:
    recorded = await checked(holding(Scripted(["I am ", CANARY]), middleware()))
    assert said(recorded) == "No."


@pytest.mark.parametrize("changes", [AfterModel, AsMapping, Replaces, BeginsAnew, Overwrites])
async def test_a_copy_for_the_graph_itself(changes: Any) -> None:
    recorded = await checked(holding(Scripted(["I am ", CANARY]), Audits(changes())))
    assert said(recorded) in ("I am ***", "No.")


async def test_a_copy_of_a_result_for_the_graph_itself() -> None:
    model = Scripted([call("look", "c1", who="Ann")], ["Found."])
    recorded = await checked(holding(model, Audits(Results()), tools=[look]))
    assert recorded.of("TOOL_CALL_RESULT")[0].content == "Ann is ***."


async def test_an_answer_that_fails_the_run() -> None:
    agent = holding(Scripted(["I am ", CANARY]), Refuses())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert recorded.last.type == "RUN_ERROR"


async def test_calls_and_results_in_their_order() -> None:
    guard = PIIMiddleware("word", detector=CANARY, apply_to_output=True, apply_to_tool_results=True)
    guard.transformers = ()  # as in LangChain versions that have none
    model = Scripted(["I look. ", call("look", "c1", who="Ann")], ["Found ", CANARY])
    recorded = await checked(holding(model, guard, tools=[look]))
    assert said(recorded) == "I look. Found [REDACTED_WORD]"
    assert recorded.of("TOOL_CALL_RESULT")[0].content == "Ann is [REDACTED_WORD]."
    assert [message.role for message in recorded.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_an_approval_shows_its_call() -> None:
    model = Scripted(["I look. ", call("look", "c1", who="Ann")], ["Found."])
    agent = holding(model, HumanInTheLoopMiddleware(interrupt_on={"look": True}), tools=[look])
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert said(recorded) == "I look. "
    (interrupt,) = recorded.last.outcome.interrupts
    assert interrupt.tool_call_id == "c1"
    answer = ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload={"type": "approve"})
    resumed = await record_run(agent, run_input(*recorded.messages, thread="t", resume=[answer]))
    assert said(resumed) == "Found."
    assert [message.role for message in resumed.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_a_subagent() -> None:
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()], name="helper")
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    recorded = await checked(holding(model, tools=[delegating(inner, "ask")]))
    assert said(recorded) == "I am ***Thanks."


@pytest.mark.parametrize("middleware", [Results, RefusesResults])
async def test_no_snapshot_shows_what_is_held(middleware: Any) -> None:
    """One is due as soon as the agent takes a subagent's message for its own."""
    inner = create_agent(Scripted(["I am fine."]), [], name="helper")

    @tool
    async def ask(who: str, runtime: ToolRuntime) -> Command[Any]:
        """Ask somebody."""
        said_inside = (await inner.ainvoke({"messages": [("user", who)]}))["messages"][-1]
        told = ToolMessage(f"Told {CANARY}.", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [told, said_inside]})

    model = Scripted([call("ask", "c1", who="Ann")], ["Thanks."])
    agent = holding(model, middleware(), tools=[ask])
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert recorded.last.type == ("RUN_FINISHED" if middleware is Results else "RUN_ERROR")


@pytest.mark.parametrize("speaks_itself", [True, False])
async def test_an_agent_inside_that_fails(speaks_itself: bool) -> None:
    """What its hook has refused stays unseen, though the run goes on."""
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[Refuses()], name="helper")

    async def tries(state: Any) -> dict[str, Any]:
        given = state if speaks_itself else {"messages": [("user", "Who?")]}
        with pytest.raises(RuntimeError):
            await inner.ainvoke(given)
        return {"messages": [AIMessage("No answer.", id="none")]}

    graph = chain_of(tries, checkpointer=InMemorySaver())
    recorded = await checked(LangGraphAgent(graph, clients=ClientOptions(hold_messages=True)))
    assert said(recorded) == "No answer."


class Slow(StreamTransformer):
    """Asks somebody else about each event, which our stream does not wait for."""

    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        return {}

    async def aprocess(self, event: Any) -> bool:
        return True


async def test_a_transformer_that_cannot_run_here_holds_messages_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = holding(Scripted(["I am ", CANARY]), AfterModel(), hold=False, transformers=[Slow])
    recorded = await checked(agent)
    assert said(recorded) == "I am ***"
    assert "Messages are held back" in caplog.text


async def test_one_of_a_subagent_holds_messages_too() -> None:
    inner = create_agent(
        Scripted(["I am ", CANARY]), [], middleware=[AfterModel()], transformers=[Slow]
    )
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    recorded = await checked(holding(model, hold=False, tools=[delegating(inner, "ask")]))
    assert said(recorded) == "I am ***Thanks."


async def test_any_runnable_that_is_a_graph_holds_messages_too() -> None:
    model = Scripted([call("look", "c1", who="Ann")], ["I am ", CANARY])
    middleware = [AfterModel(), Results()]
    graph = create_agent(model, [look], middleware=middleware, transformers=[Slow])
    given = run_input("Hi", thread="t")
    events = await collect(astream_agui(graph, {"messages": [("user", "Hi")]}, given))
    recorded = RecordedRun(events, given)
    check_events(recorded.events)
    recorded.check_snapshot()
    assert said(recorded) == "I am ***"
    assert recorded.of("TOOL_CALL_RESULT")[0].content == "Ann is ***."


async def test_a_hook_that_jumps() -> None:
    class Again(AgentMiddleware[Any, Any]):
        """Lets the model try once more."""

        def after_model(self, state: AgentState[Any], runtime: Runtime) -> Any:
            answer = state["messages"][-1]
            if CANARY not in answer.text:
                return None
            removed = RemoveMessage(id=str(answer.id))
            return {"messages": [removed], "jump_to": "model"}

        after_model.__can_jump_to__ = ["model"]  # type: ignore[attr-defined]  # noqa: RUF012

    recorded = await checked(holding(Scripted(["I am ", CANARY], ["I am fine."]), Again()))
    assert said(recorded) == "I am fine."
