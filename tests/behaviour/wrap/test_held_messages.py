"""Guardrails that rewrite an answer behind the model: `ClientOptions(hold_messages=True)`."""

from __future__ import annotations

import operator
from typing import Annotated, Any, ClassVar

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, PIIMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.stream import StreamTransformer
from langgraph.types import Command, Overwrite

from langgraph_agui import ClientOptions, LangGraphAgent, Private, astream_agui
from tests.behaviour.wrap.test_stream_transformers import delegating, hidden, look, said
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.run.talking import connect


def rewritten(before: list[Any], answer: Any) -> list[Any]:
    return [AIMessage(answer.text.replace(CANARY, "***"), id=answer.id)]


def as_mapping(before: list[Any], answer: Any) -> list[Any]:
    text = answer.text.replace(CANARY, "***")
    return [{"role": "assistant", "content": text, "id": answer.id}]


def another(before: list[Any], answer: Any) -> list[Any]:
    return [RemoveMessage(id=str(answer.id)), AIMessage("No.", id="other")]


def begun_anew(before: list[Any], answer: Any) -> list[Any]:
    return [RemoveMessage(REMOVE_ALL_MESSAGES), *before, AIMessage("No.")]


def overwritten(before: list[Any], answer: Any) -> Any:
    return Overwrite([*before, AIMessage("No.", id="other")])


def refused(before: list[Any], answer: Any) -> Any:
    raise RuntimeError("not this")


class Changes(AgentMiddleware[Any, Any]):
    """Changes a bad answer."""

    def __init__(self, change: Any = rewritten, **more: Any) -> None:
        super().__init__()
        self._change, self._more = change, more

    def changed(self, state: AgentState[Any]) -> dict[str, Any] | None:
        *before, answer = state["messages"]
        bad = isinstance(answer, AIMessage) and CANARY in answer.text
        return {"messages": self._change(before, answer), **self._more} if bad else None


class AfterModel(Changes):
    def after_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        return self.changed(state)

    after_model.__can_jump_to__ = ["model"]  # type: ignore[attr-defined]  # noqa: RUF012


class AfterAgent(Changes):
    def after_agent(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        return self.changed(state)


class Results(AgentMiddleware[Any, Any]):
    """Rewrites results before the model gets them."""

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any] | None:
        told = [
            message.model_copy(update={"content": message.text.replace(CANARY, "***")})
            for message in state["messages"]
            if isinstance(message, ToolMessage) and CANARY in message.text
        ]
        return {"messages": told} if told else None


class RefusesResults(AgentMiddleware[Any, Any]):
    """Fails on a result before the model gets it."""

    def before_model(self, state: AgentState[Any], runtime: Runtime) -> None:
        if any(CANARY in message.text for message in state["messages"]):
            raise RuntimeError("not this")


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


class Slow(StreamTransformer):
    """Asks somebody else about each event, which our stream does not wait for."""

    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        return {}

    async def aprocess(self, event: Any) -> bool:
        return True


def holding(
    model: Any, *middleware: Any, hold: bool = True, tools: Any = (), **fields: Any
) -> LangGraphAgent:
    stack, saver = [*middleware], InMemorySaver()
    graph = create_agent(model, [*tools], middleware=stack, checkpointer=saver, **fields)
    return LangGraphAgent(graph, clients=ClientOptions(hold_messages=hold))


def bad(**fields: Any) -> Scripted:
    return Scripted(["I am ", CANARY], **fields)


async def checked(agent: LangGraphAgent) -> RecordedRun:
    recorded, shown = await hidden(agent), await connect(agent)
    assert shown.messages == [one for one in recorded.messages if one.subagent_run_id is None]
    return recorded


@pytest.mark.parametrize(
    ("change", "text"),
    [
        *((rewritten, "I am ***"), (as_mapping, "I am ***"), (another, "No.")),
        *((begun_anew, "No."), (overwritten, "No.")),
    ],
)
async def test_an_answer_that_a_hook_changes(change: Any, text: str) -> None:
    """Also if it keeps a copy for itself."""
    for middleware in (AfterModel(change), Audits(AfterModel(change))):
        assert said(await checked(holding(bad(), middleware))) == text


@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_that_is_rewritten_at_the_end(streams: bool) -> None:
    recorded = await checked(holding(bad(disable_streaming=not streams), AfterAgent()))
    assert said(recorded) == recorded.messages[-1].content == "I am ***"


async def test_without_the_option_it_is_seen() -> None:
    agent = holding(bad(), AfterModel(), hold=False)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert CANARY in said(recorded)
    assert recorded.messages[-1].content == "I am ***"


async def test_a_copy_of_a_result_for_the_graph_itself() -> None:
    model = Scripted([call("look", "c1", who="Ann")], ["Found."])
    recorded = await checked(holding(model, Audits(Results()), tools=[look]))
    assert recorded.of("TOOL_CALL_RESULT")[0].content == "Ann is ***."


async def test_an_answer_that_fails_the_run() -> None:
    assert (await hidden(holding(bad(), AfterModel(refused)))).last.type == "RUN_ERROR"


async def test_an_answer_that_lets_the_model_try_again() -> None:
    remove = lambda before, answer: [RemoveMessage(id=str(answer.id))]  # noqa: E731
    model = Scripted(["I am ", CANARY], ["I am fine."])
    recorded = await checked(holding(model, AfterModel(remove, jump_to="model")))
    assert said(recorded) == "I am fine."


async def test_calls_and_results_in_their_order() -> None:
    guard = PIIMiddleware("word", detector=CANARY, apply_to_output=True, apply_to_tool_results=True)
    guard.transformers = ()  # as in LangChain versions that have none
    model = Scripted(["I look. ", call("look", "c1", who="Ann")], ["Found ", CANARY])
    recorded = await checked(holding(model, guard, tools=[look]))
    assert said(recorded) == "I look. Found [REDACTED_WORD]"
    told = [message.content for message in recorded.messages[1:]]
    assert told == ["I look. ", "Ann is [REDACTED_WORD].", "Found [REDACTED_WORD]"]


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
    recorded = await hidden(holding(model, middleware(), tools=[ask]))
    assert recorded.last.type == ("RUN_FINISHED" if middleware is Results else "RUN_ERROR")


@pytest.mark.parametrize("speaks_itself", [True, False])
async def test_an_agent_inside_that_fails(speaks_itself: bool) -> None:
    """What its hook has refused stays unseen, though the run goes on."""
    inner = create_agent(bad(), [], middleware=[AfterModel(refused)], name="helper")

    async def tries(state: Any) -> dict[str, Any]:
        given = state if speaks_itself else {"messages": [("user", "Who?")]}
        with pytest.raises(RuntimeError):
            await inner.ainvoke(given)
        return {"messages": [AIMessage("No answer.", id="none")]}

    graph = chain_of(tries, checkpointer=InMemorySaver())
    recorded = await checked(LangGraphAgent(graph, clients=ClientOptions(hold_messages=True)))
    assert said(recorded) == "No answer."


async def test_a_transformer_that_cannot_run_here_holds_messages_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = holding(bad(), AfterModel(), hold=False, transformers=[Slow])
    assert said(await checked(agent)) == "I am ***"
    assert "Messages are held back" in caplog.text


@pytest.mark.parametrize("hold", [True, False])
async def test_a_subagent(hold: bool) -> None:
    """Its messages are held as its agent's are, or because of its own transformer."""
    transformers = [] if hold else [Slow]
    inner = create_agent(bad(), [], middleware=[AfterModel()], transformers=transformers)
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    recorded = await checked(holding(model, hold=hold, tools=[delegating(inner, "ask")]))
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
