"""Reads a run of another worker from the store, for clients of this one.

Entries enter from the store. Events leave through the subscriptions of the clients: a `RunReader`
reads the run once, and passes it on to the `RemoteReader` of each client.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

from ag_ui.core import BaseEvent, RunAgentInput

from langgraph_agui.kernel.errors import CodedError, ErrorCode, StateError
from langgraph_agui.readers.joined import join
from langgraph_agui.readers.run_log import RunLog
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.show_thread import ShownThread
from langgraph_agui.translate.lifecycle import is_last, run_error, run_started
from langgraph_agui.workers.bounded import BoundedStore
from langgraph_agui.workers.entries import EntryDecoder
from langgraph_agui.workers.signals import Signal, mark_in
from langgraph_agui.workers.store import Entry

logger = logging.getLogger(__name__)

# Failed or silent reads after which a run whose worker does not answer is lost.
_MISSES: Final = 3

# Seconds after which a read that has failed is repeated: what a silent read takes.
_PAUSE: Final = 1.0

# Seconds after which a log that lacks entries is read again.
_RETRY: Final = 0.2


class RunReader:
    """A run of another worker. It is read once for all clients of this worker, while there are any.

    Args:
        store: Has the run.
        run: The key of the run in the store.
        readers: The readers of this worker that have clients, by the keys of their runs.
        decoder: Decodes the entries.
        max_bytes: The bytes of the log that are kept here, about.
    """

    def __init__(
        self,
        store: BoundedStore,
        run: str,
        readers: "dict[str, RunReader]",
        decoder: EntryDecoder,
        max_bytes: int,
    ) -> None:
        self._store = store
        self._run = run
        self._readers = readers
        self._decoder = decoder
        self._clients: dict[RemoteReader, None] = {}
        self._max_bytes = max_bytes
        # What stands for the time before the run comes with the entries.
        self._log = RunLog(tuple, max_bytes)
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._clients)

    def add(self, client: "RemoteReader") -> None:
        """Begin to pass the run on to a client. The first client starts the reading."""
        self._clients[client] = None
        if self._task is None:
            self._readers[self._run] = self
            self._task = asyncio.create_task(self._read(), name="agui-read")

    def remove(self, client: "RemoteReader") -> None:
        """Stop passing the run on to a client. The last client ends the reading."""
        if client not in self._clients:
            return
        del self._clients[client]
        if not self._clients and self._task is not None:
            del self._readers[self._run]
            self._task.cancel()

    async def signal(self, signal: Signal) -> bool:
        """Send a signal to the worker of the run. Return whether the run is live; False if the
        store does not answer.
        """
        try:
            return await self._store.signal(self._run, signal.to_text())
        except StateError:
            return False

    async def _read(self) -> None:
        """Read entries while they come. Then the clients that have no end of the run lose it."""
        try:
            await self._read_entries()
        except Exception:
            logger.exception("A run of another worker could not be read.")
        for client in tuple(self._clients):
            client.lose()

    async def _read_entries(self) -> None:
        position = misses = 0
        while self._clients and misses < _MISSES:
            misses += 1
            try:
                entries = await self._store.read(self._run, position)
            except StateError:
                await asyncio.sleep(_PAUSE)
                continue
            if entries:
                misses, position = 0, self._take(entries, position)
            if entries and position:
                continue
            if await self.signal(Signal("ping" if position else "follow")):
                misses = 0
            elif not position:
                break
            if entries:
                await asyncio.sleep(_RETRY)  # until the log is written from its beginning again

    def _take(self, entries: Sequence[Entry], position: int) -> int:
        """Pass on the events of entries behind a position. Return the position behind them; 0 if
        some are missing.
        """
        for entry in entries:
            if position and entry.position > position + 1:
                self._miss_entries()
                return 0
            position = entry.position
            for event in self._decoder.events(entry.data):
                self._pass_on(event)
        return position

    def _pass_on(self, event: BaseEvent) -> None:
        mark = mark_in(event)
        if mark is None:
            self._log.event(event)
        for client in tuple(self._clients):
            if mark is None:
                client.receive(event)
            elif mark == client.mark:
                client.join(self._log.events())

    def _miss_entries(self) -> None:
        """Lose the clients that lack entries. Those that have not joined do so in the log that is
        read next, from its beginning.
        """
        logger.warning("Entries of a run are missing in the store: its followers lose the run.")
        self._log = RunLog(tuple, self._max_bytes)
        for client in tuple(self._clients):
            if client.has_joined:
                client.lose()


class RemoteReader:
    """A client's connection to a thread in which a run may be going on in another worker.

    Args:
        agent: The context of all runs of the agent.
        find: Returns the reader of the client's run, and the client's name for the run; None if no
            run is going on in another worker.
        run_input: The thread, with the messages and the state that the client holds.
        reader: Receives the events.
        show: Shows the thread as it stands. It is called if no run is going on.

    Attributes:
        mark: The mark in the run's log behind which the client may join: all that the client can
            have of the run stands before it.
        has_joined: Whether it has joined: the client has got the log up to its mark.
        task: Done when the client has got everything.
    """

    def __init__(
        self,
        agent: AgentContext,
        find: Callable[[RunAgentInput], Awaitable[tuple[RunReader, str] | None]],
        run_input: RunAgentInput,
        reader: Subscription,
        show: Callable[[], ShownThread],
    ) -> None:
        self._agent = agent
        self._find = find
        self._input = run_input
        self._reader = reader
        self._show = show
        self.mark = uuid4().hex
        self._run: RunReader | None = None
        self.has_joined = False
        self._shown: ShownThread | None = None
        # The result is whether the client got the run to its end.
        self._done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._work(), name=f"agui-follow-{run_input.thread_id}")
        reader.on_leave = self._leave

    @property
    def shows_thread(self) -> bool:
        """Whether the client gets the thread as it stands, because no run is going on in it."""
        return self._shown is not None

    async def end(self, code: ErrorCode, grace: float = 0) -> None:
        """End it with an error if it has not ended within `grace` seconds, in its own event
        loop.
        """
        await asyncio.wait({self.task}, timeout=grace)
        if self._shown is not None:
            await self._shown.end(code)
        elif self.task.cancel():
            self._fail(code)

    async def _leave(self) -> None:
        self.task.cancel()  # the driver of a database may lose that
        self._end(got_all=True)

    async def _work(self) -> None:
        found = await self._find(self._input)
        if self._done.done():
            return
        if found is not None:
            self._run, name = found
            if len(self._run) >= self._agent.limits.readers:
                self._fail(ErrorCode.TOO_MANY_READERS)
                return
            self._run.add(self)  # before the signal, which the log answers
            is_live = await self._run.signal(Signal("follow", name, self.mark))
            if not (is_live or self.has_joined):
                self._end(got_all=False)
            if await self._done:
                return
        self._shown = self._show()
        await asyncio.wait({self._shown.task})

    def join(self, log: Sequence[BaseEvent]) -> None:
        """Join the run, whose log this is."""
        self.has_joined = True
        own_state = self._agent.contract.client_only(self._input.state)
        join(self._reader, log, self._input, own_state)

    def receive(self, event: BaseEvent) -> None:
        """Receive an event of the run."""
        if self.has_joined:
            self._reader.event(event)
        if is_last(event):
            # if it has not joined, the run has ended before its worker could answer
            self._end(got_all=self.has_joined)

    def lose(self) -> None:
        """Note that no more events come."""
        if self.has_joined:
            self._fail(ErrorCode.RUN_LOST)
        else:
            self._end(got_all=False)

    def _fail(self, code: ErrorCode) -> None:
        if not self.has_joined:
            self._reader.event(run_started(self._input))
        self._reader.event(run_error(self._input, CodedError(code), code))
        self._end(got_all=True)

    def _end(self, *, got_all: bool) -> None:
        if self._run is not None:
            self._run.remove(self)
        if not self._done.done():
            self._done.set_result(got_all)
        if got_all:
            self._reader.close()
