"""Rarer ways to run a graph in a graph."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy

from tests.kit.graphs.small import Chat, talker
from tests.kit.graphs.subagents import (
    BOSS,
    WHY,
    Build,
    Built,
    ExpectedSubagent,
    Notes,
    Topic,
    agent_of,
    agent_tool,
    asking,
    boss_of,
    called,
    graph_of,
    named_in,
    tools_of,
)
from tests.kit.models.scripted import Scripted
from tests.kit.models.voices import spoken, voice

ODD: dict[str, Build] = {}


_kind = named_in(ODD)


def in_a_tool(saver: Any, run: Any, *names: str, **voiced: Any) -> Built:
    """A boss with one tool, which does `run` with agents of these names."""
    agents = [agent_of(voice(name, **voiced), name=name) for name in names]

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        await run(*agents)
        return "asked"

    graph, boss = boss_of(saver, [ask], ("ask", WHY))
    subagents = {name: ExpectedSubagent(name, BOSS, "boss.0", "Ask.") for name in names}
    return Built(graph, boss, subagents)


@_kind
def at_once_in_a_tool(saver: Any) -> Built:
    async def run(*agents: Any) -> None:
        await asyncio.gather(*(agent.ainvoke(asking("why")) for agent in agents))

    return in_a_tool(saver, run, "ann", "bob", pace=0.01)


@_kind
def on_threads_of_their_own(saver: Any) -> Built:
    """One after the other: their streams do not reach the run's."""

    async def run(*agents: Any) -> None:
        for agent in agents:
            thread = {"configurable": {"thread_id": f"another {agent.name}"}}
            await agent.ainvoke(asking("why"), thread)

    return in_a_tool(saver, run, "ann", "bob")


@_kind
def streamed_by_a_tool(saver: Any) -> Built:
    async def run(agent: Any) -> None:
        assert [part async for part in agent.astream(asking("why"), stream_mode="values")]

    return in_a_tool(saver, run, "other")


@_kind
def batched(saver: Any) -> Built:
    """A tool that asks one agent two questions at once."""

    async def run(agent: Any) -> None:
        await agent.abatch([asking("x"), asking("y")])

    built = in_a_tool(saver, run, "help", each=True)
    built.subagents = {f"help-{which}": built.subagents["help"] for which in "xy"}
    return built


@_kind
def that_remembers(saver: Any) -> Built:
    """An agent that keeps its own state from turn to turn."""
    agent = agent_of(voice("old"), name="old", checkpointer=True if saver else None)
    return tools_of(saver, {"old": agent})


@_kind
def whole_messages(saver: Any) -> Built:
    """Models that do not stream: the boss's whole message is told before its calls are run."""
    tools = [agent_tool("ann", agent_of(voice("ann", disable_streaming=True)))]
    boss = voice(BOSS, ("ann", WHY), disable_streaming=True)
    graph = create_agent(boss, tools, checkpointer=saver)
    return Built(graph, boss, {"ann": called("ann", "ann")})


def declared_that_leaves(saver: Any, state: Any, key: str, *, keeps: bool = False) -> Built:
    """A declared subgraph that ends by sending the graph around it to another node, maybe with its
    messages."""

    def leave(state: Any) -> Command[Any]:
        update = {"messages": state["messages"]} if keeps else None
        return Command(goto="last", graph=Command.PARENT, update=update)

    inner = graph_of(state, speak=talker(voice("inner"), "speak", key), leave=leave)
    boss, builder = voice(BOSS), StateGraph(Topic)
    builder.add_node("part", inner, destinations=("last",))
    builder.add_node("last", talker(boss, "last"))
    builder.add_edge(START, "part")
    return Built(builder.compile(checkpointer=saver), boss)


@_kind
def handing_over(saver: Any) -> Built:
    """A declared subgraph, whose messages stay inside, that hands over."""
    built = declared_that_leaves(saver, Notes, "notes")
    built.subagents = {"inner": ExpectedSubagent("part")}
    return built


@_kind
def handing_over_all(saver: Any) -> Built:
    """A member of a team that hands over with all that was said."""
    built = declared_that_leaves(saver, Chat, "messages", keeps=True)
    built.team = frozenset({"inner"})
    return built


@_kind
def handing_over_nothing(saver: Any) -> Built:
    """A member of a team that hands over, and keeps to itself what it has said."""
    built = declared_that_leaves(saver, Chat, "messages")
    built.team = frozenset({"inner"})
    return built


@_kind
def functional(saver: Any) -> Built:
    """The functional API: a task asks an agent."""
    boss, agent = voice(BOSS), agent_of(voice("other"), name="other")

    @task
    async def consult() -> str:
        return str((await agent.ainvoke(asking("why")))["messages"][-1].text)

    @entrypoint(checkpointer=saver)
    async def work(given: dict[str, Any], *, previous: Any = None) -> dict[str, list[AnyMessage]]:
        await consult()
        received = [*(previous or {}).get("messages", []), *given["messages"]]
        return {"messages": [*received, await boss.ainvoke(received)]}

    return Built(work, boss, {"other": ExpectedSubagent("other")})


def handing_over_from_a_tool(saver: Any) -> Built:
    """An agent of a tool that ends by an update of the graph around it."""

    @tool
    def leave(why: str) -> Any:
        """Leave."""
        done = ToolMessage("left", tool_call_id="boss.0")
        return Command(goto="model", graph=Command.PARENT, update={"messages": [done]})

    agent = create_agent(voice("other", ("leave", {"why": "so"})), [leave], name="other")
    return tools_of(saver, {"other": agent})


def retried(state: Any, key: str) -> Built:
    """A declared graph whose node is run again, for its model has failed at first. Who speaks is
    `first`, then `second`."""
    numbers = count()

    def script(_: Any) -> list[Any]:
        first = next(numbers) == 0
        said = spoken("first" if first else "second", "ends 1")
        return [*said[:3], ConnectionError("a secret")] if first else said

    boss, builder = voice(BOSS), StateGraph(Topic)
    part = graph_of(state, speak=talker(Scripted(script=script), "speak", key))
    builder.add_node("part", part, retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.01))
    builder.add_node("speak", talker(boss, "speak"))
    builder.add_edge(START, "part")
    builder.add_edge("part", "speak")
    return Built(builder.compile(), boss)
