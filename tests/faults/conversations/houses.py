"""Where conversations are held: servers of the agent, and where they keep threads."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.conversations.worker import Nursery, application, set_up
from tests.kit.processes.postgres import running_postgres
from tests.kit.processes.serving import Served, serving


class House:
    """The servers of conversations.

    Attributes:
        room: The directory of the agent's notes.
        can_kill: Whether its workers can be killed.
    """

    def __init__(
        self,
        room: Path,
        database: str,
        served: Served | None = None,
        nursery: Nursery | None = None,
    ) -> None:
        self.room, self.can_kill = room, nursery is not None
        self._database, self._served, self._nursery = database, served, nursery
        number = 0 if nursery is None else 2 if database.startswith("postgres") else 1
        self._workers = [self._start() for _ in range(number)]

    def _start(self) -> tuple[int, int]:
        assert self._nursery is not None
        return self._nursery.start(self.room, self._database)

    def url(self, worker: int) -> str:
        if self._served is not None:
            return self._served.url("")
        return f"http://127.0.0.1:{self._workers[worker % len(self._workers)][1]}"

    def kill(self, worker: int) -> None:
        """Kill a worker, and start another one in its place."""
        worker %= len(self._workers)
        os.kill(self._workers[worker][0], signal.SIGKILL)
        self._workers[worker] = self._start()


@contextmanager
def house_in(where: str) -> Iterator[House]:
    """A house whose threads are kept there."""
    with tempfile.TemporaryDirectory(prefix="agui-talk-") as name:
        room = Path(name)
        if where == "memory":
            with serving(application(room, where)) as served:
                yield House(room, where, served=served)
            return
        if where == "sqlite":
            with raised() as nursery:
                yield House(room, str(room / "threads.db"), nursery=nursery)
            return
        with running_postgres() as dsn:
            asyncio.run(set_up(dsn))
            with raised() as nursery:
                yield House(room, dsn, nursery=nursery)


@contextmanager
def raised() -> Iterator[Nursery]:
    """A nursery, which ends with all its workers."""
    nursery = Nursery()
    try:
        yield nursery
    finally:
        nursery.end()
