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
    Build,
    Built,
    ExpectedSubagent,
    Notes,
    Topic,
    agent_of,
    agent_tool,
    asking,
    boss_of,
    graph_of,
)
from tests.kit.models.scripted import Scripted
from tests.kit.models.voices import spoken, voice

WHY = {"question": "why"}


def at_once_in_a_tool(saver: Any) -> Built:
    """One call that asks two agents at once."""
    agents = [agent_of(voice(name, pace=0.01), name=name) for name in ("ann", "bob")]

    @tool
    async def both(question: str) -> str:
        """Ask both."""
        await asyncio.gather(*(agent.ainvoke(asking(question)) for agent in agents))
        return "asked"

    graph, boss = boss_of(saver, [both], ("both", WHY))
    return Built(
        graph,
        boss,
        {name: ExpectedSubagent(name, BOSS, "boss.0", "Ask both.") for name in ("ann", "bob")},
    )


def on_threads_of_their_own(saver: Any) -> Built:
    """Agents with other threads, one after the other: their streams do not reach the run's."""
    agents = [agent_of(voice(name), name=name) for name in ("ann", "bob")]

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        for number, agent in enumerate(agents):
            await agent.ainvoke(
                asking(question), {"configurable": {"thread_id": f"another {number}"}}
            )
        return "asked"

    graph, boss = boss_of(saver, [ask], ("ask", WHY))
    return Built(
        graph,
        boss,
        {name: ExpectedSubagent(name, BOSS, "boss.0", "Ask.") for name in ("ann", "bob")},
    )


def that_remembers(saver: Any) -> Built:
    """An agent that keeps its own state from turn to turn."""
    agent = agent_of(voice("old"), name="old", checkpointer=True if saver else None)
    graph, boss = boss_of(saver, [agent_tool("ask", agent)], ("ask", WHY))
    return Built(graph, boss, {"old": ExpectedSubagent("old", BOSS, "boss.0", "Ask ask.")})


def streamed_by_a_tool(saver: Any) -> Built:
    """A tool that reads its agent's stream."""
    agent = agent_of(voice("other"), name="other")

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        parts = [part async for part in agent.astream(asking(question), stream_mode="values")]
        return str(parts[-1]["messages"][-1].text)

    graph, boss = boss_of(saver, [ask], ("ask", WHY))
    return Built(graph, boss, {"other": ExpectedSubagent("other", BOSS, "boss.0", "Ask.")})


def batched(saver: Any) -> Built:
    """A tool that asks one agent two questions at once."""
    agent = agent_of(voice("help", each=True), name="help")

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        await agent.abatch([asking("x"), asking("y")])
        return "asked"

    graph, boss = boss_of(saver, [ask], ("ask", WHY))
    return Built(
        graph,
        boss,
        {f"help-{which}": ExpectedSubagent("help", BOSS, "boss.0", "Ask.") for which in "xy"},
    )


def declared_that_leaves(saver: Any, state: Any, key: str, *, keeps: bool = False) -> Built:
    """A declared subgraph that ends by sending the graph around it to another node, maybe with its
    messages."""

    def leave(state: Any) -> Command[Any]:
        update = {"messages": state["messages"]} if keeps else None
        return Command(goto="last", graph=Command.PARENT, update=update)

    inner: Any = StateGraph(state)
    inner.add_node("speak", talker(voice("inner"), "speak", key))
    inner.add_node("leave", leave)
    inner.add_edge(START, "speak")
    inner.add_edge("speak", "leave")
    boss, builder = voice(BOSS), StateGraph(Topic)
    builder.add_node("part", inner.compile(), destinations=("last",))
    builder.add_node("last", talker(boss, "last"))
    builder.add_edge(START, "part")
    return Built(builder.compile(checkpointer=saver), boss, {})


def handing_over(saver: Any) -> Built:
    """A declared subgraph, whose messages stay inside, that hands over."""
    built = declared_that_leaves(saver, Notes, "notes")
    built.subagent_ids = {"inner": ExpectedSubagent("part")}
    return built


def handing_over_all(saver: Any) -> Built:
    """A member of a team that hands over with all that was said."""
    built = declared_that_leaves(saver, Chat, "messages", keeps=True)
    built.shared = built.team = frozenset({"inner"})
    return built


def handing_over_nothing(saver: Any) -> Built:
    """A member of a team that hands over, and keeps to itself what it has said."""
    built = declared_that_leaves(saver, Chat, "messages")
    built.team = frozenset({"inner"})
    return built


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


ODD: dict[str, Build] = {
    build.__name__: build
    for build in (
        at_once_in_a_tool,
        on_threads_of_their_own,
        that_remembers,
        streamed_by_a_tool,
        batched,
        handing_over,
        handing_over_all,
        handing_over_nothing,
        functional,
    )
}


def handing_over_from_a_tool(saver: Any) -> Built:
    """An agent of a tool that ends by an update of the graph around it."""

    @tool
    def leave(why: str) -> Any:
        """Leave."""
        done = ToolMessage("left", tool_call_id="boss.0")
        return Command(goto="model", graph=Command.PARENT, update={"messages": [done]})

    agent = create_agent(voice("other", ("leave", {"why": "so"})), [leave], name="other")
    graph, boss = boss_of(saver, [agent_tool("ask", agent)], ("ask", WHY))
    return Built(graph, boss, {"other": ExpectedSubagent("other", BOSS, "boss.0", "Ask ask.")})


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
    return Built(builder.compile(), boss, {})
