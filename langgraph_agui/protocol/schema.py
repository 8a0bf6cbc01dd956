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
    from collections.abc import Mapping

_log = logging.getLogger(__name__)


def parse_event(event: Mapping[str, object] | BaseEvent) -> Event | None:
    """Return ``event``, a wire object or an SDK event, as a conforming SDK event.

    ``None`` stands for an event whose type AG-UI 1.0 does not know. Unknown properties, and list elements or
    optional values of an unknown kind, are removed at any depth, never inside open payloads. All of this is
    logged as one warning each. A malformed value of a known field raises :class:`ProtocolError`
    (``malformed-event``): a wrong type, a missing field, a null where the field is merely optional. An
    integer may be spelt ``1.0``, as in JSON.
    """
    wire = modernise(wire_fields(event) if isinstance(event, BaseEvent) else event)
    kind = wire.get("type")
    if not isinstance(kind, str) or not kind:
        raise ProtocolError("no-event-type", "Invalid event: it carries no event type.", wire)
    model = EVENTS.get(kind)
    if model is None:
        _log.warning("AG-UI: dropping event of unknown type %r", kind)
        return None
    shape = record_of(model)
    removed: list[str] = []
    kept = strip(wire, shape, "", removed)
    for path in removed:
        _log.warning("AG-UI: removed unknown %s from %s", path, str.__str__(kind))
    try:
        check(kept, shape, "")
        return cast("Event", model.model_validate(kept))
    except (MalformedError, ValidationError) as error:
        raise ProtocolError("malformed-event", f"Malformed {str.__str__(kind)}: {error}", wire) from error
