"""Graphs of the kit for a LangGraph server, which brings its own checkpointer: those of the matrix
of approvals and of known forms, with results in other channels, subagents, teams, guardrails; and
those whose tasks run at once and fare differently."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import replace
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from tests.behaviour.subagents.test_pauses import consulting, declared_apart, second_of_a_tool
from tests.behaviour.wrap.test_held_messages import AfterModel, Results
from tests.behaviour.wrap.test_stream_transformers import delegating, look
from tests.kit.expect.canary import CANARY
from tests.kit.graphs.channels import flat, nested, node_until_done, text_only
from tests.kit.graphs.forms import FORMS
from tests.kit.graphs.pauses import KINDS
from tests.kit.graphs.small import Chat
from tests.kit.graphs.subagents import GRAPHS as SUBAGENTS
from tests.kit.graphs.subagents import (
    WHY,
    Built,
    ExpectedSubagent,
    Mend,
    agent_of,
    agent_tool,
    called,
    failing,
    graph_of,
    guarded,
    guarded_leaf,
    in_a_boss_node,
    tools_of,
)
from tests.kit.graphs.teams import TEAMS
from tests.kit.models.scripted import Scripted, call
from tests.kit.models.voices import breaking, voice

MODES: Any = ("batched", "per_call")

CHANNELS = {
    "results_in_a_subgraph": nested,
    "results_in_a_channel": flat,
    "ends_by_a_call": node_until_done,
    "kept_as_words": text_only,
}
"""Graphs that keep results in other channels, or end by a call."""

BUILT: dict[str, Built] = {}
"""Graphs with subagents. Only deepagents' calls say themselves what they are for: a client of a
server is not told what a tool is for."""

ENDING = [name for name in SUBAGENTS if name != "nostream"]  # a server does not tell of that one
"""Graphs that run to their end."""

for _name in ENDING:
    BUILT[_name] = SUBAGENTS[_name](None)
for _handled in (True, False):
    BUILT[f"failing_{_handled}"] = failing(handled=_handled)


def leaf(mode: Any, who: str = "leaf") -> Any:
    return guarded_leaf(who, mode, [])[0]


def in_a_node(asks: Any) -> Built:
    """A tool's graph with a node, of a name that the root graph has not, that asks an agent."""
    built = tools_of(None, {"mid": graph_of(Chat, consult=consulting(asks))})
    built.subagents["leaf"] = ExpectedSubagent("leaf", "mid")
    return built


def half(asks: Any) -> Built:
    """A subagent that asks two others at once, of which one asks for leave."""
    tools = [agent_tool("leaf", asks), agent_tool("bob", agent_of(voice("bob"), name="bob"))]
    mid = create_agent(voice("mid", ("leaf", WHY), ("bob", WHY)), tools, name="mid")
    built = tools_of(None, {"mid": mid})
    built.subagents["leaf"] = called("leaf", "leaf", "mid")
    built.subagents["bob"] = called("bob", "bob", "mid", 1)
    return built


for _mode in MODES:
    BUILT[f"guarded_{_mode}"] = guarded(None, _mode, [])
    BUILT[f"both_{_mode}"] = guarded(None, _mode, [], both=True)
    BUILT[f"apart_{_mode}"] = declared_apart(None, leaf(_mode))
    BUILT[f"second_{_mode}"] = second_of_a_tool(None, leaf(_mode))
    BUILT[f"in_a_node_{_mode}"] = in_a_node(leaf(_mode))
    BUILT[f"half_{_mode}"] = half(leaf(_mode))
    _shared = in_a_boss_node(None, part=leaf(_mode))
    BUILT[f"shared_{_mode}"] = Built(*_shared, team=frozenset({"leaf"}))


def late(who: str) -> Any:
    """An agent whose model fails when the others have begun."""
    broken = breaking(who, ValueError("a secret"))
    broken.turns = [[0.8, *turn] for turn in broken.turns]
    return agent_of(broken)


def inside(*, handled: bool) -> Built:
    """A tool of a subagent fails while an agent beside it is speaking; the boss goes on, or fails
    as well."""

    @tool
    async def ann(question: str) -> str:
        """Fail when the other one has begun."""
        await asyncio.sleep(0.7)
        raise ValueError("a secret")

    bob = agent_tool("bob", agent_of(voice("bob", pace=0.5), name="bob"))
    mid = create_agent(voice("mid", ("ann", WHY), ("bob", WHY)), [ann, bob], name="mid")
    built = tools_of(None, {"mid": mid}, middleware=[Mend()] if handled else [])
    built.subagents["bob"] = called("bob", "bob", "mid", 1)
    return built


def _paced(pace: float) -> Any:
    return agent_of(voice("bob", pace=pace))


BUILT |= {
    "slowly": tools_of(None, {"leaf": leaf("per_call"), "bob": _paced(0.1)}),
    "beside": tools_of(None, {"ann": late("ann"), "bob": _paced(0.3)}),
    "inside_True": inside(handled=True),
    "inside_False": inside(handled=False),
    "pausing_and_failing": tools_of(None, {"leaf": leaf("per_call"), "bob": late("bob")}),
}


def _told(one: ExpectedSubagent) -> ExpectedSubagent:
    tells = (one.description or "").startswith("do ")
    return one if tells else replace(one, description=None)


for _built in BUILT.values():
    _built.subagents = {who: _told(one) for who, one in _built.subagents.items()}


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
    fan: Any = lambda state: [Send("worker", {"n": n}) for n in range(3)]  # noqa: E731
    builder.add_conditional_edges(START, fan, ["worker"])
    return builder.compile()


def _looking(messages: list[Any]) -> list[Any]:
    if messages[-1].type == "tool":
        return ["Found ", CANARY]
    calls = (call("look", f"c{len(messages)}-{at}", at, who="Ann") for at in (0, 1))
    return ["I look. ", *calls]


def _asking(messages: list[Any]) -> list[Any]:
    asks = call("ask", f"a{len(messages)}", task="Who?")
    return ["Thanks."] if messages[-1].type == "tool" else [asks]


_helper = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()], name="helper")
_guards = [AfterModel(), Results()]

GRAPHS = {
    **{f"approvals_{kind}": make(None) for kind, make in (KINDS | FORMS).items()},
    **{name: build() for name, build in CHANNELS.items()},
    **{f"subagents_{name}": built.graph for name, built in BUILT.items()},
    **{f"team_{name}": build(None).graph for name, build in TEAMS.items()},
    "workers": _workers(),
    "held": create_agent(Scripted(script=_looking), [look], middleware=_guards),
    "held_inside": create_agent(Scripted(script=_asking), [delegating(_helper, "ask")]),
}
globals().update({f"graph_{name}": graph for name, graph in GRAPHS.items()})
"""The server takes a module's variables."""
