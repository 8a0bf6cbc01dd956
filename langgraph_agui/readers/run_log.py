"""A run as its log: the thread as it was before the run, the state that it began with, then all
that it has emitted.

Events and fragments enter, because a log is a sink. A client that joins the run gets the `events`
of the log, and then what comes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Final, cast

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Event, Message

from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.protocol.compact import compact
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.readers.sinks import EventQueue, weight

# Key in the metadata of a log's first snapshot: digests of the messages that the thread has had.
_PAST: Final = "past"

# Bytes of an event, around its text.
_FRAME = 150


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
    return [
        agui.MessagesSnapshotEvent.model_construct(messages=[*messages], metadata=had),
        agui.StateSnapshotEvent(snapshot=state),
    ]


def past_in(event: agui.MessagesSnapshotEvent) -> PastMessages:
    """Return the past messages in the first snapshot of a log."""
    had = (event.metadata or {}).get(_PAST)
    return PastMessages(dict.fromkeys(str(had).split())) if had is not None else PastMessages()


class RunLog:
    """The log of one run.

    When it holds more than `max_bytes`, what is settled is folded away: messages and results become
    part of the first snapshot of messages, changes of the state part of the first state, finished
    steps and custom events go. So a run of any length can be joined.

    Args:
        before: Returns the events that stand for the time before the run (`thread_before`). It is
            called when a client joins, or when the log is folded first.
        max_bytes: The bytes of the log, about.
    """

    def __init__(self, before: Callable[[], Sequence[BaseEvent]], max_bytes: int) -> None:
        self._before = before
        self._max_bytes = max_bytes
        self._limit = max_bytes
        self._bytes = 0
        self._started: list[BaseEvent] = []
        self._queue = EventQueue()

    def event(self, event: BaseEvent) -> None:
        """Add an event."""
        if isinstance(event, agui.RunStartedEvent):
            self._started = [event]
            return
        self._queue.event(event)
        self._grow(weight(event))

    def fragment(self, block: Block, text: str) -> None:
        """Add a fragment."""
        self._queue.fragment(block, text)
        self._grow(_FRAME + len(text))

    def events(self) -> list[BaseEvent]:
        """Return the log: `RUN_STARTED`, the time before the run, and what the run has emitted."""
        emitted = self._queue.events()
        self._keep(emitted)  # all clients that join share them
        return [*self._started, *self._before(), *emitted]

    def _grow(self, added: int) -> None:
        self._bytes += added
        if self._bytes > self._limit:
            self._fold()

    def _fold(self) -> None:
        before, rest = fold_settled([*self._before(), *self._queue.events()])
        self._before = lambda: before
        self._keep(list[BaseEvent](compact(cast("list[Event]", rest))))
        # what is open may be larger: it is not looked at again for each token
        self._limit = max(self._max_bytes, 2 * self._bytes)

    def _keep(self, events: Sequence[BaseEvent]) -> None:
        self._queue.replace(events)
        self._bytes = sum(map(weight, events))


def fold_settled(events: Iterable[BaseEvent]) -> tuple[list[BaseEvent], list[BaseEvent]]:
    """Return the events of a log, but for `RUN_STARTED`, as two parts: the time before, of which
    all that is settled has become a part, and what is not settled.
    """
    events = [one for one in events if not isinstance(one, agui.RunStartedEvent)]
    is_open = _open_items(events)
    fold, rest, past = Fold(), list[BaseEvent](), PastMessages()
    for event in events:
        if isinstance(event, agui.MessagesSnapshotEvent) and _PAST in (event.metadata or {}):
            past = past_in(event)
        if _item_of(event) in is_open:
            rest.append(event)
        else:
            fold.apply(cast("Event", event))
    activities = [one for one in fold.messages if isinstance(one, agui.ActivityMessage)]
    before = thread_before(_without(is_open, fold.messages), past, fold.state)
    before += [
        agui.ActivitySnapshotEvent(
            message_id=one.id,
            activity_type=one.activity_type,
            content=one.content,
            metadata=one.metadata,
            subagent_run_id=one.subagent_run_id,
        )
        for one in activities
    ]
    return before, rest


def _item_of(event: BaseEvent) -> Hashable:
    """Return the item that an event belongs to: a message, a call, a step, or a subagent."""
    match event:
        case (
            agui.TextMessageStartEvent(message_id=item)
            | agui.TextMessageContentEvent(message_id=item)
            | agui.TextMessageEndEvent(message_id=item)
            | agui.ReasoningStartEvent(message_id=item)
            | agui.ReasoningMessageStartEvent(message_id=item)
            | agui.ReasoningMessageContentEvent(message_id=item)
            | agui.ReasoningMessageEndEvent(message_id=item)
            | agui.ReasoningEndEvent(message_id=item)
        ):
            return "message", item
        case (
            agui.ToolCallStartEvent(tool_call_id=item)
            | agui.ToolCallArgsEvent(tool_call_id=item)
            | agui.ToolCallEndEvent(tool_call_id=item)
            | agui.ToolCallResultEvent(tool_call_id=item)
        ):
            return "tool-call", item
        case agui.ReasoningEncryptedValueEvent(subtype=kind, entity_id=item):
            return kind, item
        case agui.StepStartedEvent() | agui.StepFinishedEvent():
            return "step", event.step_name, event.subagent_run_id
        case (
            agui.SubagentStartedEvent(subagent_run_id=item)
            | agui.SubagentFinishedEvent(subagent_run_id=item)
            | agui.SubagentErrorEvent(subagent_run_id=item)
        ):
            return "subagent", item
    return None


def _open_items(events: Iterable[BaseEvent]) -> set[Hashable]:
    """Return the items that more may come of. Subagents stay open: messages name them."""
    is_open: set[Hashable] = set()
    for event in events:
        match event:
            case (
                agui.TextMessageStartEvent()
                | agui.ReasoningStartEvent()
                | agui.ToolCallStartEvent()
                | agui.StepStartedEvent()
                | agui.SubagentStartedEvent()
            ):
                is_open.add(_item_of(event))
            case (
                agui.TextMessageEndEvent()
                | agui.ReasoningEndEvent()
                | agui.ToolCallResultEvent()
                | agui.StepFinishedEvent()
            ):
                is_open.discard(_item_of(event))
    return is_open


def _without(items: Collection[Hashable], messages: Iterable[Message]) -> list[Message]:
    """Return messages for a snapshot: without activities, and without what these items will
    emit.
    """
    result: list[Message] = []
    for message in messages:
        if isinstance(message, agui.ActivityMessage) or ("message", message.id) in items:
            continue
        if isinstance(message, agui.AssistantMessage) and message.tool_calls:
            calls = [one for one in message.tool_calls if ("tool-call", one.id) not in items]
            if not calls and message.content is None:
                continue
            message = message.model_copy(update={"tool_calls": calls or None})
        result.append(message)
    return result
