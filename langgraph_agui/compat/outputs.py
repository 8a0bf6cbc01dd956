"""Model calls and custom events of nodes that were written for `ag-ui-langgraph` or CopilotKit.

Their metadata and values enter; hidden parts, predictions, messages and states leave.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call

from langgraph_agui.messages.hidden import Hidden, hidden_of
from langgraph_agui.nodes import PredictState, predictions_from
from langgraph_agui.protocol.json import parse_arguments


class CustomEventNames(StrEnum):
    """The custom events of `ag-ui-langgraph`."""

    ManuallyEmitMessage = "manually_emit_message"
    ManuallyEmitToolCall = "manually_emit_tool_call"
    ManuallyEmitState = "manually_emit_state"
    Exit = "exit"


# The message or state that a custom event asks to show.
ShownByEvent: TypeAlias = BaseMessage | Mapping[str, object] | None

_PREFIXES: Final = ("", "copilotkit:")
_STATE: Final = (
    CustomEventNames.ManuallyEmitState.value,
    "copilotkit_manually_emit_intermediate_state",
)
_EXIT: Final = (CustomEventNames.Exit.value, "copilotkit_exit")


def read_hidden(metadata: Mapping[str, object]) -> Hidden:
    """Return the parts of a model call that clients do not see: `emit-messages: False`, and
    `emit-tool-calls`.

    `copilotkit_customize_config` sets them with a prefix; its `emit_tool_calls` may also name the
    tools to show.
    """
    text = _settings(metadata, "emit-messages")
    calls = _settings(metadata, "emit-tool-calls")
    shown = False if False in calls else next(iter(calls), None)
    return hidden_of(False in text, shown)


def _settings(metadata: Mapping[str, object], name: str) -> list[object]:
    """Return the values of a setting, under each prefix that has one."""
    found = (metadata.get(f"{prefix}{name}") for prefix in _PREFIXES)
    return [one for one in found if one is not None]


def read_predictions(metadata: Mapping[str, object]) -> Sequence[PredictState]:
    """Return the predictions of the state that a model call asks for.

    `ag-ui-langgraph` asks by `predict_state`, CopilotKit by `emit-intermediate-state`. Both hold a
    list of mappings: `{"state_key": ..., "tool": ..., "tool_argument": ...}`.
    """
    found: list[PredictState] = []
    for name in ("predict_state", "copilotkit:emit-intermediate-state"):
        if (asked := metadata.get(name)) is not None:
            found += predictions_from(asked)
    return found


def _emitted(name: str, value: object) -> ShownByEvent:
    """Return the message or state that a custom event asks to be shown; None if it asks for
    none.
    """
    if not isinstance(value, Mapping):
        return None
    if name in _STATE:
        return value
    match name.removeprefix("copilotkit_"), value:
        case CustomEventNames.ManuallyEmitMessage, {"message": str(text)}:
            return AIMessage(text, id=str(value.get("message_id") or uuid4()))
        case CustomEventNames.ManuallyEmitToolCall, {"id": str(call_id), "name": str(tool)}:
            call = tool_call(name=tool, args=_arguments(value.get("args")), id=call_id)
            return AIMessage("", id=f"{call_id}:message", tool_calls=[call])
    return None


def _arguments(given: object) -> dict[str, Any]:
    """Return the arguments of a call, which may be JSON text."""
    if isinstance(given, str):
        given = parse_arguments(given)
    return given if isinstance(given, dict) else {}


def read_event(name: str, value: object) -> tuple[str, object, ShownByEvent]:
    """Return name and value of a custom event as clients get it, and the message or state that it
    asks to show.
    """
    if name in _EXIT:  # for CopilotKit: the agent is done
        return "Exit", True, None
    return name, value, _emitted(name, value)
