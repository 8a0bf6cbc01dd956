"""What nodes written for `ag-ui-langgraph` or CopilotKit say of their model calls, and emit by custom events.

The metadata of model calls and custom events enter; what the translation is to make of them leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final
from uuid import uuid4

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call

from langgraph_agui.messages.silence import NOTHING, Silence, silence_of
from langgraph_agui.messages.template import parsed
from langgraph_agui.state.options import PredictState, predictions_of


class CustomEventNames(StrEnum):
    """The custom events of `ag-ui-langgraph`."""

    ManuallyEmitMessage = "manually_emit_message"
    ManuallyEmitToolCall = "manually_emit_tool_call"
    ManuallyEmitState = "manually_emit_state"
    Exit = "exit"


_PREFIXES: Final = ("", "copilotkit:")
_SILENCES: Final = ("emit-messages", "emit-tool-calls")
_STATE: Final = (CustomEventNames.ManuallyEmitState.value, "copilotkit_manually_emit_intermediate_state")
_EXIT: Final = (CustomEventNames.Exit.value, "copilotkit_exit")


def read_silence(metadata: Mapping[str, object]) -> Silence:
    """Return what clients do not see of a model call: `emit-messages: False`, and `emit-tool-calls`.

    `copilotkit_customize_config` sets them with a prefix; its `emit_tool_calls` may also name the tools to show.
    """
    text, calls = ([metadata.get(f"{prefix}{name}") for prefix in _PREFIXES] for name in _SILENCES)
    shown = False if False in calls else next((one for one in calls if one is not None), None)
    return silence_of(False in text, shown) if False in text or shown is not None else NOTHING


def read_predictions(metadata: Mapping[str, object]) -> Sequence[PredictState]:
    """Return what a model call predicts of the state, by `emit-intermediate-state`."""
    asked = metadata.get("copilotkit:emit-intermediate-state")
    return predictions_of({"predict_state": asked}) if asked is not None else ()


def emitted_message(name: str, value: object) -> AIMessage | None:
    """Return the message that a custom event asks to be shown; None if it asks for none."""
    kind = name.removeprefix("copilotkit_")
    if not isinstance(value, Mapping):
        return None
    if kind == CustomEventNames.ManuallyEmitMessage.value and isinstance(value.get("message"), str):
        return AIMessage(value["message"], id=str(value.get("message_id") or uuid4()))
    if (
        kind == CustomEventNames.ManuallyEmitToolCall.value
        and isinstance(value.get("id"), str)
        and isinstance(value.get("name"), str)
    ):
        return AIMessage("", id=f"{value['id']}:message", tool_calls=[_call(value)])
    return None


def _call(value: Mapping[str, object]) -> dict[str, object]:
    args = value.get("args")
    args = parsed(args) if isinstance(args, str) else args
    return {**tool_call(name=str(value["name"]), args=args if isinstance(args, dict) else {}, id=str(value["id"]))}


def emitted_state(name: str, value: object) -> Mapping[str, object] | None:
    """Return the state that a custom event asks to be shown; None if it asks for none."""
    return value if name in _STATE and isinstance(value, Mapping) else None


def is_exit(name: str) -> bool:
    """Return whether a custom event tells CopilotKit that the agent is done."""
    return name in _EXIT
