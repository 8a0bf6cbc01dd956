"""What a client holds is what the graph keeps: call ids that repeat, steps that run again, pushed
messages, teams and pauses, in any mixture."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, Tool, ToolMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.messages import ToolMessage as Result
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
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

kept = pytest.mark.parametrize("kept", [False, True], ids=["no_checkpointer", "checkpointer"])


@tool
def search(q: str) -> str:
    """Search."""
    return f"found {q}"


def calls_of(recorded: RecordedRun) -> dict[str, str]:
    """The arguments of each call."""
    turns = [one.tool_calls or () for one in recorded.messages if one.role == "assistant"]
    return {one.id: one.function.arguments for turn in turns for one in turn}


def visible(recorded: RecordedRun) -> list[Any]:
    """What a client shows: texts, calls and results, in short words."""
    calls = calls_of(recorded)
    shown: list[Any] = []
    for message in recorded.messages:
        if message.role == "tool":
            shown.append((calls[message.tool_call_id], message.content))
        elif message.role in ("user", "assistant"):
            made = getattr(message, "tool_calls", None) or ()
            shown += [message.content] if message.content else []
            shown += [one.function.arguments for one in made]
    return shown


def contents(recorded: RecordedRun) -> list[Any]:
    return [message.content for message in recorded.messages]


async def check_reload(client: Client, recorded: RecordedRun) -> None:
    """A client that comes back is told the same, in the same order."""
    recorded.check_snapshot()
    assert dumped((await client.connect()).messages) == dumped(recorded.messages)


def client_of(*nodes: Any) -> Client:
    return Client(LangGraphAgent(chain_of(*nodes, checkpointer=InMemorySaver())))


def created(model: Any, *tools: Any, kept: bool = True, **options: Any) -> Client:
    saver = InMemorySaver() if kept else None
    return Client(LangGraphAgent(create_agent(model, list(tools), checkpointer=saver, **options)))


def searching(*queries: str) -> list[Any]:
    return [[call("search", FIRST, q=q)] for q in queries]


def searched(q: str, result: str) -> list[Any]:
    arguments = f'{{"q": "{q}"}}'
    return [arguments, (arguments, result)]


@kept
async def test_calls_that_are_numbered_from_0_in_each_answer(kept: bool) -> None:
    model = Scripted(*searching("a", "b"), ["done"], *searching("c"), ["done again"])
    client = created(model, search, kept=kept)
    said = ["hi", *searched("a", "found a"), *searched("b", "found b"), "done"]
    assert visible(await client.send("hi")) == said
    second = await client.send("more")
    assert visible(second) == [*said, "more", *searched("c", "found c"), "done again"]
    assert len(calls_of(second)) == 3
    assert second.last.outcome.pending_tool_call_ids is None
    seen = model.seen[-1]
    own = [one.tool_calls[0]["id"] for one in seen if getattr(one, "tool_calls", 0)]
    assert own == [one.tool_call_id for one in seen if isinstance(one, Result)] == [FIRST] * 3
    second.check_snapshot()
    if kept:
        await check_reload(client, second)


async def test_calls_of_one_id_in_one_answer() -> None:
    both = calling(part("search", '{"q": "a"}', FIRST, 0), part("search", '{"q": "b"}', FIRST, 1))
    client = created(Scripted([both], ["done"]), search)
    recorded = await client.send("hi")
    recorded.check_snapshot()
    found = [*searched("a", "found a"), *searched("b", "found b"), "hi", "done"]
    for one in (recorded, await client.connect()):
        assert sorted(map(str, visible(one))) == sorted(map(str, found))


@kept
async def test_repeated_calls_of_the_clients_tools(kept: bool) -> None:
    model = Scripted(*searching("a", "b"), ["done"])
    client = created(model, middleware=[AGUIMiddleware()], kept=kept)
    tools = [Tool(name="search", description="Pick.", parameters={"type": "object"})]
    recorded = await client.send("hi", tools=tools)
    for answer in ("one", "two"):
        [pending] = recorded.last.outcome.pending_tool_call_ids
        result = ToolMessage(id=answer, tool_call_id=pending, content=answer)
        recorded = await client.send(result, tools=tools)
    said = ["hi", *searched("a", "one"), *searched("b", "two"), "done"]
    assert visible(recorded) == said
    results = [one.content for one in model.seen[-1] if isinstance(one, Result)]
    assert results == ["one", "two"]
    recorded.check_snapshot()
    if kept:
        assert visible(await client.connect()) == said


async def test_approvals_of_repeated_calls() -> None:
    guard = HumanInTheLoopMiddleware({"search": True})
    client = created(Scripted(*searching("a", "b"), ["done"]), search, middleware=[guard])
    recorded = await client.send("hi")
    for _ in range(2):
        [request] = asked(recorded)
        assert request.tool_call_id == [*calls_of(recorded)][-1]
        await check_reload(client, recorded)
        assert asked(await client.connect())[0].tool_call_id == request.tool_call_id
        entry = ResumeEntry(interrupt_id=request.id, status="resolved", payload={"type": "approve"})
        recorded = await client.send(resume=[entry])
    said = ["hi", *searched("a", "found a"), *searched("b", "found b"), "done"]
    assert visible(recorded) == said
    await check_reload(client, recorded)


@pytest.mark.parametrize("known", [True, False])
async def test_a_call_whose_arguments_are_no_json_is_pending_for_nobody(known: bool) -> None:
    model = Scripted([calling(part("search", "not json", "c1"))])
    client = created(model, search) if known else client_of(talker(model))
    recorded = await client.send("hi")
    assert recorded.last.outcome.pending_tool_call_ids is None
    assert contents(recorded)[-1] == "This call has no result."
    await check_reload(client, recorded)


def answers(recorded: RecordedRun, status: str = "resolved") -> list[ResumeEntry]:
    payload = "yes" if status == "resolved" else None
    ids = [one.id for one in asked(recorded)]
    return [ResumeEntry(interrupt_id=one, status=status, payload=payload) for one in ids]


def drafting() -> Client:
    model = Scripted(["draft one"], ["draft two"])

    async def write(state: Chat) -> Any:
        draft = await model.ainvoke("x")
        interrupt("send it?")
        return {"messages": [draft]}

    return client_of(write)


def model_in_a_tool() -> Client:
    inner = Scripted(["thought one"], ["thought two"])

    @tool
    async def ask(q: str) -> str:
        """Ask."""
        await inner.ainvoke("x")
        return f"ok {interrupt('sure?')}"

    return created(Scripted([call("ask", "c1", q="x")], ["done"]), ask)


def finished_task() -> Client:
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

    return Client(LangGraphAgent(graph=workflow))


@pytest.mark.parametrize(
    ("build", "paused", "ended"),
    [
        (drafting, ["draft one"], ["draft two"]),
        (model_in_a_tool, [None, "thought one"], [None, "ok yes", "done"]),
        (finished_task, ["facts", "draft one"], ["facts", "draft two"]),
    ],
)
async def test_a_draft_is_seen_until_its_step_runs_again(
    build: Any, paused: Any, ended: Any
) -> None:
    client = build()
    first = await client.send("hi")
    assert contents(first)[1:] == paused
    other_tab = run_input(*client.held, thread=client.thread)
    if build is not finished_task:
        await check_reload(client, first)
        [request] = asked(await client.connect())
        assert request.tool_call_id in (None, *calls_of(first))
    # An agent object of its own, as after a restart, takes the draft back too.
    client.agent = LangGraphAgent(client.agent.graph)
    second = await client.send(resume=answers(first))
    assert contents(second)[1:] == ended
    if build is not finished_task:
        assert [one.id for one in second.messages] == [one.id for one in await client.stored()]
        await check_reload(client, second)
        told = RecordedRun(await collect(client.agent.connect(other_tab)), other_tab)
        assert contents(told)[1:] == ended


async def test_a_draft_with_reasoning_and_calls() -> None:
    first, second = searching("a", "b")
    model = Scripted([thinking("why"), "draft"], first, [thinking("again"), "better"], second)

    async def write(state: Chat) -> Any:
        draft, answer = await model.ainvoke("x"), await model.ainvoke("x")
        interrupt("send it?")
        return {"messages": [draft, answer, Result("found", tool_call_id=FIRST)]}

    client = client_of(write)
    paused = await client.send("hi")
    assert contents(paused) == ["hi", "why", "draft", None]
    await check_reload(client, paused)
    recorded = await client.send(resume=answers(paused))
    said = [one for one in contents(recorded) if one != ""]
    assert said == ["hi", "again", "better", None, "found"]
    recorded.check_snapshot()


async def test_a_draft_goes_with_its_question() -> None:
    client = drafting()
    recorded = await client.send(resume=answers(await client.send("hi"), "cancelled"))
    assert contents(recorded) == ["hi"]
    await check_reload(client, recorded)
    client = drafting()
    cancel = ApprovalOptions(when_paused="cancel")
    client.agent = LangGraphAgent(client.agent.graph, approvals=cancel)
    await client.send("hi")
    recorded = await client.send("something else")
    assert ending(recorded) == "interrupt"
    assert contents(recorded) == ["hi", "something else", "draft two"]
    await check_reload(client, recorded)


async def test_a_subgraph_that_is_tried_again() -> None:
    """Its first try is a draft, whatever it has said."""
    model = Scripted(["first"], ["second"])

    async def fail_once(state: Chat) -> Any:
        if len(model.seen) == 1:
            raise ConnectionError("not now")

    policy = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=ConnectionError)
    inner = chain_of(talker(model), fail_once)
    builder = StateGraph(Chat).add_node("inner", inner, retry_policy=policy)
    client = Client(LangGraphAgent(builder.add_edge(START, "inner").compile()))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    assert contents(recorded) == ["hi", "second"]


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
                answer = await Scripted(searching(str(number))[0]).ainvoke("x")
                return [answer, Result(f"found {number}", tool_call_id=FIRST)]
            case "push":
                push_message(AIMessage(f"{name} pushes {number}", id=f"pushed {number}"))
            case "team":
                inner = performing(f"{name}.inner", ["say", "ask", "call"], numbers)
                before = {one.id for one in state["messages"]}
                after = await chain_of(inner).ainvoke(state)
                return [one for one in after["messages"] if one.id not in before]
            case "ask":
                interrupt(f"{name} asks {number}")
        return []

    async def node(state: Any) -> Any:
        # LangGraph keeps pushed messages before those that the node returns. A graph inside does
        # not run again with its node, so its words stand before those that the node says again.
        first = "team" if "team" in plan else "push"
        acts = sorted(plan, key=lambda act: act != first)
        acts = [act for act in acts if first == "push" or act != "push"]
        said = [one for act in acts if act != "forget" for one in await say(act, state)]
        return {"messages": [] if "forget" in plan else said}

    node.__name__ = name
    return node


@given(plans, st.booleans())
@settings(max_examples=example_count(25, 38))
async def test_the_client_holds_what_the_graph_keeps(plan: list[list[str]], fresh: bool) -> None:
    numbers = count()
    client = client_of(*(performing(f"n{at}", acts, numbers) for at, acts in enumerate(plan)))
    recorded = await client.send("hi")
    while ending(recorded) == "interrupt":
        await check_reload(client, recorded)
        if fresh:  # another tab answers
            client.held = (await client.connect()).messages
        recorded = await client.send(resume=answers(recorded))
    assert ending(recorded) == "success"
    await check_reload(client, recorded)
    assert {one.id for one in recorded.messages} == {one.id for one in await client.stored()}
