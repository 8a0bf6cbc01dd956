"""One load of a checkpoint for the plan of a run and for its graph: a checkpointer enters, one like it leaves."""

from __future__ import annotations

from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

# The key under which LangGraph takes a run's checkpointer. Where it takes none, the graph loads the checkpoint itself.
_CHECKPOINTER: Final = "__pregel_checkpointer"


class LoadedCheckpointer(BaseCheckpointSaver[str]):
    """A checkpointer that loads the thread's last checkpoint once for its first two readers.

    Use it only if nothing writes into the thread between the two. A checkpoint with pending writes is loaded again,
    because LangGraph applies them to what it gets.

    Args:
        saver: Does everything else.
    """

    def __init__(self, saver: BaseCheckpointSaver[str]) -> None:
        self._saver = saver
        self._reads = 0
        self._loaded: list[CheckpointTuple | None] = []

    def __getattribute__(self, name: str) -> object:
        """Return the checkpointer's own attribute, but for what this class is made for."""
        own = name in ("aget_tuple", "_saver", "_reads", "_loaded", "__class__")
        return object.__getattribute__(self if own else object.__getattribute__(self, "_saver"), name)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; to the second reader the one that the first has loaded."""
        place = config["configurable"]
        if place.get("checkpoint_id") or place.get("checkpoint_ns"):
            return await self._saver.aget_tuple(config)
        self._reads += 1
        if self._reads == 2 and self._loaded:
            return self._loaded.pop()
        found = await self._saver.aget_tuple(config)
        if self._reads == 1 and (found is None or not found.pending_writes):
            self._loaded.append(found)
        return found

    @classmethod
    def config(cls, saver: BaseCheckpointSaver[str]) -> RunnableConfig:
        """Return the configuration that reads with such a checkpointer, and then runs the graph with it."""
        return {"configurable": {_CHECKPOINTER: cls(saver)}}
