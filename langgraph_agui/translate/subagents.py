"""Lanes: who speaks in a run, the agent itself or one of its subagents (AG-UI 1.0, subagents).

A source says with each signal in which lane it belongs; what a client is told of a lane leaves here: `SUBAGENT_*`, and
the sink that puts the lane's id on all of its events. Nobody else decides who a subagent is or what is seen of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from ag_ui.core import (
    BaseEvent,
    Interrupt,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
)

from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource
from langgraph_agui.protocol.jsonable import clean_text
from langgraph_agui.translate.event_sinks import Sink, Writer

Subagents: TypeAlias = Literal["attributed", "inline", "hidden"]
"""What clients see of subagents: who they are and what they say, that as the agent's own words, or nothing."""

CANCELLED: Final = "cancelled"
"""`SUBAGENT_ERROR.code` of a subagent that was stopped."""


@dataclass(frozen=True, slots=True)
class SubagentRun:
    """One invocation of a graph inside the run's own: of an agent by a tool or a node, of a declared subgraph.

    Attributes:
        id: Its `subagentRunId`.
        name: The graph's own name, or that of the tool or node that runs it.
        description: What it was asked to do, or what the tool is for.
        call_id: The tool call that runs it.
        parent: The lane that it was begun in; None is the agent itself.
    """

    id: str
    name: str
    description: str | None = None
    call_id: str | None = None
    parent: SubagentRun | None = None


class SubagentSink:
    """A sink for what one subagent says: puts its id on every event."""

    def __init__(self, sink: Sink, tag: str) -> None:
        self._sink = sink
        self._tag = tag

    def event(self, event: BaseEvent) -> None:
        """Take an event that nobody else has seen yet."""
        event.subagent_run_id = self._tag  # type: ignore[attr-defined]  # all but RUN_* and SUBAGENT_* have it
        self._sink.event(event)

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what takes the fragments of an item."""
        return self._sink.writer(kind, item_id, tag or self._tag)


def subagent_sink(sink: Sink, tag: str | None) -> Sink:
    """Return a sink for what is said under this `subagentRunId`."""
    return sink if tag is None else SubagentSink(sink, tag)


def checked_subagents(shown: Subagents) -> Subagents:
    """Return `shown`. Raises `ValueError` if there is nothing of that name."""
    if shown not in get_args(Subagents):
        raise ValueError(f"subagents must be one of {', '.join(get_args(Subagents))}, not {shown!r}")
    return shown


class SubagentTracker:
    """The subagents of one run.

    Args:
        sink: Takes the events.
        shown: What clients see of subagents.
        call: Finds a tool call by its lane (None: the agent's own) and the id that its model has given it: the id that
            the client knows it by, and the message that holds it; None, if the client holds none.
        close: Closes what a subagent has left open, by its id.
    """

    def __init__(
        self,
        sink: Sink,
        shown: Subagents,
        call: Callable[[str | None, str], tuple[str, str] | None],
        close: Callable[[str], None],
    ) -> None:
        self._sink = sink
        self._shown = shown
        self.hidden = shown == "hidden"
        self._call = call
        self._close = close
        self._known: dict[str, SubagentRun] = {}
        self._ends: dict[str, BaseEvent] = {}
        self._suspended: set[str] = set()

    def hides(self, lane: SubagentRun | None) -> bool:
        """Whether nothing that is said in this lane is told."""
        return lane is not None and self.hidden

    def shown_as(self, lane_id: str | None) -> str | None:
        """The `subagentRunId` that a client sees of the lane with this id."""
        return lane_id if self._shown == "attributed" else None

    def owner(self, lane: SubagentRun | None) -> str | None:
        """The `subagentRunId` of what is said in this lane, if it has one."""
        return self.shown_as(lane.id) if lane is not None else None

    def tag(self, lane: SubagentRun | None) -> str | None:
        """The same, for an event: who has not spoken before is announced."""
        if lane is None or self._shown != "attributed":
            return None
        if lane.id not in self._known:
            self._start(lane)
        return lane.id

    def source(self, lane: SubagentRun | None) -> MessageSource:
        """Return which agent writes the messages of this subagent run."""
        return MessageSource(lane.id, attributed=self.tag(lane) is not None) if lane is not None else AGENT

    def _start(self, lane: SubagentRun) -> None:
        parent = self.tag(lane.parent)
        self._known[lane.id] = lane
        self._sink.event(self._started(lane, parent))

    def _started(self, lane: SubagentRun, parent: str | None) -> SubagentStartedEvent:
        around = lane.parent.id if lane.parent is not None else None
        call = self._call(around, lane.call_id) if lane.call_id is not None else None
        return SubagentStartedEvent(
            subagent_run_id=lane.id,
            name=clean_text(lane.name),
            description=clean_text(lane.description) if lane.description else None,
            parent_subagent_run_id=parent,
            parent_tool_call_id=call[0] if call is not None else None,
            parent_message_id=call[1] if call is not None else None,
        )

    def reopen(self, sink: Sink) -> None:
        """Tell one more reader who they are, the outermost first, and which have ended."""
        for lane in self._known.values():
            sink.event(self._started(lane, self.tag(lane.parent)))
        for end in self._ends.values():
            sink.event(end)

    # -- the end --------------------------------------------------------------------------------------------------

    def suspend(self, lane: SubagentRun) -> None:
        """A subagent waits for an answer. It is told with the end of the run, which says for which one."""
        self._suspended.add(lane.id)

    def finish(self, lane: SubagentRun) -> None:
        """A subagent has come to its end."""
        self._end(lane.id, SubagentFinishedEvent(subagent_run_id=lane.id))

    def fail(self, lane: SubagentRun, message: str, code: str) -> None:
        """A subagent has failed; `message` is safe to show."""
        self._end(lane.id, SubagentErrorEvent(subagent_run_id=lane.id, message=message, code=code))

    def stop(self, lane: SubagentRun) -> None:
        """A subagent was stopped."""
        self._end_late(lane.id)

    def stop_all(self) -> None:
        """End those that are open: the run was stopped or has failed, and nobody will answer."""
        self._suspended.clear()
        self.close_all()

    def close_all(self, interrupts: Sequence[Interrupt] = ()) -> None:
        """End those that are open: they wait for an answer, or the run has ended without them."""
        for lane_id in reversed(self._known):
            self._end_late(lane_id, [one.id for one in interrupts if one.subagent_run_id == lane_id])

    def _end_late(self, lane_id: str, waits_for: Sequence[str] = ()) -> None:
        if lane_id in self._suspended:
            outcome = SubagentFinishedSuspendedOutcome(interrupt_ids=list(waits_for) or None)
            self._end(lane_id, SubagentFinishedEvent(subagent_run_id=lane_id, outcome=outcome))
        else:
            stopped = SubagentErrorEvent(subagent_run_id=lane_id, message="The subagent was stopped.", code=CANCELLED)
            self._end(lane_id, stopped)

    def _end(self, lane_id: str, end: BaseEvent) -> None:
        if lane_id not in self._known or lane_id in self._ends:
            return
        for inner in reversed(self._known.values()):
            if inner.parent is not None and inner.parent.id == lane_id:
                self._end_late(inner.id)
        self._close(lane_id)
        self._ends[lane_id] = end
        self._sink.event(end)
