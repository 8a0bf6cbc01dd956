"""One load of a checkpoint for the plan of a run and for its graph."""

from time import monotonic
from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from langgraph_agui.graphs.writes import RunCheckpointer, Writes

# Seconds for which a checkpoint that was loaded counts as the thread's last one.
FRESH: Final = 0.05


class LoadedCheckpointer(RunCheckpointer):
    """Loads a thread's last checkpoint once for its first two readers, the plan and the graph.

    A graph that comes late loads it again, so that writes from outside the run count. A checkpoint
    with pending writes is loaded again too: LangGraph applies them to the object that it gets.
    """

    def __init__(self, saver: BaseCheckpointSaver[str], writes: Writes) -> None:
        super().__init__(saver, writes)
        self._reads, self._fresh_until = 0, 0.0
        self._loaded: CheckpointTuple | None = None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; see the class."""
        if any(config["configurable"].get(key) for key in ("checkpoint_id", "checkpoint_ns")):
            return await super().aget_tuple(config)
        self._reads += 1
        if self._reads == 2 and monotonic() < self._fresh_until:
            return self._loaded
        found = await super().aget_tuple(config)
        if self._reads == 1 and (found is None or not found.pending_writes):
            self._loaded, self._fresh_until = found, monotonic() + FRESH
        return found
