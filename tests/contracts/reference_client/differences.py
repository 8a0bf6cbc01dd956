"""Where we differ from the reference client on purpose: all of it, with the reasons.

Two more cannot be shown as the others are. A patch that moves the whole document into itself fails
here; the client makes a state that contains itself and has no JSON. And the client warns of a
protocol version that it does not know once in its life, not once per stream; our strict verifier
refuses such a stream.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    event,
    in_run,
    message,
    snapshot,
    state_delta,
)


class Difference(NamedTuple):
    """A stream, as events or as the bytes of a body, of which we make something else; in what."""

    given: list[Wire] | bytes
    kind: Literal["verdict", "events", "state", "warnings"]


def _framed(*events: Wire, end: str) -> bytes:
    return "".join(f"data: {json.dumps(wire)}{end}{end}" for wire in events).encode()


def _held(state: Any, *events: Wire) -> list[Wire]:
    return in_run(event("STATE_SNAPSHOT", snapshot=state), *events)


_REASONING = [event(f"REASONING_MESSAGE_{one}", messageId="q") for one in ("START", "END")]

DIFFERENCES: dict[str, Difference] = {
    # THINKING_* events are unknown since 1.0. The client translates them under ids that it makes
    # up, and a message under such an id is one that nobody can name.
    "retired events": Difference(in_run(event("THINKING_START"), event("THINKING_END")), "events"),
    # They are line ends of server-sent events. The client reads LF alone; what it refuses for that
    # we take.
    "CRLF": Difference(_framed(STARTED, FINISHED, end="\r\n"), "verdict"),
    "CR": Difference(
        b'data: {"type":"RUN_STARTED",\rdata: "threadId":"t","runId":"r"}\n\n', "verdict"
    ),
    # Servers from before 1.0 send this role, and so did the client's own `THINKING_*` shim. The
    # client refuses the stream; the event says what it is all the same.
    "reasoning of an assistant": Difference(
        in_run({**_REASONING[0], "role": "assistant"}, _REASONING[1]), "verdict"
    ),
    # Servers that pass on a model's content as it is, and clients' histories made of it, have lists
    # of parts where 1.0 has text. The client refuses them; their text is plain to read.
    "text in parts": Difference(
        in_run(snapshot(message("assistant", "m", [{"type": "text", "text": "a"}]))), "verdict"
    ),
    "no parts": Difference(in_run(snapshot(message("assistant", "m", []))), "verdict"),
    # A state that is no object or list cannot be written into. The client drops the write without a
    # warning.
    "patch of a bare value": Difference(
        _held(1, state_delta({"op": "add", "path": "/a", "value": 1})), "warnings"
    ),
    # RFC 6901 has no index with a leading zero, and the client refuses one. It reads it only where
    # the value takes the place of the whole document.
    "a malformed index, for the whole document": Difference(
        _held({"l": [[1], [2]]}, state_delta({"op": "copy", "from": "/l/00", "path": ""})), "state"
    ),
    # JavaScript rounds integers beyond 2**53. Python need not, and would lose data.
    "large integers": Difference(_held(2**53 + 1), "state"),
    # Both read infinity, which JSON cannot say: the client's state becomes null when it is told.
    "endless numbers": Difference(
        _framed(STARTED, event("STATE_SNAPSHOT", snapshot=0), end="\n").replace(
            b": 0}", b": 1e999}"
        ),
        "state",
    ),
    # Over SSE both refuse it. An object that an agent class gives to the client itself is dropped
    # with a warning; `verify` does not ask where an object came from.
    "an object without a type": Difference([STARTED, {}], "verdict"),
}
