"""The output of tools while they run, as activities (AG-UI 1.0, activities).

`ToolRuntime.emit_output_delta` enters through `ToolOutputs`, in the tool's own context. `ACTIVITY_SNAPSHOT` leaves with
the first part of an output, `ACTIVITY_DELTA` with each further part. No snapshot of messages holds an activity, because
one that did would delete the client's other activities.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from uuid import UUID

from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent

from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.subagents import subagent_sink

Emit: TypeAlias = Callable[[object], None]

_writer: ContextVar[Emit | None]
try:
    from langgraph.pregel._tools import _tool_call_writer as _writer
except ImportError:  # a LangGraph version that keeps it elsewhere: the output of its tools is not emitted
    _writer = ContextVar("tool_call_writer", default=None)


class _Writer:
    """The writer of one run of a tool; several handlers may listen to it."""

    def __init__(self, run_id: UUID, emit: Emit) -> None:
        self.run_id = run_id
        self.listeners = [emit]

    def __call__(self, delta: object) -> None:
        for emit in self.listeners:
            emit(delta)


class ToolOutputs:
    """Captures the output of the running tools.

    LangGraph keeps the writer of the running tool in a context variable, which its stream mode `tools` sets. That mode
    adds a second handler to every token; setting the variable here costs nothing.
    """

    def __init__(self) -> None:
        self._tokens: dict[UUID, Token[Emit | None]] = {}

    def capture(self, run_id: UUID, emit: Emit) -> None:
        """Pass the output of the tool that is about to run in this context to `emit`, beside other handlers of it."""
        before = _writer.get()
        if isinstance(before, _Writer) and before.run_id == run_id:
            before.listeners.append(emit)
        else:
            self._tokens[run_id] = _writer.set(_Writer(run_id, emit))

    def release(self, run_id: UUID) -> None:
        """Restore the writer of the tool around this one, which has ended."""
        if (token := self._tokens.pop(run_id, None)) is not None:
            with suppress(ValueError):  # it has ended in another context, which did not inherit the writer
                _writer.reset(token)


TOOL_OUTPUT: Final = "langgraph:tool_output"
"""The `activityType` of a tool's output. Its content: `toolCallId`, `toolName`, `output` (the list of all parts so far)
and `status`: "running", "done", "failed", or "stopped" where the run has ended before the tool, or has paused in it."""


@dataclass(slots=True)
class _Activity:
    """The output of one tool call so far."""

    call_id: str
    tool: str
    subagent_run_id: str | None
    output: list[object] = field(default_factory=list)
    status: str = "running"


class Activities:
    """The activities of one run.

    Args:
        sink: Receives the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._activities: dict[str, _Activity] = {}
        self._restarted: set[str] = set()

    def start(self, call_id: str) -> None:
        """A tool begins. After a pause or a failure it may do so again, with new output."""
        if call_id in self._activities:
            self._restarted.add(call_id)

    def add_output(self, call_id: str, tool: str, delta: object, subagent_run_id: str | None) -> None:
        """Emit a part of a tool's output. It may come after the tool's end, from work that the tool left running."""
        activity = self._activities.get(call_id)
        if activity is not None and call_id not in self._restarted:
            activity.output.append(delta)
            self._emit_delta(activity, {"op": "add", "path": "/output/-", "value": delta})
        else:
            self._restarted.discard(call_id)
            self._activities[call_id] = activity = _Activity(call_id, tool, subagent_run_id, [delta])
            self._emit_snapshot(activity, self._sink)

    def end(self, call_id: str, status: Literal["done", "failed", "stopped"]) -> None:
        """A tool has ended."""
        activity = self._activities.get(call_id)
        if activity is not None and activity.status == "running":
            activity.status = status
            self._emit_delta(activity, {"op": "replace", "path": "/status", "value": status})

    def close(self) -> None:
        """End the activities of tools that are still running."""
        for call_id in list(self._activities):
            self.end(call_id, "stopped")

    def replay(self, sink: Sink) -> None:
        """Emit all activities to a new reader."""
        for activity in self._activities.values():
            self._emit_snapshot(activity, sink)

    def _emit_snapshot(self, activity: _Activity, sink: Sink) -> None:
        call_id, output = activity.call_id, [*activity.output]
        content = {"toolCallId": call_id, "toolName": activity.tool, "status": activity.status, "output": output}
        event = ActivitySnapshotEvent(message_id=f"{call_id}:output", activity_type=TOOL_OUTPUT, content=content)
        subagent_sink(sink, activity.subagent_run_id).event(event)

    def _emit_delta(self, activity: _Activity, operation: dict[str, object]) -> None:
        message_id = f"{activity.call_id}:output"
        # A JSON Patch operation as a mapping: the model takes it.
        event = ActivityDeltaEvent(message_id=message_id, activity_type=TOOL_OUTPUT, patch=[operation])  # type: ignore[list-item]
        subagent_sink(self._sink, activity.subagent_run_id).event(event)
