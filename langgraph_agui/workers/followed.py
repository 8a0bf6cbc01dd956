"""A run of another worker. Entries enter from the store, events leave to the clients of this worker
that follow it.
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
from langgraph_agui.runs.show_thread import ThreadSnapshot
from langgraph_agui.translate.lifecycle import is_last, run_error, run_started
from langgraph_agui.workers.published import FOLLOW, PING
from langgraph_agui.workers.store import Entry, RunStore

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Silent reads, of a second each, after which a run whose worker does not answer is lost.
_MISSES: Final = 2


class Feed:
    """A run of another worker: it is read once for all clients of this worker, while there are any.

    Args:
        store: Has the run.
        run: Its key.
        feeds: The feeds of this worker by their keys, this one included while it has clients.
    """

    def __init__(self, store: RunStore, run: str, feeds: "dict[str, Feed]") -> None:
        self._store = store
        self._run = run
        self._feeds = feeds
        self._followers: dict[FollowedRun, None] = {}
        # From the last complete entry on.
        self._entries: list[Entry] = []
        self._task = asyncio.create_task(self._read(), name="agui-feed")
        feeds[run] = self

    def __len__(self) -> int:
        return len(self._followers)

    def add(self, follower: "FollowedRun") -> None:
        """Begin to pass the run on to a client."""
        self._followers[follower] = None
        for entry in self._entries:
            follower.receive(entry, _events_of(entry))

    def remove(self, follower: "FollowedRun") -> None:
        """Stop passing the run on to a client. The last one ends the feed."""
        if follower in self._followers:
            del self._followers[follower]
            if not self._followers:
                del self._feeds[self._run]
                self._task.cancel()

    async def _read(self) -> None:
        position = misses = 0
        code = ErrorCode.RUN_LOST
        try:
            while self._followers and misses < _MISSES and code is ErrorCode.RUN_LOST:
                for entry in (entries := await self._store.read(self._run, position)):
                    if position and entry.position > position + 1:
                        code = ErrorCode.READER_TOO_SLOW
                        break
                    position = entry.position
                    self._pass_on(entry)
                if not entries:
                    is_live = await self._store.signal(self._run, PING if position else FOLLOW)
                    misses = 0 if is_live else misses + 1 if position else _MISSES
        except Exception:
            logger.warning("The store of live runs does not answer.", exc_info=True)
        self._lose(code)

    def _pass_on(self, entry: Entry) -> None:
        self._entries = [entry] if entry.is_complete else [*self._entries, entry]
        events = _events_of(entry)
        for follower in tuple(self._followers):
            follower.receive(entry, events)
        if is_last(events[-1]):
            self._lose(ErrorCode.RUN_LOST)  # for those who were to begin later

    def _lose(self, code: ErrorCode) -> None:
        for follower in tuple(self._followers):
            follower.lose(code)


def _events_of(entry: Entry) -> list[Event]:
    return list(decode([entry.data]))


class FollowedRun:
    """A client's connection to a thread in which a run may go on in another worker.

    Args:
        agent: What the runs of the agent share.
        find: Finds the feed of the client's run, and behind which position of it the client may
            begin.
        run_input: The thread, and what the client holds of it.
        reader: Receives the events.
        show: Shows the thread as it stands, for where no run goes on.

    Attributes:
        task: Done when the client has got everything.
    """

    def __init__(
        self,
        agent: AgentContext,
        find: Callable[[RunAgentInput], Awaitable[tuple[Feed, int] | None]],
        run_input: RunAgentInput,
        reader: Subscription[T],
        show: Callable[[], ThreadSnapshot],
    ) -> None:
        self._agent = agent
        self._find = find
        self._input = run_input
        self._reader: Subscription[Any] = reader
        self._show = show
        self._feed: Feed | None = None
        self._after = 0
        self._sink: JoinedSink | None = None
        self._shown: ThreadSnapshot | None = None
        # Whether the client got the run, to its end.
        self._done = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._work(), name=f"agui-follow-{run_input.thread_id}")
        reader.on_leave = self._leave

    @property
    def shows_thread(self) -> bool:
        """Whether the client gets the thread as it stands, because no run goes on in it."""
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
        self.task.cancel()  # which a database's package may lose
        self._end(got_all=True)

    async def _work(self) -> None:
        found = await self._find(self._input)
        if self._done.done():
            return None
        if found is not None:
            feed, self._after = found
            if len(feed) >= self._agent.limits.readers:
                return self._fail(ErrorCode.TOO_MANY_READERS)
            self._feed = feed
            feed.add(self)
            if await self._done:
                return None
        self._shown = self._show()
        await asyncio.wait({self._shown.task})
        return None

    def receive(self, entry: Entry, events: Sequence[Event]) -> None:
        """Receive an entry of the run, and the events in it."""
        begins = entry.is_complete and entry.position > self._after
        if not begins if self._sink is None else entry.is_complete:  # not yet, or it has that
            return
        sink = self._sink = self._sink or self._join(events)
        for event in events[begins:]:  # with a `RUN_STARTED` of its own
            sink.event(event)
        if is_last(events[-1]):
            self._end(got_all=True)

    def lose(self, code: ErrorCode) -> None:
        """Note that nothing more comes of the run."""
        if self._sink is None:  # it has ended, or died, before its worker could answer
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
        if self._feed is not None:
            self._feed.remove(self)
        if not self._done.done():
            self._done.set_result(got_all)
        if got_all:
            self._reader.close()


def _unfinished(events: Sequence[Event]) -> set[str]:
    """Return the messages that events emit from their beginning, because no snapshot has them."""
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
