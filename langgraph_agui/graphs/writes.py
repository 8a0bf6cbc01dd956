"""The writes of a run: its graph stores the thread through `RunCheckpointer`, and whoever ends the
run waits for `Writes`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import wraps
from time import monotonic
from typing import Final, ParamSpec, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_agui.kernel.telemetry import run_logger

logger = run_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

# The methods that write for a graph in an event loop.
_WRITES: Final = ("aput", "aput_writes")


class Writes:
    """The tasks that write a thread for a run. To be made in the run's event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks = set[asyncio.Task[object]]()

    def followed(self, write: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """Return `write`, with the task that calls it added to those of the run."""

        @wraps(write)  # LangGraph asks for the parameters
        async def followed(*args: P.args, **kwargs: P.kwargs) -> T:
            self._add(asyncio.current_task())
            return await write(*args, **kwargs)

        return followed

    def _add(self, task: asyncio.Task[object] | None) -> None:
        # A tool in a thread may have an event loop of its own, and waits there itself.
        if task is not None and task.get_loop() is self._loop:
            # Until the whole task ends: then the write begins that has waited for this one.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def wait(self, limit: float) -> bool:
        """Wait until nothing writes, or `limit` seconds are over; return whether nothing writes."""
        deadline = monotonic() + limit
        while self._tasks and (left := deadline - monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)
        if self._tasks:
            logger.warning(
                "The checkpointer still writes %s seconds after the run was stopped. Until it has "
                "written, the thread lacks the end of this run.",
                limit,
            )
        return not self._tasks


class RunCheckpointer(BaseCheckpointSaver[str]):
    """The checkpointer of a run's graph: the application's own, whose writes are followed.

    LangGraph writes in tasks beside the graph, and waits for these when the graph has ended. A run
    that is cancelled again leaves this wait, and the tasks go on.

    Args:
        saver: The application's checkpointer.
        writes: Gets the tasks that write.
    """

    def __init__(self, saver: BaseCheckpointSaver[str], writes: Writes) -> None:
        self._saver = saver
        self._writes = writes
        for name in _WRITES:
            setattr(self, name, writes.followed(getattr(saver, name)))

    def __getattr__(self, name: str) -> object:
        """Return what only the class of the `saver` has."""
        return getattr(object.__getattribute__(self, "_saver"), name)

    def with_allowlist(
        self, extra_allowlist: Collection[tuple[str, ...]]
    ) -> BaseCheckpointSaver[str]:
        """Return the same, for a copy of the `saver`; LangGraph calls this in its strict mode."""
        return RunCheckpointer(self._saver.with_allowlist(extra_allowlist), self._writes)


def _own(name: str) -> property:
    return property(lambda self: getattr(self._saver, name))


# The base class has a default for everything, which would hide what the `saver` has.
for _name in vars(BaseCheckpointSaver).keys() - vars(RunCheckpointer).keys():
    if not (_name.startswith("_") or _name in _WRITES):
        setattr(RunCheckpointer, _name, _own(_name))
