"""Puts two sources in one order: callbacks, which come at once, and stream parts, which trail them
by a few loop turns.

Callbacks enter with the position in the stream that they wait for, if any; they leave when it is
their turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

# A point in the graph's stream: the start or end of the task with this id. The stream never reports
# "soon". It stands for a failed try of a node, which may be tried again and so has no end.
StreamPosition: TypeAlias = tuple[Literal["start", "end", "soon"], str]

# Turns of the event loop after which "soon" is passed. The stream trails the callbacks by three
# (measured).
LOOP_TURNS = 12

# Seconds to wait for a report that does not come, which no graph is known to cause.
PATIENCE = 0.2


class _Waiting:
    """A call, and the position in the stream that it waits for, if any."""

    __slots__ = ("_call", "position")

    def __init__(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        self.position = position
        self._call: Callable[[], None] | None = call

    def run(self) -> None:
        """Run the call, if it has not run."""
        call, self._call = self._call, None
        if call is not None:
            call()


class StreamSequencer:
    """Runs calls in the order of the callbacks, and lets them wait where the stream must come
    first.

    A node's start waits until the stream reports that the node has started, a node's end until it
    reports the end. Later callbacks wait behind them. So whatever the stream reports of one
    superstep (writer events, state) is out before the next superstep emits, and a node's writer
    events are out before its end.

    Works in the thread of the event loop; other threads hand their calls to that thread.

    Why `LOOP_TURNS` and `PATIENCE`: callbacks do not know which stream parts are still on their
    way, LangGraph only delivers these within a few turns of the loop. A position that the stream
    reports itself needs neither number. "soon" is passed by counting `LOOP_TURNS`. A reported
    position that is missing is passed after `PATIENCE`, so that no run hangs.

    Args:
        loop: The event loop.

    Attributes:
        waiting: The calls that wait. One that has overtaken others stays, without its call, until
            these have run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.waiting: deque[_Waiting] = deque()
        self._starts: dict[StreamPosition, _Waiting] = {}
        self._passed: set[StreamPosition] = set()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` when all calls before it have run and the stream has passed `position`.

        A start that the stream has passed overtakes the ends of other tasks, because the output of
        its task writes comes next. It does not overtake a failed try: the next try of the same node
        must come behind that.
        """
        passed = position is None or position in self._passed
        if passed and (
            not self.waiting or (position and position[0] == "start" and not self._has_failed_try())
        ):
            call()
            return
        waiting = _Waiting(position, call)
        self.waiting.append(waiting)
        if position is not None and position[0] == "start":
            self._starts.setdefault(position, waiting)
        elif position is not None and position[0] == "soon":
            self._count_down(position, LOOP_TURNS)
        self._watch()

    def advance(self, position: StreamPosition) -> None:
        """The stream has passed `position`."""
        self._passed.add(position)
        if (waiting := self._starts.pop(position, None)) is not None:
            waiting.run()
        self._drain()

    def end_superstep(self) -> None:
        """A superstep of the root graph is over: no end that is still waited for will be
        reported.
        """
        while (
            self.waiting
            and (position := self.waiting[0].position) is not None
            and position[0] != "start"
        ):
            self.advance(position)

    def release(self) -> None:
        """The stream is over: run everything that waits."""
        while self.waiting:
            if position := self.waiting[0].position:
                self._passed.add(position)
            self._drain()

    def _has_failed_try(self) -> bool:
        return any(one.position is not None and one.position[0] == "soon" for one in self.waiting)

    def _drain(self) -> None:
        if not self.waiting:
            return
        while self.waiting and (
            self.waiting[0].position is None or self.waiting[0].position in self._passed
        ):
            self.waiting.popleft().run()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._watch()

    def _watch(self) -> None:
        if self.waiting and self._timer is None:
            self._timer = self._loop.call_later(PATIENCE, self._stop_waiting)

    def _stop_waiting(self) -> None:
        self._timer = None
        if self.waiting and (position := self.waiting[0].position):
            # Not at once: a node may have blocked the loop, and the report may be about to come.
            self._count_down(position, LOOP_TURNS)

    def _count_down(self, position: StreamPosition, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._count_down, position, turns - 1)
        else:
            self.advance(position)
