"""The interface of a store of live runs. The worker of a run writes, workers whose clients follow
it read.

Keys of runs and names are printable texts of at most 64 characters. No two runs have the same key,
but a run may take the name of another one. A run is live from `begin` to `finish`, or until its
worker dies.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Entry(NamedTuple):
    """Frames of a run that were written together.

    Attributes:
        position: The number of the entry. The next entry has the next number.
        data: SSE frames.
        is_complete: Whether a reader can begin here: the frames are the whole run so far.
    """

    position: int
    data: bytes
    is_complete: bool


@runtime_checkable
class RunStore(Protocol):
    """A store of live runs, for one event loop of each worker. Its errors are those of its
    database.
    """

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """Make a run live. `receive` is called in the event loop, with the text of each signal to
        the run.
        """

    async def enter(self, name: str, run: str) -> None:
        """Give a live run a name. `find` returns it for the name, in place of earlier ones."""

    async def find(self, name: str) -> str | None:
        """Return the key of the live run that was the last to take a name; None if there is
        none.
        """

    async def signal(self, run: str, text: str) -> bool:
        """Send a signal to the worker of a run. Return whether the run is live."""

    async def append(self, run: str, entry: Entry, oldest: int) -> None:
        """Write the next entry. Entries before position `oldest` may be deleted."""

    async def end(self, run: str) -> int:
        """Return the position of the last entry of a run, 0 if there is none."""

    async def read(self, run: str, position: int) -> Sequence[Entry]:
        """Return the entries behind a position; for position 0 those from the last complete one on.

        If there are none, wait up to a second for some.
        """

    async def finish(self, run: str) -> None:
        """End a run: it is no longer live. Its entries can still be read for a minute."""
