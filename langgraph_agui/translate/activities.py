"""Activities: what tools tell of their output while they run (AG-UI 1.0, activities).

Parts of a tool's output enter, from `ToolRuntime.emit_output_delta`; `ACTIVITY_SNAPSHOT` leaves with the first,
`ACTIVITY_DELTA` with each that follows. An activity is no part of the conversation: no snapshot of the messages holds
one, since a snapshot that held one would delete the client's others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent

from langgraph_agui.translate.event_sinks import Sink

TOOL_OUTPUT: Final = "langgraph:tool_output"
"""The `activityType` of a tool's output. Its content: `toolCallId`, `toolName`, `output` (the list of all parts so far)
and `status`: "running", "done", "failed", or "stopped" where the run has ended before the tool, or has paused in it."""


@dataclass(slots=True)
class _Activity:
    """A tool's output so far."""

    call_id: str
    tool: str
    tag: str | None
    output: list[object] = field(default_factory=list)
    status: str = "running"

    def snapshot(self) -> ActivitySnapshotEvent:
        """All of it."""
        content = {"toolCallId": self.call_id, "toolName": self.tool, "status": self.status, "output": [*self.output]}
        return ActivitySnapshotEvent(
            message_id=f"{self.call_id}:output",
            activity_type=TOOL_OUTPUT,
            content=content,
            subagent_run_id=self.tag,
        )

    def delta(self, operation: dict[str, object]) -> ActivityDeltaEvent:
        """A change of it."""
        return ActivityDeltaEvent(
            message_id=f"{self.call_id}:output",
            activity_type=TOOL_OUTPUT,
            patch=[operation],  # type: ignore[list-item]  # a JSON Patch operation, as the model takes it
            subagent_run_id=self.tag,
        )


class Activities:
    """The activities of one run.

    Args:
        sink: Takes the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._told: dict[str, _Activity] = {}
        self._again: set[str] = set()

    def begin(self, call_id: str) -> None:
        """A tool begins, for the first time or, after a pause or a failure, again."""
        if call_id in self._told:
            self._again.add(call_id)

    def output(self, call_id: str, tool: str, delta: object, tag: str | None) -> None:
        """A tool tells a part of its output, maybe what it has left running when it is over."""
        activity = self._told.get(call_id)
        if activity is not None and call_id not in self._again:
            activity.output.append(delta)
            self._sink.event(activity.delta({"op": "add", "path": "/output/-", "value": delta}))
        else:
            self._again.discard(call_id)
            self._told[call_id] = activity = _Activity(call_id, tool, tag, [delta])
            self._sink.event(activity.snapshot())

    def end(self, call_id: str, status: Literal["done", "failed", "stopped"]) -> None:
        """A tool has ended."""
        activity = self._told.get(call_id)
        if activity is not None and activity.status == "running":
            activity.status = status
            self._sink.event(activity.delta({"op": "replace", "path": "/status", "value": status}))

    def close_all(self) -> None:
        """End those whose tools have not come to their end."""
        for call_id in list(self._told):
            self.end(call_id, "stopped")

    def reopen(self, sink: Sink) -> None:
        """Tell one more reader all of them."""
        for activity in self._told.values():
            sink.event(activity.snapshot())
