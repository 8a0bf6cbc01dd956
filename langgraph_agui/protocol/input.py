"""What a client sends, read as a producer must read it (AG-UI 1.0, run input)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import cast

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from langgraph_agui.protocol.compat import modernise_input
from langgraph_agui.protocol.errors import ProtocolError
from langgraph_agui.protocol.shapes import MalformedError, check, record_of, strip

_log = logging.getLogger(__name__)

_ABSENT: Mapping[str, object] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
"""What an absent member of the input means."""


def parse_input(value: Mapping[str, object]) -> RunAgentInput:
    """Return the wire object `value` as a `RunAgentInput`.

    Absent lists and objects count as empty. Unknown members, roles and content parts are removed with one warning
    each, so that a newer client is served. Raises `ProtocolError` (`malformed-input`) for a malformed value.
    """
    wire = {**_ABSENT, **modernise_input(value)}
    if wire["state"] is None:
        wire["state"] = {}
    shape = record_of(RunAgentInput)
    removed: list[str] = []
    kept = cast("Mapping[str, object]", strip(wire, shape, "", removed))
    for path in removed:
        _log.warning("AG-UI: removed unknown %s from the input", path)
    try:
        check(kept, shape, "")
        return RunAgentInput.model_validate(kept)
    except MalformedError as error:
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput: {error}") from error
    except ValidationError as error:
        places = ", ".join("/".join(str(step) for step in detail["loc"]) for detail in error.errors())
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput at {places}") from error
