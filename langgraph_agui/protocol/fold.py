"""The messages and state of a client after a stream (AG-UI 1.0, client apply step).

Events enter, one by one; messages and state can be read at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, TypeAlias, overload

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Event, Message
from ag_ui.core.types import GeneratedBaseModel

from langgraph_agui.protocol.event_order import ChunkExpander
from langgraph_agui.protocol.message_store import MessageStore, StoredMessage
from langgraph_agui.protocol.patch import MAX_WEIGHT, Allowance, Document, PatchError, TooHeavyError
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.wire import refuse, wire_fields

_TextContent: TypeAlias = agui.TextMessageContentEvent | agui.ReasoningMessageContentEvent
_TextEnd: TypeAlias = agui.TextMessageEndEvent | agui.ReasoningMessageEndEvent

_MESSAGES_BY_ROLE: Final[Mapping[str, Callable[..., Message]]] = {
    "user": agui.UserMessage,
    "system": agui.SystemMessage,
    "developer": agui.DeveloperMessage,
}


class Fold:
    """Messages and state, kept up to date event by event as the reference client keeps them.

    The order of events is not judged; `Verifier` does that. Deltas cost the same however long a
    message is.

    Args:
        messages: The messages that the client had before the stream.
        state: The state that it had.
        max_weight: Bytes of JSON that patches may make of the state, or of the content of an
            activity, and that they may copy in all.

    Attributes:
        conversation: The live messages behind `messages`.
        warnings: The client's complaints on its console while it applies the events.
    """

    def __init__(
        self, messages: Iterable[Message] = (), state: object = None, max_weight: int = MAX_WEIGHT
    ) -> None:
        self.conversation = MessageStore(messages)
        self._chunks = ChunkExpander()
        self._allowance = Allowance(max_weight)
        self._state = Document({} if state is None else state, self._allowance)
        # The contents of activities that were patched, by message id.
        self._activities: dict[str, Document] = {}
        self.warnings: list[str] = []

    @property
    def messages(self) -> list[Message]:
        """The messages in the client's order. They are shared with the fold and the events: read
        only.
        """
        return self.conversation.views()

    @property
    def state(self) -> object:
        """The shared state. It may share parts with the events: read only."""
        return self._state.value

    def feed(self, event: Event | Mapping[str, object]) -> None:
        """Apply one event, chunks included: an SDK event as it is, a wire object after
        `parse_event`.

        Raises:
            ProtocolError: A wire object or a chunk is malformed, or a patch makes too large a
                document (`document-too-heavy`).
        """
        parsed = event if isinstance(event, BaseEvent) else parse_event(event)
        if parsed is not None:
            for expanded in self._chunks.feed(parsed):
                self.apply(expanded)

    def apply(self, event: Event) -> None:
        """Apply one event that is no chunk, such as an event that a `Verifier` has expanded.

        Raises:
            ProtocolError: A patch makes too heavy a document (`document-too-heavy`).
        """
        match event:
            case agui.TextMessageContentEvent() | agui.ReasoningMessageContentEvent():
                self._text(event, event.delta)
            case agui.ToolCallArgsEvent() | agui.ToolCallEndEvent():
                self._call(event)
            case agui.TextMessageEndEvent() | agui.ReasoningMessageEndEvent():
                self._text(event, None)
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                self._begin_text(event)
            case agui.ToolCallStartEvent():
                self._begin_call(event)
            case agui.ToolCallResultEvent():
                self._result(event)
            case agui.StateSnapshotEvent():
                self._state = Document(event.snapshot, self._allowance)
            case _:
                self._apply_rare(event)

    def _apply_rare(self, event: Event) -> None:
        match event:
            case agui.StateDeltaEvent():
                self._patch(self._state, event.delta, event, "state patch")
            case agui.MessagesSnapshotEvent():
                self.conversation.restate(event.messages, _kept_by(event))
            case agui.ActivitySnapshotEvent():
                self._activity(event)
            case agui.ActivityDeltaEvent():
                self._patch_activity(event)
            case agui.ReasoningEncryptedValueEvent():
                # One whose target is not held is lost without a warning, as in the client.
                if (entity := self.conversation.find_entity(event)) is not None:
                    entity.update(encrypted_value=event.encrypted_value)
            case agui.RunStartedEvent() if event.input is not None:
                for message in event.input.messages:
                    if self.conversation.find(message.id) is None:
                        self.conversation.add(message)

    def _warn(self, event: Event, reason: str) -> None:
        self.warnings.append(f"{event.type.value}: {reason}")

    def _patch(
        self, document: Document, patch: Iterable[GeneratedBaseModel], event: Event, what: str
    ) -> bool:
        """Apply a patch; return whether it fits. One that does not fit changes nothing and is a
        warning.
        """
        try:
            document.patch(map(wire_fields, patch))
        except TooHeavyError as error:
            refuse("document-too-heavy", event, f"the {what} is refused: {error}")
        except PatchError as error:
            self._warn(event, f"the {what} fails: {error}")
            return False
        return True

    # -- text and reasoning -----------------------------------------------------------------------

    def _begin_text(
        self, event: agui.TextMessageStartEvent | agui.ReasoningMessageStartEvent
    ) -> None:
        stored = self.conversation.find(event.message_id)
        if stored is None:
            fields: dict[str, Any] = {
                "id": event.message_id,
                "subagent_run_id": event.subagent_run_id,
                "content": "",
            }
            make: Callable[..., Message] = agui.ReasoningMessage
            if isinstance(event, agui.TextMessageStartEvent):
                make = _MESSAGES_BY_ROLE.get(event.role or "", agui.AssistantMessage)
                fields["name"] = event.name
            stored = self.conversation.add(make(**fields))
        elif stored.model.role == "activity":
            self._warn(event, f"message {event.message_id!r} is an activity")
            return
        stored.merge(event.metadata)

    def _text(self, event: _TextContent | _TextEnd, delta: str | None) -> None:
        stored = self.conversation.find(event.message_id)
        if stored is None or stored.model.role == "activity":
            problem = "is not held" if stored is None else "is an activity"
            self._warn(event, f"message {event.message_id!r} {problem}")
            return
        if delta is not None:
            stored.append(delta)
        stored.merge(event.metadata)

    # -- tool calls -------------------------------------------------------------------------------

    def _begin_call(self, event: agui.ToolCallStartEvent) -> None:
        call = self.conversation.find_call(event.tool_call_id)
        if call is None:
            call = self.conversation.add_call(
                self._holder(event), event.tool_call_id, event.tool_call_name
            )
        elif call.name != event.tool_call_name:
            self._warn(
                event,
                f"call {event.tool_call_id!r} was {call.name!r} and becomes "
                f"{event.tool_call_name!r}",
            )
            call.update(
                function=call.model.function.model_copy(update={"name": event.tool_call_name})
            )
        call.merge(event.metadata)

    def _holder(self, event: agui.ToolCallStartEvent) -> StoredMessage:
        """Return the assistant message that a new call goes into: its parent, else one of its
        own.
        """
        message_id = event.tool_call_id
        if event.parent_message_id:
            parent = self.conversation.find(event.parent_message_id)
            if parent is None:
                message_id = event.parent_message_id
            elif parent.model.role == "assistant":
                return parent
            else:
                self._warn(
                    event, f"parent {event.parent_message_id!r} is a {parent.model.role} message"
                )
        subagent_run_id = (
            event.subagent_run_id if self.conversation.find(message_id) is None else None
        )
        message = agui.AssistantMessage(
            id=message_id, tool_calls=[], subagent_run_id=subagent_run_id
        )
        return self.conversation.add(message)

    def _call(self, event: agui.ToolCallArgsEvent | agui.ToolCallEndEvent) -> None:
        call = self.conversation.find_call(event.tool_call_id)
        if call is None:
            self._warn(event, f"no message has call {event.tool_call_id!r}")
            return
        if isinstance(event, agui.ToolCallArgsEvent):
            call.append(event.delta)
        call.merge(event.metadata)

    def _result(self, event: agui.ToolCallResultEvent) -> None:
        message = agui.ToolMessage(
            id=event.message_id,
            tool_call_id=event.tool_call_id,
            content=event.content,
            subagent_run_id=event.subagent_run_id,
        )
        self.conversation.add_result(message).merge(event.metadata)

    # -- activities -------------------------------------------------------------------------------

    def _activity(self, event: agui.ActivitySnapshotEvent) -> None:
        stored, replace = self.conversation.find(event.message_id), event.replace is not False
        new = agui.ActivityMessage(
            id=event.message_id,
            activity_type=event.activity_type,
            content=event.content,
            subagent_run_id=event.subagent_run_id,
        )
        if stored is None:
            stored = self.conversation.add(new)
        elif stored.model.role == "activity":
            if replace:
                stored.model = new.model_copy(update={"metadata": stored.model.metadata})
        elif replace:
            stored = self.conversation.replace(stored, new)
        else:
            return
        stored.merge(event.metadata)

    def _patch_activity(self, event: agui.ActivityDeltaEvent) -> None:
        stored = self.conversation.find(event.message_id)
        if stored is None:
            return
        if stored.model.role != "activity":
            self._warn(event, f"message {event.message_id!r} is not an activity")
            return
        stored.merge(event.metadata)
        document = self._activities.get(event.message_id)
        # a snapshot has replaced it
        if document is None or document.value is not stored.model.content:
            document = self._activities[event.message_id] = Document(
                stored.model.content, self._allowance
            )
        if self._patch(document, event.patch, event, f"patch of activity {event.message_id!r}"):
            stored.update(content=document.value, activity_type=event.activity_type)


@overload
def fold(
    events: Iterable[Event | Mapping[str, object]],
    messages: Iterable[Message] = ...,
    state: object = ...,
) -> Fold: ...
@overload
def fold(
    events: AsyncIterable[Event | Mapping[str, object]],
    messages: Iterable[Message] = ...,
    state: object = ...,
) -> Coroutine[Any, Any, Fold]: ...
def fold(
    events: Iterable[Event | Mapping[str, object]] | AsyncIterable[Event | Mapping[str, object]],
    messages: Iterable[Message] = (),
    state: object = None,
) -> Fold | Coroutine[Any, Any, Fold]:
    """Return the `Fold` of a whole stream, chunks included; see there for the arguments and errors.

    The result for an asynchronous stream is awaited: `await fold(agent.run(run_input))`.
    """
    result = Fold(messages, state)
    if isinstance(events, AsyncIterable) and not isinstance(events, Iterable):
        return _fold_async(events, result)
    for event in events:
        result.feed(event)
    return result


async def _fold_async(events: AsyncIterable[Event | Mapping[str, object]], result: Fold) -> Fold:
    async for event in events:
        result.feed(event)
    return result


def _kept_by(event: agui.MessagesSnapshotEvent) -> Callable[[Message], bool]:
    """Return which messages survive being left out: those whose kind the snapshot does not own.

    By the client package's convention, metadata may name the activity types that it owns; None
    means all.
    """
    roles = {message.role for message in event.messages}
    convention = (event.metadata or {}).get("@ag-ui/client", {})
    types = (
        convention.get("authoritativeActivityTypes", ...) if isinstance(convention, Mapping) else []
    )
    is_list_of_types = isinstance(types, list) and all(isinstance(item, str) for item in types)

    def keep(message: Message) -> bool:
        if not isinstance(message, agui.ActivityMessage):
            return message.role == "reasoning" and "reasoning" not in roles
        if types is ...:
            return "activity" not in roles
        return types is not None and not (is_list_of_types and message.activity_type in types)

    return keep
