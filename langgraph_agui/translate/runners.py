"""The drive of a run: what runs a graph under a translation, here or on a LangGraph server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ag_ui.core import RawEvent
from langchain_core.runnables import RunnableConfig

from langgraph_agui.graphs import GraphAdapter, LocalGraphAdapter, RemoteGraphAdapter
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
    graph: GraphAdapter,
    translation: Translation,
    *,
    messages_key: str,
    raw: Callable[[RawEvent], object] | None,
    fail: Callable[[Exception], None],
) -> GraphRunner:
    """Return the runner of `graph`; see `LocalGraphRunner` for the arguments."""
    if isinstance(graph, RemoteGraphAdapter):
        return RemoteGraphRunner(graph, translation, messages_key=messages_key, raw=raw, fail=fail)
    assert isinstance(graph, LocalGraphAdapter)  # noqa: S101  # there are two adapters
    return LocalGraphRunner(graph.graph, translation, messages_key=messages_key, raw=raw, fail=fail)
