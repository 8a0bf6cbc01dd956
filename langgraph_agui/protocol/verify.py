"""Judges AG-UI streams as the reference client does, and on request by what it leaves unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ag_ui.core import BaseEvent

from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.errors import ProtocolError
from langgraph_agui.protocol.event_order import EventOrder
from langgraph_agui.protocol.schema import examine, log_notes
from langgraph_agui.protocol.strict import StrictRules
from langgraph_agui.protocol.wire import wire_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ag_ui.core import Event, RunAgentInput


class Verifier:
    """The consumer's pipeline for one stream: schema, chunk expansion, order of events (AG-UI 1.0, client).

    As it stands a stream passes exactly if ``@ag-ui/client`` 1.0 takes it without an error; a stream that breaks
    off, or that is empty, is among those. ``strict`` adds what the protocol asks of producers and the client does
    not check: everything is closed by a terminal event, ids are echoed, unique and known, nothing is streamed or
    answered twice, pending calls and usage add up, and no client would have a reason to warn. For that ``input``
    says what the run was asked: its ids, messages, state and frontend tools.
    """

    def __init__(self, strict: bool = False, *, input: RunAgentInput | None = None) -> None:  # noqa: A002
        self._chunks = ChunkExpander()
        self._sequence = EventOrder()
        self._strict = StrictRules(input) if strict else None

    def feed(self, event: Mapping[str, object] | BaseEvent) -> list[Event]:
        """Judge the next event, an SDK event or a wire object, and return what it expands to.

        Raises :class:`~langgraph_agui.protocol.errors.ProtocolError`; the stream is over then.
        """
        parsed, notes = examine(event)
        if notes and self._strict is not None:
            wire = wire_fields(event) if isinstance(event, BaseEvent) else event
            raise ProtocolError("non-conforming", f"A client would warn: {notes[0]}", wire)
        log_notes(notes)
        if parsed is None:
            return []
        expanded = self._chunks.feed(parsed)
        for item in expanded:
            self._sequence.feed(item)
            if self._strict is not None:
                self._strict.feed(item)
        return expanded

    def finish(self) -> None:
        """Say that the stream has ended; raises :class:`ProtocolError` if ``strict`` finds it must not have."""
        if self._strict is None:
            return
        if self._sequence.status == "empty":
            raise ProtocolError("empty-stream", "The stream holds no event.")
        if self._sequence.status == "active":
            raise ProtocolError("truncated-stream", "The stream ends within a run.")
        self._strict.finish()


def verify(
    events: Iterable[Mapping[str, object] | BaseEvent],
    *,
    strict: bool = False,
    input: RunAgentInput | None = None,  # noqa: A002
) -> list[Event]:
    """Judge a whole stream and return its events with chunks expanded; see :class:`Verifier`."""
    verifier = Verifier(strict, input=input)
    expanded = [item for event in events for item in verifier.feed(event)]
    verifier.finish()
    return expanded
