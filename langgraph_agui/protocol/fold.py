"""What a client holds after a stream: its messages and state (AG-UI 1.0, client apply step)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    AssistantMessage,
    BaseEvent,
    DeveloperMessage,
    Event,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    SystemMessage,
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

from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.message_store import MessageStore, StoredMessage
from langgraph_agui.protocol.patch import PatchError, apply_patch
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.wire import wire_fields


class Fold:
    """Messages and state, kept up to date event by event as the reference client keeps them.

    ``messages`` and ``state`` are what the client held before the stream. The order of events is not judged
    (that is :class:`~langgraph_agui.protocol.verify.Verifier`'s part); ``warnings`` collects what the client
    would complain about on its console while applying. Deltas cost the same however long a message is.
    """

    def __init__(self, messages: Iterable[Message] = (), state: object = None) -> None:
        self.conversation = MessageStore(messages)
        """The live messages behind ``messages``."""
        self._chunks = ChunkExpander()
        self._state: object = {} if state is None else state
        self.warnings: list[str] = []

    @property
    def messages(self) -> list[Message]:
        """The messages in the client's order. They are shared with the fold and the events: read only."""
        return self.conversation.views()

    @property
    def state(self) -> object:
        """The shared state. It may share parts with the events: read only."""
        return self._state

    def feed(self, event: Event | Mapping[str, object]) -> None:
        """Apply one event, chunks included.

        An SDK event is taken as it is; a wire object passes
        :func:`~langgraph_agui.protocol.schema.parse_event` first. Raises
        :class:`~langgraph_agui.protocol.wire.ProtocolError` for a malformed wire object or chunk.
        """
        parsed = event if isinstance(event, BaseEvent) else parse_event(event)
        if parsed is not None:
            for expanded in self._chunks.feed(parsed):
                self.apply(expanded)

    def apply(self, event: Event) -> None:
        """Apply one event that is no chunk, such as an event that a `Verifier` has expanded."""
        match event:
            case TextMessageContentEvent() | ReasoningMessageContentEvent():
                self._text(event, event.delta)
            case ToolCallArgsEvent() | ToolCallEndEvent():
                self._call(event)
            case TextMessageEndEvent() | ReasoningMessageEndEvent():
                self._text(event, None)
            case TextMessageStartEvent() | ReasoningMessageStartEvent():
                self._begin_text(event)
            case ToolCallStartEvent():
                self._begin_call(event)
            case ToolCallResultEvent():
                self._result(event)
            case ReasoningEncryptedValueEvent():
                self._encrypt(event)
            case StateSnapshotEvent() | StateDeltaEvent():
                self._update_state(event)
            case _:
                self._apply_rare(event)

    def _apply_rare(self, event: Event) -> None:
        match event:
            case MessagesSnapshotEvent():
                self.conversation.restate(event.messages, _kept_by(event))
            case ActivitySnapshotEvent():
                self._activity(event)
            case ActivityDeltaEvent():
                self._patch_activity(event)
            case RunStartedEvent() if event.input is not None:
                for message in event.input.messages:
                    if self.conversation.find(message.id) is None:
                        self.conversation.add(message)

    def _warn(self, event: Event, reason: str) -> None:
        self.warnings.append(f"{event.type.value}: {reason}")

    def _begin_text(self, event: TextMessageStartEvent | ReasoningMessageStartEvent) -> None:
        held = self.conversation.find(event.message_id)
        if held is None:
            held = self.conversation.add(_new_message(event))
        elif held.model.role == "activity":
            self._warn(event, f"message {event.message_id!r} is an activity")
            return
        held.merge(event.metadata)

    def _text(
        self,
        event: TextMessageContentEvent | ReasoningMessageContentEvent | TextMessageEndEvent | ReasoningMessageEndEvent,
        delta: str | None,
    ) -> None:
        held = self.conversation.find(event.message_id)
        if held is None or held.model.role == "activity":
            what = "is not held" if held is None else "is an activity"
            self._warn(event, f"message {event.message_id!r} {what}")
            return
        if delta is not None:
            held.append(delta)
        held.merge(event.metadata)

    def _begin_call(self, event: ToolCallStartEvent) -> None:
        call = self.conversation.find_call(event.tool_call_id)
        if call is None:
            call = self.conversation.add_call(self._holder(event), event.tool_call_id, event.tool_call_name)
        elif call.name != event.tool_call_name:
            self._warn(event, f"call {event.tool_call_id!r} was {call.name!r} and becomes {event.tool_call_name!r}")
            call.rename(event.tool_call_name)
        call.merge(event.metadata)

    def _holder(self, event: ToolCallStartEvent) -> StoredMessage:
        """The assistant message that a new call goes into: its parent, else one of its own."""
        message_id = event.tool_call_id
        if event.parent_message_id:
            parent = self.conversation.find(event.parent_message_id)
            if parent is None:
                message_id = event.parent_message_id
            elif parent.model.role == "assistant":
                return parent
            else:
                self._warn(event, f"parent {event.parent_message_id!r} is a {parent.model.role} message")
        owner = event.subagent_run_id if self.conversation.find(message_id) is None else None
        return self.conversation.add(AssistantMessage(id=message_id, tool_calls=[], subagent_run_id=owner))

    def _call(self, event: ToolCallArgsEvent | ToolCallEndEvent) -> None:
        call = self.conversation.find_call(event.tool_call_id)
        if call is None:
            self._warn(event, f"no message holds call {event.tool_call_id!r}")
            return
        if isinstance(event, ToolCallArgsEvent):
            call.append(event.delta)
        call.merge(event.metadata)

    def _result(self, event: ToolCallResultEvent) -> None:
        message = ToolMessage(
            id=event.message_id,
            tool_call_id=event.tool_call_id,
            content=event.content,
            subagent_run_id=event.subagent_run_id,
        )
        self.conversation.add_result(message).merge(event.metadata)

    def _encrypt(self, event: ReasoningEncryptedValueEvent) -> None:
        """Attach the value; one whose target is not held is lost without a word, as in the client."""
        if event.subtype == "tool-call":
            call = self.conversation.find_call(event.entity_id)
            if call is not None:
                call.encrypt(event.encrypted_value)
            return
        held = self.conversation.find(event.entity_id)
        if held is not None and held.model.role != "activity":
            held.update(encrypted_value=event.encrypted_value)

    def _update_state(self, event: StateSnapshotEvent | StateDeltaEvent) -> None:
        if isinstance(event, StateSnapshotEvent):
            self._state = event.snapshot
            return
        try:
            self._state = apply_patch(self._state, map(wire_fields, event.delta))
        except PatchError as error:
            self._warn(event, f"the state patch fails: {error}")

    def _activity(self, event: ActivitySnapshotEvent) -> None:
        held, replace = self.conversation.find(event.message_id), event.replace is not False
        fresh = ActivityMessage(
            id=event.message_id,
            activity_type=event.activity_type,
            content=event.content,
            subagent_run_id=event.subagent_run_id,
        )
        if held is None:
            held = self.conversation.add(fresh)
        elif held.model.role != "activity":
            if not replace:
                return
            held = self.conversation.replace(held, fresh)
        elif replace:
            metadata = held.model.metadata
            held = self.conversation.replace(held, fresh.model_copy(update={"metadata": metadata}))
        held.merge(event.metadata)

    def _patch_activity(self, event: ActivityDeltaEvent) -> None:
        held = self.conversation.find(event.message_id)
        if held is None:
            return
        if held.model.role != "activity":
            self._warn(event, f"message {event.message_id!r} is not an activity")
            return
        held.merge(event.metadata)
        try:
            content = apply_patch(held.model.content, map(wire_fields, event.patch))
        except PatchError as error:
            self._warn(event, f"the patch of activity {event.message_id!r} fails: {error}")
        else:
            update = {"content": content, "activity_type": event.activity_type}
            self.conversation.replace(held, held.model.model_copy(update=update))


def fold(
    events: Iterable[Event | Mapping[str, object]], messages: Iterable[Message] = (), state: object = None
) -> Fold:
    """Return the :class:`Fold` of a whole stream, chunks included; see there for what is taken and raised."""
    result = Fold(messages, state)
    for event in events:
        result.feed(event)
    return result


def _new_message(event: TextMessageStartEvent | ReasoningMessageStartEvent) -> Message:
    message_id, owner = event.message_id, event.subagent_run_id
    if isinstance(event, ReasoningMessageStartEvent):
        return ReasoningMessage(id=message_id, content="", subagent_run_id=owner)
    kinds: dict[str, type[UserMessage | SystemMessage | DeveloperMessage]] = {
        "user": UserMessage,
        "system": SystemMessage,
        "developer": DeveloperMessage,
    }
    kind = kinds.get(event.role or "assistant", AssistantMessage)
    return kind(id=message_id, content="", name=event.name, subagent_run_id=owner)


def _kept_by(event: MessagesSnapshotEvent) -> Callable[[Message], bool]:
    """Return which messages survive being left out: those whose kind the snapshot does not own."""
    roles = {message.role for message in event.messages}
    owned = _owned_activities(event.metadata)

    def keep(message: Message) -> bool:
        if isinstance(message, ActivityMessage):
            return "activity" not in roles if owned is None else not owned(message.activity_type)
        return message.role == "reasoning" and "reasoning" not in roles

    return keep


def _owned_activities(metadata: Mapping[str, object] | None) -> Callable[[str], bool] | None:
    """Read which activity types a snapshot owns by the client package's convention, if it says so."""
    if metadata is None or "@ag-ui/client" not in metadata:
        return None
    convention = metadata["@ag-ui/client"]
    if not isinstance(convention, Mapping):
        return lambda activity_type: False
    if "authoritativeActivityTypes" not in convention:
        return None
    types = convention["authoritativeActivityTypes"]
    if types is None:
        return lambda activity_type: True
    if isinstance(types, list) and all(isinstance(item, str) for item in types):
        return types.__contains__
    return lambda activity_type: False
