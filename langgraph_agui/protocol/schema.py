"""A consumer's schema stage: the unknown goes, the malformed ends the run (AG-UI 1.0, enforcement)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from ag_ui.core import BaseEvent, Event
from pydantic import ValidationError

from langgraph_agui.protocol.compat import modernise
from langgraph_agui.protocol.errors import ProtocolError
from langgraph_agui.protocol.shapes import EVENTS, MalformedError, check, record_of, strip
from langgraph_agui.protocol.wire import wire_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_log = logging.getLogger(__name__)


def parse_event(event: Mapping[str, object] | BaseEvent) -> Event | None:
    """Return ``event``, a wire object or an SDK event, as a conforming SDK event.

    ``None`` stands for an event whose type AG-UI 1.0 does not know. Unknown properties, and list elements or
    optional values of an unknown kind, are removed at any depth, never inside open payloads; spellings from
    before 1.0 are read as the reference client does. Each of these is logged as one warning. A malformed value
    of a known field raises :class:`ProtocolError` (``malformed-event``): a wrong type, a missing field, a null
    where the field is merely optional. An integer may be spelt ``1.0``, as everywhere in JSON.
    """
    parsed, notes = examine(event)
    log_notes(notes)
    return parsed


def examine(event: Mapping[str, object] | BaseEvent) -> tuple[Event | None, list[str]]:
    """Do as :func:`parse_event`, but return what it would log."""
    notes: list[str] = []
    wire = modernise(wire_fields(event) if isinstance(event, BaseEvent) else event, notes)
    kind = wire.get("type")
    if not isinstance(kind, str) or not kind:
        raise ProtocolError("no-event-type", "Invalid event: it carries no event type.", wire)
    kind = str.__str__(kind)
    model = EVENTS.get(kind)
    if model is None:
        return None, [*notes, f"unknown type {kind!r}, dropped"]
    shape = record_of(model)
    removed: list[str] = []
    kept = strip(wire, shape, "", removed)
    notes += [f"unknown {path} in {kind}, removed" for path in removed]
    try:
        check(kept, shape, "")
        return cast("Event", model.model_validate(kept)), notes
    except (MalformedError, ValidationError) as error:
        raise ProtocolError("malformed-event", f"Malformed {kind}: {error}", wire) from error


def log_notes(notes: Iterable[str]) -> None:
    """Log what :func:`examine` noted, one warning each."""
    for note in notes:
        _log.warning("AG-UI: %s", note)
