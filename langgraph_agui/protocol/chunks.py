"""Expands the `*_CHUNK` shorthands into start, content and end events (AG-UI 1.0, client chunk step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from ag_ui import core
from ag_ui.core import Event, EventType

from langgraph_agui.protocol.wire import refuse

_Chunk: TypeAlias = core.TextMessageChunkEvent | core.ToolCallChunkEvent | core.ReasoningMessageChunkEvent


class _Kind(NamedTuple):
    """What chunks of one type stand for; `details` are the fields that only the first chunk needs to have."""

    name: str
    id_field: str
    details: tuple[str, ...]
    start: Callable[..., Event]
    content: Callable[..., Event]
    end: Callable[..., Event]


_KINDS: Final = {
    EventType.TEXT_MESSAGE_CHUNK: _Kind(
        "text message",
        "message_id",
        ("role", "name"),
        core.TextMessageStartEvent,
        core.TextMessageContentEvent,
        core.TextMessageEndEvent,
    ),
    EventType.TOOL_CALL_CHUNK: _Kind(
        "tool call",
        "tool_call_id",
        ("tool_call_name", "parent_message_id"),
        core.ToolCallStartEvent,
        core.ToolCallArgsEvent,
        core.ToolCallEndEvent,
    ),
    EventType.REASONING_MESSAGE_CHUNK: _Kind(
        "reasoning message",
        "message_id",
        (),
        core.ReasoningMessageStartEvent,
        core.ReasoningMessageContentEvent,
        core.ReasoningMessageEndEvent,
    ),
}
_CLOSES_NOTHING: Final = frozenset(
    {
        EventType.RAW,
        EventType.ACTIVITY_SNAPSHOT,
        EventType.ACTIVITY_DELTA,
        EventType.REASONING_ENCRYPTED_VALUE,
        EventType.SUBAGENT_STARTED,
    }
)
_CLOSES_ALL: Final = frozenset(
    {EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.RUN_ERROR, EventType.MESSAGES_SNAPSHOT}
)


class _Item(NamedTuple):
    """An open item, with the details of the chunk that opened it."""

    kind: _Kind
    id: str
    details: dict[str, str | None]


class ChunkExpander:
    """Expands one stream, event by event. Each subagent, and the parent agent, has at most one item open by chunks."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Item] = {}  # by subagent run id; None is the parent agent

    def feed(self, event: Event) -> list[Event]:
        """Return what `event` stands for: a chunk's expansion, or itself after the ends of what it closes.

        Raises:
            ProtocolError: A chunk opens an item without naming it (`chunk-without-id`), contradicts the chunk that
                opened the item (`chunk-mismatch`) or could continue several items (`chunk-ambiguous`).
        """
        if isinstance(event, _Chunk):
            return self._expand(event, _KINDS[event.type])
        if not self._open or event.type in _CLOSES_NOTHING:
            return [event]
        if event.type in _CLOSES_ALL:
            return [*(end for subagent_run_id in list(self._open) for end in self._close(subagent_run_id)), event]
        return [*self._close(getattr(event, "subagent_run_id", None)), event]

    def _close(self, subagent_run_id: str | None) -> list[Event]:
        item = self._open.pop(subagent_run_id, None)
        if item is None:
            return []
        return [item.kind.end(**{item.kind.id_field: item.id, "subagent_run_id": subagent_run_id})]

    def _expand(self, chunk: _Chunk, kind: _Kind) -> list[Event]:
        item_id: str | None = getattr(chunk, kind.id_field)
        details = {field: getattr(chunk, field) for field in kind.details}
        if isinstance(chunk, core.TextMessageChunkEvent):
            details["role"] = chunk.role or "assistant"
        subagent_run_id = self._subagent_of(chunk, kind, item_id)
        item = self._open.get(subagent_run_id)
        events: list[Event] = []
        if item is not None and item.kind is kind and item_id in (None, item.id):
            for field in kind.details:
                value = getattr(chunk, field)
                if value is not None and value != item.details[field]:
                    was = item.details[field]
                    refuse("chunk-mismatch", chunk, f"its {field} is {value!r}, and that of its item {was!r}")
        else:
            events = self._close(subagent_run_id)
            if item_id is None:
                refuse("chunk-without-id", chunk, f"it opens a {kind.name} and must name it")
            if isinstance(chunk, core.ToolCallChunkEvent) and chunk.tool_call_name is None:
                refuse("chunk-without-id", chunk, "it opens a tool call and must name the tool")
            item = self._open[subagent_run_id] = _Item(kind, item_id, details)
            fields: dict[str, Any] = {kind.id_field: item_id, **details, "metadata": chunk.metadata}
            events.append(kind.start(**fields, subagent_run_id=chunk.subagent_run_id))
        if chunk.delta is not None or chunk.raw_event is not None or (not events and chunk.metadata is not None):
            content: dict[str, Any] = {kind.id_field: item.id, "delta": chunk.delta or "", "metadata": chunk.metadata}
            writer = subagent_run_id if chunk.subagent_run_id is None else chunk.subagent_run_id
            events.append(kind.content(**content, subagent_run_id=writer, raw_event=chunk.raw_event))
        return events

    def _subagent_of(self, chunk: _Chunk, kind: _Kind, item_id: str | None) -> str | None:
        """Return the subagent run of the item that `chunk` names, else its own, else of the only possible item."""
        own = chunk.subagent_run_id
        alike = {subagent_run_id: item.id for subagent_run_id, item in self._open.items() if item.kind is kind}
        if item_id is not None:
            for subagent_run_id, open_id in alike.items():
                if open_id == item_id:
                    if own is not None and own != subagent_run_id:
                        refuse("chunk-mismatch", chunk, f"{kind.name} {item_id!r} belongs to another agent")
                    return subagent_run_id
            return own
        if own is not None or None in alike:
            return own
        if len(alike) > 1:
            refuse("chunk-ambiguous", chunk, f"it may continue any of {len(alike)} open {kind.name}s")
        return next(iter(alike), None)
