"""Expansion of the ``*_CHUNK`` shorthands into start, content and end (AG-UI 1.0, client chunk step)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ag_ui.core import (
    Event,
    EventType,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from langgraph_agui.protocol.wire import ProtocolError, wire_fields

Kind: TypeAlias = Literal["text message", "tool call", "reasoning message"]
Chunk: TypeAlias = TextMessageChunkEvent | ToolCallChunkEvent | ReasoningMessageChunkEvent

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


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a lane holds open, with what its opener said."""

    kind: Kind
    id: str
    details: dict[str, str | None]


class ChunkExpander:
    """Expands one stream, event by event.

    A lane is what one subagent, or the parent agent, is producing; each holds at most one item opened by
    chunks.
    """

    def __init__(self) -> None:
        self._lanes: dict[str | None, _Opened] = {}

    def feed(self, event: Event) -> list[Event]:
        """Return what ``event`` stands for: a chunk's expansion, or itself after the ends of what it closes.

        Raises :class:`ProtocolError` for a chunk that opens an item without naming it (``chunk-without-id``),
        that contradicts the opener (``chunk-mismatch``) or that could continue several (``chunk-ambiguous``).
        """
        if isinstance(event, Chunk):
            return self._expand(event)
        if not self._lanes or event.type in _CLOSES_NOTHING:
            return [event]
        if event.type in _CLOSES_ALL:
            return [*(end for owner in list(self._lanes) for end in self._close(owner)), event]
        return [*self._close(getattr(event, "subagent_run_id", None)), event]

    def _close(self, owner: str | None) -> list[Event]:
        opened = self._lanes.pop(owner, None)
        if opened is None:
            return []
        match opened.kind:
            case "text message":
                return [TextMessageEndEvent(message_id=opened.id, subagent_run_id=owner)]
            case "reasoning message":
                return [ReasoningMessageEndEvent(message_id=opened.id, subagent_run_id=owner)]
            case "tool call":
                return [ToolCallEndEvent(tool_call_id=opened.id, subagent_run_id=owner)]

    def _expand(self, chunk: Chunk) -> list[Event]:
        kind, item_id = _identity(chunk)
        lane = self._lane(kind, item_id, chunk)
        opened = self._lanes.get(lane)
        events: list[Event] = []
        if opened is not None and opened.kind == kind and item_id in (None, opened.id):
            _agree(opened, chunk)
        else:
            events = self._close(lane)
            if item_id is None:
                raise _error("chunk-without-id", chunk, f"it opens a {kind} and must name it")
            events.append(_start(item_id, chunk))
            opened = self._lanes[lane] = _Opened(kind, item_id, _details(chunk))
        if chunk.delta is not None or chunk.raw_event is not None or (not events and chunk.metadata is not None):
            owner = lane if chunk.subagent_run_id is None else chunk.subagent_run_id
            events.append(_content(opened.id, owner, chunk))
        return events

    def _lane(self, kind: Kind, item_id: str | None, chunk: Chunk) -> str | None:
        """Return the lane of ``chunk``: its item's, its tag's, or the only one that it can continue."""
        tag = chunk.subagent_run_id
        alike = {owner: opened.id for owner, opened in self._lanes.items() if opened.kind == kind}
        if item_id is not None:
            for owner, opened_id in alike.items():
                if opened_id == item_id:
                    if tag is not None and tag != owner:
                        raise _error("chunk-mismatch", chunk, f"{kind} {item_id!r} belongs to another agent")
                    return owner
            return tag
        if tag is not None or None in alike:
            return tag
        if len(alike) > 1:
            raise _error("chunk-ambiguous", chunk, f"it may continue any of {len(alike)} open {kind}s")
        return next(iter(alike), None)


def _identity(chunk: Chunk) -> tuple[Kind, str | None]:
    match chunk:
        case TextMessageChunkEvent():
            return "text message", chunk.message_id
        case ToolCallChunkEvent():
            return "tool call", chunk.tool_call_id
        case ReasoningMessageChunkEvent():
            return "reasoning message", chunk.message_id


def _details(chunk: Chunk) -> dict[str, str | None]:
    match chunk:
        case TextMessageChunkEvent():
            return {"role": chunk.role, "name": chunk.name}
        case ToolCallChunkEvent():
            return {"toolCallName": chunk.tool_call_name, "parentMessageId": chunk.parent_message_id}
        case ReasoningMessageChunkEvent():
            return {}


def _agree(opened: _Opened, chunk: Chunk) -> None:
    """Raise if ``chunk`` repeats a field with another value than the opener gave it or implied."""
    meant = {**opened.details, "role": opened.details.get("role") or "assistant"}
    for field, value in _details(chunk).items():
        if value is not None and value != meant[field]:
            raise _error("chunk-mismatch", chunk, f"{field} {value!r} contradicts the opener's {meant[field]!r}")


def _start(item_id: str, chunk: Chunk) -> Event:
    owner, metadata = chunk.subagent_run_id, chunk.metadata
    match chunk:
        case TextMessageChunkEvent():
            return TextMessageStartEvent(
                message_id=item_id,
                role=chunk.role or "assistant",
                name=chunk.name,
                subagent_run_id=owner,
                metadata=metadata,
            )
        case ReasoningMessageChunkEvent():
            return ReasoningMessageStartEvent(message_id=item_id, subagent_run_id=owner, metadata=metadata)
        case ToolCallChunkEvent():
            if chunk.tool_call_name is None:
                raise _error("chunk-without-id", chunk, "it opens a tool call and must name the tool")
            return ToolCallStartEvent(
                tool_call_id=item_id,
                tool_call_name=chunk.tool_call_name,
                parent_message_id=chunk.parent_message_id,
                subagent_run_id=owner,
                metadata=metadata,
            )


def _content(item_id: str, owner: str | None, chunk: Chunk) -> Event:
    delta, metadata, raw_event = chunk.delta or "", chunk.metadata, chunk.raw_event
    match chunk:
        case TextMessageChunkEvent():
            kind: type[TextMessageContentEvent | ReasoningMessageContentEvent] = TextMessageContentEvent
        case ReasoningMessageChunkEvent():
            kind = ReasoningMessageContentEvent
        case ToolCallChunkEvent():
            return ToolCallArgsEvent(
                tool_call_id=item_id,
                delta=delta,
                subagent_run_id=owner,
                metadata=metadata,
                raw_event=raw_event,
            )
    return kind(message_id=item_id, delta=delta, subagent_run_id=owner, metadata=metadata, raw_event=raw_event)


def _error(code: str, chunk: Chunk, reason: str) -> ProtocolError:
    return ProtocolError(code, f"Cannot expand {chunk.type.value}: {reason}.", wire_fields(chunk))
