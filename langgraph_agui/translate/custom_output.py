"""What nodes and tools emit besides messages and state: custom events, activities, tool output, the run's result.

It enters as method calls, with the subagent that it is from; events leave through the sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, TypeAlias

from ag_ui import core as agui
from langchain_core.messages import BaseMessage

from langgraph_agui.custom_events import AGENT_OUTPUT, activity_in, result_in
from langgraph_agui.protocol.wire import wire_fields
from langgraph_agui.settings import NodeConventions
from langgraph_agui.state.options import emission_of
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.message_tracker import CopyDetector, MessageTracker
from langgraph_agui.translate.state_view import StateView
from langgraph_agui.translate.subagents import PublicCallIds, SubagentRun, SubagentTracker

# The `activityType` of a tool's output. Its content: `toolCallId`, `toolName`, `output` (the list of all parts so far)
# and `status`: "running", "done", "failed", or "stopped" where the run has ended before the tool, or has paused in it.
TOOL_OUTPUT: Final = "langgraph:tool_output"

_ActivityEvent: TypeAlias = agui.ActivitySnapshotEvent | agui.ActivityDeltaEvent


class CustomOutput:
    """What nodes and tools of one run emit besides messages and state.

    Args:
        sink: Receives the events.
        messages: Receives the messages of remote agents.
        state: Receives the state that nodes write to the custom stream.
        subagents: Decides what the client sees of subagents.
        call_ids: The client's ids of tool calls.
        redact: Removes reasoning that the client must not see.
        copies: Knows what nodes may return once more.
        conventions: What nodes written for other adapters ask for by custom events.

    Attributes:
        result: The result of the run, if there is one besides messages.
    """

    def __init__(
        self,
        sink: Sink,
        messages: MessageTracker,
        state: StateView,
        subagents: SubagentTracker,
        call_ids: PublicCallIds,
        redact: Callable[[object], object],
        copies: CopyDetector,
        conventions: NodeConventions,
    ) -> None:
        self._sink = sink
        self._messages = messages
        self._state = state
        self._subagents = subagents
        self._call_ids = call_ids
        self._redact = redact
        self._copies = copies
        self._conventions = conventions
        self._tools = _ToolActivities(sink)
        # The activities of the graph's author, by id: the last snapshot, and the patches since.
        self._activities: dict[str, list[_ActivityEvent]] = {}
        self.result: object = None

    def set_result(self, value: object) -> None:
        """Make `value`, which no message holds, the result of the run."""
        self.result = self._redact(value)

    def start_tool(self, call_id: str, subagent: SubagentRun | None = None) -> None:
        """A tool begins to work on a call."""
        self._tools.start(self._public_call_id(call_id, subagent))

    def emit_tool_output(self, call_id: str, tool: str, delta: object, subagent: SubagentRun | None = None) -> None:
        """Emit a part of a tool's output while it runs."""
        if not self._subagents.hides(subagent):
            public = self._public_call_id(call_id, subagent)
            self._tools.add_output(public, tool, self._redact(delta), self._subagents.announce(subagent))

    def end_tool(self, call_id: str, subagent: SubagentRun | None = None, *, failed: bool = False) -> None:
        """A tool has ended its work on a call."""
        self._tools.end(self._public_call_id(call_id, subagent), "failed" if failed else "done")

    def _public_call_id(self, call_id: str, subagent: SubagentRun | None) -> str:
        return self._call_ids.find(subagent.id if subagent is not None else None, call_id)

    def emit_written(self, value: object, subagent: SubagentRun | None = None) -> None:
        """Emit what a node has written to the custom stream: a result, an activity, state, or a custom event."""
        if self._subagents.hides(subagent):
            return
        subagent_run_id = self._subagents.announce(subagent)
        if (result := result_in(value)) is not None:
            self.set_result(result[0])
        elif (activity := activity_in(value)) is not None:
            self._emit_activity(activity, subagent_run_id)
        elif not self._state.custom(value, subagent_run_id):
            self._send("custom", value, subagent_run_id)

    def receive_event(
        self, name: str, value: object, subagent: SubagentRun | None = None, namespace: str = ""
    ) -> Callable[[], None]:
        """Receive a custom event of the graph, in any thread; return what emits it, to be called in order.

        It is emitted as it is, with the message or state that it asks to show. That of a remote agent stands for the
        message or activity that it carries.

        Args:
            name: Its name.
            value: Its value.
            subagent: The subagent that it is from.
            namespace: The checkpoint namespace of its task.
        """
        name, value, shown = self._conventions.read_event(name, value)
        if isinstance(shown, BaseMessage):
            self._copies.add(namespace, shown, self._subagents.visible_id(subagent))
        return partial(self._emit_event, name, value, shown, subagent, namespace)

    def _emit_event(
        self,
        name: str,
        value: object,
        shown: BaseMessage | Mapping[str, object] | None,
        subagent: SubagentRun | None,
        namespace: str,
    ) -> None:
        if self._subagents.hides(subagent):
            return
        if isinstance(shown, BaseMessage):
            self._messages.emit_message(shown, subagent)
        elif shown is not None:
            value = self._state.visible(shown)
            self._state.custom(emission_of(value, namespace), self._subagents.announce(subagent))
        if name == AGENT_OUTPUT and isinstance(value, BaseMessage):
            self._messages.emit_message(value, subagent)
            return
        subagent_run_id = self._subagents.announce(subagent)
        if name == AGENT_OUTPUT and isinstance(value, _ActivityEvent):
            self._emit_activity(value, subagent_run_id)
        else:
            self._send(name, value, subagent_run_id)

    def _send(self, name: str, value: object, subagent_run_id: str | None) -> None:
        self._sink.event(agui.CustomEvent(name=name, value=self._redact(value), subagent_run_id=subagent_run_id))

    def _emit_activity(self, activity: _ActivityEvent, subagent_run_id: str | None) -> None:
        changes: dict[str, object] = {"subagent_run_id": subagent_run_id}
        if isinstance(activity, agui.ActivitySnapshotEvent):
            changes["content"] = self._redact(activity.content)
            self._activities[activity.message_id] = []
        else:
            operations = self._redact([wire_fields(operation) for operation in activity.patch])
            changes["patch"] = activity.model_validate({**wire_fields(activity), "patch": operations}).patch
        event = activity.model_copy(update=changes)
        self._activities.setdefault(activity.message_id, []).append(event)
        self._sink.event(event)

    def replay(self, sink: Sink) -> None:
        """Emit all activities of the run to a new reader."""
        self._tools.replay(sink)
        for events in self._activities.values():
            for event in events:
                sink.event(event.model_copy())

    def close(self) -> None:
        """End the activities of tools that are still running."""
        self._tools.close()


class _ToolActivities:
    """The output of tools while they run, as activities (AG-UI 1.0, activities).

    `ACTIVITY_SNAPSHOT` leaves with the first part of an output, `ACTIVITY_DELTA` with each further part. No snapshot of
    messages holds an activity, because one that did would delete the client's other activities.

    Args:
        sink: Receives the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._activities: dict[str, agui.ActivitySnapshotEvent] = {}

    def start(self, call_id: str) -> None:
        """A tool begins. After a failure it may do so again, with new output."""
        self._activities.pop(call_id, None)

    def add_output(self, call_id: str, tool: str, delta: object, subagent_run_id: str | None) -> None:
        """Emit a part of a tool's output. It may come after the tool's end, from work that the tool left running."""
        if (activity := self._activities.get(call_id)) is not None:
            activity.content["output"].append(delta)
            self._emit_delta(activity, {"op": "add", "path": "/output/-", "value": delta})
            return
        self._activities[call_id] = agui.ActivitySnapshotEvent(
            message_id=f"{call_id}:output",
            activity_type=TOOL_OUTPUT,
            content={"toolCallId": call_id, "toolName": tool, "status": "running", "output": [delta]},
            subagent_run_id=subagent_run_id,
        )
        self._sink.event(_copy(self._activities[call_id]))

    def end(self, call_id: str, status: Literal["done", "failed", "stopped"]) -> None:
        """A tool has ended."""
        activity = self._activities.get(call_id)
        if activity is not None and activity.content["status"] == "running":
            activity.content["status"] = status
            self._emit_delta(activity, {"op": "replace", "path": "/status", "value": status})

    def close(self) -> None:
        """End the activities of tools that are still running."""
        for call_id in list(self._activities):
            self.end(call_id, "stopped")

    def replay(self, sink: Sink) -> None:
        """Emit all activities to a new reader."""
        for activity in self._activities.values():
            sink.event(_copy(activity))

    def _emit_delta(self, activity: agui.ActivitySnapshotEvent, operation: dict[str, object]) -> None:
        event = agui.ActivityDeltaEvent(
            message_id=activity.message_id,
            activity_type=TOOL_OUTPUT,
            patch=[operation],  # type: ignore[list-item]  # a mapping, which the model takes
            subagent_run_id=activity.subagent_run_id,
        )
        self._sink.event(event)


def _copy(activity: agui.ActivitySnapshotEvent) -> agui.ActivitySnapshotEvent:
    content = activity.content
    return activity.model_copy(update={"content": {**content, "output": [*content["output"]]}})
