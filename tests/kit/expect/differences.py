"""Where we differ from the reference client on purpose: all of it, with the reasons.

Two more cannot be shown as the others are. A patch that moves the whole document into itself fails
here; the client makes a state that contains itself and has no JSON. And the client warns of a
protocol version that it does not know once in its life, not once per stream; our strict verifier
refuses such a stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

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


@dataclass(frozen=True)
class Difference:
    """A stream, as events or as the bytes of a body, of which we make something else; in what, and
    why."""

    given: list[Wire] | bytes
    kind: Literal["verdict", "events", "state", "warnings"]
    why: str


def _framed(*events: Wire, end: str) -> bytes:
    return "".join(f"data: {json.dumps(wire)}{end}{end}" for wire in events).encode()


def _held(state: Any) -> list[Wire]:
    return in_run(event("STATE_SNAPSHOT", snapshot=state))


DIFFERENCES: dict[str, Difference] = {
    "retired events": Difference(
        in_run(event("THINKING_START"), event("THINKING_END")),
        "events",
        "THINKING_* events are unknown since 1.0. The client translates them under ids that it "
        "makes up, and a message "
        "under such an id is one that nobody can name.",
    ),
    "CRLF": Difference(
        _framed(STARTED, FINISHED, end="\r\n"),
        "verdict",
        "CRLF and CR are line ends of server-sent events. The client reads LF alone; what it "
        "refuses for that we take.",
    ),
    "CR": Difference(
        b'data: {"type":"RUN_STARTED",\rdata: "threadId":"t","runId":"r"}\n\n',
        "verdict",
        "As CRLF.",
    ),
    "reasoning of an assistant": Difference(
        in_run(
            event("REASONING_MESSAGE_START", messageId="q", role="assistant"),
            event("REASONING_MESSAGE_END", messageId="q"),
        ),
        "verdict",
        "Servers from before 1.0 send this role, and so did the client's own `THINKING_*` shim. "
        "The client refuses the "
        "stream; the event says what it is all the same.",
    ),
    "text in parts": Difference(
        in_run(snapshot(message("assistant", "m", [{"type": "text", "text": "a"}]))),
        "verdict",
        "Servers that pass on a model's content as it is, and clients' histories made of it, have "
        "lists of parts where "
        "1.0 has text. The client refuses them; their text is plain to read.",
    ),
    "no parts": Difference(
        in_run(snapshot(message("assistant", "m", []))),
        "verdict",
        "As text in parts: a message of calls alone.",
    ),
    "patch of a bare value": Difference(
        in_run(
            event("STATE_SNAPSHOT", snapshot=1),
            state_delta({"op": "add", "path": "/a", "value": 1}),
        ),
        "warnings",
        "A state that is no object or list cannot be written into. The client drops the write "
        "without a warning.",
    ),
    "a malformed index, for the whole document": Difference(
        in_run(
            event("STATE_SNAPSHOT", snapshot={"l": [[1], [2]]}),
            state_delta({"op": "copy", "from": "/l/00", "path": ""}),
        ),
        "state",
        "RFC 6901 has no index with a leading zero, and the client refuses one. It reads it only "
        "where the value takes the place of the whole document.",
    ),
    "large integers": Difference(
        _held(2**53 + 1),
        "state",
        "JavaScript rounds integers beyond 2**53. Python need not, and would lose data.",
    ),
    "endless numbers": Difference(
        _framed(STARTED, event("STATE_SNAPSHOT", snapshot=0), end="\n").replace(
            b": 0}", b": 1e999}"
        ),
        "state",
        "Both read infinity, which JSON cannot say: the client's state becomes null when it is "
        "told.",
    ),
    "an object without a type": Difference(
        [STARTED, {}],
        "verdict",
        "Over SSE both refuse it. An object that an agent class gives to the client itself is "
        "dropped with a warning; "
        "`verify` does not ask where an object came from.",
    ),
}
