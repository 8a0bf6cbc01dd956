"""The items that a stream has opened and not closed yet: events enter `OpenItems`, and leave with
the ends that belong before a terminal event.
"""

from collections.abc import Hashable, Sequence
from typing import Final, get_args

from ag_ui import core as agui
from ag_ui.core import BaseEvent

from langgraph_agui.protocol.event_order import Closing, Opening, SubagentEvent, item_of

# The events that open something, close something, begin a run or end it.
_WATCHED: Final = frozenset(
    (
        *get_args(Opening),
        *get_args(Closing),
        *get_args(SubagentEvent),
        agui.StepStartedEvent,
        agui.StepFinishedEvent,
        agui.RunStartedEvent,
        agui.RunFinishedEvent,
        agui.RunErrorEvent,
    )
)


class OpenItems:
    """The open messages, calls, steps and subagents of one stream."""

    def __init__(self) -> None:
        # The events that opened them, in their order.
        self._opened: dict[Hashable, BaseEvent] = {}

    def feed(self, event: BaseEvent) -> Sequence[BaseEvent]:
        """Return the next event of the stream; if it ends the run, behind the ends of all that is
        open, innermost first.
        """
        if type(event) not in _WATCHED:  # as of most events
            return (event,)
        if isinstance(event, Opening):
            self._opened[item_of(event)] = event
        elif isinstance(event, Closing):
            self._opened.pop(item_of(event), None)
        match event:
            case agui.StepStartedEvent():
                self._opened["step", event.subagent_run_id, event.step_name] = event
            case agui.StepFinishedEvent():
                self._opened.pop(("step", event.subagent_run_id, event.step_name), None)
            case agui.SubagentStartedEvent():
                self._opened["subagent", event.subagent_run_id] = event
            case agui.SubagentFinishedEvent() | agui.SubagentErrorEvent():
                self._opened.pop(("subagent", event.subagent_run_id), None)
            case agui.RunStartedEvent():
                self._opened.clear()
            case agui.RunFinishedEvent() | agui.RunErrorEvent():
                opened = [*reversed(self._opened.values())]
                self._opened.clear()
                return (*map(_end_of, opened), event)
        return (event,)


def _end_of(event: BaseEvent) -> BaseEvent:
    """Return the event that closes what an event has opened."""
    owner: str | None = getattr(event, "subagent_run_id", None)
    match event:
        case agui.TextMessageStartEvent(message_id=message_id):
            return agui.TextMessageEndEvent(message_id=message_id, subagent_run_id=owner)
        case agui.ReasoningMessageStartEvent(message_id=message_id):
            return agui.ReasoningMessageEndEvent(message_id=message_id, subagent_run_id=owner)
        case agui.ReasoningStartEvent(message_id=message_id):
            return agui.ReasoningEndEvent(message_id=message_id, subagent_run_id=owner)
        case agui.ToolCallStartEvent(tool_call_id=call_id):
            return agui.ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=owner)
        case agui.StepStartedEvent(step_name=name):
            return agui.StepFinishedEvent(step_name=name, subagent_run_id=owner)
        case agui.SubagentStartedEvent(subagent_run_id=run_id):
            return agui.SubagentErrorEvent(
                subagent_run_id=run_id, message="The run ended before this subagent."
            )
    raise TypeError(f"{event.type} opens nothing")
