"""Steps: one for each run of a node, under a name that no other open step has (AG-UI 1.0, steps)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent

from langgraph_agui.translate.event_sinks import Sink


class _Step(NamedTuple):
    """An open step, and the subagent that takes it."""

    name: str
    tag: str | None


class Steps:
    """The open steps of one run, each under the key of its node run."""

    def __init__(self, emit: Callable[[BaseEvent], object]) -> None:
        self._emit = emit
        self._open: dict[Hashable, _Step] = {}

    def start(self, key: Hashable, node: str, tag: str | None = None) -> None:
        """Open a step for `node`: its name, or "name (2)" while its owner has another one of that name open.

        Args:
            key: What the step is closed by.
            node: The name of the node.
            tag: The `subagentRunId` of who takes it.
        """
        taken = {step.name for step in self._open.values() if step.tag == tag}
        name = next(name for number in count(1) if (name := node if number == 1 else f"{node} ({number})") not in taken)
        self._open[key] = _Step(name, tag)
        self._emit(StepStartedEvent(step_name=name, subagent_run_id=tag))

    def reopen(self, sink: Sink) -> None:
        """Tell one more reader what is open, the outermost first."""
        for step in self._open.values():
            sink.event(StepStartedEvent(step_name=step.name, subagent_run_id=step.tag))

    def finish(self, key: Hashable) -> None:
        """Close the step of `key`, if it is open."""
        step = self._open.pop(key, None)
        if step is not None:
            self._emit(StepFinishedEvent(step_name=step.name, subagent_run_id=step.tag))

    def close(self, tag: str | None = None) -> None:
        """Close the open steps of a subagent, or (None) all there are, the innermost first."""
        for key, step in reversed(list(self._open.items())):
            if tag is None or step.tag == tag:
                self.finish(key)
