"""The history of one run of a remote agent.

In: the run's events, after the reducer has applied them. Out: the messages and calls that the
reducer holds, also those that a snapshot has dropped or renamed; events for those that only a
snapshot contains.
"""

from collections.abc import Iterable
from typing import Any

from ag_ui import core as agui

from langgraph_agui.protocol.event_order import ChunkExpander, Growing
from langgraph_agui.protocol.message_store import (
    MessageStore,
    StoredMessage,
    StoredToolCall,
    open_tool_calls,
)


class EventHistory:
    """The messages and calls of a run, also those that a snapshot has dropped or renamed.

    Attributes:
        store: The messages that the reducer holds.
        calls: The calls that the agent was sent or has streamed, by id.
        sent_calls: The ids of the calls that the agent was sent.
        open_calls: The agent's own calls that it was sent without a result, by id.
        answered: The ids of the calls that have a result.
        results: The first result of each call, streamed or from a snapshot, by call.

    Args:
        store: The messages of the run's reducer: those that the agent was sent. The reducer applies
            each event before `observe` gets it.
        joins_subagents: Whether subagents that no tool call began are parts of the agent itself.
    """

    def __init__(self, store: MessageStore, *, joins_subagents: bool = False) -> None:
        self.store, self._joins_subagents = store, joins_subagents
        # The subagent runs that are the agent itself. None is the agent without subagents.
        self._own_runs: set[str | None] = {None}
        self._snapshot: list[agui.Message] = []
        self.calls: dict[str, StoredToolCall] = {}
        # The assistant and reasoning messages that the agent was sent or has streamed.
        self._messages: dict[str, StoredMessage] = {}
        # Those of them before the last user message.
        self._earlier: set[str] = set()
        # The calls that have a result before them: a history may be in the wrong order.
        answered_before: set[str] = set()
        for message in self.store.views():
            if isinstance(message, agui.UserMessage):
                self._earlier = set(self._messages)
            elif isinstance(message, agui.ToolMessage) and message.tool_call_id not in self.calls:
                answered_before.add(message.tool_call_id)
            self._add_message(message.id)
            for call in getattr(message, "tool_calls", None) or ():
                self._add_call(call.id)
        self.sent_calls = frozenset(self.calls)
        self.open_calls = self._find_open_calls()
        self.answered = {*(self.sent_calls - self.open_calls.keys()), *answered_before}
        self.results: dict[str, StoredMessage] = {}

    def _add_message(self, message_id: str) -> None:
        stored = self.store.find(message_id)
        if stored is not None and stored.model.role in ("assistant", "reasoning"):
            self._messages.setdefault(message_id, stored)

    def _add_call(self, call_id: str) -> None:
        if (stored := self.store.find_call(call_id)) is not None:
            self.calls.setdefault(call_id, stored)

    def _add_result(self, result: agui.ToolCallResultEvent) -> None:
        stored, is_own = self.store.find(result.message_id), self.is_own(result.subagent_run_id)
        if stored is not None and is_own and result.tool_call_id in self.calls:
            self.results.setdefault(result.tool_call_id, stored)

    def _find_open_calls(self) -> dict[str, agui.ToolCall]:
        calls = open_tool_calls(self.store.views()).items()
        return {key: call for key, call in calls if self.own_holder(key) is not None}

    def receive(self, event: agui.Event) -> list[agui.Event]:
        """Observe an event and return it.

        If it ends the run, events for messages and calls that only a snapshot contains come first.
        """
        events = [event]
        if isinstance(event, Growing):
            return events
        if self._snapshot and isinstance(event, agui.RunFinishedEvent):
            expander, missing = ChunkExpander(), self._missing_events()
            events = [one for chunk in [*missing, event] for one in expander.feed(chunk)]
        for one in events:
            self.observe(one)
        return events

    def observe(self, event: agui.Event) -> None:
        """Note an event that the reducer has applied."""
        match event:
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                self._add_message(event.message_id)
            case agui.ToolCallStartEvent() if self.own_holder(event.tool_call_id) is not None:
                self._add_call(event.tool_call_id)
            case agui.ToolCallResultEvent() if event.tool_call_id in self.calls:
                self.answered.add(event.tool_call_id)
                self._add_result(event)
            case agui.MessagesSnapshotEvent():
                self._snapshot = event.messages
                for result in results_in(event.messages):
                    self._add_result(result)
            case agui.RunStartedEvent() if event.input is not None:
                self.open_calls = self._find_open_calls()
            case agui.SubagentStartedEvent(parent_tool_call_id=None) if self._joins_subagents:
                if event.parent_subagent_run_id in self._own_runs:
                    self._own_runs.add(event.subagent_run_id)

    def is_own(self, subagent_run_id: str | None) -> bool:
        """Return whether this subagent run, None for the parent agent, is the agent itself."""
        return subagent_run_id in self._own_runs

    def own_message(self, message_id: str) -> StoredMessage | None:
        """Return this message, if it is the agent's own reasoning or answer."""
        return self._if_own(self.store.find(message_id))

    def own_holder(self, call_id: str) -> StoredMessage | None:
        """Return the message that holds this call, if it is the agent's own."""
        return self._if_own(self.store.find_holder(call_id))

    def _if_own(self, stored: StoredMessage | None) -> StoredMessage | None:
        if stored is None or stored.model.role not in ("assistant", "reasoning"):
            return None
        return stored if self.is_own(stored.model.subagent_run_id) else None

    def has_failed(self, result: agui.ToolCallResultEvent) -> bool:
        """Return whether the tool has failed, by the event's metadata or a snapshot."""
        stored = self.store.find(result.message_id)
        has_error = stored is not None and getattr(stored.model, "error", None) is not None
        return has_error or (result.metadata or {}).get("status") == "error"

    def details(self, stored: StoredMessage | StoredToolCall) -> dict[str, Any]:
        """Return the `name`, `encrypted_value` and `metadata` of a message or call as last known.

        They may change after its end. One that a later snapshot leaves out stays.
        """
        model, names = stored.view(), ("name", "encrypted_value", "metadata")
        is_call = isinstance(stored, StoredToolCall)
        now = self.store.find_call(model.id) if is_call else self.store.find(model.id)
        return fields_of(model, *names) | fields_of((now or stored).view(), *names)

    def result_details(self) -> dict[str, dict[str, Any]]:
        """Return, by call, the details that may become known after its result.

        They are the result's `error` and `encrypted_value`, and its `id` if a snapshot has another.
        """
        messages = reversed(self.store.views())  # of two results of one call, the first counts
        by_call = {
            message.tool_call_id: message
            for message in messages
            if isinstance(message, agui.ToolMessage)
        }
        found: dict[str, dict[str, Any]] = {}
        for call_id, stored in self.results.items():
            now = by_call.get(call_id, stored.model)
            names = ("error", "encrypted_value", *(["id"] if now.id != stored.model.id else []))
            found[call_id] = fields_of(stored.model, *names) | fields_of(now, *names)
        return {call_id: details for call_id, details in found.items() if details}

    def _missing_events(self) -> list[agui.Event]:
        """Return events for messages that only a snapshot has, from the last user message on.

        A server may give a message another id in a snapshot, so one with the same text is the same
        message. This ignores messages before the last user message: an answer may repeat an earlier
        one.
        """
        messages = [message for message in self._snapshot if message.subagent_run_id is None]
        users = [place for place, one in enumerate(messages) if isinstance(one, agui.UserMessage)]
        known = {*self._messages}
        if users:
            messages = messages[users[-1] + 1 :]
            known -= self._earlier
        texts = {self._messages[message_id].view().content for message_id in known}
        waiting = self.calls.keys() - self.answered
        results = results_in(messages)
        events: list[agui.Event] = [one for one in results if one.tool_call_id in waiting]
        # A result may have been streamed after the snapshot that introduced its call.
        by_call = {result.tool_call_id: result for result in results_in(self.store.views())}
        for message in messages:
            if message.id in self._messages:
                continue
            if not isinstance(message, agui.AssistantMessage | agui.ReasoningMessage):
                continue
            text, metadata = message.content, message.metadata
            if text and text not in texts:
                is_answer = message.role == "assistant"
                kind = agui.TextMessageChunkEvent if is_answer else agui.ReasoningMessageChunkEvent
                events.append(kind(message_id=message.id, delta=text, metadata=metadata))
            held = getattr(message, "tool_calls", None) or ()
            calls = [call for call in held if call.id not in self.calls]
            events += [
                agui.ToolCallChunkEvent(
                    tool_call_id=call.id,
                    tool_call_name=call.function.name,
                    parent_message_id=message.id,
                    delta=call.function.arguments,
                )
                for call in calls
            ]
            events += [by_call[call.id] for call in calls if call.id in by_call]
        return events


def fields_of(model: agui.Message | agui.ToolCall | agui.Event, *names: str) -> dict[str, Any]:
    """Return those of the fields that have a value."""
    return {name: value for name in names if (value := getattr(model, name, None)) is not None}


def results_in(messages: Iterable[agui.Message]) -> list[agui.ToolCallResultEvent]:
    """Return the results among the messages, each as the event that it stands for."""
    return [
        agui.ToolCallResultEvent(
            message_id=message.id,
            tool_call_id=message.tool_call_id,
            content=message.content,
            metadata=message.metadata,
            subagent_run_id=message.subagent_run_id,
        )
        for message in messages
        if isinstance(message, agui.ToolMessage)
    ]
