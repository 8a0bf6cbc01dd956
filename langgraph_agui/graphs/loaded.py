"""One load of a checkpoint for the plan of a run and for its graph: a checkpointer enters, one like
it leaves.
"""

from time import monotonic
from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

# The key under which LangGraph takes a run's checkpointer. Where it takes none, the graph loads the
# checkpoint itself.
CHECKPOINTER: Final = "__pregel_checkpointer"

# Seconds for which a checkpoint that was loaded counts as the thread's last one.
FRESH: Final = 0.05

_OWN: Final = frozenset({"aget_tuple", "_saver", "_reads", "_loaded", "_fresh_until", "__class__"})


class LoadedCheckpointer(BaseCheckpointSaver[str]):
    """A checkpointer that loads the thread's last checkpoint once for its first two readers.

    Use it only if the run does not write into the thread between the two. What others write, such
    as a webhook, counts unless the second reader comes at once. A checkpoint with pending writes is
    loaded again, because LangGraph applies them to what it gets.

    Args:
        saver: Does everything else.
    """

    def __init__(self, saver: BaseCheckpointSaver[str]) -> None:
        self._saver = saver
        self._reads = 0
        self._loaded: CheckpointTuple | None = None
        self._fresh_until = 0.0

    def __getattribute__(self, name: str) -> object:
        """Return the checkpointer's own attribute, but for what this class is made for."""
        return object.__getattribute__(
            self if name in _OWN else object.__getattribute__(self, "_saver"), name
        )

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; to the second reader the one that the first has loaded."""
        place = config["configurable"]
        if place.get("checkpoint_id") or place.get("checkpoint_ns"):
            return await self._saver.aget_tuple(config)
        self._reads += 1
        if self._reads == 2 and monotonic() < self._fresh_until:
            return self._loaded
        found = await self._saver.aget_tuple(config)
        if self._reads == 1 and (found is None or not found.pending_writes):
            self._loaded, self._fresh_until = found, monotonic() + FRESH
        return found
