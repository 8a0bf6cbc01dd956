"""Approvals in subagents of every kind: whose they are, and that their subagents are the same when
the run goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.deep import together
from tests.kit.expect.owners import check_all, check_lifecycle, check_tags, ends, starts
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.small import Chat, talker
from tests.kit.graphs.subagents import (
    BOSS,
    Built,
    ExpectedSubagent,
    Notes,
    Topic,
    agent_of,
    agent_tool,
    asking,
    boss_of,
    graph_of,
    guarded_leaf,
)
from tests.kit.models.voices import voice
from tests.kit.run.agents import dumped
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

Kind = Callable[[Any, Any], Built]
"""Makes a graph with a checkpointer, around an agent called `leaf` that asks before it deploys."""

WHY = {"question": "why"}


def async_tool(saver: Any, leaf: Any) -> Built:
    graph, boss = boss_of(saver, [agent_tool("ask", leaf)], ("ask", WHY))
    return Built(graph, boss, {"leaf": ExpectedSubagent("leaf", BOSS, "boss.0", "Ask ask.")})


def sync_tool(saver: Any, leaf: Any) -> Built:
    graph, boss = boss_of(saver, [agent_tool("ask", leaf, sync=True)], ("ask", WHY))
    return Built(graph, boss, {"leaf": ExpectedSubagent("leaf", BOSS, "boss.0", "Ask ask.")})


def tool_in_tool(saver: Any, leaf: Any) -> Built:
    mid = create_agent(voice("mid", ("ask", WHY)), [agent_tool("ask", leaf)])
    graph, boss = boss_of(saver, [agent_tool("mid", mid)], ("mid", WHY))
    subagent_ids = {
        "mid": ExpectedSubagent("mid", BOSS, "boss.0", "Ask mid."),
        "leaf": ExpectedSubagent("leaf", "mid", "mid.0", "Ask ask."),
    }
    return Built(graph, boss, subagent_ids)


def declared(saver: Any, leaf: Any) -> Built:
    boss, team = voice(BOSS), frozenset({"leaf"})
    graph = graph_of(Chat, saver, part=leaf, speak=talker(boss, "speak"))
    return Built(graph, boss, {}, shared=team, team=team)


def declared_twice(saver: Any, leaf: Any) -> Built:
    boss, team = voice(BOSS), frozenset({"outer", "leaf"})
    outer = graph_of(Chat, speak=talker(voice("outer"), "speak"), inside=leaf)
    graph = graph_of(Chat, saver, part=outer, speak=talker(boss, "speak"))
    return Built(graph, boss, {}, shared=team, team=team)


def declared_apart(saver: Any, leaf: Any) -> Built:
    """A declared subgraph, whose messages stay inside, and a node of that asks the agent."""
    boss = voice(BOSS)

    async def consult(state: Any) -> dict[str, Any]:
        await leaf.ainvoke(asking("why"))
        return {}

    outer = graph_of(Notes, speak=talker(voice("outer"), "speak", "notes"), consult=consult)
    graph = graph_of(Topic, saver, part=outer, speak=talker(boss, "speak"))
    subagent_ids = {"outer": ExpectedSubagent("part"), "leaf": ExpectedSubagent("leaf", "outer")}
    return Built(graph, boss, subagent_ids)


def in_a_node(saver: Any, leaf: Any) -> Built:
    boss = voice(BOSS)

    async def consult(state: Any) -> dict[str, Any]:
        await leaf.ainvoke(asking("why"))
        return {}

    graph = graph_of(Chat, saver, consult=consult, speak=talker(boss, "speak"))
    return Built(graph, boss, {"leaf": ExpectedSubagent("leaf")})


def sent(saver: Any, leaf: Any) -> Built:
    """Beside the agent that asks, another one is at work and comes to its end."""
    boss, builder = voice(BOSS), StateGraph(Chat)
    builder.add_node("fan", lambda state: {})
    builder.add_node("guarded", leaf)
    builder.add_node("free", agent_of(voice("other"), name="other"))
    builder.add_node("speak", talker(boss, "speak"))
    builder.add_edge(START, "fan")
    fan: Any = lambda state: [Send(name, {"messages": []}) for name in ("guarded", "free")]  # noqa: E731
    builder.add_conditional_edges("fan", fan, ["guarded", "free"])
    builder.add_edge(["guarded", "free"], "speak")
    team = frozenset({"leaf", "other"})
    return Built(builder.compile(checkpointer=saver), boss, {}, shared=team, team=team)


KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (
        async_tool,
        sync_tool,
        tool_in_tool,
        declared,
        declared_twice,
        declared_apart,
        in_a_node,
        sent,
    )
}

# that checkpointer is not for agents that are invoked synchronously
STORED = [
    (name, store)
    for name in KINDS
    for store in ("memory", "database")
    if (name, store)
    != (
        "sync_tool",
        "database",
    )
]
modes = pytest.mark.parametrize("mode", ["batched", "per_call"])


@asynccontextmanager
async def memory() -> AsyncIterator[Any]:
    yield InMemorySaver()


def database(home: Any) -> Any:
    return AsyncSqliteSaver.from_conn_string(str(home / "threads"))


@together(pytest.mark.parametrize(("name", "store"), STORED), modes)
async def test_the_subagents_go_on_under_their_ids(
    name: str, store: str, mode: Mode, tmp_path: Any
) -> None:
    done: list[str] = []
    leaf, model = guarded_leaf("leaf", mode, done)
    async with memory() if store == "memory" else database(tmp_path) as saver:
        built = KINDS[name](saver, leaf)
        client = Client(LangGraphAgent(graph=built.graph))
        first = await client.send("hi")
        owners = check_all(first, built)
        assert set(owners) == set(built.subagent_ids)
        (question,) = asked(first)
        assert (question.subagent_run_id, question.tool_call_id) == (owners.get("leaf"), "leaf.0")
        (shown,) = asked(await client.connect())
        assert shown.model_dump() == question.model_dump()
        client.agent = LangGraphAgent(graph=built.graph)
        recorded = await client.send(resume=resolved((question.id, {"approved": True})))
        assert check_all(recorded, built) == owners
        assert set(starts(recorded.events)) == set(owners.values())
        assert (done, len(model.seen)) == (["leaf0"], 2)
        assert recorded.messages[-1].content == "boss: ends 1"


@together(
    modes,
    pytest.mark.parametrize("name", ["async_tool", "tool_in_tool", "declared", "declared_twice"]),
)
async def test_the_turn_after(name: str, mode: Mode) -> None:
    leaf, _ = guarded_leaf("leaf", mode, [])
    built = KINDS[name](InMemorySaver(), leaf)
    client = Client(LangGraphAgent(graph=built.graph))
    (question,) = await client.ask("hi")
    await client.send(resume=resolved((question.id, {"approved": True})))
    recorded = await client.send("again")
    assert recorded.last.outcome.type == "success"
    check_lifecycle(recorded.events)
    check_tags(recorded)
    received = [message.type for message in built.boss.seen[-1]]
    history = {"declared": ["ai", "tool", "ai"], "declared_twice": ["ai", "ai", "tool", "ai"]}
    others = {"declared": ["ai"], "declared_twice": ["ai", "ai"]}
    called = ["human", "ai", "tool", "ai", "human"]
    shared = ["human", *history.get(name, []), "ai", "human", *others.get(name, [])]
    assert received == (shared if built.shared else called)


async def test_a_question_of_a_subagents_tool() -> None:
    """`interrupt()` in a tool: the question is about that call, and is the subagent's."""

    @tool
    async def pick(what: str) -> str:
        """Pick."""
        return f"picked {interrupt('Which one?')}"

    leaf = create_agent(voice("leaf", ("pick", {"what": "a"})), [pick], name="leaf")
    built = tool_in_tool(InMemorySaver(), leaf)
    client = Client(LangGraphAgent(graph=built.graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    (question,) = asked(first)
    assert question.subagent_run_id == owners["leaf"]
    recorded = await client.send(resume=resolved((question.id, "red")))
    assert check_all(recorded, built) == owners
    results = {
        message.tool_call_id: message.content
        for message in recorded.messages
        if message.role == "tool"
    }
    assert results["leaf.0"] == "picked red"


async def test_a_breakpoint_in_a_subagent() -> None:
    speak, after = (talker(voice("leaf"), name, "notes") for name in ("speak", "after"))
    inner = graph_of(Notes, speak=speak, after=after)
    inner.interrupt_before_nodes = ["after"]
    boss = voice(BOSS)
    graph = graph_of(Topic, InMemorySaver(), part=inner, speak=talker(boss, "speak"))
    built = Built(graph, boss, {"leaf": ExpectedSubagent("part")})
    client = Client(LangGraphAgent(graph=built.graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    (question,) = asked(first)
    (end,) = ends(first.events).values()
    assert (end.type.value, end.outcome.type) == ("SUBAGENT_FINISHED", "suspended")
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    assert recorded.last.outcome.type == "success"
    assert check_all(recorded, built) == owners


async def test_a_breakpoint_in_a_team() -> None:
    inner = graph_of(
        Chat, speak=talker(voice("leaf"), "speak"), after=talker(voice("leaf"), "after")
    )
    inner.interrupt_before_nodes = ["after"]
    built = declared(InMemorySaver(), inner)
    client = Client(LangGraphAgent(graph=built.graph))
    first = await client.send("hi")
    assert check_all(first, built) == {}
    (question,) = asked(first)
    assert question.subagent_run_id is None
    shown = await client.connect()
    assert [one.model_dump() for one in asked(shown)] == [question.model_dump()]
    assert dumped(shown.messages) == dumped(first.messages)
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    assert recorded.last.outcome.type == "success"
    assert check_all(recorded, built) == {}


@modes
async def test_a_pause_in_the_second_agent_of_a_tool(mode: Mode) -> None:
    """The tool runs from its beginning when it goes on; the first agent then speaks in its old
    subagent."""
    done: list[str] = []
    leaf, _ = guarded_leaf("leaf", mode, done)
    graph, boss = boss_of(
        InMemorySaver(), [agent_tool("both", agent_of(voice("one")), leaf)], ("both", WHY)
    )
    subagent_ids = {
        "one": ExpectedSubagent("both", BOSS, "boss.0", "Ask both."),
        "leaf": ExpectedSubagent("leaf", BOSS, "boss.0", "Ask both."),
    }
    built = Built(graph, boss, subagent_ids)
    client = Client(LangGraphAgent(graph=graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    (question,) = asked(first)
    assert question.subagent_run_id == owners["leaf"]
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    again = check_all(recorded, built)
    assert recorded.last.outcome.type == "success"
    assert again == owners
    assert done == ["leaf0"]
