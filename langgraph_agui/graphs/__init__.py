"""Graphs for the rest of the package: one interface for a compiled graph and a `RemoteGraph`."""

from inspect import isawaitable
from types import FunctionType

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui.graphs.adapter import (
    ROOT_CHANNEL,
    CompiledGraph,
    Graph,
    GraphAdapter,
    RunGraph,
    Thread,
)
from langgraph_agui.graphs.local import LocalGraphAdapter
from langgraph_agui.graphs.server import RemoteGraphAdapter

__all__ = [
    "ROOT_CHANNEL",
    "CompiledGraph",
    "Graph",
    "GraphAdapter",
    "LocalGraphAdapter",
    "RemoteGraphAdapter",
    "RunGraph",
    "Thread",
    "adapt_graph",
]


def adapt_graph(graph: object) -> GraphAdapter:
    """Return the adapter of a graph. Only this function distinguishes local and remote graphs.

    Raises:
        TypeError: It is no graph that can run.
    """
    if isinstance(graph, RemoteGraph):
        return RemoteGraphAdapter(graph)
    if isinstance(graph, Pregel):
        return LocalGraphAdapter(graph)
    if isinstance(graph, StateGraph):
        raise TypeError("This StateGraph is not compiled. Write LangGraphAgent(graph.compile()).")
    if isinstance(graph, FunctionType):
        raise TypeError(f"Give the graph, not a function: LangGraphAgent({graph.__name__}()).")
    if isawaitable(graph):
        raise TypeError("The graph is still to be awaited: LangGraphAgent(await ...).")
    raise TypeError(
        f"LangGraphAgent takes a compiled graph or a RemoteGraph, not {type(graph).__name__}. "
        "Serve any other Runnable with astream_agui or AGUICallbackHandler."
    )
