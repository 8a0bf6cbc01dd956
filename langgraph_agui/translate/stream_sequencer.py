"""One order for two sources: callbacks, which come at once, and stream parts, which trail them by a few loop turns.

A node's start waits for the stream's word that the node has started, a node's end for the word that it has ended;
whatever the callbacks say meanwhile waits behind. So what the stream tells of one superstep (writer events, state)
is out before the next superstep speaks, and a node's writer events are out before its end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

StreamPosition: TypeAlias = tuple[Literal["start", "end", "soon"], str]
"""A point in the graph's stream: the start or end of the task with this id.

"soon" is no point that the stream names: it is passed when the stream has had time to say what came before.
"""

TURNS = 12
"""Turns of the event loop within which the stream tells what was sent before "soon" (measured: three)."""

PATIENCE = 0.2
"""Seconds to wait for a mark that does not come, which no graph is known to do."""


class StreamSequencer:
    """Runs signals in the order of the callbacks, holding them where the stream must come first.

    Lives in the thread of the event loop: other threads hand their signals to it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.waiting: deque[tuple[StreamPosition | None, Callable[[], None]]] = deque()
        self._passed: set[StreamPosition] = set()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, mark: StreamPosition | None, signal: Callable[[], None]) -> None:
        """Run `signal` when everything before it has run and the stream has passed `mark`.

        A start that the stream has passed overtakes the ends of other tasks: what its task writes comes next.
        """
        known = mark is None or mark in self._passed
        if known and (not self.waiting or (mark and mark[0] == "start" and not self._tried())):
            signal()
            return
        self.waiting.append((mark, signal))
        if mark is not None and mark[0] == "soon":
            self._count_down(mark, TURNS)
        self._watch()

    def _count_down(self, mark: StreamPosition, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._count_down, mark, turns - 1)
        else:
            self.passed(mark)

    def _tried(self) -> bool:
        """Whether a failed try waits to be told: the next one of the same node must come behind it."""
        return any(mark is not None and mark[0] == "soon" for mark, _ in self.waiting)

    def passed(self, mark: StreamPosition) -> None:
        """The stream has come to `mark`."""
        self._passed.add(mark)
        for position, (waiting, signal) in enumerate(self.waiting):
            if waiting == mark and mark[0] == "start":
                del self.waiting[position]
                signal()
                break
        self._drain()

    def superstep(self) -> None:
        """A superstep of the root graph is over: no end that is still waited for will come."""
        while self.waiting and (mark := self.waiting[0][0]) is not None and mark[0] != "start":
            self.passed(mark)

    def release(self) -> None:
        """The stream is over: nothing waits any more."""
        while self.waiting:
            if mark := self.waiting[0][0]:
                self._passed.add(mark)
            self._drain()

    def _drain(self) -> None:
        waiting = self.waiting
        if not waiting:
            return
        while waiting and (waiting[0][0] is None or waiting[0][0] in self._passed):
            waiting.popleft()[1]()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._watch()

    def _watch(self) -> None:
        if self.waiting and self._timer is None:
            self._timer = self._loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self.waiting and (mark := self.waiting[0][0]):
            # Not at once: a node may have blocked the loop, and the stream be about to speak.
            self._count_down(mark, TURNS)
