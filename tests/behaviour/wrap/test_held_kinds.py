"""Graphs of every kind, with messages held back: clients end up with the same conversation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from ag_ui.core import Message, ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.threads.test_connect import connect
from tests.behaviour.wrap.test_held_messages import AfterModel, Results
from tests.behaviour.wrap.test_stream_transformers import delegating, look, said
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, record_run, run_input

Said = list[tuple[str, Any, list[tuple[str, str]]]]


def conversation(messages: list[Message]) -> Said:
    """Who says what, without ids."""
    return [
        (
            message.role,
            message.content,
            [
                (one.function.name, one.function.arguments)
                for one in getattr(message, "tool_calls", None) or ()
            ],
        )
        for message in messages
        if message.role != "activity"
    ]


def agent_of(graph: Any, *, hold: bool, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(graph, clients=ClientOptions(hold_messages=hold), **options)


def looking(number: int) -> Any:
    model = Scripted(
        [f"Agent {number} looks. ", call("look", f"c{number}", who=f"Ann{number}")],
        [f"Agent {number} is done."],
    )
    return create_agent(model, [look], name=f"agent{number}")


def agents_as_nodes() -> Any:
    return chain_of(looking(1), looking(2), checkpointer=InMemorySaver())


def last_message_alone() -> Any:
    agent = looking(1)

    async def first(state: Any) -> dict[str, Any]:
        return {"messages": (await agent.ainvoke(state))["messages"][-1:]}

    return chain_of(first, talker(Scripted(["The end."])), checkpointer=InMemorySaver())


def functional() -> Any:
    model = Scripted(["One ", "two."], ["Three."])

    @task
    async def ask(given: Any) -> Any:
        return await model.ainvoke(given)

    @entrypoint(checkpointer=InMemorySaver())
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


def functional_subagent() -> Any:
    model = Scripted(["One ", "two."], ["Three."])

    @task
    async def ask(given: Any) -> Any:
        return await model.ainvoke(given)

    @entrypoint()
    async def flow(given: Any) -> Any:
        return {"messages": [await ask(given["messages"]), await ask(given["messages"])]}

    model_of_all = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    return create_agent(model_of_all, [delegating(flow, "ask")], checkpointer=InMemorySaver())


def subagent_twice() -> Any:
    model = Scripted(
        ["I look. ", call("look", "s1", who="Ann")],
        ["First."],
        ["I look again. ", call("look", "s2", who="Bob")],
        ["Second."],
    )
    inner = create_agent(model, [look], name="helper", middleware=[AfterModel()])

    @tool
    async def ask(question: str) -> str:
        """Ask twice."""
        answers = [await inner.ainvoke({"messages": [("user", question)]}) for _ in range(2)]
        return " ".join(answer["messages"][-1].text for answer in answers)

    outer = Scripted([call("ask", "c1", question="Who?")], ["Thanks."])
    return create_agent(outer, [ask], checkpointer=InMemorySaver())


def supervisor(mode: Any) -> Any:
    model = Scripted(
        [call("transfer_to_agent1", "h1")], [call("transfer_to_agent2", "h2")], ["Over."]
    )
    graph = create_supervisor([looking(1), looking(2)], model=model, output_mode=mode)
    return graph.compile(checkpointer=InMemorySaver())


def swarm() -> Any:
    first = create_agent(
        Scripted(["I hand over. ", call("transfer_to_agent1", "h1")]),
        [create_handoff_tool(agent_name="agent1")],
        name="first",
    )
    return create_swarm([first, looking(1)], default_active_agent="first").compile(
        checkpointer=InMemorySaver()
    )


def handoff() -> Any:
    @tool
    def leave(why: str, runtime: ToolRuntime) -> Command[Any]:
        """Leave."""
        left = ToolMessage("Left.", tool_call_id=runtime.tool_call_id, id="left")
        messages = [*runtime.state["messages"], left]
        return Command(goto="other", graph=Command.PARENT, update={"messages": messages})

    first = create_agent(Scripted(["I leave. ", call("leave", "l1", why="so")]), [leave])
    builder = StateGraph(MessagesState)
    builder.add_node("first", first, destinations=("other",))
    builder.add_node("other", talker(Scripted(["I am another."]), "other"))
    builder.add_edge(START, "first")
    return builder.compile(checkpointer=InMemorySaver())


def retried_node() -> Any:
    model, tries = Scripted(["Hello."]), iter((True, False))

    async def shaky(state: Any) -> dict[str, Any]:
        answer = await model.ainvoke("Hi")
        if next(tries):
            raise ValueError("once")
        return {"messages": [answer]}

    async def beside(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("From beside.", id="beside")]}

    builder = StateGraph(MessagesState)
    policy = RetryPolicy(initial_interval=0.01, retry_on=ValueError)
    builder.add_node("beside", beside)
    builder.add_node("shaky", shaky, retry_policy=policy)
    builder.add_node("last", talker(Scripted(["Last."]), "last"))
    for name in ("beside", "shaky"):
        builder.add_edge(START, name)
        builder.add_edge(name, "last")
    return builder.compile(checkpointer=InMemorySaver())


def retried_model() -> Any:
    failing = Scripted(["half ", RuntimeError("x")], ["half ", RuntimeError("x")])
    middleware = [
        ModelRetryMiddleware(max_retries=1, initial_delay=0.0),
        ModelFallbackMiddleware(Scripted(["From another."])),
    ]
    return create_agent(failing, [], middleware=middleware, checkpointer=InMemorySaver())


def sent() -> Any:
    async def route(state: Any) -> Command[Any]:
        routing = AIMessage("Routing.", id="r")
        return Command(goto=[Send("w", {"n": n}) for n in (1, 2)], update={"messages": [routing]})

    async def w(state: Any) -> dict[str, Any]:
        push_message(AIMessage(f"Pushed {state['n']}.", id=f"p{state['n']}"))
        return {"messages": [AIMessage(f"Work {state['n']}.", id=f"w{state['n']}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("route", route, destinations=("w",))
    builder.add_node("w", w)
    builder.add_node("end", talker(Scripted(["The end."]), "end"))
    builder.add_edge(START, "route")
    builder.add_edge("w", "end")
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

    return chain_of(ask, checkpointer=InMemorySaver())


def mappings() -> Any:
    """A subagent whose node writes a message as a mapping."""

    async def speak(state: Any) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "content": "Hello.", "id": "h"}]}

    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    asks = delegating(chain_of(speak, talker(Scripted(["Bye."]))), "ask")
    return create_agent(model, [asks], checkpointer=InMemorySaver())


def cached() -> Any:
    """A graph whose node does not run for the same question."""

    def speak(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Hello.", id="h")]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak, cache_policy=CachePolicy(key_func=lambda _: "same"))
    builder.add_edge(START, "speak")
    graph = builder.compile(cache=InMemoryCache(), checkpointer=InMemorySaver())
    graph.invoke({"messages": ["Hi"]}, {"configurable": {"thread_id": "other"}})
    return graph


KINDS: list[Callable[[], Any]] = [
    agents_as_nodes,
    last_message_alone,
    functional,
    functional_list,
    functional_subagent,
    subagent_twice,
    swarm,
    handoff,
    retried_node,
    retried_model,
    sent,
    other_channel,
    mappings,
    cached,
    lambda: supervisor("last_message"),
    lambda: supervisor("full_history"),
]


@pytest.mark.parametrize("make", KINDS)
async def test_the_conversation_is_that_of_a_streamed_run(make: Callable[[], Any]) -> None:
    found = []
    for hold in (False, True):
        agent = agent_of(make(), hold=hold)
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
    graph = create_agent(
        Scripted(calls, ["Done."]), [look], middleware=[Results()], checkpointer=InMemorySaver()
    )
    agent = agent_of(graph.with_config(max_concurrency=limit), hold=True)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["Ann is ***."] * 3


async def test_raw_parts_tell_no_message() -> None:
    graph = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()])
    agent = agent_of(graph, hold=True, emit_raw_events=True)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert said(recorded) == "I am ***"


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


# -- pauses ----------------------------------------------------------------------------------------


async def answered(make: Callable[[], Any], payload: Any) -> list[list[Said]]:
    """The conversations of a run that pauses, of the thread, and of the run that goes on: with
    messages that are streamed, and held back."""
    found = []
    for hold in (False, True):
        agent = agent_of(make(), hold=hold)
        paused = await record_run(agent, run_input("Hi", thread="t"))
        shown = await connect(agent)
        answers = [
            ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload)
            for one in paused.last.outcome.interrupts
        ]
        ended = await record_run(agent, run_input(*paused.messages, thread="t", resume=answers))
        assert ended.last.outcome.type == "success"
        runs: list[RecordedRun] = [paused, shown, ended, await connect(agent)]
        found.append([conversation(run.messages) for run in runs])
    return found


@pytest.mark.parametrize(
    "decision",
    [
        {"type": "approve"},
        {"type": "edit", "edited_action": {"name": "look", "args": {"who": "Bob"}}},
        {"type": "reject", "message": "No."},
    ],
    ids=lambda decision: decision["type"],
)
async def test_approvals(decision: Any) -> None:
    def make() -> Any:
        model = Scripted(["I look. ", call("look", "c1", who="Ann")], ["Found."])
        asks = HumanInTheLoopMiddleware(interrupt_on={"look": True})
        return create_agent(model, [look], middleware=[asks], checkpointer=InMemorySaver())

    streamed, held = await answered(make, decision)
    assert streamed == held


@pytest.mark.parametrize("first", [looking, lambda _: talker(Scripted(["One."]), "first")])
async def test_breakpoints(first: Any) -> None:
    def make() -> Any:
        second = talker(Scripted(["Two."]), "second")
        saver = InMemorySaver()
        return chain_of(first(1), second, checkpointer=saver, interrupt_before=["second"])

    streamed, held = await answered(make, True)
    assert streamed == held


async def test_a_question_inside_a_subagent() -> None:
    def make() -> Any:
        @tool
        def sure(of: str) -> str:
            """Ask."""
            return str(interrupt({"of": of}))

        model = Scripted(["I ask. ", call("sure", "s1", of="it")], ["He is."])
        inner = create_agent(model, [sure], name="helper")
        outer = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
        return create_agent(outer, [delegating(inner, "ask")], checkpointer=InMemorySaver())

    streamed, held = await answered(make, "yes")
    assert streamed == held
