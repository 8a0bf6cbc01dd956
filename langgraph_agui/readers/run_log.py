"""A run as its log: the thread as it was before the run, the state that it began with, then all
that it has emitted.

Events and fragments enter, because a log is a sink. A client that joins the run gets the `events`
of the log, and then what comes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Final, cast

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Event, Message
from pydantic import PrivateAttr

from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.messages.made import MEDIA, activity_event, emptied
from langgraph_agui.protocol.compact import compact
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.readers.sinks import EventQueue, weight

# Key in the metadata of a log's first snapshot: digests of the messages that the thread has had.
_PAST: Final = "past"

# Key in the metadata of later snapshots: the ids of the messages that the run has trimmed.
_TRIMMED: Final = "trimmed"

# Bytes of a fragment, around its text.
_STRING = 60


def thread_before(
    messages: Sequence[Message], past: PastMessages, state: object
) -> list[BaseEvent]:
    """Return the events that a log begins with.

    Args:
        messages: The conversation of the client that began the run, with the thread's messages.
        past: The messages that the thread has had.
        state: The client's state.
    """
    had = {_PAST: " ".join(past.had)}
    return [*messages_and_activities(messages, had), agui.StateSnapshotEvent(snapshot=state)]


def messages_and_activities(
    messages: Sequence[Message], metadata: Mapping[str, object] | None = None
) -> list[BaseEvent]:
    """Return a snapshot of messages, and an event for each activity among them: their contents may
    be large. The snapshot has places for media.

    Args:
        messages: The messages.
        metadata: Metadata of the snapshot.
    """
    activities = [one for one in messages if isinstance(one, agui.ActivityMessage)]
    placed: list[Message] = []
    for message in messages:
        if not isinstance(message, agui.ActivityMessage):
            placed.append(message)
        elif message.activity_type == MEDIA:
            placed.append(emptied(message))
    return [messages_snapshot(placed, metadata), *map(activity_event, activities)]


def messages_snapshot(
    messages: Sequence[Message], metadata: Mapping[str, object] | None = None
) -> agui.MessagesSnapshotEvent:
    """Return a snapshot of messages. A client keeps the activities that are not among them."""
    more = dict(metadata or {})
    if any(isinstance(one, agui.ActivityMessage) for one in messages):
        # Clients of 1.0 take the activities in a snapshot for all that there are, unless it says
        # that it owns no type of them.
        more["@ag-ui/client"] = {"authoritativeActivityTypes": []}
    # The messages are valid already; to check them once more takes a fifth of the time of encoding
    # them.
    return agui.MessagesSnapshotEvent.model_construct(messages=[*messages], metadata=more or None)


class OwnSnapshot(agui.MessagesSnapshotEvent):
    """A snapshot for the client that has begun a run.

    Attributes:
        own: The ids of the messages in it that only this client holds. They travel nowhere.
        trimmed: The ids of the messages that the run has trimmed. They travel to other clients.
    """

    _own: frozenset[str] = PrivateAttr(default=frozenset())
    _trimmed: frozenset[str] = PrivateAttr(default=frozenset())

    @classmethod
    def of(
        cls, messages: Sequence[Message], own: Iterable[str], trimmed: Iterable[str]
    ) -> OwnSnapshot:
        """Return the snapshot of these messages."""
        event = cls.model_construct(messages=[*messages])
        event._own = frozenset(own)
        event._trimmed = frozenset(trimmed)
        return event

    @property
    def own(self) -> frozenset[str]:
        return self._own

    @property
    def trimmed(self) -> frozenset[str]:
        return self._trimmed


def for_others(event: BaseEvent) -> BaseEvent:
    """Return an event of a run for other clients than the one that has begun it."""
    if not isinstance(event, OwnSnapshot):
        return event
    own, trimmed = event.own, event.trimmed
    if not (own or trimmed):
        return event
    metadata = {_TRIMMED: sorted(trimmed)} if trimmed else None
    return messages_snapshot([one for one in event.messages if one.id not in own], metadata)


def past_in(event: agui.MessagesSnapshotEvent) -> PastMessages:
    """Return the past messages in the first snapshot of a log."""
    had = (event.metadata or {}).get(_PAST)
    return PastMessages(dict.fromkeys(str(had).split())) if had is not None else PastMessages()


def trimmed_in(event: agui.MessagesSnapshotEvent) -> Collection[str]:
    """Return the ids of the messages that a run has trimmed, by a snapshot in its log."""
    trimmed = (event.metadata or {}).get(_TRIMMED)
    return trimmed if isinstance(trimmed, list) else ()


class RunLog(EventQueue):
    """The log of one run.

    When it holds more than `max_bytes`, what is settled is folded away: messages and results become
    part of the first snapshot of messages, changes of the state part of the first state, finished
    steps and custom events go. So a run of any length can be joined.

    Args:
        before: Returns the events that stand for the time before the run (`thread_before`); None
            once the run is gone. It is called when a client joins, or when the log is folded first.
        max_bytes: The bytes of the log, about.
    """

    def __init__(self, before: Callable[[], Sequence[BaseEvent] | None], max_bytes: int) -> None:
        super().__init__()
        self._before = before
        self._max_bytes = max_bytes
        self._limit = max_bytes
        self._bytes = 0
        self._started: list[BaseEvent] = []

    def event(self, event: BaseEvent) -> None:
        """Add an event."""
        if isinstance(event, agui.RunStartedEvent):
            self._started = [event]
            return
        event = for_others(event)
        super().event(event)
        self._bytes += weight(event)
        if self._bytes > self._limit:
            self._fold()

    def fragment(self, block: Block, text: str) -> None:
        """Add a fragment."""
        super().fragment(block, text)
        self._bytes += _STRING + len(text)
        if self._bytes > self._limit:
            self._fold()

    def events(self) -> list[BaseEvent]:
        """Return the log: `RUN_STARTED`, the time before the run, and what the run has emitted."""
        emitted = super().events()
        self._keep(emitted)  # all clients that join share them
        return [*self._started, *(self._before() or ()), *emitted]

    def _fold(self) -> None:
        before, rest = fold_settled([*(self._before() or ()), *super().events()])
        self._before = lambda: before
        self._keep(list[BaseEvent](compact(cast("list[Event]", rest))))
        # what is open may be larger: it is not looked at again for each token
        self._limit = max(self._max_bytes, 2 * self._bytes)

    def _keep(self, events: Sequence[BaseEvent]) -> None:
        self.replace(events)
        self._bytes = sum(map(weight, events))


def fold_settled(
    events: Iterable[BaseEvent], *, in_order: bool = False
) -> tuple[list[BaseEvent], list[BaseEvent]]:
    """Return the events of a log, but for `RUN_STARTED`, as two parts: the time before, of which
    all that is settled has become a part, and what is not settled.

    Args:
        events: The events.
        in_order: Whether messages behind one that is not settled are left too, so that all keep
            their order.
    """
    events = [one for one in events if not isinstance(one, agui.RunStartedEvent)]
    items = _Items(events)
    is_open = items.open_in(events)
    if in_order:
        is_open |= items.behind(is_open, events)
    fold = Fold(max_weight=sys.maxsize)  # the patches are our own
    rest, past = list[BaseEvent](), PastMessages()
    for event in events:
        if isinstance(event, agui.MessagesSnapshotEvent) and _PAST in (event.metadata or {}):
            past = past_in(event)
        if items.of(event) in is_open:
            rest.append(event)
        else:
            fold.apply(cast("Event", event))
    settled = [one for one in fold.messages if items.of_message(one.id) not in is_open]
    return thread_before(settled, past, fold.state), rest


class _Items:
    """The items that events belong to: a message with its calls and their results, a step, or a
    subagent.

    Args:
        events: All of the events.
    """

    def __init__(self, events: Iterable[BaseEvent]) -> None:
        # The messages of calls, by the ids of the calls, and by those of the results.
        self._by_call: dict[str, str] = {}
        self._by_result: dict[str, str] = {}
        for event in events:
            match event:
                case agui.ToolCallStartEvent(tool_call_id=call_id):
                    self._by_call[call_id] = event.parent_message_id or call_id
                case agui.ToolCallResultEvent(tool_call_id=call_id) if call_id in self._by_call:
                    self._by_result[event.message_id] = self._by_call[call_id]

    def of_message(self, message_id: str) -> Hashable:
        """Return the item of a message."""
        return self._by_result.get(message_id, message_id)

    def of(self, event: BaseEvent) -> Hashable:
        """Return the item of an event; None if it has none."""
        match event:
            case (
                agui.TextMessageStartEvent(message_id=message_id)
                | agui.TextMessageContentEvent(message_id=message_id)
                | agui.TextMessageEndEvent(message_id=message_id)
                | agui.ReasoningStartEvent(message_id=message_id)
                | agui.ReasoningMessageStartEvent(message_id=message_id)
                | agui.ReasoningMessageContentEvent(message_id=message_id)
                | agui.ReasoningMessageEndEvent(message_id=message_id)
                | agui.ReasoningEndEvent(message_id=message_id)
                | agui.ReasoningEncryptedValueEvent(subtype="message", entity_id=message_id)
            ):
                return self.of_message(message_id)
            case (
                agui.ToolCallStartEvent(tool_call_id=call_id)
                | agui.ToolCallArgsEvent(tool_call_id=call_id)
                | agui.ToolCallEndEvent(tool_call_id=call_id)
                | agui.ToolCallResultEvent(tool_call_id=call_id)
                | agui.ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call_id)
            ):
                return self._by_call.get(call_id)
            case agui.StepStartedEvent() | agui.StepFinishedEvent():
                return "step", event.step_name, event.subagent_run_id
            case (
                agui.SubagentStartedEvent(subagent_run_id=subagent_run_id)
                | agui.SubagentFinishedEvent(subagent_run_id=subagent_run_id)
                | agui.SubagentErrorEvent(subagent_run_id=subagent_run_id)
            ):
                return "subagent", subagent_run_id
        return None

    def behind(self, is_open: Collection[Hashable], events: Iterable[BaseEvent]) -> set[Hashable]:
        """Return the messages that begin behind one of these."""
        messages: list[Hashable] = [item for item in map(self.of, events) if isinstance(item, str)]
        first = next((index for index, one in enumerate(messages) if one in is_open), None)
        return set() if first is None else {*messages[first:]} - {*messages[:first]}

    def open_in(self, events: Iterable[BaseEvent]) -> set[Hashable]:
        """Return the items of which more may come behind these events. Subagents stay open:
        messages name them.
        """
        # Parts of items: a text, or a call.
        is_open: set[tuple[Hashable, str]] = set()
        for event in events:
            match event:
                case (
                    agui.TextMessageStartEvent()
                    | agui.ReasoningStartEvent()
                    | agui.StepStartedEvent()
                    | agui.SubagentStartedEvent()
                ):
                    is_open.add((self.of(event), ""))
                case (
                    agui.TextMessageEndEvent() | agui.ReasoningEndEvent() | agui.StepFinishedEvent()
                ):
                    is_open.discard((self.of(event), ""))
                case agui.ToolCallStartEvent():
                    is_open.add((self.of(event), event.tool_call_id))
                case agui.ToolCallResultEvent():
                    is_open.discard((self.of(event), event.tool_call_id))
        return {item for item, _ in is_open}
