"""The interface of a store of live runs. The worker of a run writes its log, workers whose clients
follow it read that.

Keys of runs and names are printable texts of at most 64 characters. No two runs have the same key,
but a run may take the name of another one. A run is live from `begin` to `finish`, or until its
worker dies.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Entry(NamedTuple):
    """A part of a run's log.

    Attributes:
        position: The number of the entry. The next entry has the next number.
        data: SSE frames.
    """

    position: int
    data: bytes


@runtime_checkable
class RunStore(Protocol):
    """A store of live runs, for one event loop of each worker. Its errors are those of its
    database. A call that takes more than three seconds is cancelled.
    """

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """Make a run live; one that is live already loses its names. `receive` is called in the
        event loop, with the text of each signal to the run, and does not raise.

        If that fails, a store makes the run live as soon as it can; likewise if its database
        forgets the run.
        """

    async def enter(self, name: str, run: str) -> None:
        """Give a live run a name. `find` returns it for the name, in place of earlier ones."""

    async def find(self, name: str) -> str | None:
        """Return the key of the live run that was the last to take a name; None if there is
        none.
        """

    async def signal(self, run: str, text: str) -> bool:
        """Send a signal to the worker of a run. Return whether the run is live."""

    async def begin_log(self, run: str, beginning: Entry, oldest: int) -> None:
        """Write an entry that replaces all entries up to its position. Those up to position
        `oldest` may be deleted. It may be written several times.
        """

    async def append(self, run: str, entry: Entry) -> None:
        """Write the next entry of a log. If it is there already, an earlier attempt has written
        it.
        """

    async def read(self, run: str, position: int) -> Sequence[Entry]:
        """Return the entries after a position; for position 0 the last beginning, and the entries
        behind that.

        If there are none, wait up to a second for some.
        """

    async def finish(self, run: str) -> None:
        """End a run: it is no longer live. Its log can still be read for a minute."""
