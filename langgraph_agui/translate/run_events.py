"""The events of a run that are no messages: its start and end, steps, activities and token usage (AG-UI 1.0)."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from itertools import count
from typing import Final, Literal, TypeAlias
from uuid import uuid4

from ag_ui import core as agui
from ag_ui.core import BaseEvent, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.errors import ErrorClassifier, ErrorCode, RunInputError
from langgraph_agui.messages.options import vendor
from langgraph_agui.translate.event_sinks import Sink

logger = logging.getLogger(__name__)

# The `activityType` of a tool's output. Its content: `toolCallId`, `toolName`, `output` (the list of all parts so far)
# and `status`: "running", "done", "failed", or "stopped" where the run has ended before the tool, or has paused in it.
TOOL_OUTPUT: Final = "langgraph:tool_output"

# One entry for each provider and model; None if no call reported any.
TokenUsages: TypeAlias = list[agui.TokenUsage] | None


def run_started(run_input: RunAgentInput) -> agui.RunStartedEvent:
    """Return the event that begins a run."""
    return agui.RunStartedEvent(
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        parent_run_id=run_input.parent_run_id,
        protocol_version=agui.PROTOCOL_VERSION,
    )


def run_error(
    run_input: RunAgentInput, error: BaseException, code: ErrorCode, usage: TokenUsages = None, *, expose: bool = False
) -> agui.RunErrorEvent:
    """Return the event that ends a run that failed: a code and a safe text. The exception goes to the log.

    Args:
        run_input: The client's input.
        error: Why the run failed.
        code: The code for the client.
        usage: The tokens used so far.
        expose: Whether the text may be the exception's own.
    """
    correlation_id = str(uuid4())
    refused = isinstance(error, RunInputError)
    log = logger.warning if refused else logger.error
    log("Run %s failed: %s [%s]", run_input.run_id, code, correlation_id, exc_info=None if refused else error)
    message = str(error) if refused or expose else code.message
    metadata = {"correlationId": correlation_id}
    return agui.RunErrorEvent(message=message, code=code.value, usage=usage, metadata=metadata)


def refused_run(run_input: RunAgentInput, error: Exception) -> list[BaseEvent]:
    """Return the events of a run that was refused before it began."""
    return [run_started(run_input), run_error(run_input, error, ErrorClassifier().classify(error, ErrorCode.INTERNAL))]


class Steps:
    """The open steps of one run: one for each run of a node."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._open: dict[Hashable, agui.StepStartedEvent] = {}

    def start(self, key: Hashable, node: str, subagent_run_id: str | None = None) -> None:
        """Open a step for `node`, as "name (2)" while the same agent has a step of that name open.

        `key` is what `finish` closes it by.
        """
        taken = {step.step_name for step in self._open.values() if step.subagent_run_id == subagent_run_id}
        name = next(name for number in count(1) if (name := node if number == 1 else f"{node} ({number})") not in taken)
        self._open[key] = step = agui.StepStartedEvent(step_name=name, subagent_run_id=subagent_run_id)
        self._sink.event(step.model_copy())

    def replay(self, sink: Sink) -> None:
        """Emit to a new reader the open steps, outermost first."""
        for step in self._open.values():
            sink.event(step.model_copy())

    def finish(self, key: Hashable) -> None:
        """Close the step of `key`, if it is open."""
        if (step := self._open.pop(key, None)) is not None:
            event = agui.StepFinishedEvent(step_name=step.step_name, subagent_run_id=step.subagent_run_id)
            self._sink.event(event)

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open steps of a subagent, or (None) of all, innermost first."""
        for key, step in reversed(list(self._open.items())):
            if subagent_run_id is None or step.subagent_run_id == subagent_run_id:
                self.finish(key)


class Activities:
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


class Usage:
    """The tokens that the model calls of one run report, hidden calls included."""

    def __init__(self) -> None:
        self._calls: list[agui.TokenUsage] = []

    def add(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """Count one finished call, from its whole message and the metadata of its start."""
        if not isinstance(message, AIMessage) or not message.usage_metadata:
            return
        provider = message.response_metadata.get("model_provider") or metadata.get("ls_provider")
        model = message.response_metadata.get("model_name") or metadata.get("ls_model_name")
        entry = agui.token_usage_from_langchain_metadata(
            message.usage_metadata,
            provider=vendor(provider) if isinstance(provider, str) else None,
            model=model if isinstance(model, str) else None,
        )
        if entry is not None:
            self._calls.append(entry)

    def total(self) -> TokenUsages:
        """Return the usage of all calls."""
        return agui.aggregate_token_usage(self._calls) or None
