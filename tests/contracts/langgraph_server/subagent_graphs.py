"""The graphs of `tests.subagents` for the LangGraph server of these tests, and what a server can
tell of them."""

from __future__ import annotations

from dataclasses import replace

from tests.kit.graphs.subagents import GRAPHS as BUILDS
from tests.kit.graphs.subagents import Built, failing, guarded

UNTOLD = {"nostream"}
"""Graphs whose point is `nostream`, of which a server does not tell."""


def _as_server_reports(built: Built, *, by_tools: bool) -> Built:
    """What a client of a server must be told: not what a tool is for, which the server does not
    tell."""
    if not by_tools:
        return built
    return replace(
        built,
        subagent_ids={
            speaker: replace(subagent_id, description=None)
            for speaker, subagent_id in built.subagent_ids.items()
        },
    )


ENDING = {
    name: _as_server_reports(build(None), by_tools=not name.startswith("deep"))
    for name, build in BUILDS.items()
    if name not in UNTOLD
}
"""Graphs that run to their end; only deepagents' calls say themselves what they are for."""

PAUSING = {mode: guarded(None, mode, []) for mode in ("batched", "per_call")}
"""Graphs that pause in their innermost agent, by how it asks."""

FAILING = {
    handled: _as_server_reports(failing(handled=handled), by_tools=True)
    for handled in (True, False)
}
"""Graphs in which an agent within an agent fails; with True the root's agent goes on."""

_graphs = {
    **{f"subagents_{name}": built.graph for name, built in ENDING.items()},
    **{f"subagents_guarded_{mode}": built.graph for mode, built in PAUSING.items()},
    **{f"subagents_failing_{handled}": built.graph for handled, built in FAILING.items()},
}
globals().update(_graphs)  # the server takes a module's variables

GRAPHS = tuple(_graphs)
