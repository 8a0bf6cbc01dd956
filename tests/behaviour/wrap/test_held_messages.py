"""Messages that are held back until guardrails have seen them: `ClientOptions(hold_messages=True)`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pytest
from ag_ui.core import Message
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, push_message
from langgraph.runtime import Runtime
from langgraph.stream import StreamTransformer
from langgraph.types import CachePolicy, Command, Overwrite, RetryPolicy, Send, interrupt

from langgraph_agui import ClientOptions, LangGraphAgent, Private, astream_agui
from tests.behaviour.wrap.test_stream_transformers import (
    asking,
    delegating,
    hands_over_to_its_parent,
    hidden,
    in_a_swarm,
    look,
    said,
    under_a_supervisor,
)
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.run.dialogues import answering
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


def conversation(messages: list[Message]) -> list[Any]:
    """Who says what, without ids."""
    return [
        (
            message.role,
            message.content,
            [
                (c.function.name, c.function.arguments)
                for c in getattr(message, "tool_calls", 0) or ()
            ],
        )
        for message in messages
        if message.role != "activity"
    ]


def agent_of(graph: Any, *, hold: bool, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(graph, clients=ClientOptions(hold_messages=hold), **options)


def kept(*nodes: Any, **options: Any) -> Any:
    return chain_of(*nodes, checkpointer=InMemorySaver(), **options)


def looking(number: int = 1) -> Any:
    asks = call("look", f"c{number}", who=f"Ann{number}")
    model = Scripted([f"Agent {number} looks. ", asks], [f"Agent {number} is done."])
    return create_agent(model, [look], name=f"agent{number}")


def last_message_alone() -> Any:
    agent = looking()

    async def first(state: Any) -> dict[str, Any]:
        return {"messages": (await agent.ainvoke(state))["messages"][-1:]}

    return kept(first, talker(Scripted(["The end."])))


def functional(saver: Any = None) -> Any:
    model = Scripted(["One ", "two."], ["Three."])

    @task
    async def ask(given: Any) -> Any:
        return await model.ainvoke(given)

    @entrypoint(checkpointer=saver)
    async def flow(given: Any) -> Any:
        answers = [await ask(given["messages"]), await ask(given["messages"])]
        return {"messages": [*given["messages"], *answers]}

    return flow


def functional_list() -> Any:
    model = Scripted(["One ", "two."])

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given: Any, *, previous: Any = None) -> Any:
        answer = await model.ainvoke(given["messages"])
        saved = [*(previous or []), *given["messages"], answer]
        return entrypoint.final(value=[answer], save=saved)

    return flow


def subagent_twice() -> Any:
    asks = [call("look", f"s{number}", who="Ann") for number in range(2)]
    model = Scripted(["I look. ", asks[0]], ["First."], ["Again. ", asks[1]], ["Second."])
    inner = create_agent(model, [look], name="helper", middleware=[AfterModel()])

    @tool
    async def ask(question: str) -> str:
        """Ask twice."""
        answers = [await inner.ainvoke({"messages": [("user", question)]}) for _ in range(2)]
        return " ".join(answer["messages"][-1].text for answer in answers)

    outer = Scripted([call("ask", "c1", question="Who?")], ["Thanks."])
    return create_agent(outer, [ask], checkpointer=InMemorySaver())


def retried_node() -> Any:
    model, tries = Scripted(["Hello."]), iter((True, False))

    async def shaky(state: Any) -> dict[str, Any]:
        answer = await model.ainvoke("Hi")
        if next(tries):
            raise ValueError("once")
        return {"messages": [answer]}

    async def beside(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("From beside.", id="beside")]}

    policy = RetryPolicy(initial_interval=0.01, retry_on=ValueError)
    builder = StateGraph(MessagesState).add_node("beside", beside)
    builder.add_node("shaky", shaky, retry_policy=policy)
    builder.add_node("last", talker(Scripted(["Last."]), "last"))
    for name in ("beside", "shaky"):
        builder.add_edge(START, name).add_edge(name, "last")
    return builder.compile(checkpointer=InMemorySaver())


def retried_model() -> Any:
    failing = Scripted(["half ", RuntimeError("x")])
    another = ModelFallbackMiddleware(Scripted(["From another."]))
    middleware = [ModelRetryMiddleware(max_retries=1, initial_delay=0.0), another]
    return create_agent(failing, [], middleware=middleware, checkpointer=InMemorySaver())


def sent() -> Any:
    async def route(state: Any) -> Command[Any]:
        routing = AIMessage("Routing.", id="r")
        return Command(goto=[Send("w", {"n": n}) for n in (1, 2)], update={"messages": [routing]})

    async def w(state: Any) -> dict[str, Any]:
        push_message(AIMessage(f"Pushed {state['n']}.", id=f"p{state['n']}"))
        return {"messages": [AIMessage(f"Work {state['n']}.", id=f"w{state['n']}")]}

    builder = StateGraph(MessagesState).add_node("route", route, destinations=("w",))
    builder.add_node("w", w).add_node("end", talker(Scripted(["The end."]), "end"))
    builder.add_edge(START, "route").add_edge("w", "end")
    return builder.compile(checkpointer=InMemorySaver())


class Notes(MessagesState):
    notes: Annotated[list[Any], operator.add]


def other_channel() -> Any:
    """A subagent that keeps its conversation in a channel of its own."""

    async def speak(state: Any) -> dict[str, Any]:
        return {"notes": [await Scripted(["I note."]).ainvoke("Hi")]}

    inner = chain_of(speak, state=Notes)

    async def ask(state: Any) -> dict[str, Any]:
        await inner.ainvoke({"messages": [], "notes": []})
        return {"messages": [AIMessage("Noted.", id="n")]}

    return kept(ask)


def mappings() -> Any:
    """A subagent whose node writes a message as a mapping."""

    async def speak(state: Any) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "content": "Hello.", "id": "h"}]}

    return asking(chain_of(speak, talker(Scripted(["Bye."])))).graph


def cached() -> Any:
    """A graph whose node does not run for the same question."""

    def speak(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Hello.", id="h")]}

    builder = StateGraph(MessagesState).add_edge(START, "speak")
    builder.add_node("speak", speak, cache_policy=CachePolicy(key_func=lambda _: "same"))
    graph = builder.compile(cache=InMemoryCache(), checkpointer=InMemorySaver())
    graph.invoke({"messages": ["Hi"]}, {"configurable": {"thread_id": "other"}})
    return graph


KINDS: dict[str, Callable[[], Any]] = {
    "agents as nodes": lambda: kept(looking(1), looking(2)),
    "last message alone": last_message_alone,
    "functional": lambda: functional(InMemorySaver()),
    "functional list": functional_list,
    "functional subagent": lambda: asking(functional()).graph,
    "subagent twice": subagent_twice,
    "swarm": lambda: in_a_swarm(looking()),
    "handoff": lambda: hands_over_to_its_parent(None),
    "retried node": retried_node,
    "retried model": retried_model,
    "sent": sent,
    "other channel": other_channel,
    "mappings": mappings,
    "cached": cached,
    "supervisor": lambda: under_a_supervisor(looking(1), looking(2), mode="last_message"),
    "supervisor of all": lambda: under_a_supervisor(looking(1), looking(2)),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_conversation_is_that_of_a_streamed_run(kind: str) -> None:
    found = []
    for hold in (False, True):
        agent = agent_of(KINDS[kind](), hold=hold)
        recorded = await record_run(agent, run_input("Hi", thread="t"))
        assert recorded.last.type == "RUN_FINISHED"
        shown = conversation((await connect(agent)).messages)
        found.append((conversation(recorded.messages), shown))
        if hold:
            assert conversation(recorded.streamed) == conversation(recorded.messages)
    assert found[0] == found[1]


@pytest.mark.parametrize("limit", [None, 1])
async def test_results_of_parallel_tools(limit: int | None) -> None:
    """No task of the step shows what another one has returned."""
    calls = [call("look", f"c{number}", number, who="Ann") for number in range(3)]
    graph = create_agent(Scripted(calls, ["Done."]), [look], middleware=[Results()])
    recorded = await hidden(agent_of(graph.with_config(max_concurrency=limit), hold=True))
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["Ann is ***."] * 3


async def test_raw_parts_tell_no_message() -> None:
    graph = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()])
    assert said(await hidden(agent_of(graph, hold=True, emit_raw_events=True))) == "I am ***"


class Draft(MessagesState):
    draft: str


async def test_predictions_of_a_call() -> None:
    """State that a model call predicts is shown before the tool has run."""
    model = Scripted([call("write", "c1", draft="Hello")])
    predicted = {"state_key": "draft", "tool": "write", "tool_argument": "draft"}

    async def speak(state: Any, config: RunnableConfig) -> dict[str, Any]:
        metadata = {**config.get("metadata", {}), "predict_state": [predicted]}
        return {"messages": [await model.ainvoke("Hi", {**config, "metadata": metadata})]}

    async def write(state: Any) -> dict[str, Any]:
        return {"messages": [ToolMessage("Written.", tool_call_id="c1", id="w")]}

    agent = agent_of(chain_of(speak, write, state=Draft), hold=True)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.types.index("STATE_SNAPSHOT") < recorded.types.index("TOOL_CALL_RESULT")
    assert recorded.of("STATE_SNAPSHOT")[0].snapshot == {"draft": "Hello"}


def approving() -> Any:
    model = Scripted(["I look. ", call("look", "c1", who="Ann")], ["Found."])
    asks = [HumanInTheLoopMiddleware(interrupt_on={"look": True})]
    return create_agent(model, [look], middleware=asks, checkpointer=InMemorySaver())


def stopping(first: Any) -> Any:
    return kept(first, talker(Scripted(["Two."]), "second"), interrupt_before=["second"])


def asking_inside() -> Any:
    @tool
    def sure(of: str) -> str:
        """Ask."""
        return str(interrupt({"of": of}))

    model = Scripted(["I ask. ", call("sure", "s1", of="it")], ["He is."])
    return asking(create_agent(model, [sure], name="helper")).graph


EDIT = {"type": "edit", "edited_action": {"name": "look", "args": {"who": "Bob"}}}


@pytest.mark.parametrize(
    ("make", "payload"),
    [
        pytest.param(approving, {"type": "approve"}, id="approved"),
        pytest.param(approving, EDIT, id="edited"),
        pytest.param(approving, {"type": "reject", "message": "No."}, id="rejected"),
        pytest.param(lambda: stopping(looking()), True, id="behind an agent"),
        pytest.param(lambda: stopping(talker(Scripted(["One."]), "one")), True, id="breakpoint"),
        pytest.param(asking_inside, "yes", id="inside a subagent"),
    ],
)
async def test_the_conversation_of_a_run_that_pauses(make: Any, payload: Any) -> None:
    found = []
    for hold in (False, True):
        agent = agent_of(make(), hold=hold)
        paused = await record_run(agent, run_input("Hi", thread="t"))
        shown = await connect(agent)
        answers = answering(paused.last.outcome.interrupts, payload)
        ended = await record_run(agent, run_input(*paused.messages, thread="t", resume=answers))
        assert ended.last.outcome.type == "success"
        runs = [paused, shown, ended, await connect(agent)]
        found.append([conversation(run.messages) for run in runs])
    assert found[0] == found[1]
