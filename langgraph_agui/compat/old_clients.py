"""Clients of before AG-UI 1.0: the events of a run enter, in the form of 1.0; those that such a
client takes leave.

reference/clients.md lists how each generation reacts to events that it does not know.
`clients.py` decides which clients are old.
"""

from collections.abc import Sequence
from typing import TypeVar, cast

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Event, Message, RunAgentInput
from pydantic import BaseModel

from langgraph_agui.protocol.fold import Fold

ModelT = TypeVar("ModelT", bound=BaseModel)


class OldClient:
    """One client of before 1.0.

    - `RUN_FINISHED` has an outcome only if that is an interrupt: those clients refuse `cancelled`
      and `pendingToolCallIds`, and take an explicit success for "no tool is to be run here".
    - The first state of a run is a snapshot: CopilotKit's runtime applies the patches of a run to
      an empty state.
    - A snapshot of messages that the client has anyway is left out: assistant-ui shows its
      reasoning a second time. After a tool loop that ends with text it is sent: assistant-ui has
      put what comes before the text into the message before, and needs it to set that right. Of
      such a snapshot it shows nothing twice.
    - A snapshot has places of activities only for a client that holds nothing: 0.0.58 and 0.0.59
      take them for all activities that there are.
    - Unless `shows_subagents`, events of subagents look like the agent's own: clients up to 0.0.58
      fail otherwise.

    Args:
        run_input: The client's input.
        shows_subagents: Whether the client is known to take subagents.
    """

    def __init__(self, run_input: RunAgentInput, *, shows_subagents: bool) -> None:
        self._shows_subagents = shows_subagents
        self._has_state = False
        self._client = Fold(run_input.messages, run_input.state)
        self._begin(run_input.messages)

    def _begin(self, messages: Sequence[Message]) -> None:
        """Note messages that the client sent, or got in a snapshot."""
        self._known = {message.id for message in messages}
        self._answer: str | None = None
        # Whether the last message began with text, behind another one of this run.
        self._ends_with_text = False

    def convert(self, event: BaseEvent) -> Sequence[BaseEvent]:
        """Return the event for the client; none if it does not take it or does not need it."""
        if not self._shows_subagents:
            if isinstance(
                event,
                agui.SubagentStartedEvent | agui.SubagentFinishedEvent | agui.SubagentErrorEvent,
            ):
                return ()
            event = _inline(event)
        if isinstance(event, agui.MessagesSnapshotEvent):
            event = self._without_places(event)
            if not self._ends_with_text and self._holds(event.messages):
                return ()
        self._client.apply(cast("Event", event))
        match event:
            case agui.MessagesSnapshotEvent():
                self._begin(event.messages)
            case agui.StateSnapshotEvent():
                self._has_state = True
            case agui.StateDeltaEvent() if not self._has_state:
                self._has_state = True
                event = agui.StateSnapshotEvent(snapshot=self._client.state)
            case agui.RunFinishedEvent() if not isinstance(
                event.outcome, agui.RunFinishedInterruptOutcome
            ):
                event = event.model_copy(update={"outcome": None})
            case agui.TextMessageStartEvent(message_id=message_id):
                self._ends_with_text |= self._answer not in (None, message_id)
                self._answer = message_id
            case agui.ToolCallStartEvent(parent_message_id=str(message_id)):
                self._answer = self._answer or message_id
            case agui.ReasoningMessageStartEvent():
                self._ends_with_text = False
        return (event,)

    def _without_places(self, event: agui.MessagesSnapshotEvent) -> agui.MessagesSnapshotEvent:
        """Return the snapshot without places of activities, if the client holds anything."""
        if not self._client.messages:
            return event
        kept = [one for one in event.messages if not isinstance(one, agui.ActivityMessage)]
        return event.model_copy(update={"messages": kept})

    def _holds(self, messages: Sequence[Message]) -> bool:
        """Return whether the client holds exactly these messages.

        No event has the `error` of a failed tool. A snapshot brings it, if no reasoning is shown
        twice for it.
        """
        failed = {
            one.id
            for one in messages
            if one.role == "tool" and one.error and one.id not in self._known
        }
        if failed and all(one.role != "reasoning" for one in messages):
            return False
        shown = [
            one.model_copy(update={"error": None}) if one.id in failed else one for one in messages
        ]
        by_id = {one.id: one for one in shown}
        # A run's own snapshot holds no activities. The client may hold one id twice.
        held = [one for one in self._client.messages if not isinstance(one, agui.ActivityMessage)]
        return by_id.keys() == {one.id for one in held} and all(
            by_id[one.id] == one for one in held
        )


def _inline(event: BaseEvent) -> BaseEvent:
    """Return the event without the ids of subagents."""
    match event:
        case agui.MessagesSnapshotEvent():
            return event.model_copy(
                update={"messages": [_unattributed(message) for message in event.messages]}
            )
        case agui.RunFinishedEvent(outcome=agui.RunFinishedInterruptOutcome(interrupts=interrupts)):
            outcome = agui.RunFinishedInterruptOutcome(
                type="interrupt", interrupts=[_unattributed(interrupt) for interrupt in interrupts]
            )
            return event.model_copy(update={"outcome": outcome})
    return _unattributed(event)


def _unattributed(model: ModelT) -> ModelT:
    """Return the model without a `subagentRunId`."""
    if getattr(model, "subagent_run_id", None) is None:
        return model
    return model.model_copy(update={"subagent_run_id": None})
