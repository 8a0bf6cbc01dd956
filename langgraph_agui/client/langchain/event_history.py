"""What one run of a remote agent has said so far.

In: the run's events, after the reducer has applied them. Out: the messages and calls that the reducer holds, also those
that a snapshot has dropped or renamed; events for what only a snapshot contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    Event,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunStartedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)

from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.message_store import StoredMessage, StoredToolCall, open_tool_calls


class EventHistory:
    """A run's reducer, with references to what it held before a snapshot dropped or renamed it.

    Args:
        fold: The run's reducer. It holds the messages that the agent was sent, and applies each event before `observe`
            gets it.
        joins_subagents: Whether subagents that no tool call began are parts of the agent itself.
    """

    def __init__(self, fold: Fold, *, joins_subagents: bool = False) -> None:
        self._store, self._joins_subagents = fold.conversation, joins_subagents
        self._own_runs: set[str | None] = {None}
        """The agent itself, which is None, and the subagent runs that are parts of it."""
        self.calls: dict[str, StoredToolCall] = {}
        """The calls that the agent was sent or has streamed."""
        self._messages: dict[str, StoredMessage] = {}
        """The assistant and reasoning messages that the agent was sent or has streamed."""
        self._earlier: set[str] = set()
        """The messages before the last user message."""
        self._snapshot: list[Message] = []
        for message in self._store.views():
            if isinstance(message, UserMessage):
                self._earlier = set(self._messages)
            elif isinstance(message, AssistantMessage | ReasoningMessage):
                self._add_message(message.id)
                for call in getattr(message, "tool_calls", None) or ():
                    self._add_call(call.id)
        self.sent_calls = frozenset(self.calls)
        """The calls that the agent was sent."""
        self.open_calls = self._find_open_calls()
        """The agent's own calls that it was sent without a result."""
        self.answered = self.sent_calls - self.open_calls.keys()

    def _add_message(self, message_id: str) -> None:
        held = self.find(message_id)
        if held is not None and held.model.role in ("assistant", "reasoning"):
            self._messages.setdefault(message_id, held)

    def _add_call(self, call_id: str) -> None:
        if (held := self._store.find_call(call_id)) is not None:
            self.calls.setdefault(call_id, held)

    def _find_open_calls(self) -> dict[str, ToolCall]:
        calls = open_tool_calls(self._store.views())
        return {call_id: call for call_id, call in calls.items() if self.own_holder(call_id) is not None}

    def observe(self, event: Event) -> None:
        """Note an event that the reducer has applied."""
        match event:
            case TextMessageStartEvent() | ReasoningMessageStartEvent():
                self._add_message(event.message_id)
            case ToolCallStartEvent() if self.own_holder(event.tool_call_id) is not None:
                self._add_call(event.tool_call_id)
            case ToolCallResultEvent() if event.tool_call_id in self.calls:
                self.answered |= {event.tool_call_id}
            case MessagesSnapshotEvent():
                self._snapshot = event.messages
            case RunStartedEvent() if event.input is not None:
                self.open_calls = self._find_open_calls()
            case SubagentStartedEvent() if self._joins_subagents and event.parent_tool_call_id is None:
                if event.parent_subagent_run_id in self._own_runs:
                    self._own_runs.add(event.subagent_run_id)

    def is_own(self, subagent_run_id: str | None) -> bool:
        """Return whether this subagent run, None for the parent agent, is the agent itself."""
        return subagent_run_id in self._own_runs

    def find(self, message_id: str) -> StoredMessage | None:
        """Return the message with this id."""
        return self._store.find(message_id)

    def own_message(self, event: TextMessageStartEvent | ReasoningMessageStartEvent) -> StoredMessage | None:
        """Return the message that `event` opens, if it is the agent's own reasoning or answer."""
        if isinstance(event, TextMessageStartEvent) and event.role not in (None, "assistant"):
            return None
        return self._if_own(self.find(event.message_id))

    def own_holder(self, call_id: str) -> StoredMessage | None:
        """Return the message that holds this call, if it is the agent's own."""
        return self._if_own(self._store.find_holder(call_id))

    def _if_own(self, held: StoredMessage | None) -> StoredMessage | None:
        if held is None or held.model.role not in ("assistant", "reasoning"):
            return None
        return held if self.is_own(held.model.subagent_run_id) else None

    def has_failed(self, result: ToolCallResultEvent) -> bool:
        """Return whether the tool has failed, as the event's metadata or a snapshot says."""
        held = self.find(result.message_id)
        error = getattr(held.model, "error", None) if held is not None else None
        return error is not None or (result.metadata or {}).get("status") == "error"

    def details(self, held: StoredMessage | StoredToolCall) -> dict[str, Any]:
        """Return what may change after a message or call has ended: `name`, `encrypted_value` and `metadata`.

        If a later snapshot leaves one of them out, it is the last that was known.
        """
        model = held.view()
        now = self._store.find_call(model.id) if isinstance(held, StoredToolCall) else self._store.find(model.id)
        return _values(("name", "encrypted_value", "metadata"), model, now.view() if now is not None else None)

    def result_details(self, results: Mapping[str, StoredMessage]) -> dict[str, dict[str, Any]]:
        """Return by call what was not known when its result came.

        This is the `error` and `encrypted_value` of the result, and its `id` if a snapshot has another one.

        Args:
            results: The results that have come, by call.
        """
        messages = [message for message in self._store.views() if isinstance(message, ToolMessage)]
        by_call = {message.tool_call_id: message for message in messages}
        by_both = {(message.tool_call_id, message.id): message for message in messages}
        found: dict[str, dict[str, Any]] = {}
        for call_id, held in results.items():
            result_id = held.model.id
            now = by_both.get((call_id, result_id)) or by_call.get(call_id)
            details = _values(("error", "encrypted_value"), held.view(), now)
            if now is not None and now.id != result_id:
                details["id"] = now.id
            if details:
                found[call_id] = details
        return found

    def missing_events(self) -> list[Event]:
        """Return events for what only a snapshot contains, from the last user message on.

        A server may give a message another id in a snapshot, so one with the same text is the same message. This
        ignores messages before the last user message: an answer may repeat an earlier one.
        """
        users = [place for place, message in enumerate(self._snapshot) if isinstance(message, UserMessage)]
        earlier = self._earlier if users else ()
        texts = {held.view().content for message_id, held in self._messages.items() if message_id not in earlier}
        events: list[Event] = []
        fresh, waiting = set[str](), self.calls.keys() - self.answered
        for message in self._snapshot[users[-1] + 1 if users else 0 :]:
            if message.subagent_run_id is not None:
                continue
            match message:
                case AssistantMessage() | ReasoningMessage() if message.id not in self._messages:
                    if message.content not in texts:
                        events += _text_events(message)
                    if isinstance(message, AssistantMessage):
                        calls = [call for call in message.tool_calls or () if call.id not in self.calls]
                        events += [event for call in calls for event in _call_events(call, message.id)]
                        fresh |= {call.id for call in calls}
                case ToolMessage() if message.tool_call_id in waiting | fresh:
                    events.append(result_event(message))
                    waiting -= {message.tool_call_id}
                    fresh -= {message.tool_call_id}
        # A result may have been streamed after the snapshot that introduced its call.
        late = (message for message in self._store.views() if isinstance(message, ToolMessage))
        events += [result_event(message) for message in late if message.tool_call_id in fresh]
        return events


def result_event(message: ToolMessage) -> ToolCallResultEvent:
    """Return the event that a result in a snapshot stands for."""
    return ToolCallResultEvent(
        message_id=message.id,
        tool_call_id=message.tool_call_id,
        content=message.content,
        metadata=message.metadata,
        subagent_run_id=message.subagent_run_id,
    )


def _values(keys: Iterable[str], *models: Message | ToolCall | None) -> dict[str, Any]:
    """Return the fields of the last model that has them."""
    found: dict[str, Any] = {}
    for model in models:
        found |= {key: value for key in keys if (value := getattr(model, key, None)) is not None}
    return found


def _text_events(message: AssistantMessage | ReasoningMessage) -> Iterator[Event]:
    if not message.content:
        return
    message_id, text, metadata = message.id, message.content, message.metadata
    if isinstance(message, AssistantMessage):
        yield TextMessageStartEvent(message_id=message_id, role="assistant", metadata=metadata)
        yield TextMessageContentEvent(message_id=message_id, delta=text)
        yield TextMessageEndEvent(message_id=message_id)
    else:
        yield ReasoningMessageStartEvent(message_id=message_id, role="reasoning", metadata=metadata)
        yield ReasoningMessageContentEvent(message_id=message_id, delta=text)
        yield ReasoningMessageEndEvent(message_id=message_id)


def _call_events(call: ToolCall, message_id: str) -> Iterator[Event]:
    yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.function.name, parent_message_id=message_id)
    yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.function.arguments)
    yield ToolCallEndEvent(tool_call_id=call.id)
