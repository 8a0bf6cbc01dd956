"""The stages between schema and apply: chunks are expanded, then the order of events is checked
(AG-UI 1.0, client).

Events that passed the schema enter. `ChunkExpander` turns `*_CHUNK` shorthands into start, content
and end events. `EventOrder` knows everything that the reference client's verify step rejects: a
`ProtocolError` leaves for the first event that must not come now.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from ag_ui import core as agui
from ag_ui.core import Event, EventType

from langgraph_agui.protocol.wire import refuse

# The subagent run that produced something; None is the parent agent.
SubagentRunId: TypeAlias = str | None

ItemKind: TypeAlias = Literal["text message", "reasoning message", "reasoning span", "tool call"]
Opening: TypeAlias = (
    agui.TextMessageStartEvent
    | agui.ReasoningMessageStartEvent
    | agui.ReasoningStartEvent
    | agui.ToolCallStartEvent
)
Closing: TypeAlias = (
    agui.TextMessageEndEvent
    | agui.ReasoningMessageEndEvent
    | agui.ReasoningEndEvent
    | agui.ToolCallEndEvent
)
Growing: TypeAlias = (
    agui.TextMessageContentEvent | agui.ReasoningMessageContentEvent | agui.ToolCallArgsEvent
)
_Attached: TypeAlias = (
    Opening | Growing | Closing | agui.ActivityDeltaEvent | agui.ReasoningEncryptedValueEvent
)
SubagentEvent: TypeAlias = (
    agui.SubagentStartedEvent | agui.SubagentFinishedEvent | agui.SubagentErrorEvent
)


class EventOrder:
    """Checks the order of one stream's events; a stream may hold several runs, one after the other.

    Ids are unique per kind of item. An item belongs to the agent that opened it for the rest of the
    run: no other agent can continue it.

    Attributes:
        status: Where the stream stands.
    """

    def __init__(self) -> None:
        self.status: Literal["empty", "active", "finished", "errored"] = "empty"
        self._begin_run()

    def _begin_run(self) -> None:
        # Dicts without values are ordered sets: errors name ids in the order they came.
        self._open: dict[ItemKind, dict[str, None]] = {kind: {} for kind in get_args(ItemKind)}
        self._steps: dict[tuple[SubagentRunId, str], None] = {}
        self._subagents: dict[str, bool] = {}  # whether each is still active
        # Which agent each item belongs to, by its id. Reasoning messages and spans share their ids.
        self._agents: defaultdict[str, dict[str, SubagentRunId]] = defaultdict(dict)
        self._agents["reasoning span"] = self._agents["reasoning message"]

    def feed(self, event: Event) -> None:
        """Check the next event. Raises `ProtocolError` if it must not come now."""
        if isinstance(event, Growing) and self.status == "active":  # as most events are
            self._continue(event)
            return
        self._lifecycle(event)
        if isinstance(event, Opening):
            self._begin(event)
        elif isinstance(event, Closing):
            self._continue(event)
            kind, item_id = item_of(event)
            del self._open[kind][item_id]
        elif isinstance(event, agui.StepStartedEvent | agui.StepFinishedEvent):
            self._step(event)
        elif isinstance(event, SubagentEvent):
            self._subagent(event)
        else:
            self._attach(event)

    def _lifecycle(self, event: Event) -> None:
        kind = event.type
        if kind is not EventType.RUN_STARTED:
            if self.status == "errored":
                refuse("run-errored", event, "the run has ended with RUN_ERROR")
            if self.status == "finished" and kind is not EventType.RUN_ERROR:
                refuse("run-finished", event, "the run has ended with RUN_FINISHED")
            if self.status == "empty" and kind is not EventType.RUN_ERROR:
                refuse("run-not-started", event, "a stream begins with RUN_STARTED")
        elif self.status == "active":
            refuse("run-active", event, "the previous run has not ended")
        else:
            self._begin_run()
            self.status = "active"
        if kind is EventType.RUN_ERROR:
            self.status = "errored"
        elif kind is EventType.RUN_FINISHED:
            self._check_all_closed(event)
            self.status = "finished"

    def _check_all_closed(self, event: Event) -> None:
        steps = [
            name if agent is None else f"{name} (subagent {agent!r})" for agent, name in self._steps
        ]
        still_open: list[tuple[str, Collection[str]]] = [
            ("steps", steps),
            *((f"{kind}s", ids) for kind, ids in self._open.items()),
            ("subagents", [subagent for subagent, active in self._subagents.items() if active]),
        ]
        for kinds, names in still_open:
            if names:
                refuse(
                    f"open-{kinds.replace(' ', '-')}",
                    event,
                    f"{kinds} are still open: {', '.join(names)}",
                )

    def _begin(self, event: Opening) -> None:
        kind, item_id = item_of(event)
        if item_id in self._open[kind]:
            refuse("already-open", event, f"{kind} {item_id!r} is already open")
        agent = (
            self._agent_of_call(event)
            if isinstance(event, agui.ToolCallStartEvent)
            else event.subagent_run_id
        )
        self._check_agent(event, kind, item_id)
        self._open[kind][item_id] = None
        self._agents[kind].setdefault(item_id, agent)

    def _agent_of_call(self, event: agui.ToolCallStartEvent) -> SubagentRunId:
        """Return the agent of the message that carries a call. The event may repeat but not
        contradict it.
        """
        parent, own = event.parent_message_id, event.subagent_run_id
        messages = self._agents["text message"]
        if parent is None or parent not in messages:
            return own
        agent = messages[parent]
        if own is not None and own != agent:
            refuse(
                "owner-mismatch", event, f"its parent message {parent!r} belongs to {_name(agent)}"
            )
        if own is None and self._agents["tool call"].get(event.tool_call_id, agent) != agent:
            refuse(
                "owner-mismatch",
                event,
                f"the call and its parent message {parent!r} belong to different agents",
            )
        return agent

    def _continue(self, event: Growing | Closing) -> None:
        kind, item_id = item_of(event)
        if item_id not in self._open[kind]:
            refuse("not-open", event, f"{kind} {item_id!r} is not open")
        self._check_agent(event, kind, item_id)

    def _check_agent(self, event: _Attached, kind: str, item_id: str) -> None:
        own, agents = event.subagent_run_id, self._agents[kind]
        if own is not None and agents.get(item_id, own) != own:
            refuse(
                "owner-mismatch",
                event,
                f"{kind} {item_id!r} belongs to {_name(agents[item_id])}, not to {own!r}",
            )

    def _step(self, event: agui.StepStartedEvent | agui.StepFinishedEvent) -> None:
        step = (event.subagent_run_id, event.step_name)
        if isinstance(event, agui.StepStartedEvent):
            if step in self._steps:
                refuse(
                    "step-active",
                    event,
                    f"step {event.step_name!r} is already open for {_name(step[0])}",
                )
            self._steps[step] = None
        elif step in self._steps:
            del self._steps[step]
        else:
            for agent, name in self._steps:
                if name == event.step_name:
                    refuse("owner-mismatch", event, f"step {name!r} was started by {_name(agent)}")
            refuse("step-not-started", event, f"step {event.step_name!r} is not open")

    def _subagent(self, event: SubagentEvent) -> None:
        subagent, active = event.subagent_run_id, self._subagents.get(event.subagent_run_id)
        if not isinstance(event, agui.SubagentStartedEvent):
            if not active:
                refuse("subagent-not-active", event, f"subagent {subagent!r} is not active")
            self._subagents[subagent] = False
            return
        if active:
            refuse("subagent-active", event, f"subagent {subagent!r} is already active")
        if active is False:
            refuse(
                "subagent-reused",
                event,
                f"subagent {subagent!r} has ended; every invocation has its own id",
            )
        parent = event.parent_subagent_run_id
        if parent is not None and parent not in self._subagents:
            refuse("subagent-parent-unknown", event, f"its parent {parent!r} has not been started")
        self._subagents[subagent] = True

    def _attach(self, event: Event) -> None:
        """Note which agent the remaining events belong to, and check those that attach to
        something.
        """
        match event:
            case agui.RunStartedEvent() if event.input is not None:
                # of two with one id, the first counts
                self._note_messages(reversed(event.input.messages))
            case agui.MessagesSnapshotEvent():
                self._note_messages(event.messages)
            case agui.ActivitySnapshotEvent():
                if event.replace is not False or event.message_id not in self._agents["activity"]:
                    self._agents["activity"][event.message_id] = event.subagent_run_id
            case agui.ActivityDeltaEvent():
                self._check_agent(event, "activity", event.message_id)
            case agui.ToolCallResultEvent():
                self._agents["text message"][event.message_id] = event.subagent_run_id
            case agui.ReasoningEncryptedValueEvent():
                kind = "tool call"
                if event.subtype == "message":
                    is_text = event.entity_id in self._agents["text message"]
                    kind = "text message" if is_text else "reasoning message"
                self._check_agent(event, kind, event.entity_id)

    def _note_messages(self, messages: Iterable[agui.Message]) -> None:
        kinds = {"reasoning": "reasoning message", "activity": "activity"}
        for message in messages:
            self._agents[kinds.get(message.role, "text message")][message.id] = (
                message.subagent_run_id
            )
            if isinstance(message, agui.AssistantMessage):
                calls = message.tool_calls or ()
                self._agents["tool call"].update(
                    (call.id, message.subagent_run_id) for call in calls
                )


# By event type: the kind of its item, and the field with the item's id.
_ITEMS: Final[Mapping[EventType, tuple[ItemKind, str]]] = {
    EventType.TEXT_MESSAGE_START: ("text message", "message_id"),
    EventType.TEXT_MESSAGE_CONTENT: ("text message", "message_id"),
    EventType.TEXT_MESSAGE_END: ("text message", "message_id"),
    EventType.REASONING_START: ("reasoning span", "message_id"),
    EventType.REASONING_END: ("reasoning span", "message_id"),
    EventType.REASONING_MESSAGE_START: ("reasoning message", "message_id"),
    EventType.REASONING_MESSAGE_CONTENT: ("reasoning message", "message_id"),
    EventType.REASONING_MESSAGE_END: ("reasoning message", "message_id"),
    EventType.TOOL_CALL_START: ("tool call", "tool_call_id"),
    EventType.TOOL_CALL_ARGS: ("tool call", "tool_call_id"),
    EventType.TOOL_CALL_END: ("tool call", "tool_call_id"),
}


def item_of(event: Opening | Growing | Closing) -> tuple[ItemKind, str]:
    """Return the kind and the id of a streaming event's item."""
    kind, id_field = _ITEMS[event.type]
    return kind, getattr(event, id_field)


def _name(subagent_run_id: SubagentRunId) -> str:
    return "the parent agent" if subagent_run_id is None else f"subagent {subagent_run_id!r}"


# -- chunks --------------------------------------------------------------------------------------


_Chunk: TypeAlias = (
    agui.TextMessageChunkEvent | agui.ToolCallChunkEvent | agui.ReasoningMessageChunkEvent
)


class _Kind(NamedTuple):
    """The items that chunks of one type stand for; `details` are the fields that only the first
    chunk needs to have.
    """

    name: str
    id_field: str
    details: tuple[str, ...]
    start: Callable[..., Event]
    content: Callable[..., Event]
    end: Callable[..., Event]


_TEXT: Final = agui.TextMessageStartEvent, agui.TextMessageContentEvent, agui.TextMessageEndEvent
_CALL: Final = agui.ToolCallStartEvent, agui.ToolCallArgsEvent, agui.ToolCallEndEvent
_REASONING: Final = (
    agui.ReasoningMessageStartEvent,
    agui.ReasoningMessageContentEvent,
    agui.ReasoningMessageEndEvent,
)
_KINDS: Final = {
    EventType.TEXT_MESSAGE_CHUNK: _Kind("text message", "message_id", ("role", "name"), *_TEXT),
    EventType.TOOL_CALL_CHUNK: _Kind(
        "tool call", "tool_call_id", ("tool_call_name", "parent_message_id"), *_CALL
    ),
    EventType.REASONING_MESSAGE_CHUNK: _Kind("reasoning message", "message_id", (), *_REASONING),
}
_NOT_CLOSING: Final = (
    "RAW",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "REASONING_ENCRYPTED_VALUE",
    "SUBAGENT_STARTED",
)
_CLOSES_NOTHING: Final = frozenset(map(EventType, _NOT_CLOSING))
_CLOSES_ALL: Final = frozenset(
    map(EventType, ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"))
)


class _Item(NamedTuple):
    """An open item, with the details of the chunk that opened it."""

    kind: _Kind
    id: str
    details: dict[str, str | None]


class ChunkExpander:
    """Expands one stream, event by event. Each subagent, and the parent agent, has at most one item
    open by chunks.
    """

    def __init__(self) -> None:
        self._open: dict[str | None, _Item] = {}  # by subagent run id; None is the parent agent

    def feed(self, event: Event) -> list[Event]:
        """Return the events that `event` stands for: a chunk's expansion, or itself after the ends
        of what it closes.

        Raises:
            ProtocolError: A chunk opens an item without naming it (`chunk-without-id`), contradicts
                the chunk that opened the item (`chunk-mismatch`) or could continue several items
                (`chunk-ambiguous`).
        """
        if (kind := _KINDS.get(event.type)) is not None:
            return self._expand(cast("_Chunk", event), kind)
        if not self._open or event.type in _CLOSES_NOTHING:
            return [event]
        if event.type in _CLOSES_ALL:
            return [
                *(
                    end
                    for subagent_run_id in list(self._open)
                    for end in self._close(subagent_run_id)
                ),
                event,
            ]
        return [*self._close(getattr(event, "subagent_run_id", None)), event]

    def _close(self, subagent_run_id: str | None) -> list[Event]:
        item = self._open.pop(subagent_run_id, None)
        if item is None:
            return []
        return [item.kind.end(**{item.kind.id_field: item.id, "subagent_run_id": subagent_run_id})]

    def _expand(self, chunk: _Chunk, kind: _Kind) -> list[Event]:
        item_id: str | None = getattr(chunk, kind.id_field)
        details = {field: getattr(chunk, field) for field in kind.details}
        if isinstance(chunk, agui.TextMessageChunkEvent):
            details["role"] = chunk.role or "assistant"
        subagent_run_id = self._subagent_of(chunk, kind, item_id)
        item = self._open.get(subagent_run_id)
        events: list[Event] = []
        if item is not None and item.kind is kind and item_id in (None, item.id):
            for field, was in item.details.items():
                value = getattr(chunk, field)
                if value not in (None, was):
                    refuse(
                        "chunk-mismatch",
                        chunk,
                        f"its {field} is {value!r}, and that of its item {was!r}",
                    )
        else:
            events = self._close(subagent_run_id)
            if item_id is None:
                refuse("chunk-without-id", chunk, f"it opens a {kind.name} and must name it")
            if isinstance(chunk, agui.ToolCallChunkEvent) and chunk.tool_call_name is None:
                refuse("chunk-without-id", chunk, "it opens a tool call and must name the tool")
            item = self._open[subagent_run_id] = _Item(kind, item_id, details)
            fields: dict[str, Any] = {kind.id_field: item_id, **details, "metadata": chunk.metadata}
            events.append(kind.start(**fields, subagent_run_id=subagent_run_id))
        if (
            chunk.delta is not None
            or chunk.raw_event is not None
            or (not events and chunk.metadata is not None)
        ):
            content: dict[str, Any] = {
                kind.id_field: item.id,
                "delta": chunk.delta or "",
                "metadata": chunk.metadata,
            }
            events.append(
                kind.content(**content, subagent_run_id=subagent_run_id, raw_event=chunk.raw_event)
            )
        return events

    def _subagent_of(self, chunk: _Chunk, kind: _Kind, item_id: str | None) -> str | None:
        """Return the subagent run of the item that `chunk` names, else its own, else of the only
        possible item.
        """
        own = chunk.subagent_run_id
        alike = {
            subagent_run_id: item.id
            for subagent_run_id, item in self._open.items()
            if item.kind is kind
        }
        if item_id is not None:
            agents = [
                subagent_run_id for subagent_run_id, open_id in alike.items() if open_id == item_id
            ] or [own]
            if own not in (None, agents[0]):
                refuse("chunk-mismatch", chunk, f"{kind.name} {item_id!r} belongs to another agent")
            return agents[0]
        if own is not None or None in alike:
            return own
        if len(alike) > 1:
            refuse(
                "chunk-ambiguous", chunk, f"it may continue any of {len(alike)} open {kind.name}s"
            )
        return next(iter(alike), None)
