"""What workers send each other about a run: signals to its worker, and the marks with which that
answers in the run's log.
"""

from typing import Final, Literal, NamedTuple, TypeAlias, cast

from ag_ui.core import BaseEvent, CustomEvent

SignalKind: TypeAlias = Literal["cancel", "follow", "ping"]

_MARK: Final = "langgraph-agui:mark"


class Signal(NamedTuple):
    """A signal to the worker of a run.

    Attributes:
        kind: `cancel`: stop the run. `follow`: write the log, and a mark; without a mark, write it
            from its beginning again. `ping`: write the log again, if that has failed since.
        name: One more name of the run, by which a client that follows it can stop it.
        mark: The mark. What the log has before it is all that the run had emitted when the signal
            came.
    """

    kind: SignalKind
    name: str = ""
    mark: str = ""

    @classmethod
    def from_text(cls, text: str) -> "Signal":
        """Return the signal of a text that `to_text` has made."""
        kind, name, mark = text.split(" ")
        return cls(cast("SignalKind", kind), name, mark)

    def to_text(self) -> str:
        """Return the text for the store."""
        return " ".join(self)


def mark_event(mark: str) -> BaseEvent:
    """Return the event by which a log carries a mark. Clients do not get it."""
    return CustomEvent(name=_MARK, value=mark)


def mark_in(event: BaseEvent) -> str | None:
    """Return the mark of an event; None if it is an event of the run."""
    if isinstance(event, CustomEvent) and event.name == _MARK:
        return str(event.value)
    return None
