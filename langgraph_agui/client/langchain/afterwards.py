"""What a run tells of its messages when they are over: snapshots of those never streamed, and late encrypted values.

In: the events of the run. Out: those that would have said what only a snapshot has; messages with their last values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    Event,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.client.langchain.history import AGUI


class Heard:
    """What is known of a conversation: what events have told, and what only snapshots have.

    Args:
        history: The messages that the agent was sent.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        self.calls: dict[str, str] = {}
        """The calls, each with its tool."""
        self.answered: set[str] = set()
        """The calls that have results."""
        self.values: dict[str, dict[str, str]] = {"message": {}, "tool-call": {}}
        """The encrypted values of messages and of calls."""
        self.snapshot: list[Message] = []
        """The last one."""
        self._texts: dict[str, list[str]] = {}
        """What is said and thought, by message."""
        self._past: set[str] = set()
        """The messages before the last user message."""
        for message in history:
            match message:
                case UserMessage():
                    self._past = {*self._texts}
                case AssistantMessage() | ReasoningMessage():
                    self._texts[message.id] = [message.content or ""]
                    calls = message.tool_calls if isinstance(message, AssistantMessage) else None
                    self.calls.update((call.id, call.function.name) for call in calls or ())
                case ToolMessage():
                    self.answered.add(message.tool_call_id)

    def take(self, event: Event) -> None:
        """Note what an event tells."""
        match event:
            case MessagesSnapshotEvent():
                self.snapshot = event.messages
                for kind, values in _values_in(event.messages).items():
                    self.values[kind].update(values)
            case TextMessageStartEvent() | ReasoningMessageStartEvent():
                self._texts.setdefault(event.message_id, [])
            case TextMessageContentEvent() | ReasoningMessageContentEvent():
                self._texts.setdefault(event.message_id, []).append(event.delta)
            case ToolCallStartEvent() if event.subagent_run_id is None:
                self.calls[event.tool_call_id] = event.tool_call_name
            case ToolCallResultEvent() if event.subagent_run_id is None:
                self.answered.add(event.tool_call_id)
            case ReasoningEncryptedValueEvent():
                self.values[event.subtype][event.entity_id] = event.encrypted_value

    def unsaid(self) -> list[Event]:
        """Return what only a snapshot has told since the last user message, as events.

        Servers may give messages other ids in snapshots, so what says the same is the same; an answer to an earlier
        question is another one, whatever it says.
        """
        users = [place for place, message in enumerate(self.snapshot) if isinstance(message, UserMessage)]
        past = self._past if users else ()
        known = {"".join(pieces) for one, pieces in self._texts.items() if one not in past}
        events: list[Event] = []
        fresh = set[str]()
        for message in self.snapshot[users[-1] + 1 if users else 0 :]:
            if message.subagent_run_id is not None:
                continue
            match message:
                case AssistantMessage() | ReasoningMessage() if message.id not in self._texts:
                    events += _spoken(message, known)
                    if isinstance(message, AssistantMessage):
                        fresh |= {call.id for call in message.tool_calls or () if call.id not in self.calls}
                        events += _called(message, fresh)
                case ToolMessage() if message.tool_call_id in {*self.calls, *fresh} - self.answered:
                    events += _answered(message)
        return events


def _spoken(message: AssistantMessage | ReasoningMessage, known: Collection[str]) -> Iterable[Event]:
    if not message.content or message.content in known:
        return
    if isinstance(message, AssistantMessage):
        yield TextMessageStartEvent(message_id=message.id, role="assistant", metadata=message.metadata)
        yield TextMessageContentEvent(message_id=message.id, delta=message.content)
        yield TextMessageEndEvent(message_id=message.id)
    else:
        yield ReasoningMessageStartEvent(message_id=message.id, role="reasoning", metadata=message.metadata)
        yield ReasoningMessageContentEvent(message_id=message.id, delta=message.content)
        yield ReasoningMessageEndEvent(message_id=message.id)
    yield from _value("message", message.id, message.encrypted_value)


def _called(message: AssistantMessage, fresh: Collection[str]) -> Iterable[Event]:
    for call in message.tool_calls or ():
        if call.id in fresh:
            name, arguments = call.function.name, call.function.arguments
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=name, parent_message_id=message.id)
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=arguments)
            yield ToolCallEndEvent(tool_call_id=call.id)
            yield from _value("tool-call", call.id, call.encrypted_value)


def _answered(message: ToolMessage) -> Iterable[Event]:
    metadata = {**(message.metadata or {}), "status": "error"} if message.error is not None else message.metadata
    yield ToolCallResultEvent(
        message_id=message.id, tool_call_id=message.tool_call_id, content=message.content, metadata=metadata
    )
    yield from _value("message", message.id, message.encrypted_value)


def _value(subtype: Any, entity: str, value: str | None) -> Iterable[Event]:
    if value is not None:
        yield ReasoningEncryptedValueEvent(subtype=subtype, entity_id=entity, encrypted_value=value)


def _values_in(messages: Iterable[Message]) -> dict[str, dict[str, str]]:
    """The encrypted values in a snapshot, by the ids of messages and of calls."""
    messages = list(messages)
    calls = [call for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls or ()]
    spoken = {one.id: value for one in messages if (value := getattr(one, "encrypted_value", None)) is not None}
    return {"message": spoken, "tool-call": {one.id: one.encrypted_value for one in calls if one.encrypted_value}}


def sealed(message: BaseMessage, values: Mapping[str, str], calls: Mapping[str, str]) -> BaseMessage:
    """Return `message` with the encrypted values that came last, by the ids of its AG-UI messages and calls.

    It is `message` itself if those are its own.
    """
    told = message.additional_kwargs[AGUI]
    if not isinstance(message, AIMessage):
        new = {**told, **_sealing(values, told.get("id", ""))}
        return message if new == told else message.model_copy(update={"additional_kwargs": {AGUI: new}})
    blocks = [block for block in message.content if isinstance(block, dict)]
    held = {block["id"] for block in blocks if block.get("type") == "text" and "id" in block}
    held |= {call["message_id"] for call in told.get("calls", {}).values() if "message_id" in call}
    parts = {
        "messages": {one: {**told.get("messages", {}).get(one, {}), **_sealing(values, one)} for one in held},
        "calls": {one: {**call, **_sealing(calls, one)} for one, call in told.get("calls", {}).items()},
    }
    new = {**told, **{key: {one: has for one, has in part.items() if has} for key, part in parts.items()}}
    new = {key: value for key, value in new.items() if value}
    content = [_thought(block, values) if isinstance(block, dict) else block for block in message.content]
    if new == told and (content == message.content or isinstance(message.content, str)):
        return message
    return message.model_copy(
        update={"content": content, "additional_kwargs": {**message.additional_kwargs, AGUI: new}}
    )


def _thought(block: dict[Any, Any], values: Mapping[str, str]) -> dict[Any, Any]:
    if block.get("type") != "reasoning" or block.get("id") not in values:
        return block
    return {**block, "extras": {**block.get("extras", {}), **_sealing(values, block["id"])}}


def _sealing(values: Mapping[str, str], one: str) -> dict[str, str]:
    return {"encrypted_value": values[one]} if one in values else {}
