"""What an agent's author uses for shared state: options, and what nodes and tools call while they run.

Options are read by the contract and the state view. `emit_state` and `emit_predictions` write to LangGraph's custom
stream, here or on a server; the state view reads them from it. `state_update` is a tool's result and a write to the
state in one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ag_ui.core import StateDeltaEvent
from langchain_core.messages import ToolMessage
from langgraph.config import get_config, get_stream_writer
from langgraph.types import Command
from pydantic_core import from_json

from langgraph_agui.protocol.wire import to_jsonable

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

_EMITTED: Final = "agui_state"
_PREDICTED: Final = "agui_predict"
_CONVENTION: Final = "predict_state"


class _Private:
    """The type of `Private`. It cannot be called, so LangGraph does not use it as a reducer."""

    def __repr__(self) -> str:
        return "Private"


# Marks a key of a graph's state that no client sees or changes: `secret: Annotated[str, Private]`. A reducer stands
# last: `Annotated[list[str], Private, operator.add]`.
Private: Final = _Private()


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
    """What clients see of a graph's state, and what they may change (guides/state.md).

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
        if isinstance(self.predict, PredictState) or not all(isinstance(one, PredictState) for one in self.predict):
            raise TypeError("StateOptions.predict is a list of PredictState(...)")
        if self.refused not in ("warn", "error") or self.emit not in ("delta", "snapshot"):
            raise ValueError('StateOptions takes refused="warn" or "error", and emit="delta" or "snapshot"')


# -- for nodes and tools ----------------------------------------------------------------------------------------------


def emit_state(state: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
    """Show state to the client at once, before the running node has ended.

    The values are previews. When the node's superstep is over, the client sees what the graph has written instead, so a
    node must also return what is to stay. Keys that the graph does not have can be previewed too. Works in nodes, tools
    and subagents; outside a run, it does nothing.

    Args:
        state: Values by key, where other keys stay as they are; or a JSON Patch (RFC 6902) of the client's state.

    Raises:
        TypeError: `state` is neither.
        ValueError: An operation of the patch is not one of RFC 6902.
    """
    emission: dict[str, object]
    if isinstance(state, Mapping):
        emission = {"values": {str(key): to_jsonable(value) for key, value in state.items()}}
    elif isinstance(state, list | tuple):
        operations = [to_jsonable(operation) for operation in state]
        StateDeltaEvent(delta=cast("Any", operations))
        emission = {"patch": operations}
    else:
        raise TypeError(f"emit_state takes values by key or a list of operations, not {type(state).__name__}")
    try:
        write, configurable = get_stream_writer(), get_config().get("configurable") or {}
    except RuntimeError:  # not in a run
        return
    write(_emitted(emission, configurable.get("checkpoint_ns") or ""))


def emission_of(values: Mapping[str, object], namespace: str) -> object:
    """Return what `emit_state(values)` writes to the custom stream in the task with this checkpoint namespace."""
    return _emitted({"values": {str(key): to_jsonable(value) for key, value in values.items()}}, namespace)


def _emitted(emission: Mapping[str, object], namespace: str) -> object:
    return {_EMITTED: {**emission, "namespace": namespace}}


def state_update(
    runtime: "ToolRuntime[Any, Any] | str",
    content: str | list[Any],
    values: Mapping[str, object],
    *,
    messages_key: str = "messages",
) -> Command[Any]:
    """Return a command that answers a tool's call and writes the graph's state, which the client then sees.

    ```python
    @tool
    def set_servings(servings: int, runtime: ToolRuntime) -> Command:
        recipe = {**runtime.state["recipe"], "servings": servings}
        return state_update(runtime, f"It is for {servings} now.", {"recipe": recipe})
    ```

    If a model may call several such tools at once, the key needs a reducer that merges their changes.

    Args:
        runtime: The tool's `ToolRuntime`, or the id of its call (`InjectedToolCallId`).
        content: The tool's result, for the model.
        values: What to write, by key; reducers apply. Messages among them are put behind the answer.
        messages_key: The channel of the messages.

    Raises:
        ValueError: No model called the tool, so there is no call to answer.
    """
    call_id = runtime if isinstance(runtime, str) else runtime.tool_call_id
    if not call_id:
        raise ValueError("state_update needs the id of the tool call that it answers")
    more = cast("Any", values.get(messages_key, []))
    answer = ToolMessage(content, tool_call_id=call_id)
    messages = [answer, *(more if isinstance(more, list | tuple) else [more])]
    return Command(update={**values, messages_key: messages})


def emission_in(data: object) -> Mapping[str, Any] | None:
    """Return what `emit_state` wrote to the custom stream; None if `data` is something else.

    It has the checkpoint `namespace` of the task that called it, and either `values` by key or a `patch`.
    """
    found = data.get(_EMITTED) if isinstance(data, Mapping) and len(data) == 1 else None
    known = isinstance(found, Mapping) and (isinstance(found.get("values"), Mapping) or "patch" in found)
    return found if known else None


def emit_predictions(write: Any, predict: Iterable[PredictState]) -> None:
    """Ask for predictions, through a stream writer."""
    write({_PREDICTED: [{"tool": one.tool, "tool_argument": one.argument, "state_key": one.key} for one in predict]})


def predictions_in(data: object) -> list[PredictState] | None:
    """Return the predictions in a part of the custom stream; None if it is something else."""
    found = data.get(_PREDICTED) if isinstance(data, Mapping) and len(data) == 1 else None
    return _predictions(found) if found is not None else None


def predictions_of(metadata: Mapping[str, object]) -> list[PredictState]:
    """Return the predictions that the metadata of a model call ask for, in the form of `ag-ui-langgraph`.

    `metadata={"predict_state": [{"state_key": ..., "tool": ..., "tool_argument": ...}]}`
    """
    return _predictions(metadata.get(_CONVENTION))


def _predictions(found: object) -> list[PredictState]:
    return [
        PredictState(str(entry["tool"]), entry.get("tool_argument"), str(entry.get("state_key") or ""))
        for entry in (found if isinstance(found, list | tuple) else [found])
        if isinstance(entry, Mapping) and entry.get("tool") and (entry.get("state_key") or entry.get("tool_argument"))
    ]
