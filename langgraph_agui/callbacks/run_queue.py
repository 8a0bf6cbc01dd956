"""Orders the events of runs that happen at the same time, and hands them over to readers.

Events enter in any thread. They leave run by run, in the order in which the runs began: a stream of
AG-UI events may hold runs in sequence only. `RunSerializer` calls `on_event`; `RunEventQueue`
serves an asynchronous reader.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import get_ident

from ag_ui import core as agui

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.translate.lifecycle import is_last

logger = run_logger(__name__)


@dataclass(eq=False, slots=True)
class RunSlot:
    """The place of one run in the order.

    Attributes:
        events: Its events that were not handed over yet.
        ended: Whether the run has put its last event.
        following: The slot of the run that began after it.
        failure: The exception of `on_event` for one of its events. The run must raise it.
        broken: Whether `on_event` has failed: no more of the run's events are handed over.
    """

    events: deque[agui.BaseEvent] = field(default_factory=deque)
    ended: bool = False
    following: "RunSlot | None" = None
    failure: BaseException | None = None
    broken: bool = False


class RunSerializer:
    """Calls `on_event` for the events of all runs, one at a time and run by run.

    Runs begin, put events into their slots and end under the caller's lock. `flush` is not called
    under it, because `on_event` may wait for another thread of the same runs.

    Args:
        receivers: Each receives each event.
    """

    def __init__(self, receivers: Sequence[Callable[[agui.BaseEvent], object]]) -> None:
        self._receivers = receivers
        self._first = self._last = RunSlot(ended=True)
        self._flushing = threading.Lock()
        self._flusher: int | None = None

    def open(self) -> RunSlot:
        """Return the slot of a run that begins, behind those that have begun before."""
        slot = self._last.following = RunSlot()
        self._last = slot
        return slot

    def flush(self, own: RunSlot) -> None:
        """Hand over the events that are ready. One thread at a time does so, also for events that
        others add meanwhile.

        Args:
            own: The run that the caller belongs to. An exception of `on_event` for its events is
                raised here.
        """
        while (
            (slot := self._first).events or (slot.ended and slot.following)
        ) and self._flushing.acquire(False):
            self._flusher = get_ident()
            slot = self._first
            try:
                if slot.ended and slot.following is not None and not slot.events:
                    self._first = slot = slot.following
                while slot.events:
                    event = slot.events.popleft()
                    if not slot.broken:
                        for receive in self._receivers:
                            receive(event)
            except BaseException as error:
                slot.broken = True
                if slot is own or not slot.ended:
                    slot.failure = error
                else:
                    logger.exception(
                        "on_event failed; its run is over and cannot raise the exception"
                    )
            finally:
                self._flusher = None
                self._flushing.release()
        if (failure := own.failure) is not None:
            own.failure = None
            raise failure

    @property
    def inside_on_event(self) -> bool:
        """Whether `on_event` runs in this thread."""
        return self._flusher == get_ident()


class RunEventQueue:
    """A queue of whole runs: any thread puts events, one task at a time takes them.

    The queue of `LangGraphAgent` (`Subscription`) does not serve here: it belongs to one event
    loop.

    Args:
        keep: Whether to keep events while nobody reads.

    Attributes:
        reading: Whether somebody reads.
    """

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._events: deque[agui.BaseEvent] = deque()
        self._lock = threading.Lock()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._accepts = False
        self.reading = False

    def put(self, event: agui.BaseEvent) -> None:
        """Add an event, unless the beginning of its run was dropped because nobody was reading."""
        with self._lock:
            if isinstance(event, agui.RunStartedEvent):
                self._accepts = self._keep or self.reading
            if not self._accepts:
                return
            self._accepts = not is_last(event)
            self._events.append(event)
            waiter, self._waiter = self._waiter, None
        if waiter is not None:
            loop, arrived = waiter
            loop.call_soon_threadsafe(arrived.set)

    def open(self) -> None:
        """Begin to read. Raises `RuntimeError` if somebody reads already: each event goes to one
        reader.
        """
        if self.reading:
            raise RuntimeError("The events of this handler are being read already")
        self.reading = True

    async def take(self) -> agui.BaseEvent:
        """Wait for the next event and return it."""
        while True:
            with self._lock:
                if self._events:
                    return self._events.popleft()
                arrived = asyncio.Event()
                self._waiter = (asyncio.get_running_loop(), arrived)
            await arrived.wait()

    def close(self, *, in_run: bool) -> None:
        """Stop reading. If the reader is in the middle of a run (`in_run`), the rest of that run is
        dropped.
        """
        with self._lock:
            self.reading = False
            while in_run and self._events:
                in_run = not is_last(self._events.popleft())
            if in_run:
                self._accepts = False
