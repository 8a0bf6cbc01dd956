"""The order rules of AG-UI 1.0: everything the reference client's verify step rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AssistantMessage,
    Event,
    EventType,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from langgraph_agui.protocol.wire import ProtocolError, wire_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Owner: TypeAlias = str | None
"""The subagent run that produced something; ``None`` is the parent agent."""

ItemKind: TypeAlias = Literal["text message", "reasoning message", "reasoning span", "tool call"]
Opening: TypeAlias = TextMessageStartEvent | ReasoningMessageStartEvent | ReasoningStartEvent | ToolCallStartEvent
Closing: TypeAlias = TextMessageEndEvent | ReasoningMessageEndEvent | ReasoningEndEvent | ToolCallEndEvent
Growing: TypeAlias = TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent


class EventOrder:
    """Judges the order of one stream's events; a stream may hold several runs, one after the other.

    Takes events that passed the schema and chunk stages. Ids are unique per kind of item. Whoever opens an
    item owns it for the rest of the run, so that no other agent can continue it.
    """

    def __init__(self) -> None:
        self.status: Literal["empty", "active", "finished", "errored"] = "empty"
        self._begin_run()

    def _begin_run(self) -> None:
        # Dicts without values stand for ordered sets: errors name ids in the order they came.
        self._open: dict[ItemKind, dict[str, None]] = {
            "text message": {},
            "reasoning message": {},
            "reasoning span": {},
            "tool call": {},
        }
        self._messages: dict[str, Owner] = {}
        self._reasoning: dict[str, Owner] = {}
        self._calls: dict[str, Owner] = {}
        self._activities: dict[str, Owner] = {}
        self._steps: dict[tuple[Owner, str], None] = {}
        self._subagents: dict[str, None] = {}
        self._ended_subagents: set[str] = set()

    def feed(self, event: Event) -> None:
        """Take the next event; raise :class:`ProtocolError` if it must not come now."""
        self._lifecycle(event)
        if isinstance(event, Growing):
            self._continue(event)
        elif isinstance(event, Opening):
            self._begin(event)
        elif isinstance(event, Closing):
            self._continue(event)
            kind, item_id = item_of(event)
            del self._open[kind][item_id]
        elif isinstance(event, (StepStartedEvent, StepFinishedEvent)):
            self._step(event)
        elif isinstance(event, (SubagentStartedEvent, SubagentFinishedEvent, SubagentErrorEvent)):
            self._subagent(event)
        else:
            self._ownership(event)

    def _lifecycle(self, event: Event) -> None:
        kind = event.type
        if self.status == "errored" and kind is not EventType.RUN_STARTED:
            _refuse("run-errored", event, "the run has ended with RUN_ERROR")
        if self.status == "finished" and kind not in (EventType.RUN_STARTED, EventType.RUN_ERROR):
            _refuse("run-finished", event, "the run has ended with RUN_FINISHED")
        if self.status == "empty" and kind not in (EventType.RUN_STARTED, EventType.RUN_ERROR):
            _refuse("run-not-started", event, "a stream begins with RUN_STARTED")
        if kind is EventType.RUN_STARTED:
            if self.status == "active":
                _refuse("run-active", event, "the previous run has not ended")
            self._begin_run()
            self.status = "active"
        elif kind is EventType.RUN_ERROR:
            self.status = "errored"
        elif kind is EventType.RUN_FINISHED:
            self._all_closed(event)
            self.status = "finished"

    def _all_closed(self, event: Event) -> None:
        steps = [name if owner is None else f"{name} (subagent {owner!r})" for owner, name in self._steps]
        still_open: list[tuple[str, Collection[str]]] = [
            ("steps", steps),
            *((f"{kind}s", ids) for kind, ids in self._open.items()),
            ("subagents", self._subagents),
        ]
        for what, names in still_open:
            if names:
                _refuse(f"open-{what.replace(' ', '-')}", event, f"{what} are still open: {', '.join(names)}")

    def _begin(self, event: Opening) -> None:
        kind, item_id = item_of(event)
        if item_id in self._open[kind]:
            _refuse("already-open", event, f"{kind} {item_id!r} is already open")
        owners, owner = self._owners(kind), event.subagent_run_id
        if isinstance(event, ToolCallStartEvent):
            owner = self._call_owner(event)
        _same_owner(event, owners, item_id, kind)
        self._open[kind][item_id] = None
        owners.setdefault(item_id, owner)

    def _call_owner(self, event: ToolCallStartEvent) -> Owner:
        """A call belongs to the message that carries it, whose owner it may repeat but not contradict."""
        parent, tag = event.parent_message_id, event.subagent_run_id
        if parent is None or parent not in self._messages:
            return tag
        owner = self._messages[parent]
        if tag is not None and tag != owner:
            _refuse("owner-mismatch", event, f"its parent message {parent!r} belongs to {_name(owner)}")
        if tag is None and self._calls.get(event.tool_call_id, owner) != owner:
            _refuse("owner-mismatch", event, f"the call and its parent message {parent!r} have different owners")
        return owner

    def _continue(self, event: Growing | Closing) -> None:
        kind, item_id = item_of(event)
        if item_id not in self._open[kind]:
            _refuse("not-open", event, f"{kind} {item_id!r} is not open")
        _same_owner(event, self._owners(kind), item_id, kind)

    def _owners(self, kind: ItemKind) -> dict[str, Owner]:
        if kind == "text message":
            return self._messages
        return self._calls if kind == "tool call" else self._reasoning

    def _step(self, event: StepStartedEvent | StepFinishedEvent) -> None:
        step = (event.subagent_run_id, event.step_name)
        if isinstance(event, StepStartedEvent):
            if step in self._steps:
                _refuse("step-active", event, f"step {event.step_name!r} is already open for {_name(step[0])}")
            self._steps[step] = None
        elif step in self._steps:
            del self._steps[step]
        else:
            for owner, name in self._steps:
                if name == event.step_name:
                    _refuse("owner-mismatch", event, f"step {name!r} was started by {_name(owner)}")
            _refuse("step-not-started", event, f"step {event.step_name!r} is not open")

    def _subagent(self, event: SubagentStartedEvent | SubagentFinishedEvent | SubagentErrorEvent) -> None:
        subagent = event.subagent_run_id
        if not isinstance(event, SubagentStartedEvent):
            if subagent not in self._subagents:
                _refuse("subagent-not-active", event, f"subagent {subagent!r} is not active")
            del self._subagents[subagent]
            self._ended_subagents.add(subagent)
            return
        if subagent in self._subagents:
            _refuse("subagent-active", event, f"subagent {subagent!r} is already active")
        if subagent in self._ended_subagents:
            _refuse("subagent-reused", event, f"subagent {subagent!r} has ended; every invocation has its own id")
        parent = event.parent_subagent_run_id
        if parent is not None and parent not in self._subagents and parent not in self._ended_subagents:
            _refuse("subagent-parent-unknown", event, f"its parent {parent!r} has not been started")
        self._subagents[subagent] = None

    def _ownership(self, event: Event) -> None:
        """Note who owns what the remaining events create, and judge those that attach to something."""
        match event:
            case RunStartedEvent() if event.input is not None:
                self._note_messages(reversed(event.input.messages))  # of two alike, the first counts
            case MessagesSnapshotEvent():
                self._note_messages(event.messages)
            case ActivitySnapshotEvent():
                if event.replace is not False or event.message_id not in self._activities:
                    self._activities[event.message_id] = event.subagent_run_id
            case ActivityDeltaEvent():
                _same_owner(event, self._activities, event.message_id, "activity")
            case ToolCallResultEvent():
                self._messages[event.message_id] = event.subagent_run_id
            case ReasoningEncryptedValueEvent():
                owners = self._calls
                if event.subtype == "message":
                    owners = self._messages if event.entity_id in self._messages else self._reasoning
                _same_owner(event, owners, event.entity_id, event.subtype)

    def _note_messages(self, messages: Iterable[Message]) -> None:
        for message in messages:
            owners = {"reasoning": self._reasoning, "activity": self._activities}.get(message.role, self._messages)
            owners[message.id] = message.subagent_run_id
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    self._calls[call.id] = message.subagent_run_id


def item_of(event: Opening | Growing | Closing) -> tuple[ItemKind, str]:
    """Return what kind of item a streaming event belongs to, and its id."""
    match event:
        case ToolCallArgsEvent() | ToolCallStartEvent() | ToolCallEndEvent():
            return "tool call", event.tool_call_id
        case TextMessageContentEvent() | TextMessageStartEvent() | TextMessageEndEvent():
            return "text message", event.message_id
        case ReasoningStartEvent() | ReasoningEndEvent():
            return "reasoning span", event.message_id
        case _:
            return "reasoning message", event.message_id


def _same_owner(
    event: Opening | Growing | Closing | ActivityDeltaEvent | ReasoningEncryptedValueEvent,
    owners: dict[str, Owner],
    item_id: str,
    kind: str,
) -> None:
    tag = event.subagent_run_id
    if tag is not None and owners.get(item_id, tag) != tag:
        _refuse("owner-mismatch", event, f"{kind} {item_id!r} belongs to {_name(owners[item_id])}, not to {tag!r}")


def _name(owner: Owner) -> str:
    return "the parent agent" if owner is None else f"subagent {owner!r}"


def _refuse(code: str, event: Event, reason: str) -> NoReturn:
    raise ProtocolError(code, f"Unexpected {event.type.value}: {reason}.", wire_fields(event))
