"""What workers send each other about a run: signals to its worker, and the marks with which that
answers in the run's log.
"""

from typing import Final, NamedTuple

from ag_ui.core import BaseEvent, CustomEvent

_MARK: Final = "langgraph-agui:mark"


class Signal(NamedTuple):
    """A signal to the worker of a run. A worker of a later version may send other kinds too, and
    more fields behind these.

    Attributes:
        kind: `cancel`: stop the run. `follow`: write the log, and a mark; without a mark, write it
            from its beginning again. `ping`: write the log again, if that has failed since.
        name: One more name of the run, by which a client that follows it can stop it.
        mark: The mark. What the log has before it is all that the run had emitted when the signal
            came.
    """

    kind: str
    name: str = ""
    mark: str = ""

    @classmethod
    def from_text(cls, text: str) -> "Signal":
        """Return the signal of a text that `to_text` has made, in this version or in another one.

        Fields that are missing are empty, and those that this version does not have are left out.
        """
        kind, name, mark, *_ = [*text.split(" "), "", ""]
        return cls(kind, name, mark)

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
