"""Checkpoint namespaces: where in a graph a callback belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast


def namespace_of(metadata: Mapping[str, object] | None) -> str:
    """The checkpoint namespace of the task that a callback belongs to; "" outside a graph."""
    return cast("str", (metadata or {}).get("langgraph_checkpoint_ns") or "")


def lane_of(namespace: Sequence[str]) -> str | None:
    """The id under which a graph inside the root graph speaks (`subagentRunId`): its task there. None is the root."""
    return namespace[0] if namespace else None


def task_id(namespace: str) -> str:
    """The id of the task whose namespace this is."""
    return namespace.rpartition(":")[2]
