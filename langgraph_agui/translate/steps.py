"""Steps: one for each run of a node, under a name that no other open step has (AG-UI 1.0, steps)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent


class Steps:
    """The open steps of one run, each under the key of its node run."""

    def __init__(self, emit: Callable[[BaseEvent], object]) -> None:
        self._emit = emit
        self._open: dict[Hashable, str] = {}

    def start(self, key: Hashable, node: str) -> None:
        """Open a step for `node`: its name, or "name (2)" while another run of the node is open."""
        taken = set(self._open.values())
        name = next(name for number in count(1) if (name := node if number == 1 else f"{node} ({number})") not in taken)
        self._open[key] = name
        self._emit(StepStartedEvent(step_name=name))

    @property
    def open(self) -> list[str]:
        """The names of the open steps, the outermost first."""
        return list(self._open.values())

    def finish(self, key: Hashable) -> None:
        """Close the step of `key`, if it is open."""
        name = self._open.pop(key, None)
        if name is not None:
            self._emit(StepFinishedEvent(step_name=name))

    def close_all(self) -> None:
        """Close every open step, the innermost first."""
        for key in reversed(list(self._open)):
            self.finish(key)
