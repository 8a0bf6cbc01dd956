"""Predictive state: shows arguments of tool calls as state while the model is still writing them.

All events of messages pass through here on their way to the sink. The arguments of a predicted tool's calls also go to
the state view, as previews that the graph's own values replace.
"""

from __future__ import annotations

from dataclasses import dataclass

from ag_ui.core import BaseEvent, ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent

from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.state.options import PredictState, predicted_values
from langgraph_agui.translate.event_sinks import Sink, Writer
from langgraph_agui.translate.state_view import StateView

_SHARE = 32
"""A preview is made when the arguments have grown by one part in this many.

JSON Patch cannot append to a string, so each preview sends the whole value: together at most this many times its size.
"""


@dataclass(slots=True)
class _Call:
    """A call of a predicted tool: its arguments so far, and how long they must be for the next preview."""

    predictions: tuple[PredictState, ...]
    subagent_run_id: str | None
    arguments: str = ""
    next_length: int = 0


class Predictor:
    """A sink that previews arguments as state while they pass on their way to `sink`.

    Args:
        sink: Receives all events.
        state: Shows the previews, and knows which tools are predicted.
    """

    def __init__(self, sink: Sink, state: StateView) -> None:
        self._sink = sink
        self._state = state
        self._calls: dict[str, _Call] = {}

    def event(self, event: BaseEvent) -> None:
        """Pass an event on."""
        self._sink.event(event)
        match event:
            case ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name) if name in self._state.expected:
                self._state.begin_owner(call_id)
                self._calls[call_id] = _Call(self._state.expected[name], event.subagent_run_id)
            case ToolCallEndEvent(tool_call_id=call_id) if call_id in self._calls:
                self._preview(call_id, self._calls[call_id])
            case ToolCallResultEvent(tool_call_id=call_id) if call_id in self._calls:
                self._state.end_owner(call_id)
                if (event.metadata or {}).get("status") == "error":  # a failed call has changed nothing
                    self._state.drop_previews({call_id})

    def writer(self, kind: BlockKind, item_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what passes the fragments of an item on."""
        write = self._sink.writer(kind, item_id, subagent_run_id)
        if kind != "call" or not self._state.expected:
            return write

        def write_and_preview(text: str) -> None:
            write(text)
            call = self._calls.get(item_id)
            if call is not None:
                call.arguments += text
                if len(call.arguments) >= call.next_length:
                    self._preview(item_id, call)

        return write_and_preview

    def _preview(self, call_id: str, call: _Call) -> None:
        call.next_length = len(call.arguments) + 1 + len(call.arguments) // _SHARE
        # An empty value would only make the old one flicker.
        found = predicted_values(call.predictions, call.arguments)
        values = {key: value for key, value in found.items() if value not in ("", [], {}, None)}
        if values:
            self._state.preview(call_id, values, call.subagent_run_id)
