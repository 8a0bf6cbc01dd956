"""The base of the stores of live runs: the runs of this worker, and the task that listens for
signals to them.

`begin` and `enter` note a run and its names here, until `finish`. So a database may forget them, or
not answer: the listener enters them again.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self

from langgraph_agui.kernel.aio import cancel_until_done, keep_alive, within
from langgraph_agui.workers.bounded import ANSWER, live_run_failures

# Seconds between two looks at what the database knows of this worker, while it has runs.
_LOOK: Final = 1.0

# Seconds between two attempts to listen.
_RETRY: Final = 0.5


class ListeningStore(ABC):
    """A `RunStore` in a database that does not keep what it is told. As a context manager it stops
    listening at the end.

    Attributes:
        failures: The failures of the store.
    """

    def __init__(self) -> None:
        self.failures = live_run_failures()
        # The live runs of this worker.
        self._receivers: dict[str, Callable[[str], object]] = {}
        # By run, the names that the database may have of it. The run itself is the name "".
        self._names: dict[str, dict[str, None]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._listens = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        if self._listener is not None:
            await _end(self._listener, 2 * ANSWER)

    # -- runs -------------------------------------------------------------------------------------

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """See `RunStore`."""
        self._receivers[run], self._names[run] = receive, {"": None}
        await self._listen()
        await self._enter(run, "")
        await self._leave_if_finished(run)

    async def enter(self, name: str, run: str) -> None:
        """See `RunStore`."""
        if run in self._receivers:
            self._names[run][name] = None
            await self._enter(run, name)
            await self._leave_if_finished(run)

    async def finish(self, run: str) -> None:
        """See `RunStore`."""
        self._receivers.pop(run, None)
        await self._leave(run, self._names.get(run, ()))
        self._names.pop(run, None)

    async def _leave_if_finished(self, run: str) -> None:
        """Undo an entry that may have come behind the end of the run."""
        if run not in self._receivers:
            await self._leave(run, self._names.get(run, ()))

    async def _enter_again(self) -> None:
        """Enter all that the database does not know, or no longer."""
        entered = self._live_names()
        await self._enter_missing(entered)
        for run, names in entered.items():
            if run not in self._receivers:
                await self._leave(run, names)

    def _live_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of this worker's runs, the run that began last behind the others."""
        return {run: (*self._names[run],) for run in self._receivers}

    def _receive(self, signal: str) -> None:
        """Pass a signal on to its run."""
        run, _, text = signal.partition(" ")
        if receive := self._receivers.get(run):
            receive(text)

    # -- listening --------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Wait until this worker listens for signals."""
        if self._listener is None:
            self._listener = asyncio.create_task(self._keep_listening(), name="agui-run-store")
        await self._listens.wait()

    async def _keep_listening(self) -> None:
        while True:
            connection = asyncio.create_task(self._listen_once(), name="agui-run-store")
            try:
                await self._watch(connection)
            except Exception as error:
                self.failures.add("listen", error)
            finally:
                self._listens.clear()
                await _end(connection, ANSWER)
            await asyncio.sleep(_RETRY)

    async def _watch(self, connection: asyncio.Task[None]) -> None:
        """Look whether other workers see this one, until they do not."""
        while True:
            await asyncio.wait({connection}, timeout=_LOOK)
            if connection.cancelled():
                raise RuntimeError("The connection that listens was cancelled by other code.")
            if connection.done():
                return connection.result()
            if self._receivers and self._listens.is_set():
                await self._look_once()

    async def _look_once(self) -> None:
        try:
            is_seen = await within(ANSWER, self._look())
        except Exception as error:  # the connection that listens may be a good one
            self.failures.add("look", error)
            return
        if not is_seen:
            raise ConnectionError("The database has lost the connection that listens for signals.")

    # -- the database -----------------------------------------------------------------------------

    @abstractmethod
    async def _listen_once(self) -> None:
        """Listen on one connection until it is lost. Set `_listens` when other workers see it."""

    @abstractmethod
    async def _look(self) -> bool:
        """Return whether other workers see this one. Enter runs that the database has forgotten."""

    @abstractmethod
    async def _enter(self, run: str, name: str) -> None:
        """Give a run a name, in place of an earlier run."""

    @abstractmethod
    async def _enter_missing(self, names: Mapping[str, Iterable[str]]) -> None:
        """Give runs their names, but none that another run has."""

    @abstractmethod
    async def _leave(self, run: str, names: Iterable[str]) -> None:
        """Remove a run and its names. Its log may be read for a minute."""


async def _end(task: asyncio.Task[None], limit: float) -> None:
    """Cancel a task and wait until it has ended, but no longer than `limit` seconds."""
    await cancel_until_done(task, limit)
    if not task.done():
        keep_alive(asyncio.create_task(cancel_until_done(task)))
