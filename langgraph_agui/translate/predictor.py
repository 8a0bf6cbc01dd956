"""Shows tool arguments as state while a model writes them.

The events of tool calls and the fragments of their arguments pass through `Predictor` on their way
to the sink; the values that they predict leave as previews of `StateView`.
"""

from dataclasses import dataclass
from typing import Final

from ag_ui import core as agui

from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.nodes import PredictState, predicted_values
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.state_view import StateView

# A preview is made when the arguments have grown by one part in this many. JSON Patch cannot append
# to a string, so each preview sends the whole value: together at most this many times its size.
_SHARE: Final = 32


@dataclass(slots=True)
class _Call:
    """A call of a predicted tool: its arguments so far, and how long they must be for the next
    preview.
    """

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
        # Takes the short way until a predicted tool is called; it is read when a block opens.
        self.fragment = sink.fragment

    def event(self, event: agui.BaseEvent) -> None:
        """Pass an event on."""
        self._sink.event(event)
        match event:
            case agui.ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name) if (
                name in self._state.expected
            ):
                self._state.owner_starts(call_id)
                self._calls[call_id] = _Call(self._state.expected[name], event.subagent_run_id)
                self.fragment = self._predict
            case agui.ToolCallEndEvent(tool_call_id=call_id) if call_id in self._calls:
                self._preview(call_id, self._calls[call_id])
            case agui.ToolCallResultEvent(tool_call_id=call_id) if call_id in self._calls:
                failed = (event.metadata or {}).get("status") == "error"
                self._state.owner_ends(call_id, failed=failed)

    def _predict(self, block: Block, text: str) -> None:
        self._sink.fragment(block, text)
        if block.kind == "call" and (call := self._calls.get(block.id)) is not None:
            call.arguments += text
            if len(call.arguments) >= call.next_length:
                self._preview(block.id, call)

    def _preview(self, call_id: str, call: _Call) -> None:
        call.next_length = len(call.arguments) + 1 + len(call.arguments) // _SHARE
        # An empty value would only make the old one flicker.
        found = predicted_values(call.predictions, call.arguments)
        values = {key: value for key, value in found.items() if value not in ("", [], {}, None)}
        if values:
            self._state.preview(call_id, values, call.subagent_run_id)
