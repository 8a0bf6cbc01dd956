"""A store that fails, or keeps silent: each call ends in time, and the log is told once a minute.

Calls of a store of live runs enter `BoundedStore`, and go to that store. Its answers leave, or a
`StateError`. Failures of any store leave into the log through `StoreFailures`.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Final, TypeVar

from langgraph_agui.kernel.aio import within
from langgraph_agui.kernel.errors import StateError
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that a store has to answer.
ANSWER: Final = 3.0

# Seconds between two log records about one store.
_SILENCE: Final = 60.0


class StoreFailures:
    """The failures of one store. The log gets the first one at once, and then at most one record a
    minute, with their number.

    Args:
        store: Its name in the log, as the subject of a sentence.
        consequence: The effect on runs and threads, as the log says it.
    """

    def __init__(self, store: str, consequence: str) -> None:
        self._store = store
        self._consequence = consequence
        self._count = 0
        self._logged_at: float | None = None

    def add(self, what: str, error: Exception) -> None:
        """Add a failure.

        Args:
            what: What has failed: a method of the store, or one of its tasks.
            error: Why.
        """
        self._count += 1
        now = monotonic()
        if self._logged_at is not None and now < self._logged_at + _SILENCE:
            return
        logger.warning(
            "%s does not answer (%s): %s. Failures since the last such record: %d.",
            self._store,
            what,
            self._consequence,
            self._count,
            exc_info=error,
        )
        self._count, self._logged_at = 0, now


def live_run_failures() -> StoreFailures:
    """Return the failures of a store of live runs: none so far."""
    return StoreFailures(
        "The store of live runs", "runs continue, but other workers may not see them"
    )


class BoundedStore:
    """A `RunStore` whose calls end within `ANSWER` seconds.

    Each method raises `StateError` if the store fails or does not answer. The log has it then.

    Args:
        store: Gets the calls.

    Attributes:
        failures: The failures of the store.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        own = getattr(store, "failures", None)
        self.failures = own if isinstance(own, StoreFailures) else live_run_failures()

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """See `RunStore`."""
        await self._answer("begin", self._store.begin(run, receive))

    async def enter(self, name: str, run: str) -> None:
        """See `RunStore`."""
        await self._answer("enter", self._store.enter(name, run))

    async def find(self, name: str) -> str | None:
        """See `RunStore`."""
        return await self._answer("find", self._store.find(name))

    async def signal(self, run: str, text: str) -> bool:
        """See `RunStore`."""
        return await self._answer("signal", self._store.signal(run, text))

    async def begin_log(self, run: str, beginning: Entry, oldest: int) -> None:
        """See `RunStore`."""
        await self._answer("begin_log", self._store.begin_log(run, beginning, oldest))

    async def append(self, run: str, entry: Entry) -> None:
        """See `RunStore`."""
        await self._answer("append", self._store.append(run, entry))

    async def read(self, run: str, position: int) -> Sequence[Entry]:
        """See `RunStore`."""
        return await self._answer("read", self._store.read(run, position))

    async def finish(self, run: str) -> None:
        """See `RunStore`."""
        await self._answer("finish", self._store.finish(run))

    async def _answer(self, what: str, call: Awaitable[T]) -> T:
        try:
            return await within(ANSWER, call)
        except Exception as error:
            self.failures.add(what, error)
            raise StateError("The store of live runs does not answer.") from error
