"""Graphs of the kit for a LangGraph server, which brings its own checkpointer: those of the matrix
of approvals and of known forms, with results in other channels, subagents, teams, guardrails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain.agents import create_agent

from tests.behaviour.subagents.test_pauses import declared_apart
from tests.behaviour.wrap.test_held_messages import AfterModel, Results
from tests.behaviour.wrap.test_stream_transformers import delegating, look
from tests.kit.expect.canary import CANARY
from tests.kit.graphs.channels import flat, nested, node_until_done, text_only
from tests.kit.graphs.forms import FORMS
from tests.kit.graphs.pauses import KINDS
from tests.kit.graphs.subagents import GRAPHS as SUBAGENTS
from tests.kit.graphs.subagents import Built, failing, guarded, guarded_leaf, in_a_boss_node
from tests.kit.graphs.teams import TEAMS
from tests.kit.models.scripted import Scripted, call

MODES: Any = ("batched", "per_call")

CHANNELS = {
    "results_in_a_subgraph": nested,
    "results_in_a_channel": flat,
    "ends_by_a_call": node_until_done,
    "kept_as_words": text_only,
}
"""Graphs that keep results in other channels, or end by a call."""


def declared(saver: Any, leaf: Any) -> Built:
    """An agent that asks as a node."""
    return Built(*in_a_boss_node(saver, part=leaf), team=frozenset({"leaf"}))


def _told_by_server(built: Built) -> Built:
    """What a client of a server is told: not what a tool is for."""
    ids = {name: replace(one, description=None) for name, one in built.subagents.items()}
    return replace(built, subagents=ids)


ENDING = {
    name: build(None) if name.startswith("deep") else _told_by_server(build(None))
    for name, build in SUBAGENTS.items()
    if name != "nostream"  # a server does not tell of it
}
"""Graphs that run to their end; only deepagents' calls say themselves what they are for."""

PAUSING = {mode: guarded(None, mode, []) for mode in MODES}
"""Graphs that pause in their innermost agent, by how it asks."""

FAILING = {handled: _told_by_server(failing(handled=handled)) for handled in (True, False)}
"""Graphs in which an agent within an agent fails; with True the root's agent goes on."""


def _looking(messages: list[Any]) -> list[Any]:
    if messages[-1].type == "tool":
        return ["Found ", CANARY]
    number = len(messages)
    return ["I look. ", *(call("look", f"c{number}-{index}", index, who="Ann") for index in (0, 1))]


def _asking(messages: list[Any]) -> list[Any]:
    if messages[-1].type == "tool":
        return ["Thanks."]
    return [call("ask", f"a{len(messages)}", task="Who?")]


_inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()], name="helper")
_guarding = [AfterModel(), Results()]

GRAPHS = {
    **{f"approvals_{kind}": make(None) for kind, make in (KINDS | FORMS).items()},
    **{name: build() for name, build in CHANNELS.items()},
    **{f"subagents_{name}": built.graph for name, built in ENDING.items()},
    **{f"subagents_guarded_{mode}": built.graph for mode, built in PAUSING.items()},
    **{f"subagents_failing_{handled}": built.graph for handled, built in FAILING.items()},
    **{f"team_{name}": build(None).graph for name, build in TEAMS.items()},
    **{
        f"{kind.__name__}_{mode}": kind(None, guarded_leaf("leaf", mode, [])[0]).graph
        for kind in (declared, declared_apart)
        for mode in MODES
    },
    "guarded": create_agent(Scripted(script=_looking), [look], middleware=_guarding),
    "guarded_inside": create_agent(Scripted(script=_asking), [delegating(_inner, "ask")]),
}
_taken = {f"graph_{name}": graph for name, graph in GRAPHS.items()}
globals().update(_taken)  # the server takes a module's variables
