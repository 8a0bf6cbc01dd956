"""What a paused graph asks, as AG-UI interrupts (AG-UI 1.0, interrupts)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ag_ui.core import Interrupt
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.protocol.jsonable import to_jsonable

BREAKPOINT = "langgraph:breakpoint"
"""Reason of the interrupt for a static breakpoint, which has no value and takes any answer."""

BREAKPOINT_ID = "breakpoint"
"""Id of that interrupt: a thread stands at one breakpoint at a time."""


class Interrupts:
    """Collects the interrupts of one run, each id once: a nested one is told by every graph around it.

    Args:
        show: Makes of an interrupt's value what a client may see of it, as JSON data.
    """

    def __init__(self, show: Callable[[object], object] = to_jsonable) -> None:
        self._show = show
        self._found: dict[str, Interrupt] = {}

    def add(self, interrupts: Iterable[GraphInterrupt]) -> None:
        """Take what one pause reported; nothing stands for a static breakpoint, which has no interrupt."""
        found = [_interrupt(interrupt, self._show(interrupt.value)) for interrupt in interrupts]
        for interrupt in found or [Interrupt(id=BREAKPOINT_ID, reason=BREAKPOINT)]:
            self._found.setdefault(interrupt.id, interrupt)

    def all(self) -> list[Interrupt]:
        """The open interrupts, in the order in which they were raised."""
        return list(self._found.values())


def _interrupt(interrupt: GraphInterrupt, value: object) -> Interrupt:
    message = value if isinstance(value, str) else None
    if isinstance(value, Mapping):
        message = next(
            (text for key in ("message", "question", "description") if isinstance(text := value.get(key), str)),
            None,
        )
    schema = getattr(interrupt, "response_schema", None)
    return Interrupt(
        id=interrupt.id,
        reason="input_required",
        message=message,
        response_schema=dict(schema) if isinstance(schema, Mapping) else None,
        metadata={"value": value},
    )
