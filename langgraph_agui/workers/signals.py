"""The signals that a worker sends to the worker of a run, as the texts that a store carries."""

from typing import Literal, NamedTuple, TypeAlias, cast

SignalKind: TypeAlias = Literal["cancel", "follow", "ping"]


class Signal(NamedTuple):
    """A signal to the worker of a run.

    Attributes:
        kind: `cancel`: stop the run. `follow`: write the run so far, and the rest as it comes.
            `ping`: write it again, if that has failed since.
        name: One more name of the run, by which a client that follows it can stop it.
    """

    kind: SignalKind
    name: str = ""

    @classmethod
    def from_text(cls, text: str) -> "Signal":
        """Return the signal of a text that `to_text` has made."""
        kind, _, name = text.partition(" ")
        return cls(cast("SignalKind", kind), name)

    def to_text(self) -> str:
        """Return the text for the store."""
        return f"{self.kind} {self.name}".rstrip()
