"""State that nodes and tools send or write while they run.

`emit_state` sends what it is given through LangGraph's stream writer, in any graph, here or on a server; the
translation takes it out of the custom stream again. `state_update` is a tool's result and a write to the state in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ag_ui.core import StateDeltaEvent
from langchain_core.messages import ToolMessage
from langgraph.config import get_config, get_stream_writer
from langgraph.types import Command

from langgraph_agui.protocol.jsonable import JsonValue, to_jsonable
from langgraph_agui.state.options import PredictState

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolRuntime

_EMITTED: Final = "agui_state"
_PREDICTED: Final = "agui_predict"
_CONVENTION: Final = "predict_state"


def emit_state(state: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
    """Show the client a state at once, before the node that runs has ended.

    What is shown are previews: when the superstep of the node is over, the client sees what the graph has written, so
    what is to stay must be returned as well. Keys that the graph does not have can be shown too, for as long. Works in
    nodes, tools and subagents; outside a run, nobody is told.

    Args:
        state: Values by key, the others stay as they are; or a JSON Patch (RFC 6902) of the state that the client sees.

    Raises:
        TypeError: It is neither.
        ValueError: An operation of the patch is not one of RFC 6902.
    """
    told: dict[str, object]
    if isinstance(state, Mapping):
        told = {"values": {str(key): to_jsonable(value) for key, value in state.items()}}
    elif isinstance(state, list | tuple):
        operations = [to_jsonable(operation) for operation in state]
        StateDeltaEvent(delta=cast("Any", operations))
        told = {"patch": operations}
    else:
        raise TypeError(f"emit_state takes values by key or a list of operations, not {type(state).__name__}")
    try:
        write, configurable = get_stream_writer(), get_config().get("configurable") or {}
    except RuntimeError:  # not in a run
        return
    write({_EMITTED: {**told, "namespace": configurable.get("checkpoint_ns") or ""}})


def state_update(
    runtime: ToolRuntime[Any, Any] | str,
    content: str | list[Any],
    values: Mapping[str, object],
    *,
    messages_key: str = "messages",
) -> Command[Any]:
    """Return this from a tool to answer its call and to write the graph's state, which the client sees with it.

    ```python
    @tool
    def set_servings(servings: int, runtime: ToolRuntime) -> Command:
        recipe = {**runtime.state["recipe"], "servings": servings}
        return state_update(runtime, f"It is for {servings} now.", {"recipe": recipe})
    ```

    Where a model may call several such tools at once, the key needs a reducer that puts their changes together.

    Args:
        runtime: The tool's `ToolRuntime`, or the id of its call (`InjectedToolCallId`).
        content: What the model is told.
        values: What is written, by key; reducers apply. Messages among them come behind the answer.
        messages_key: The channel of the messages.

    Raises:
        ValueError: The tool was not called by a model, so there is no call to answer.
    """
    call_id = runtime if isinstance(runtime, str) else runtime.tool_call_id
    if not call_id:
        raise ValueError("state_update needs the id of the tool call that it answers")
    more = cast("Any", values.get(messages_key, []))
    answer = ToolMessage(content, tool_call_id=call_id)
    messages = [answer, *(more if isinstance(more, list | tuple) else [more])]
    return Command(update={**values, messages_key: messages})


class Emission(NamedTuple):
    """What `emit_state` has sent: values or a patch, and the checkpoint namespace of the task that did."""

    namespace: str
    values: Mapping[str, JsonValue] | None
    patch: Sequence[Mapping[str, JsonValue]] | None


def emission_in(data: object) -> Emission | None:
    """The emission in a part of the custom stream; None if it is something else."""
    told = data.get(_EMITTED) if isinstance(data, Mapping) and len(data) == 1 else None
    if not isinstance(told, Mapping) or not (isinstance(told.get("values"), Mapping) or "patch" in told):
        return None
    return Emission(str(told.get("namespace") or ""), told.get("values"), told.get("patch"))


def emit_predictions(write: Any, predict: Iterable[PredictState]) -> None:
    """Tell what is to be predicted, through a stream writer."""
    write({_PREDICTED: [{"tool": one.tool, "tool_argument": one.argument, "state_key": one.key} for one in predict]})


def predictions_in(data: object) -> list[PredictState] | None:
    """What `emit_predictions` has told; None if it is something else."""
    told = data.get(_PREDICTED) if isinstance(data, Mapping) and len(data) == 1 else None
    return _predictions(told) if told is not None else None


def predictions_of(metadata: Mapping[str, object]) -> list[PredictState]:
    """What the metadata of a model call ask to be predicted, as users of `ag-ui-langgraph` write it.

    `metadata={"predict_state": [{"state_key": ..., "tool": ..., "tool_argument": ...}]}`
    """
    return _predictions(metadata.get(_CONVENTION))


def _predictions(told: object) -> list[PredictState]:
    entries = told if isinstance(told, list | tuple) else [told]
    return [
        PredictState(str(entry["tool"]), entry.get("tool_argument"), str(entry.get("state_key") or ""))
        for entry in entries
        if isinstance(entry, Mapping) and entry.get("tool") and (entry.get("state_key") or entry.get("tool_argument"))
    ]
