"""The drive of a run: what runs a graph under a translation, here or on a LangGraph server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ag_ui.core import RawEvent
from langchain_core.runnables import RunnableConfig
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui.graphs import Graph
from langgraph_agui.translate.drive import GraphDrive
from langgraph_agui.translate.remote.drive import RemoteDrive
from langgraph_agui.translate.translation import Translation


class Drive(Protocol):
    """Runs a graph and tells a translation what happens."""

    def stop(self) -> None:
        """Tell nothing more, and end what cancelling the task of `run` does not reach."""

    async def run(self, graph_input: object, config: RunnableConfig, context: Any) -> None:
        """Run the graph to its end; its exceptions come through."""


def drive_for(
    graph: Graph,
    translation: Translation,
    *,
    messages_key: str,
    raw: Callable[[RawEvent], object] | None,
    fail: Callable[[Exception], None],
) -> Drive:
    """Return the drive for a run of `graph`; the arguments are those of `GraphDrive`."""
    if isinstance(graph, RemoteGraph):
        return RemoteDrive(graph, translation, messages_key=messages_key, raw=raw, fail=fail)
    return GraphDrive(graph, translation, messages_key=messages_key, raw=raw, fail=fail)
