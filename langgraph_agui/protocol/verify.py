"""Judges AG-UI streams as the reference client does, and on request by what it leaves unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.schema import parse_event
from langgraph_agui.protocol.sequence import Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ag_ui.core import BaseEvent, Event, RunAgentInput


class Verifier:
    """The consumer's pipeline for one stream: schema, chunk expansion, order of events.

    Without ``strict`` a stream passes exactly if ``@ag-ui/client`` 1.0 accepts it.
    """

    def __init__(self, strict: bool = False, *, input: RunAgentInput | None = None) -> None:  # noqa: A002
        self._chunks = ChunkExpander()
        self._sequence = Sequence()

    def feed(self, event: Mapping[str, object] | BaseEvent) -> list[Event]:
        """Judge the next event, an SDK event or a wire object, and return what it expands to.

        Raises :class:`~langgraph_agui.protocol.errors.ProtocolError`; the stream is then over.
        """
        parsed = parse_event(event)
        if parsed is None:
            return []
        expanded = self._chunks.feed(parsed)
        for item in expanded:
            self._sequence.feed(item)
        return expanded

    def finish(self) -> None:
        """Say that the stream has ended."""


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
