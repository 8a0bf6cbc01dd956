"""The teams of `tests.subagents` for the LangGraph server of these tests."""

from __future__ import annotations

from tests.behaviour.subagents.test_approval_kinds import declared, declared_apart
from tests.kit.graphs.subagents import guarded_leaf
from tests.kit.graphs.teams import TEAMS

MODES = ("batched", "per_call")

_graphs = {
    **{f"team_{name}": build(None).graph for name, build in TEAMS.items()},
    **{
        f"{kind.__name__}_{mode}": kind(None, guarded_leaf("leaf", mode, [])[0]).graph
        for kind in (declared, declared_apart)
        for mode in MODES
    },
}
globals().update(_graphs)  # the server takes a module's variables

GRAPHS = tuple(_graphs)
