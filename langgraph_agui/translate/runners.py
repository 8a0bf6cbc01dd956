"""The drive of a run: what runs a graph under a translation, here or on a LangGraph server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ag_ui.core import RawEvent
from langchain_core.runnables import RunnableConfig
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui.graphs import Graph
from langgraph_agui.translate.graph_runner import LocalGraphRunner
from langgraph_agui.translate.remote.runner import RemoteGraphRunner
from langgraph_agui.translate.translation import Translation


class GraphRunner(Protocol):
    """Runs a graph and tells a translation what happens."""

    def stop(self) -> None:
        """Tell nothing more, and end what cancelling the task of `run` does not reach."""

    async def run(self, graph_input: object, config: RunnableConfig, context: Any) -> None:
        """Run the graph to its end; its exceptions come through."""


def graph_runner_for(
    graph: Graph,
    translation: Translation,
    *,
    messages_key: str,
    raw: Callable[[RawEvent], object] | None,
    fail: Callable[[Exception], None],
) -> GraphRunner:
    """Return the drive for a run of `graph`; the arguments are those of `GraphDrive`."""
    if isinstance(graph, RemoteGraph):
        return RemoteGraphRunner(graph, translation, messages_key=messages_key, raw=raw, fail=fail)
    return LocalGraphRunner(graph, translation, messages_key=messages_key, raw=raw, fail=fail)
