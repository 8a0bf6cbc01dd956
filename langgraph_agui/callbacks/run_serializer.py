"""Several runs at once, told one after the other: a stream of AG-UI events may hold runs in sequence only.

Events of runs enter as they happen, in any thread, under the caller's lock; they leave without it, one at a time, run
by run, in the order in which the runs began. What runs say before their turn waits here.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from ag_ui.core import BaseEvent

logger = logging.getLogger(__name__)


class RunSlot:
    """The place of one run in the order.

    Attributes:
        ended: Whether the run has said its last.
        failure: What `on_event` has raised of its events, and the run has yet to raise.
        broken: Whether nothing more of it is told, since `on_event` has failed.
    """

    def __init__(self, turns: RunSerializer) -> None:
        self._turns = turns
        self.waiting: list[BaseEvent] = []
        self.ended = False
        self.failure: BaseException | None = None
        self.broken = False

    def put(self, event: BaseEvent) -> None:
        """Say an event, or keep it until it is this run's turn."""
        if self._turns.is_now(self):
            self._turns.say(self, event)
        else:
            self.waiting.append(event)

    def end(self) -> None:
        """The run has said its last."""
        self.ended = True
        self._turns.advance()


class RunSerializer:
    """The order of runs.

    Args:
        on_event: Takes each event.
    """

    def __init__(self, on_event: Callable[[BaseEvent], object]) -> None:
        self._on_event = on_event
        self._order: deque[RunSlot] = deque()
        self._said: deque[tuple[RunSlot, BaseEvent]] = deque()
        self._telling = threading.Lock()
        self._teller: int | None = None

    def join(self) -> RunSlot:
        """A run begins: its turn comes after those that have begun before."""
        turn = RunSlot(self)
        self._order.append(turn)
        return turn

    def is_now(self, turn: RunSlot) -> bool:
        """Whether it is this run's turn."""
        return self._order[0] is turn

    def say(self, turn: RunSlot, event: BaseEvent) -> None:
        """Say an event of the run whose turn it is."""
        self._said.append((turn, event))

    def advance(self) -> None:
        """Let the next runs speak, as far as those before them have ended."""
        while self._order and self._order[0].ended:
            self._order.popleft()
            if self._order:
                now = self._order[0]
                self._said.extend((now, event) for event in now.waiting)
                now.waiting.clear()

    def tell(self, own: RunSlot) -> None:
        """Tell what was said; not under the lock, for `on_event` may wait for another thread of the same runs.

        One thread at a time tells; what others say meanwhile it tells for them.

        Args:
            own: The run that the caller is part of. What `on_event` raises of it, this raises.
        """
        said = self._said
        while said and self._telling.acquire(blocking=False):
            self._teller = threading.get_ident()
            try:
                while said:
                    self._tell(*said.popleft(), own)
            finally:
                self._teller = None
                self._telling.release()
        if (failure := own.failure) is not None:
            own.failure = None
            raise failure

    @property
    def telling(self) -> bool:
        """Whether the caller is inside `on_event`."""
        return self._teller == threading.get_ident()

    def _tell(self, turn: RunSlot, event: BaseEvent, own: RunSlot) -> None:
        if turn.broken:
            return
        try:
            self._on_event(event)
        except BaseException as error:
            turn.broken = True
            if turn is own or not turn.ended:
                turn.failure = error
            else:
                logger.exception("on_event has failed; its run is over and cannot raise it")
