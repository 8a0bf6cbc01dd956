"""A checkpointer whose process dies: what happens after that is not kept."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver


class Dying(InMemorySaver):
    """Keeps nothing while it is not `alive`."""

    alive = True

    def put(self, *args: Any, **kwargs: Any) -> Any:
        return super().put(*args, **kwargs) if self.alive else args[0]

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if self.alive:
            super().put_writes(*args, **kwargs)
