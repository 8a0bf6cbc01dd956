"""What a client sends, read as a producer must read it (AG-UI 1.0, run input)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from langgraph_agui.protocol.compat import modernise_input
from langgraph_agui.protocol.errors import ProtocolError
from langgraph_agui.protocol.schema import log_notes
from langgraph_agui.protocol.shapes import MalformedError, check, record_of, strip

_ABSENT: Mapping[str, object] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
"""What an absent member of the input means."""


def parse_input(value: Mapping[str, object]) -> RunAgentInput:
    """Return the wire object `value` as a `RunAgentInput`.

    Absent lists and objects count as empty. Unknown members, roles and content parts are removed with one warning
    each, so that a newer client is served. Raises `ProtocolError` (`malformed-input`) for a malformed value.
    """
    notes: list[str] = []
    wire = {**_ABSENT, **modernise_input(value, notes)}
    if wire["state"] is None:
        wire["state"] = {}
    shape = record_of(RunAgentInput)
    removed: list[str] = []
    kept = cast("Mapping[str, object]", strip(wire, shape, "", removed))
    log_notes([*notes, *(f"unknown {path} in RunAgentInput, removed" for path in removed)])
    try:
        check(kept, shape, "")
        return RunAgentInput.model_validate(kept)
    except MalformedError as error:
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput: {error}") from error
    except ValidationError as error:
        places = ", ".join("/".join(str(step) for step in detail["loc"]) for detail in error.errors())
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput at {places}") from error
