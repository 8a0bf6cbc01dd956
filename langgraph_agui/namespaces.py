"""Checkpoint namespaces: where in a graph a callback or a part of the stream belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast


def namespace_of(metadata: Mapping[str, object] | None) -> str:
    """The checkpoint namespace of the task that a callback belongs to; "" outside a graph."""
    return cast("str", (metadata or {}).get("langgraph_checkpoint_ns") or "")


def task_id(namespace: str) -> str:
    """The id of the task whose namespace this is."""
    return namespace.rpartition(":")[2]


def graph_of(namespace: str) -> str:
    """The namespace of the graph that the task with this namespace is part of; "" for the root graph."""
    return namespace.rpartition("|")[0]


def subagent_run_id(namespace: Sequence[str]) -> str | None:
    """The id under which the graph at `namespace` speaks (`subagentRunId`); None for the root graph.

    It is the task that runs the graph, `name:task id`, the same when a paused run goes on. Of the graphs that one task
    runs, LangGraph numbers all but the first.
    """
    if not namespace:
        return None
    *_, last = namespace
    return f"{namespace[-2]}:{last}" if last.isdigit() and len(namespace) > 1 else last
