"""Checkpointers that are full, or that lose what they are given."""

from __future__ import annotations

import sqlite3
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver


class Full(InMemorySaver):
    """Can be read; can be written while it is not `full`. `written` counts what it was to keep."""

    full = False
    full_soon = False
    """Whether it is full once it has kept the next writes of a task."""
    written = 0

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self._check()
        return super().put(*args, **kwargs)

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        self._check()
        super().put_writes(*args, **kwargs)
        self.full |= self.full_soon

    def _check(self) -> None:
        self.written += 1
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")


class Losing(InMemorySaver):
    """Says that it has kept the writes of tasks, and has not, while it is `losing`."""

    losing = False

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if not self.losing:
            super().put_writes(*args, **kwargs)
