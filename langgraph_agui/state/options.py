"""What an agent's author decides about shared state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic_core import from_json


class _Private:
    """The type of `Private`; one that LangGraph takes for no reducer, because it cannot be called."""

    def __repr__(self) -> str:
        return "Private"


Private: Final = _Private()
"""Marks a key of a graph's state that no client sees or changes: `secret: Annotated[str, Private]`.

Where the key has a reducer, that stands last: `Annotated[list[str], Private, operator.add]`.
"""


@dataclass(frozen=True, slots=True)
class PredictState:
    """Shows an argument of a tool call as state, while the model is still writing it.

    The client sees the value grow; what the graph makes of the call replaces it, and if the call is rejected or fails,
    the state is what it was. Nothing of it reaches the graph.

    Attributes:
        tool: The tool's name.
        argument: The argument; None for the object of all of them.
        state_key: The key of the state that shows it; by default the argument's name.
    """

    tool: str
    argument: str | None = None
    state_key: str = ""

    def __post_init__(self) -> None:
        if not (self.state_key or self.argument):
            raise ValueError("PredictState needs a state_key where it has no argument")

    @property
    def key(self) -> str:
        """The key of the state that shows the argument."""
        return self.state_key or self.argument or ""


def predicted_values(predict: Iterable[PredictState], arguments: str) -> dict[str, object]:
    """Return the values that `predict` reads from a call's arguments, by key of the state; they may be incomplete.

    Args:
        predict: The predictions of the call's tool.
        arguments: JSON, or the beginning of it. Anything else gives no values.
    """
    try:
        read = from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return {}
    if not isinstance(read, Mapping):
        return {}
    return {
        one.key: read if one.argument is None else read[one.argument]
        for one in predict
        if one.argument is None or one.argument in read
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """What a client sees of a graph's state, and what it may change (docs/state.md).

    The graph's output schema comes first: what is not in it is never shown. Keys that are marked `Private` stay on the
    server. Messages are no state.

    Attributes:
        include: The keys that are shown; None for all. Other keys of messages than the conversation's are shown only
            if they are named here.
        exclude: Keys that are not shown.
        client_writable: The keys that the client may change: all (True) or none (False) of those that are shown and
            that the graph's input schema has, or some of them.
        client_keys: Keys that the front end keeps in the state for itself. The graph does not get them.
        refused: What becomes of a run whose client has changed a key that it may not change: it goes on without the
            change, with a warning in the log (`"warn"`), or it is refused with `state_refused` (`"error"`).
        emit: Whether changes go out as JSON Patch (`"delta"`; as a snapshot where that is smaller), or always as the
            whole state (`"snapshot"`).
        check_output: Whether what the graph shows is checked against the agent's `state_schema`. A value that does not
            fit ends the run with `state_invalid`. By default it is, except under `python -O`.
        predict: `PredictState`s: tool arguments that are shown as state while they stream.

    What the state looks like is said elsewhere: by the graph's schemas, and by the agent's `state_schema`.
    """

    include: Collection[str] | None = None
    exclude: Collection[str] = ()
    client_writable: Collection[str] | bool = True
    client_keys: Collection[str] = ()
    refused: Literal["warn", "error"] = "warn"
    emit: Literal["delta", "snapshot"] = "delta"
    check_output: bool = __debug__
    predict: Sequence[PredictState] = ()

    def __post_init__(self) -> None:
        for name in ("include", "exclude", "client_writable", "client_keys"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"StateOptions.{name} is a collection of keys, not a string")
