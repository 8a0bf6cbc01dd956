"""Reads a run of another worker from the store, for clients of this one.

Entries enter from the store. Events leave through the subscriptions of the clients: a `RunReader`
reads the run once, and passes it on to the `RemoteReader` of each client.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from ag_ui import core as agui
from ag_ui.core import Event, RunAgentInput

from langgraph_agui.kernel.errors import CodedError, ErrorCode
from langgraph_agui.protocol.sse import decode
from langgraph_agui.readers.sinks import JoinedSink
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.show_thread import ShownThread
from langgraph_agui.translate.lifecycle import is_last, run_error, run_started
from langgraph_agui.workers.signals import Signal
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Silent reads, of a second each, after which a run whose worker does not answer is lost.
_MISSES: Final = 2


class RunReader:
    """A run of another worker. It is read once for all clients of this worker, while there are any.

    Args:
        store: Has the run.
        run: The key of the run in the store.
        readers: The readers of this worker that have clients, by the keys of their runs.
    """

    def __init__(self, store: RunStore, run: str, readers: "dict[str, RunReader]") -> None:
        self._store = store
        self._run = run
        self._readers = readers
        self._clients: dict[RemoteReader, None] = {}
        # The entries from the last complete one on.
        self._entries: list[Entry] = []
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._clients)

    def add(self, client: "RemoteReader") -> None:
        """Begin to pass the run on to a client. The first client starts the reading."""
        self._clients[client] = None
        if self._task is None:
            self._readers[self._run] = self
            self._task = asyncio.create_task(self._read(), name="agui-read")
        for entry in self._entries:
            client.receive(entry, _events_of(entry))

    def remove(self, client: "RemoteReader") -> None:
        """Stop passing the run on to a client. The last client ends the reading."""
        if client not in self._clients:
            return
        del self._clients[client]
        if not self._clients and self._task is not None:
            del self._readers[self._run]
            self._task.cancel()

    async def _read(self) -> None:
        try:
            code = await self._read_entries()
        except Exception:
            logger.warning("The store of live runs does not answer.", exc_info=True)
            code = ErrorCode.RUN_LOST
        self._lose(code)

    async def _read_entries(self) -> ErrorCode:
        """Read entries while they come. Return the code for clients that have no end of the run by
        then.
        """
        position = misses = 0
        while self._clients and misses < _MISSES:
            entries = await self._store.read(self._run, position)
            for entry in entries:
                if position and entry.position > position + 1:
                    return ErrorCode.READER_TOO_SLOW
                position = entry.position
                self._pass_on(entry)
            if entries:
                continue
            signal = Signal("ping" if position else "follow")
            if await self._store.signal(self._run, signal.to_text()):
                misses = 0
            elif position:
                misses += 1
            else:
                break
        return ErrorCode.RUN_LOST

    def _pass_on(self, entry: Entry) -> None:
        self._entries = [entry] if entry.is_complete else [*self._entries, entry]
        events = _events_of(entry)
        for client in tuple(self._clients):
            client.receive(entry, events)
        if is_last(events[-1]):
            # Clients that are left were to begin at a later entry.
            self._lose(ErrorCode.RUN_LOST)

    def _lose(self, code: ErrorCode) -> None:
        for client in tuple(self._clients):
            client.lose(code)


def _events_of(entry: Entry) -> list[Event]:
    return list(decode([entry.data]))


class RemoteReader:
    """A client's connection to a thread in which a run may be going on in another worker.

    Args:
        agent: The context of all runs of the agent.
        find: Returns the reader of the client's run, and the position behind which the client may
            begin; None if no run is going on in another worker.
        run_input: The thread, with the messages and the state that the client holds.
        reader: Receives the events.
        show: Shows the thread as it stands. It is called if no run is going on.

    Attributes:
        task: Done when the client has got everything.
    """

    def __init__(
        self,
        agent: AgentContext,
        find: Callable[[RunAgentInput], Awaitable[tuple[RunReader, int] | None]],
        run_input: RunAgentInput,
        reader: Subscription[T],
        show: Callable[[], ShownThread],
    ) -> None:
        self._agent = agent
        self._find = find
        self._input = run_input
        self._reader: Subscription[Any] = reader
        self._show = show
        self._run: RunReader | None = None
        self._after = 0
        self._sink: JoinedSink | None = None
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
            run, self._after = found
            if len(run) >= self._agent.limits.readers:
                self._fail(ErrorCode.TOO_MANY_READERS)
                return
            self._run = run
            run.add(self)
            if await self._done:
                return
        self._shown = self._show()
        await asyncio.wait({self._shown.task})

    def receive(self, entry: Entry, events: Sequence[Event]) -> None:
        """Receive an entry of the run, and the events in it."""
        last = events[-1]
        if self._sink is None:
            if not entry.is_complete or entry.position <= self._after:
                return
            self._sink = self._join(events)
            events = events[1:]  # the client has a `RUN_STARTED` of its own
        elif entry.is_complete:
            return  # the client has all of it
        for event in events:
            self._sink.event(event)
        if is_last(last):
            self._end(got_all=True)

    def lose(self, code: ErrorCode) -> None:
        """Note that no more entries come."""
        if self._sink is None:  # the run has ended, or has died, before its worker could answer
            self._end(got_all=False)
        else:
            self._fail(code)

    def _join(self, events: Sequence[Event]) -> JoinedSink:
        """Return a sink that makes the run fit the client's, and begin with it."""
        sink = JoinedSink(self._reader.sink, self._input)
        sink.own_state = self._agent.contract.client_only(self._input.state)
        sink.retract(_unfinished(events))
        sink.event(run_started(self._input))
        return sink

    def _fail(self, code: ErrorCode) -> None:
        if self._sink is None:
            self._reader.sink.event(run_started(self._input))
        self._reader.sink.event(run_error(self._input, CodedError(code), code))
        self._end(got_all=True)

    def _end(self, *, got_all: bool) -> None:
        if self._run is not None:
            self._run.remove(self)
        if not self._done.done():
            self._done.set_result(got_all)
        if got_all:
            self._reader.close()


def _unfinished(events: Sequence[Event]) -> set[str]:
    """Return the ids of messages that the events emit from their beginning, because no snapshot has
    them.
    """
    begun, settled = set[str](), set[str]()
    for event in events:
        match event:
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                begun.add(event.message_id)
            case agui.ToolCallStartEvent(parent_message_id=str(message_id)):
                begun.add(message_id)
            case agui.MessagesSnapshotEvent():
                settled = {message.id for message in event.messages}
    return begun - settled
