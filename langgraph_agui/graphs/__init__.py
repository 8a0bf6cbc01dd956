"""Graphs as the rest of the package sees them: one interface for a compiled graph and for a `RemoteGraph`."""

from __future__ import annotations

from langgraph.pregel.remote import RemoteGraph

from langgraph_agui.graphs.adapter import ROOT_CHANNEL, Graph, GraphAdapter, Thread
from langgraph_agui.graphs.local import LocalGraphAdapter
from langgraph_agui.graphs.remote import RemoteGraphAdapter

__all__ = ["ROOT_CHANNEL", "Graph", "GraphAdapter", "LocalGraphAdapter", "RemoteGraphAdapter", "Thread", "adapt_graph"]


def adapt_graph(graph: Graph) -> GraphAdapter:
    """Return the adapter of `graph`. The only place that tells a local graph from a remote one."""
    return RemoteGraphAdapter(graph) if isinstance(graph, RemoteGraph) else LocalGraphAdapter(graph)
