"""Several runs at once, told one after the other: a stream of AG-UI events may hold runs in sequence only.

Events of runs enter as they happen, in any thread; they leave run by run, in the order in which the runs began. What
runs say before their turn waits here.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from ag_ui.core import BaseEvent

logger = logging.getLogger(__name__)


class Turn:
    """The place of one run in the order.

    Attributes:
        failure: What `on_event` has raised while others spoke; the run has yet to raise it.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._waiting: list[BaseEvent] = []
        self.failure: BaseException | None = None
        self.ended = False
        self._broken = False

    def put(self, event: BaseEvent) -> None:
        """Tell an event, or keep it until it is this run's turn. After a failure of `on_event` nothing is told."""
        if self._broken:
            return
        if not self._turns.is_now(self):
            self._waiting.append(event)
            return
        try:
            self._turns.on_event(event)
        except BaseException:
            self._broken = True
            raise

    def tell_waiting(self) -> None:
        """Tell what was kept."""
        waiting, self._waiting = self._waiting, []
        try:
            for event in waiting:
                self._turns.on_event(event)
        except Exception as error:  # another run calls this, and has done nothing wrong
            self._broken = True
            if self.ended:
                logger.exception("on_event has failed; its run is over and cannot raise it")
            else:
                self.failure = error

    def end(self) -> None:
        """The run has said its last."""
        self.ended = True
        self._turns.advance()


class Turns:
    """The order of runs. The caller sees to it that one thread at a time is in here.

    Args:
        on_event: Takes each event.
    """

    def __init__(self, on_event: Callable[[BaseEvent], object]) -> None:
        self.on_event = on_event
        self._order: deque[Turn] = deque()

    def join(self) -> Turn:
        """A run begins: its turn comes after those that have begun before."""
        turn = Turn(self)
        self._order.append(turn)
        return turn

    def is_now(self, turn: Turn) -> bool:
        """Whether it is this run's turn."""
        return self._order[0] is turn

    def advance(self) -> None:
        """Let the next runs speak, as far as those before them have ended."""
        while self._order and self._order[0].ended:
            self._order.popleft()
            if self._order:
                self._order[0].tell_waiting()
