"""Output of nodes and tools besides messages and state: custom events, activities, tool output, the
run's result.

It enters as method calls, with the subagent that it is from; events leave through the sink.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, TypeAlias

from ag_ui import core as agui
from langchain_core.messages import BaseMessage

from langgraph_agui.compat.outputs import ShownByEvent, read_event
from langgraph_agui.kernel.configs import as_mapping, graph_of
from langgraph_agui.kernel.errors import error_text
from langgraph_agui.messages.transformers import WITHHELD, RunTransformers, Transformers
from langgraph_agui.nodes import AGENT_OUTPUT, activity_in, emission_in, emission_of, result_in
from langgraph_agui.protocol.wire import wire_fields
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.messages import RunMessages
from langgraph_agui.translate.state_view import StateView
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker

# The `activityType` of a tool's output. Its content: `toolCallId`, `toolName`, `output` (the list
# of all parts so far) and `status`: "running", "done", "failed", or "stopped" where the run has
# ended before the tool, or has paused in it.
TOOL_OUTPUT: Final = "langgraph:tool_output"

# The type of the activity that stands for earlier messages of the thread.
SUMMARY: Final = "langgraph:summary"

_ActivityEvent: TypeAlias = agui.ActivitySnapshotEvent | agui.ActivityDeltaEvent


@dataclass(eq=False)
class CustomOutput:
    """The output of a run's nodes and tools besides messages and state.

    Attributes:
        sink: Receives the events.
        messages: Receives the messages of remote agents.
        state: Receives the state that nodes write to the custom stream.
        subagents: Decides how the client sees subagents.
        redact: Removes reasoning that the client must not see.
        transformers: The stream transformers of all graphs.
        result: The result of the run, if there is one besides messages.
    """

    sink: Sink
    messages: RunMessages
    state: StateView
    subagents: SubagentTracker
    redact: Callable[[object], object]
    transformers: RunTransformers
    result: object = None
    # The first event of each tool that has written output, by call id, and the tools that run.
    _tools: dict[str, agui.ActivitySnapshotEvent] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)

    def set_result(self, value: object) -> None:
        """Make `value`, which no message holds, the result of the run."""
        stored = self.transformers.of_stored()
        value = value if stored is None else stored.as_json("values", value)
        self.result = None if value is WITHHELD else self.redact(value)

    def _transformers(self, namespace: str, subagent: SubagentRun | None) -> Transformers | None:
        return self.transformers.of_graph(namespace, subagent.name if subagent else None)

    def _passing(self, value: object, namespace: str, subagent: SubagentRun | None) -> object:
        """Return custom data as transformers let clients see them, or `WITHHELD`."""
        transformers = self._transformers(namespace, subagent)
        if transformers is None:
            return value
        if isinstance(value, _ActivityEvent):  # transformers look into mappings
            shown = transformers.send("custom", value.model_dump(mode="json", by_alias=True))
            return activity_in(shown) or shown
        shown = transformers.send("custom", value)
        emission = emission_in(shown)
        if emission is None or transformers is self.transformers.root:
            return shown  # state passes those of the root graph where it becomes visible
        if (values := emission.get("values")) is None:
            return transformers.send("values", shown)
        values = as_mapping(transformers.send("values", values))
        return WITHHELD if values is None else emission_of(values, str(emission["namespace"]))

    def emit_summary(self, activity_id: str) -> None:
        """Emit an activity that stands for earlier messages."""
        content = {"text": "Earlier messages were summarized."}
        self.sink.event(
            agui.ActivitySnapshotEvent(
                message_id=activity_id, activity_type=SUMMARY, content=content
            )
        )

    def start_tool(self, call_id: str, subagent: SubagentRun | None = None) -> None:
        """A tool begins to work on a call. After a failure it may do so again, with new output."""
        public = self._public_call_id(call_id, subagent)
        self._tools.pop(public, None)
        self._running.discard(public)

    def emit_tool_output(
        self,
        call_id: str,
        tool: str,
        delta: object,
        subagent: SubagentRun | None = None,
        namespace: str = "",
    ) -> None:
        """Emit a part of a tool's output. It may come after the tool's end, from work that the tool
        left running.

        `ACTIVITY_SNAPSHOT` leaves with the first part, `ACTIVITY_DELTA` with each further one
        (AG-UI 1.0, activities).
        """
        if self.subagents.hides(subagent):
            return
        if (transformers := self._transformers(namespace, subagent)) is not None:
            delta = transformers.output(call_id, delta)
            if delta is WITHHELD or delta == "":
                return
        public, delta = self._public_call_id(call_id, subagent), self.redact(delta)
        if (activity := self._tools.get(public)) is not None:
            self._patch_tool(activity, {"op": "add", "path": "/output/-", "value": delta})
            return
        self._running.add(public)
        self._tools[public] = agui.ActivitySnapshotEvent(
            message_id=f"{public}:output",
            activity_type=TOOL_OUTPUT,
            content={
                "toolCallId": public,
                "toolName": tool,
                "status": "running",
                "output": [delta],
            },
            subagent_run_id=self.subagents.announce(subagent),
        )
        self.sink.event(self._tools[public])

    def end_tool(
        self,
        call_id: str,
        subagent: SubagentRun | None = None,
        namespace: str = "",
        *,
        failed: bool = False,
    ) -> None:
        """A tool has ended its work on a call."""
        transformers = self._transformers(namespace, subagent)
        if failed and transformers is not None:
            transformers.fail_tool(call_id)
        self._end_tool(self._public_call_id(call_id, subagent), "failed" if failed else "done")

    def emit_tool_error(
        self,
        error: BaseException,
        call_id: str,
        tool: str,
        subagent: SubagentRun | None = None,
    ) -> None:
        """Emit the exception of a tool as the last part of its output."""
        text = f"{type(error).__name__}: {error_text(error)}"
        public = self._public_call_id(call_id, subagent)
        parted = f"\n{text}" if public in self._tools else text
        self.emit_tool_output(call_id, tool, parted, subagent)
        self._end_tool(public, "failed")

    def close(self) -> None:
        """End the activities of tools that are still running."""
        for call_id in list(self._tools):
            self._end_tool(call_id, "stopped")

    def _end_tool(self, public_call_id: str, status: Literal["done", "failed", "stopped"]) -> None:
        if public_call_id in self._running:
            self._running.remove(public_call_id)
            activity = self._tools[public_call_id]
            self._patch_tool(activity, {"op": "replace", "path": "/status", "value": status})

    def _patch_tool(
        self, activity: agui.ActivitySnapshotEvent, operation: dict[str, object]
    ) -> None:
        event = agui.ActivityDeltaEvent(
            message_id=activity.message_id,
            activity_type=TOOL_OUTPUT,
            patch=[operation],  # type: ignore[list-item]  # a mapping, which the model takes
            subagent_run_id=activity.subagent_run_id,
        )
        self.sink.event(event)

    def _public_call_id(self, call_id: str, subagent: SubagentRun | None) -> str:
        return self.subagents.call_id(subagent, call_id)

    def emit_written(
        self, value: object, subagent: SubagentRun | None = None, namespace: str = ""
    ) -> None:
        """Emit a part of the custom stream of the graph at a namespace: a result, an activity,
        state, or a custom event.
        """
        value = self._passing(value, namespace, subagent)
        if self.subagents.hides(subagent) or value is WITHHELD:
            return
        subagent_run_id = self.subagents.announce(subagent)
        if (result := result_in(value)) is not None:
            self.set_result(result[0])
        elif (activity := activity_in(value)) is not None:
            self._emit_activity(activity, subagent_run_id)
        elif not self.state.custom(value, subagent_run_id):
            self._send("custom", value, subagent_run_id)

    def receive_event(
        self, name: str, value: object, subagent: SubagentRun | None = None, namespace: str = ""
    ) -> Callable[[], None]:
        """Receive a custom event of the graph, in any thread; return the function that emits it, to
        be called in order.

        It is emitted as it is, with the message or state that it asks to show. That of a remote
        agent stands for the message or activity that it carries.

        Args:
            name: Its name.
            value: Its value.
            subagent: The subagent that it is from.
            namespace: The checkpoint namespace of its task.
        """
        value = self._passing(value, graph_of(namespace), subagent)
        if value is WITHHELD:
            return lambda: None
        name, value, shown = read_event(name, value)
        if isinstance(shown, BaseMessage):
            self.messages.copies.add(namespace, shown, subagent)
        return partial(self._emit_event, name, value, shown, subagent, namespace)

    def _emit_event(
        self,
        name: str,
        value: object,
        shown: ShownByEvent,
        subagent: SubagentRun | None,
        namespace: str,
    ) -> None:
        if self.subagents.hides(subagent):
            return
        if isinstance(shown, BaseMessage):
            self.messages.emit_message(shown, subagent, namespace, stays=True)
        elif shown is not None:
            value = self.state.visible(shown)
            self.state.custom(emission_of(value, namespace), self.subagents.announce(subagent))
        if name == AGENT_OUTPUT and isinstance(value, BaseMessage):
            self.messages.emit_message(value, subagent, namespace, stays=True)
            return
        subagent_run_id = self.subagents.announce(subagent)
        if name == AGENT_OUTPUT and isinstance(value, _ActivityEvent):
            self._emit_activity(value, subagent_run_id)
        else:
            self._send(name, value, subagent_run_id)

    def _send(self, name: str, value: object, subagent_run_id: str | None) -> None:
        self.sink.event(
            agui.CustomEvent(name=name, value=self.redact(value), subagent_run_id=subagent_run_id)
        )

    def _emit_activity(self, activity: _ActivityEvent, subagent_run_id: str | None) -> None:
        changes: dict[str, object] = {"subagent_run_id": subagent_run_id}
        if isinstance(activity, agui.ActivitySnapshotEvent):
            changes["content"] = self.redact(activity.content)
        else:
            operations = self.redact([wire_fields(operation) for operation in activity.patch])
            changes["patch"] = activity.model_validate(
                {**wire_fields(activity), "patch": operations}
            ).patch
        self.sink.event(activity.model_copy(update=changes))
