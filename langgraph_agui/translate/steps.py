"""Steps: one for each run of a node, under a name that no other open step has (AG-UI 1.0, steps)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent

from langgraph_agui.translate.sinks import Sink


class _Step(NamedTuple):
    """An open step, and the subagent that takes it."""

    name: str
    lane: str | None


class Steps:
    """The open steps of one run, each under the key of its node run."""

    def __init__(self, emit: Callable[[BaseEvent], object]) -> None:
        self._emit = emit
        self._open: dict[Hashable, _Step] = {}

    def start(self, key: Hashable, node: str, lane: str | None = None) -> None:
        """Open a step for `node`: its name, or "name (2)" while its owner has another one of that name open.

        Args:
            key: What the step is closed by.
            node: The name of the node.
            lane: The subagent that takes the step.
        """
        taken = {step.name for step in self._open.values() if step.lane == lane}
        name = next(name for number in count(1) if (name := node if number == 1 else f"{node} ({number})") not in taken)
        self._open[key] = _Step(name, lane)
        self._emit(StepStartedEvent(step_name=name, subagent_run_id=lane))

    def reopen(self, sink: Sink) -> None:
        """Tell one more reader what is open, the outermost first."""
        for step in self._open.values():
            sink.event(StepStartedEvent(step_name=step.name, subagent_run_id=step.lane))

    def finish(self, key: Hashable) -> None:
        """Close the step of `key`, if it is open."""
        step = self._open.pop(key, None)
        if step is not None:
            self._emit(StepFinishedEvent(step_name=step.name, subagent_run_id=step.lane))

    def close(self, lane: str | None = None) -> None:
        """Close the open steps of a subagent, or (None) all there are, the innermost first."""
        for key, step in reversed(list(self._open.items())):
            if lane is None or step.lane == lane:
                self.finish(key)
