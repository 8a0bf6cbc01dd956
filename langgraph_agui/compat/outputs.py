"""What nodes written for `ag-ui-langgraph` or CopilotKit set on their model calls, and emit by
custom events.

The metadata of model calls and custom events enter; what the translation is to make of them leaves.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call

from langgraph_agui.messages.hidden import Silence, silence_of
from langgraph_agui.messages.template import parsed
from langgraph_agui.nodes import PredictState, predictions_from


class CustomEventNames(StrEnum):
    """The custom events of `ag-ui-langgraph`."""

    ManuallyEmitMessage = "manually_emit_message"
    ManuallyEmitToolCall = "manually_emit_tool_call"
    ManuallyEmitState = "manually_emit_state"
    Exit = "exit"


# The message or state that a custom event asks to show.
ShownByEvent: TypeAlias = BaseMessage | Mapping[str, object] | None

_PREFIXES: Final = ("", "copilotkit:")
_SILENCES: Final = ("emit-messages", "emit-tool-calls")
_STATE: Final = (
    CustomEventNames.ManuallyEmitState.value,
    "copilotkit_manually_emit_intermediate_state",
)
_EXIT: Final = (CustomEventNames.Exit.value, "copilotkit_exit")


def read_silence(metadata: Mapping[str, object]) -> Silence:
    """Return what clients do not see of a model call: `emit-messages: False`, and
    `emit-tool-calls`.

    `copilotkit_customize_config` sets them with a prefix; its `emit_tool_calls` may also name the
    tools to show.
    """
    text, calls = ([metadata.get(f"{prefix}{name}") for prefix in _PREFIXES] for name in _SILENCES)
    shown = False if False in calls else next((one for one in calls if one is not None), None)
    return silence_of(False in text, shown)


def read_predictions(metadata: Mapping[str, object]) -> Sequence[PredictState]:
    """Return what a model call predicts of the state.

    `ag-ui-langgraph` asks by `predict_state`, CopilotKit by `emit-intermediate-state`. Both hold a
    list of mappings: `{"state_key": ..., "tool": ..., "tool_argument": ...}`.
    """
    asked = (metadata.get("predict_state"), metadata.get("copilotkit:emit-intermediate-state"))
    return [prediction for one in asked if one is not None for prediction in predictions_from(one)]


def _emitted(name: str, value: object) -> ShownByEvent:
    """Return the message or state that a custom event asks to be shown; None if it asks for
    none.
    """
    if not isinstance(value, Mapping):
        return None
    kind = name.removeprefix("copilotkit_")
    if kind == CustomEventNames.ManuallyEmitMessage and isinstance(value.get("message"), str):
        return AIMessage(value["message"], id=str(value.get("message_id") or uuid4()))
    own_id, tool = value.get("id"), value.get("name")
    if (
        kind == CustomEventNames.ManuallyEmitToolCall
        and isinstance(own_id, str)
        and isinstance(tool, str)
    ):
        args = value.get("args")
        args = parsed(args) if isinstance(args, str) else args
        call = tool_call(name=tool, args=args if isinstance(args, dict) else {}, id=own_id)
        return AIMessage("", id=f"{own_id}:message", tool_calls=[call])
    return value if name in _STATE else None


def read_event(name: str, value: object) -> tuple[str, object, ShownByEvent]:
    """Return name and value of a custom event as clients get it, and the message or state that it
    asks to show.
    """
    if name in _EXIT:  # for CopilotKit: the agent is done
        return "Exit", True, None
    return name, value, _emitted(name, value)
