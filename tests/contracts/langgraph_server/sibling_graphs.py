"""Graphs for the LangGraph server of these tests in which tasks that run at once fare
differently."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from tests.kit.graphs.small import Chat
from tests.kit.graphs.subagents import (
    BOSS,
    Built,
    ExpectedSubagent,
    Mend,
    agent_of,
    agent_tool,
    asking,
    boss_of,
    graph_of,
)
from tests.kit.graphs.subagents import guarded as deep_guarded
from tests.kit.graphs.subagents import guarded_leaf as leaf
from tests.kit.models.voices import breaking, voice

MODES = ("batched", "per_call")
WHY = {"question": "why"}


def called(*speakers: str) -> dict[str, ExpectedSubagent]:
    """The subagents of the boss's tools, of their names."""
    return {
        name: ExpectedSubagent(name, BOSS, f"boss.{number}") for number, name in enumerate(speakers)
    }


def tools_of(**agents: Any) -> Built:
    """A boss that asks all of these at once."""
    tools = [agent_tool(name, agent) for name, agent in agents.items()]
    graph, boss = boss_of(None, tools, *((name, WHY) for name in agents))
    return Built(graph, boss, called(*agents))


def late(who: str) -> Any:
    """A model that fails when the others have begun."""
    broken = breaking(who, ValueError("a secret"))
    broken.turns = [[0.8, *turn] for turn in broken.turns]
    return broken


def second(mode: Any) -> Built:
    """A tool that asks two agents one after the other, of which the second one asks for leave."""
    asks, _ = leaf("ann", mode, [])
    graph, boss = boss_of(None, [agent_tool("both", agent_of(voice("bob")), asks)], ("both", WHY))
    subagents = {
        "bob": ExpectedSubagent("both", BOSS, "boss.0"),
        "ann": ExpectedSubagent("ann", BOSS, "boss.0"),
    }
    return Built(graph, boss, subagents)


def in_a_node(mode: Any) -> Built:
    """A tool's graph with a node, of a name that the root graph has not, that asks an agent."""
    asks, _ = leaf("ann", mode, [])

    async def consult(state: Any) -> dict[str, Any]:
        return {"messages": (await asks.ainvoke(asking("why")))["messages"][-1:]}

    graph, boss = boss_of(None, [agent_tool("mid", graph_of(Chat, consult=consult))], ("mid", WHY))
    return Built(
        graph,
        boss,
        {"mid": ExpectedSubagent("mid", BOSS, "boss.0"), "ann": ExpectedSubagent("ann", "mid")},
    )


def half(mode: Any) -> Built:
    """A subagent that asks two others at once, of which one asks for leave."""
    asks, _ = leaf("ann", mode, [])
    tools = [agent_tool("ann", asks), agent_tool("bob", agent_of(voice("bob"), name="bob"))]
    built = tools_of(mid=create_agent(voice("mid", ("ann", WHY), ("bob", WHY)), tools, name="mid"))
    built.subagents |= {
        "ann": ExpectedSubagent("ann", "mid", "mid.0"),
        "bob": ExpectedSubagent("bob", "mid", "mid.1"),
    }
    return built


class Noted(TypedDict, total=False):
    messages: list[Any]
    notes: Annotated[list[str], operator.add]
    n: int


def _workers() -> Any:
    """Three `Send`s to one node, the last of which asks."""

    def worker(state: Noted) -> dict[str, Any]:
        return {"notes": [interrupt("Which one?") if state["n"] == 2 else str(state["n"])]}

    builder = StateGraph(Noted)
    builder.add_node("worker", worker)
    builder.add_conditional_edges(
        START, lambda state: [Send("worker", {"n": n}) for n in range(3)], ["worker"]
    )
    return builder.compile()


def _slowly() -> Built:
    """One of two agents asks for leave, while the other one goes on speaking."""
    asks, _ = leaf("ann", "per_call", [])
    return tools_of(ann=asks, bob=agent_of(voice("bob", pace=0.1)))


def _failing() -> Built:
    """One of two agents fails, while the other one is speaking."""
    return tools_of(ann=agent_of(late("ann")), bob=agent_of(voice("bob", pace=0.3)))


def _inside(*, handled: bool) -> Built:
    """A tool of a subagent fails while an agent beside it is speaking; the boss goes on, or fails
    as well."""

    @tool
    async def ann(question: str) -> str:
        """Fail when the other one has begun."""
        await asyncio.sleep(0.7)
        raise ValueError("a secret")

    bob = agent_tool("bob", agent_of(voice("bob", pace=0.5), name="bob"))
    mid = create_agent(voice("mid", ("ann", WHY), ("bob", WHY)), [ann, bob], name="mid")
    graph, boss = boss_of(
        None, [agent_tool("mid", mid)], ("mid", WHY), middleware=[Mend()] if handled else []
    )
    return Built(
        graph,
        boss,
        {
            "mid": ExpectedSubagent("mid", BOSS, "boss.0"),
            "bob": ExpectedSubagent("bob", "mid", "mid.1"),
        },
    )


def _pausing_and_failing() -> Built:
    """One of two agents asks for leave, the other one fails."""
    asks, _ = leaf("ann", "per_call", [])
    return tools_of(ann=asks, bob=agent_of(late("bob")))


ASKING: dict[str, Built] = {
    f"{name}_{mode}": build(mode)
    for name, build in [("second", second), ("in_a_node", in_a_node)]
    for mode in MODES
} | {f"half_{mode}": half(mode) for mode in MODES}
"""Graphs in which `ann` asks for leave."""

BOTH = {mode: deep_guarded(None, mode, [], both=True) for mode in MODES}  # type: ignore[arg-type]
"""Graphs whose two innermost agents ask at once."""

BUILT = {
    **ASKING,
    **{f"both_{mode}": built for mode, built in BOTH.items()},
    "slowly": _slowly(),
    "failing": _failing(),
    "inside_True": _inside(handled=True),
    "inside_False": _inside(handled=False),
    "pausing_and_failing": _pausing_and_failing(),
}

_graphs = {
    **{f"siblings_{name}": built.graph for name, built in BUILT.items()},
    "siblings_workers": _workers(),
}
globals().update(_graphs)  # the server takes a module's variables

GRAPHS = tuple(_graphs)
