"""The options of shared state, as an agent's author writes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic_core import from_json


class _Private:
    """The type of `Private`. It cannot be called, so LangGraph does not use it as a reducer."""

    def __repr__(self) -> str:
        return "Private"


Private: Final = _Private()
"""Marks a key of a graph's state that no client sees or changes: `secret: Annotated[str, Private]`.

A reducer stands last: `Annotated[list[str], Private, operator.add]`.
"""


@dataclass(frozen=True, slots=True)
class PredictState:
    """Shows an argument of a tool call as state while the model is still writing it.

    The client sees the value grow until the graph writes its own. If the call is rejected or fails, the client sees the
    old value again. The prediction never reaches the graph.

    Attributes:
        tool: The tool's name.
        argument: The argument's name; None for the object of all arguments.
        state_key: The state key to show it under; by default the argument's name.
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
    """What clients see of a graph's state, and what they may change (docs/state.md).

    Keys that are not in the graph's output schema, keys marked `Private` and messages are never shown. The state's form
    is described elsewhere: by the graph's schemas, and by the agent's `state_schema`.

    Attributes:
        include: The keys that clients see; None for all. A further key of messages is visible only if it is listed.
        exclude: Keys that clients do not see.
        client_writable: The keys that clients may change: True for all that they see and that are in the graph's input
            schema, False for none, or a list of some.
        client_keys: Keys that the front end keeps in the state for itself. The graph does not get them.
        refused: What happens if a client changes a key that it may not change. `"warn"`: the run ignores the change and
            logs a warning. `"error"`: the run is refused with `state_refused`.
        emit: `"delta"`: send changes as JSON Patch, or as a snapshot where that is smaller. `"snapshot"`: always send
            the whole state.
        check_output: Whether to check the graph's values against the agent's `state_schema`. A value that does not fit
            ends the run with `state_invalid`. True by default, except under `python -O`.
        predict: Tool arguments to show as state while they stream.
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
