"""Clients of before AG-UI 1.0: the events of a run enter, in the form of 1.0; those that such a client takes leave.

docs/frontends.md says what each generation does with what it does not know. Nothing else knows of these clients.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Message, RunAgentInput
from pydantic import BaseModel

from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.protocol.patch import apply_patch
from langgraph_agui.protocol.wire import wire_fields
from langgraph_agui.settings import AgentContext
from langgraph_agui.translate.event_sinks import Sink, Writer

ModelT = TypeVar("ModelT", bound=BaseModel)


def sink_for_client(sink: Sink, agent: AgentContext, run_input: RunAgentInput) -> Sink:
    """Return a sink that gives a client the events in its form, and passes them to `sink`.

    Args:
        sink: Receives the client's events. For a client of 1.0 it is returned as it is.
        agent: What the agent decides.
        run_input: The client's input.
    """
    if not agent.settings.is_old_client(run_input):
        return sink
    return OldClientSink(sink, run_input, shows_subagents=agent.settings.subagents == "attributed")


class OldClientSink:
    """A sink for one client of before 1.0.

    - `RUN_FINISHED` has an outcome only if that is an interrupt: those clients refuse `cancelled` and
      `pendingToolCallIds`, and take an explicit success for "no tool is to be run here".
    - The first state of a run is a snapshot: CopilotKit's runtime applies the patches of a run to an empty state.
    - A snapshot of messages that the client has anyway is left out: assistant-ui shows its reasoning a second time.
      After a tool loop that ends with text it is sent: assistant-ui has put what comes before the text into the message
      before, and needs it to set that right. Of such a snapshot it shows nothing twice.
    - Unless `shows_subagents`, what subagents emit looks like the agent's own: clients up to 0.0.58 fail otherwise.

    Args:
        sink: Receives the client's events.
        run_input: The client's input.
        shows_subagents: Whether the client is known to take subagents.
    """

    def __init__(self, sink: Sink, run_input: RunAgentInput, *, shows_subagents: bool) -> None:
        self._sink = sink
        self._shows_subagents = shows_subagents
        # The state that the client holds, until it gets one in this run.
        self._state: object = run_input.state
        self._has_state = False
        self._messages = _ClientMessages(run_input.messages)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return what receives the fragments of a block."""
        write = self._sink.writer(kind, block_id, subagent_run_id if self._shows_subagents else None)
        words = self._messages.words[block_id]

        def write_and_note(text: str) -> None:
            words.append(text)
            write(text)

        return write_and_note

    def event(self, event: BaseEvent) -> None:
        """Pass an event on, unless the client does not take it or does not need it."""
        if not self._shows_subagents:
            if isinstance(event, agui.SubagentStartedEvent | agui.SubagentFinishedEvent | agui.SubagentErrorEvent):
                return
            event = _inline(event)
        match event:
            case agui.MessagesSnapshotEvent():
                if not self._messages.end_with_text and self._messages.are(event.messages):
                    return
                self._messages = _ClientMessages(event.messages)
            case agui.StateSnapshotEvent():
                self._has_state = True
            case agui.StateDeltaEvent() if not self._has_state:
                self._has_state = True
                operations = [wire_fields(operation) for operation in event.delta]
                event = agui.StateSnapshotEvent(snapshot=apply_patch(self._state, operations))
            case agui.RunFinishedEvent() if not isinstance(event.outcome, agui.RunFinishedInterruptOutcome):
                event = event.model_copy(update={"outcome": None})
            case _:
                self._messages.receive(event)
        self._sink.event(event)


class _ClientMessages:
    """What a client holds: messages as it sent them, and the words of those that it gets.

    Args:
        held: The messages that it sent, or got in a snapshot.

    Attributes:
        words: What it has got of each message and each call, by id.
        end_with_text: Whether the last message began with text, behind another one of this run.
    """

    def __init__(self, held: Sequence[Message]) -> None:
        self._held = _by_id(held)
        self.words: defaultdict[str, list[str]] = defaultdict(list)
        self._values: dict[str, str] = {}
        self._answer: str | None = None
        self.end_with_text = False

    def receive(self, event: BaseEvent) -> None:
        """Note what the client gets with an event. Fragments of a block come to `words` without one."""
        match event:
            case agui.TextMessageContentEvent() | agui.ReasoningMessageContentEvent():
                self.words[event.message_id].append(event.delta)
            case agui.ToolCallArgsEvent():
                self.words[event.tool_call_id].append(event.delta)
            case agui.ToolCallResultEvent():
                self.words[event.message_id] = [str(event.content)]
            case agui.TextMessageStartEvent(message_id=message_id):
                self.words.setdefault(message_id, [])
                self.end_with_text |= self._answer not in (None, message_id)
                self._answer = message_id
            case agui.ToolCallStartEvent(parent_message_id=str(message_id)):
                self.words.setdefault(message_id, [])
                self._answer = self._answer or message_id
            case agui.ReasoningMessageStartEvent():
                self.words.setdefault(event.message_id, [])
                self.end_with_text = False
            case agui.ReasoningEncryptedValueEvent():
                self._values[event.entity_id] = event.encrypted_value

    def are(self, messages: Sequence[Message]) -> bool:
        """Return whether the client holds exactly these messages.

        No event has the `error` of a failed tool. A snapshot brings it, if no reasoning is shown twice for it.
        """
        new = [message for message in messages if message.id in self.words]
        if any(one.role == "tool" and one.error for one in new) and all(one.role != "reasoning" for one in messages):
            return False
        calls = {call.id for message in messages for call in _calls(message)}
        known = self._held.keys() | (self.words.keys() - calls)
        return known == _by_id(messages).keys() and all(map(self._holds, messages))

    def _holds(self, message: Message) -> bool:
        if message.id not in self.words:
            return self._held.get(message.id) == message
        value = None if isinstance(message, agui.ActivityMessage) else message.encrypted_value
        entities: list[tuple[str, object, str | None]] = [(message.id, message.content or "", value)]
        entities += [(call.id, call.function.arguments, call.encrypted_value) for call in _calls(message)]
        return all(
            "".join(self.words[entity_id]) == str(words) and self._values.get(entity_id) == value
            for entity_id, words, value in entities
        )


def _calls(message: Message) -> Sequence[agui.ToolCall]:
    return (message.tool_calls or ()) if isinstance(message, agui.AssistantMessage) else ()


def _by_id(messages: Sequence[Message]) -> dict[str, Message]:
    """Return the messages by their ids, without activities, which no snapshot of a run holds."""
    return {message.id: message for message in messages if not isinstance(message, agui.ActivityMessage)}


def _inline(event: BaseEvent) -> BaseEvent:
    """Return the event without the ids of subagents."""
    match event:
        case agui.MessagesSnapshotEvent():
            return event.model_copy(update={"messages": [_unattributed(message) for message in event.messages]})
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
