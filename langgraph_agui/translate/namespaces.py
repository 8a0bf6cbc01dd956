"""Checkpoint namespaces: where in a graph a callback belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast


def namespace_of(metadata: Mapping[str, object] | None) -> str:
    """The checkpoint namespace of the task that a callback belongs to; "" outside a graph."""
    return cast("str", (metadata or {}).get("langgraph_checkpoint_ns") or "")


def task_id(namespace: str) -> str:
    """The id of the task whose namespace this is."""
    return namespace.rpartition(":")[2]
