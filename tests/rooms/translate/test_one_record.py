"""What a client holds is what the graph keeps: call ids that repeat, steps that run again, pushed
messages, teams and pauses, in any mixture."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, Tool, ToolMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import push_message
from langgraph.types import RetryPolicy, interrupt

from langgraph_agui import AGUIMiddleware, ApprovalOptions, LangGraphAgent
from tests.kit.deep import example_count
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, thinking
from tests.kit.run.agents import RecordedRun, collect, dumped, run_input
from tests.kit.run.thread_client import Client, asked, ending

FIRST = "functions.search:0"
"""The id of the first call of each answer, as Kimi and vLLM give it."""


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


def visible(recorded: RecordedRun) -> list[Any]:
    """What a client shows: roles, texts, calls and results."""
    names = {}
    shown: list[Any] = []
    for message in recorded.messages:
        if message.role == "assistant":
            calls = [(one.id, one.function.arguments) for one in message.tool_calls or ()]
            names.update(calls)
            shown.append(("assistant", message.content, [arguments for _, arguments in calls]))
        elif message.role == "tool":
            shown.append(("tool", message.content, names[message.tool_call_id]))
        elif message.role == "user":
            shown.append(("user", message.content))
    return shown


def call_ids(recorded: RecordedRun) -> list[str]:
    return [
        one.id
        for message in recorded.messages
        if message.role == "assistant"
        for one in message.tool_calls or ()
    ]


async def check_reload(client: Client, recorded: RecordedRun) -> None:
    """A client that comes back is told the same, in the same order."""
    recorded.check_snapshot()
    again = await client.connect()
    assert dumped(again.messages) == dumped(recorded.messages)


# -- call ids that repeat ------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [False, True], ids=["no_checkpointer", "checkpointer"])
async def test_calls_that_are_numbered_from_0_in_each_answer(kept: bool) -> None:
    model = Scripted(
        [call("search", FIRST, q="a")],
        [call("search", FIRST, q="b")],
        ["done"],
        [call("search", FIRST, q="c")],
        ["done again"],
    )
    graph = create_agent(model, [search], checkpointer=InMemorySaver() if kept else None)
    client = Client(LangGraphAgent(graph=graph))
    first = await client.send("hi")
    said = [
        ("user", "hi"),
        ("assistant", None, ['{"q": "a"}']),
        ("tool", "found a", '{"q": "a"}'),
        ("assistant", None, ['{"q": "b"}']),
        ("tool", "found b", '{"q": "b"}'),
        ("assistant", "done", []),
    ]
    assert visible(first) == said
    second = await client.send("more")
    assert visible(second) == [
        *said,
        ("user", "more"),
        ("assistant", None, ['{"q": "c"}']),
        ("tool", "found c", '{"q": "c"}'),
        ("assistant", "done again", []),
    ]
    assert len(set(call_ids(second))) == 3
    assert second.last.outcome.pending_tool_call_ids is None
    own = [
        message.tool_calls[0]["id"]
        for message in model.seen[-1]
        if getattr(message, "tool_calls", 0)
    ]
    results = [one.tool_call_id for one in model.seen[-1] if isinstance(one, LCToolMessage)]
    assert own == results == [FIRST] * 3
    second.check_snapshot()
    if kept:
        await check_reload(client, second)


async def test_calls_of_one_id_in_one_answer() -> None:
    model = Scripted(
        [calling(part("search", '{"q": "a"}', FIRST, 0), part("search", '{"q": "b"}', FIRST, 1))],
        ["done"],
    )
    client = Client(
        LangGraphAgent(graph=create_agent(model, [search], checkpointer=InMemorySaver()))
    )
    recorded = await client.send("hi")
    recorded.check_snapshot()
    calls = {
        one.id: one.function.arguments
        for message in recorded.messages
        if message.role == "assistant"
        for one in message.tool_calls or ()
    }
    results = {
        calls[one.tool_call_id]: one.content for one in recorded.messages if one.role == "tool"
    }
    assert results == {'{"q": "a"}': "found a", '{"q": "b"}': "found b"}
    again = await client.connect()
    assert sorted(map(str, visible(again))) == sorted(map(str, visible(recorded)))


@pytest.mark.parametrize("kept", [False, True], ids=["no_checkpointer", "checkpointer"])
async def test_repeated_calls_of_the_clients_tools(kept: bool) -> None:
    model = Scripted([call("pick", FIRST, q="a")], [call("pick", FIRST, q="b")], ["done"])
    saver = InMemorySaver() if kept else None
    graph = create_agent(model, [], middleware=[AGUIMiddleware()], checkpointer=saver)
    client = Client(LangGraphAgent(graph=graph))
    tools = [Tool(name="pick", description="Pick.", parameters={"type": "object"})]
    recorded = await client.send("hi", tools=tools)
    for answer in ("one", "two"):
        [pending] = recorded.last.outcome.pending_tool_call_ids
        result = ToolMessage(id=answer, role="tool", tool_call_id=pending, content=answer)
        recorded = await client.send(result, tools=tools)
    assert visible(recorded) == [
        ("user", "hi"),
        ("assistant", None, ['{"q": "a"}']),
        ("tool", "one", '{"q": "a"}'),
        ("assistant", None, ['{"q": "b"}']),
        ("tool", "two", '{"q": "b"}'),
        ("assistant", "done", []),
    ]
    assert [one.content for one in model.seen[-1] if isinstance(one, LCToolMessage)] == [
        "one",
        "two",
    ]
    recorded.check_snapshot()
    if kept:
        assert visible(await client.connect()) == visible(recorded)


async def test_approvals_of_repeated_calls() -> None:
    model = Scripted([call("search", FIRST, q="a")], [call("search", FIRST, q="b")], ["done"])
    guard = HumanInTheLoopMiddleware({"search": True})
    graph = create_agent(model, [search], middleware=[guard], checkpointer=InMemorySaver())
    client = Client(LangGraphAgent(graph=graph))
    recorded = await client.send("hi")
    for _ in range(2):
        [request] = asked(recorded)
        assert request.tool_call_id == call_ids(recorded)[-1]
        await check_reload(client, recorded)
        assert asked(await client.connect())[0].tool_call_id == request.tool_call_id
        entry = ResumeEntry(interrupt_id=request.id, status="resolved", payload={"type": "approve"})
        recorded = await client.send(resume=[entry])
    assert [one.content for one in recorded.messages if one.role == "tool"] == [
        "found a",
        "found b",
    ]
    await check_reload(client, recorded)


def server_tools(model: Any) -> Any:
    return create_agent(model, [search], checkpointer=InMemorySaver())


def unknown_tools(model: Any) -> Any:
    return chain_of(talker(model), checkpointer=InMemorySaver())


@pytest.mark.parametrize("build", [server_tools, unknown_tools])
async def test_a_call_whose_arguments_are_no_json_is_pending_for_nobody(build: Any) -> None:
    client = Client(
        LangGraphAgent(graph=build(Scripted([calling(part("search", "not json", "c1"))])))
    )
    recorded = await client.send("hi")
    assert recorded.last.outcome.pending_tool_call_ids is None
    assert [one.content for one in recorded.messages if one.role == "tool"] == [
        "This call has no result."
    ]
    await check_reload(client, recorded)


# -- steps that run again ------------------------------------------------------------------------


def yes(recorded: RecordedRun) -> list[ResumeEntry]:
    return [
        ResumeEntry(interrupt_id=one.id, status="resolved", payload="yes")
        for one in asked(recorded)
    ]


def drafting(*nodes: Any, saver: Any = None) -> Any:
    return chain_of(*nodes, checkpointer=saver or InMemorySaver())


def a_node(saver: Any = None) -> Any:
    model = Scripted(["draft one"], ["draft two"])

    async def write(state: Chat) -> Any:
        draft = await model.ainvoke("x")
        interrupt("send it?")
        return {"messages": [draft]}

    return drafting(write, saver=saver)


def a_model_in_a_tool() -> Any:
    inner = Scripted(["thought one"], ["thought two"])

    @tool
    async def ask(q: str) -> str:
        """Ask."""
        await inner.ainvoke("x")
        return f"ok {interrupt('sure?')}"

    model = Scripted([call("ask", "c1", q="x")], ["done"])
    return create_agent(model, [ask], checkpointer=InMemorySaver())


def an_agent_in_a_node() -> Any:
    @tool
    async def ask(q: str) -> str:
        """Ask."""
        return f"ok {interrupt('sure?')}"

    agent = create_agent(Scripted([call("ask", "c1", q="x")], ["done"]), [ask], name="writer")
    builder = StateGraph(Chat)
    builder.add_node("writer", agent)
    builder.add_edge(START, "writer")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("build", "paused", "ended"),
    [
        (a_node, ["draft one"], ["draft two"]),
        (a_model_in_a_tool, [None, "thought one"], [None, "ok yes", "done"]),
        (an_agent_in_a_node, [None], [None, "ok yes", "done"]),
    ],
)
async def test_a_draft_is_seen_until_its_step_runs_again(
    build: Any, paused: Any, ended: Any
) -> None:
    client = Client(LangGraphAgent(graph=build()))
    recorded = await client.send("hi")
    assert [message.content for message in recorded.messages[1:]] == paused
    await check_reload(client, recorded)
    [request] = asked(await client.connect())
    assert request.tool_call_id is None or request.tool_call_id in call_ids(await client.connect())
    recorded = await client.send(resume=yes(recorded))
    assert [message.content for message in recorded.messages[1:]] == ended
    assert [one.id for one in recorded.messages] == [one.id for one in await client.stored()]
    await check_reload(client, recorded)


async def test_a_finished_task_of_an_entrypoint_keeps_its_words() -> None:
    model = Scripted(["facts"], ["draft one"], ["draft two"])

    @task
    async def research(messages: Any) -> Any:
        return await model.ainvoke(messages)

    @entrypoint(checkpointer=InMemorySaver())
    async def workflow(messages: list[Any]) -> Any:
        facts = await research(messages)
        draft = await model.ainvoke("x")
        interrupt("send it?")
        return [*messages, facts, draft]

    client = Client(LangGraphAgent(graph=workflow))
    recorded = await client.send("hi")
    assert [message.content for message in recorded.messages] == ["hi", "facts", "draft one"]
    recorded = await client.send(resume=yes(recorded))
    assert [message.content for message in recorded.messages] == ["hi", "facts", "draft two"]


async def test_another_tab_loses_the_draft_too() -> None:
    agent = LangGraphAgent(graph=a_node())
    client = Client(agent)
    paused = await client.send("hi")
    given_to_the_other = run_input(*client.held, thread=client.thread)
    await client.send(resume=yes(paused))
    told = RecordedRun(await collect(agent.connect(given_to_the_other)), given_to_the_other)
    assert [message.content for message in told.messages] == ["hi", "draft two"]


async def test_another_process_takes_the_draft_back(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as saver:
        client = Client(LangGraphAgent(graph=a_node(saver)))
        paused = await client.send("hi")
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as saver:
        client.agent = LangGraphAgent(graph=a_node(saver))
        await check_reload(client, paused)
        recorded = await client.send(resume=yes(paused))
        assert [message.content for message in recorded.messages] == ["hi", "draft one"]
        assert recorded.messages[1].id != paused.messages[1].id
        await check_reload(client, recorded)


async def test_a_draft_with_reasoning_and_calls() -> None:
    model = Scripted(
        [thinking("why "), thinking("not"), "draft"],
        [call("search", FIRST, q="a")],
        [thinking("again"), "better"],
        [call("search", FIRST, q="b")],
    )

    async def write(state: Chat) -> Any:
        draft, answer = await model.ainvoke("x"), await model.ainvoke("x")
        interrupt("send it?")
        return {"messages": [draft, answer, LCToolMessage("found", tool_call_id=FIRST)]}

    client = Client(LangGraphAgent(graph=drafting(write)))
    paused = await client.send("hi")
    assert [one.role for one in paused.messages] == ["user", "reasoning", "assistant", "assistant"]
    await check_reload(client, paused)
    recorded = await client.send(resume=yes(paused))
    said = [one for one in recorded.messages if one.content or one.role == "assistant"]
    assert [one.content for one in said] == ["hi", "again", "better", None, "found"]
    recorded.check_snapshot()


async def test_an_abandoned_draft_goes() -> None:
    client = Client(LangGraphAgent(graph=a_node()))
    [request] = asked(await client.send("hi"))
    entry = ResumeEntry(interrupt_id=request.id, status="cancelled")
    recorded = await client.send(resume=[entry])
    assert [message.content for message in recorded.messages] == ["hi"]
    await check_reload(client, recorded)


async def test_a_new_question_instead_of_an_answer() -> None:
    options = ApprovalOptions(when_paused="cancel")
    client = Client(LangGraphAgent(graph=a_node(), approvals=options))
    await client.send("hi")
    recorded = await client.send("something else")
    assert ending(recorded) == "interrupt"
    assert [one.content for one in recorded.messages] == ["hi", "something else", "draft two"]
    await check_reload(client, recorded)


async def test_a_subgraph_that_is_tried_again() -> None:
    """Its first try is a draft, whatever it has said."""
    tries = count()
    model = Scripted(["first"], ["second"])

    async def speak(state: Chat) -> Any:
        return {"messages": [await model.ainvoke("x")]}

    async def fail_once(state: Chat) -> Any:
        if not next(tries):
            raise ConnectionError("not now")

    inner = chain_of(speak, fail_once)
    builder = StateGraph(Chat)
    policy = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=ConnectionError)
    builder.add_node("inner", inner, retry_policy=policy)
    builder.add_edge(START, "inner")
    client = Client(LangGraphAgent(graph=builder.compile()))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    assert [message.content for message in recorded.messages] == ["hi", "second"]


# -- any mixture ---------------------------------------------------------------------------------

ACTS = ("say", "call", "ask", "push", "team", "forget")

plans = st.lists(st.lists(st.sampled_from(ACTS), max_size=4), min_size=1, max_size=3)


def performing(name: str, plan: list[str], numbers: Any) -> Any:
    """A node that does what its plan says, and returns what it has said unless it forgets it."""

    async def say(act: str, state: Any) -> list[Any]:
        number = next(numbers)
        match act:
            case "say":
                return [await Scripted([f"{name} says {number}"]).ainvoke("x")]
            case "call":
                model = Scripted([call("search", FIRST, q=str(number))])
                answer = await model.ainvoke("x")
                return [answer, LCToolMessage(f"found {number}", tool_call_id=FIRST)]
            case "push":
                push_message(AIMessage(f"{name} pushes {number}", id=f"pushed {number}"))
            case "team":
                inner = performing(f"{name}.inner", ["say", "ask", "call"], numbers)
                graph = StateGraph(Chat)
                graph.add_node("inner", inner)
                graph.add_edge(START, "inner")
                graph.add_edge("inner", END)
                before = {one.id for one in state["messages"]}
                after = await graph.compile().ainvoke(state)
                return [one for one in after["messages"] if one.id not in before]
            case "ask":
                interrupt(f"{name} asks {number}")
        return []

    async def node(state: Any) -> Any:
        # LangGraph keeps pushed messages before those that the node returns. A graph inside does not
        # run again with its node, so its words stand before those that the node says again.
        first = "team" if "team" in plan else "push"
        acts = sorted(plan, key=lambda act: act != first)
        acts = [act for act in acts if first == "push" or act != "push"]
        said = [one for act in acts if act != "forget" for one in await say(act, state)]
        return {"messages": [] if "forget" in plan else said}

    node.__name__ = name
    return node


@given(plans, st.booleans())
@settings(max_examples=example_count(25, 38), deadline=None)
async def test_the_client_holds_what_the_graph_keeps(plan: list[list[str]], fresh: bool) -> None:
    numbers = count()
    nodes = [performing(f"n{index}", acts, numbers) for index, acts in enumerate(plan)]
    client = Client(LangGraphAgent(graph=chain_of(*nodes, checkpointer=InMemorySaver())))
    recorded = await client.send("hi")
    while ending(recorded) == "interrupt":
        await check_reload(client, recorded)
        if fresh:  # another tab answers
            client.held = (await client.connect()).messages
        recorded = await client.send(resume=yes(recorded))
    assert ending(recorded) == "success"
    await check_reload(client, recorded)
    kept = await client.stored()
    assert {one.id for one in recorded.messages} == {one.id for one in kept}
    ids = call_ids(recorded)
    assert len(set(ids)) == len(ids)
