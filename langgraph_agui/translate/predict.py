"""Predictive state: arguments of tool calls, shown as state while the model is still writing them.

The events of all messages pass through here; what calls of a predicted tool say goes to the state view as well, as
previews that the graph's own values replace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ag_ui.core import BaseEvent, ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent

from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.state.options import PredictState, predicted_values
from langgraph_agui.translate.event_sinks import Sink, Writer
from langgraph_agui.translate.state_view import StateView

_SHARE = 32
"""A preview is made when the arguments have grown by one part of so many.

No JSON Patch makes a string longer, each sends it anew: so all of them together are at most so many times its size.
"""


@dataclass(slots=True)
class _Call:
    """A call of a predicted tool: what it has said, and how long that must be before it is looked at again."""

    predictions: tuple[PredictState, ...]
    tag: str | None
    text: str = ""
    due: int = 0


class Predictor:
    """A sink that shows arguments as state while they pass on their way to `sink`.

    Args:
        sink: Takes all that comes.
        state: Shows the previews.
        predict: What is predicted from the beginning.
    """

    def __init__(self, sink: Sink, state: StateView, predict: Iterable[PredictState] = ()) -> None:
        self._sink = sink
        self._state = state
        self._expected: dict[str, tuple[PredictState, ...]] = {}
        self._calls: dict[str, _Call] = {}
        self.expect(predict)

    def expect(self, predict: Iterable[PredictState]) -> None:
        """Predict this too."""
        for one in predict:
            known = self._expected.get(one.tool, ())
            if one not in known:
                self._expected[one.tool] = (*known, one)

    def event(self, event: BaseEvent) -> None:
        """Pass an event on."""
        self._sink.event(event)
        match event:
            case ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name) if name in self._expected:
                self._state.begin(call_id)
                self._calls[call_id] = _Call(self._expected[name], event.subagent_run_id)
            case ToolCallEndEvent(tool_call_id=call_id) if call_id in self._calls:
                self._show(call_id, self._calls[call_id])
            case ToolCallResultEvent(tool_call_id=call_id) if call_id in self._calls:
                self._state.end(call_id)
                if (event.metadata or {}).get("status") == "error":  # it has changed nothing
                    self._state.drop({call_id})

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what passes the fragments of an item on."""
        write = self._sink.writer(kind, item_id, tag)
        if kind != "call" or not self._expected:
            return write

        def tell(text: str) -> None:
            write(text)
            call = self._calls.get(item_id)
            if call is not None:
                call.text += text
                if len(call.text) >= call.due:
                    self._show(item_id, call)

        return tell

    def _show(self, call_id: str, call: _Call) -> None:
        call.due = len(call.text) + 1 + len(call.text) // _SHARE
        # What is empty so far would only make what was there flicker.
        found = predicted_values(call.predictions, call.text)
        values = {key: value for key, value in found.items() if value not in ("", [], {}, None)}
        if values:
            self._state.preview(call_id, values, call.tag)
