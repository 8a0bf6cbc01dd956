"""A client that joins the run of another client: the events of the run enter, and leave in the
client's terms.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Message, RunAgentInput

from langgraph_agui.messages.conversation import gone_messages, merge_messages
from langgraph_agui.protocol.json import same
from langgraph_agui.readers.run_log import (
    fold_settled,
    for_others,
    messages_snapshot,
    past_in,
    trimmed_in,
)
from langgraph_agui.readers.subscription import Subscription


def join(
    reader: Subscription,
    events: Sequence[BaseEvent],
    run_input: RunAgentInput,
    own_state: Mapping[str, object],
) -> None:
    """Let a reader join a run.

    Args:
        reader: The reader. All later events of the run are for it too.
        events: The log of the run so far.
        run_input: The input of the reader's client.
        own_state: The part of the client's state that is its own.
    """
    if not _emitted(events).isdisjoint(message.id for message in run_input.messages):
        # What it holds keeps its place. Emitted again, it would stand behind the reasoning, which
        # no snapshot removes.
        before, rest = fold_settled(events, in_order=True)
        events = [events[0], *before, *rest]
    reader.begin(events, JoinedClient(run_input, events, own_state).convert)


class JoinedClient:
    """Makes the events of a run fit the run id, messages and state of a client that has joined it.

    Args:
        run_input: The client's input.
        events: The log of the run so far.
        own_state: The part of the client's state that is its own.
    """

    def __init__(
        self, run_input: RunAgentInput, events: Sequence[BaseEvent], own_state: Mapping[str, object]
    ) -> None:
        self._input = run_input
        self._messages: Sequence[Message] = [
            one for one in run_input.messages if not isinstance(one, agui.ActivityMessage)
        ]
        self._own_state = own_state
        # The state as another client has sent it is held back until the graph has taken it: until
        # the run emits anything but an error.
        before = agui.RunStartedEvent | agui.MessagesSnapshotEvent | agui.StateSnapshotEvent
        self._is_taken = not all(isinstance(event, before) for event in events)
        self._held_back: BaseEvent | None = None
        self._begun = False
        self._shown: set[str] = set()
        self._calls: dict[str, int] = {}
        client_tools = {tool.name for tool in run_input.tools or ()}
        answered = self._results_of(_answers(events, client_tools))
        self._retract(_emitted(events) | self._gone(events) | answered)

    def _gone(self, events: Sequence[BaseEvent]) -> set[str]:
        """Return the ids of the client's messages that were gone from the thread before the run."""
        before = next((one for one in events if isinstance(one, agui.MessagesSnapshotEvent)), None)
        if before is None:
            return set()
        kept = {message.id for message in before.messages}
        return gone_messages(self._messages, kept, past_in(before))

    def _results_of(self, answers: Mapping[str, str]) -> set[str]:
        """Return the ids of the client's own results of calls that the run answers itself.

        Args:
            answers: The ids of the run's results by call.
        """
        return {
            one.id
            for one in self._messages
            if isinstance(one, agui.ToolMessage) and answers.get(one.tool_call_id, one.id) != one.id
        }

    def _has_result(self, event: agui.ToolCallResultEvent) -> bool:
        """Return whether the client has a result of its own for a call of an earlier run."""
        call_id = event.tool_call_id
        return call_id not in self._calls and bool(self._results_of({call_id: event.message_id}))

    def _retract(self, message_ids: Collection[str]) -> None:
        """Remove messages from the client's list: they are gone, or are emitted again from their
        beginning.

        A snapshot deletes what it leaves out, but for reasoning (AG-UI 1.0, client apply step):
        that is emptied.
        """
        kept: list[Message] = []
        for message in self._messages:
            if message.id not in message_ids:
                kept.append(message)
            elif isinstance(message, agui.ReasoningMessage):
                owner = message.subagent_run_id
                kept.append(
                    agui.ReasoningMessage(
                        id=message.id, role="reasoning", content="", subagent_run_id=owner
                    )
                )
        self._messages = kept

    def convert(self, event: BaseEvent) -> Sequence[BaseEvent]:
        """Return an event in the client's terms; none if the client needs none."""
        event = for_others(event)
        if self._is_taken or isinstance(event, agui.RunStartedEvent | agui.MessagesSnapshotEvent):
            return self._convert(event)
        if isinstance(event, agui.StateSnapshotEvent) and self._held_back is None:
            self._held_back = event
            return ()
        self._is_taken = True
        if self._held_back is None or isinstance(event, agui.RunErrorEvent):
            return self._convert(event)
        return [*self._convert(self._held_back), *self._convert(event)]

    def _convert(self, event: BaseEvent) -> Sequence[BaseEvent]:
        match event:
            case agui.RunStartedEvent():
                ids = {"run_id": self._input.run_id, "parent_run_id": self._input.parent_run_id}
                return (event.model_copy(update=ids),)
            case agui.ToolCallStartEvent():
                self._calls[event.tool_call_id] = len(self._calls)
            case agui.ToolCallResultEvent() if self._has_result(event):
                return ()  # the next snapshot replaces the client's own result
            case agui.RunFinishedEvent():
                outcome = self._ordered(event.outcome)
                return (
                    event.model_copy(update={"run_id": self._input.run_id, "outcome": outcome}),
                )
            case agui.MessagesSnapshotEvent():
                truth = [(message.id, [message]) for message in event.messages]
                now = {message.id for message in event.messages}
                # What the graph has removed since the last snapshot goes; trimmed messages stay.
                self._retract(self._shown - now - {*trimmed_in(event)})
                self._retract(self._results_of(_results_in(event.messages)))
                self._shown = now
                self._messages = merge_messages(self._messages, truth)
                return (messages_snapshot(self._messages),)
            case agui.StateSnapshotEvent(snapshot=state):
                if self._own_state and isinstance(state, Mapping):
                    state = {**self._own_state, **state}
                is_known = not self._begun and same(state, self._input.state or {})
                self._begun = True
                return () if is_known else (event.model_copy(update={"snapshot": state}),)
        return (event,)

    def _ordered(self, outcome: agui.RunFinishedOutcome | None) -> agui.RunFinishedOutcome | None:
        """Return the outcome with its pending calls in the order in which this client received
        them.
        """
        if (
            not isinstance(outcome, agui.RunFinishedSuccessOutcome)
            or not outcome.pending_tool_call_ids
        ):
            return outcome
        pending = sorted(
            outcome.pending_tool_call_ids, key=lambda call_id: self._calls.get(call_id, -1)
        )
        return outcome.model_copy(update={"pending_tool_call_ids": pending})


def _results_in(messages: Sequence[Message]) -> dict[str, str]:
    return {one.tool_call_id: one.id for one in messages if isinstance(one, agui.ToolMessage)}


def _answers(events: Sequence[BaseEvent], client_tools: Container[str]) -> dict[str, str]:
    """Return the ids of the results in events by call; "" for calls that the run may answer yet."""
    answers: dict[str, str] = {}
    for event in events:
        match event:
            case agui.ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name):
                if name not in client_tools:
                    answers[call_id] = ""
            case agui.ToolCallResultEvent(tool_call_id=call_id, message_id=message_id):
                answers[call_id] = message_id
    return answers


def _emitted(events: Sequence[BaseEvent]) -> set[str]:
    """Return the ids of the messages that events emit from their beginning."""
    emitted: set[str] = set()
    for event in events:
        match event:
            case (
                agui.TextMessageStartEvent(message_id=message_id)
                | agui.ReasoningMessageStartEvent(message_id=message_id)
                | agui.ToolCallStartEvent(parent_message_id=str(message_id))
                | agui.ToolCallResultEvent(message_id=message_id)
            ):
                emitted.add(message_id)
    return emitted
