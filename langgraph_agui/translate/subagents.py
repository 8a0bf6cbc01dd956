"""Subagents: the runs of graphs inside a run, and how a client sees them (AG-UI 1.0,
subagents).

Each call of `RunEvents` names the subagent run it belongs to. `SUBAGENT_*` events leave here,
and the sink that puts `subagentRunId` on a subagent's other events. Only this file decides between
`attributed`, `inline` and `hidden`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Interrupt
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.interrupts.used_answers import graph_id
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource
from langgraph_agui.options import Subagents
from langgraph_agui.protocol.json import clean_text
from langgraph_agui.readers.sinks import Sink


@dataclass(frozen=True, slots=True)
class SubagentRun:
    """One run of a graph inside the main run: of an agent that a tool or node calls, or of a
    declared subgraph.

    Attributes:
        id: Its `subagentRunId`.
        name: The graph's own name, or that of the tool call or node that runs it.
        description: Its task, or the purpose of the tool.
        call_id: The tool call that runs it.
        parent: The subagent that started it; None is the main agent.
    """

    id: str
    name: str
    description: str | None = None
    call_id: str | None = None
    parent: "SubagentRun | None" = None


class SubagentSink:
    """A sink for one subagent: puts its `subagentRunId` on every event."""

    def __init__(self, sink: Sink, subagent_run_id: str) -> None:
        self._sink = sink
        self._id = subagent_run_id

    @property
    def fragment(self) -> Callable[[Block, str], object]:
        """Passes a fragment on: its block has the id."""
        return self._sink.fragment

    def event(self, event: BaseEvent) -> None:
        """Receive an event that nobody else holds yet."""
        event.subagent_run_id = self._id  # type: ignore[attr-defined]  # all but RUN_* and SUBAGENT_* have it
        self._sink.event(event)


def subagent_sink(sink: Sink, subagent_run_id: str | None) -> Sink:
    """Return a sink for events under this `subagentRunId`."""
    return sink if subagent_run_id is None else SubagentSink(sink, subagent_run_id)


class SubagentTracker:
    """The subagents of one run.

    Args:
        sink: Receives the events.
        mode: How clients see subagents.
        conversation: Has the tool calls that start subagents.
        close: Closes the open messages and steps of a subagent, by its id.

    Attributes:
        hidden: Whether the client sees nothing of subagents.
        askers: The subagents that have raised interrupts, by the ids of these; None for those of
            the agent itself.
    """

    def __init__(
        self, sink: Sink, mode: Subagents, conversation: Conversation, close: Callable[[str], None]
    ) -> None:
        self._sink = sink
        self._attributed = mode == "attributed"
        self.hidden = mode == "hidden"
        self._conversation = conversation
        self._close = close
        self._started: dict[str, SubagentRun] = {}
        # By id, the subagents that each has started itself.
        self._inner: defaultdict[str, list[str]] = defaultdict(list)
        self._ends: dict[str, BaseEvent] = {}
        self._suspended: set[str] = set()
        self._raised: dict[str, GraphInterrupt] = {}
        self.askers: dict[str, str | None] = {}

    def hides(self, subagent: SubagentRun | None) -> bool:
        """Whether the client sees nothing of this subagent."""
        return subagent is not None and self.hidden

    def visible_id(self, subagent: SubagentRun | None) -> str | None:
        """Return the `subagentRunId` that the client sees of a subagent, if any."""
        return subagent.id if subagent is not None and self._attributed else None

    def announce(self, subagent: SubagentRun | None) -> str | None:
        """Return the same for an event of the subagent; the first time, emit `SUBAGENT_STARTED`
        before it.
        """
        if subagent is None or not self._attributed:
            return None
        if subagent.id not in self._started:
            parent = self.announce(subagent.parent)
            self._started[subagent.id] = subagent
            if subagent.parent is not None:
                self._inner[subagent.parent.id].append(subagent.id)
            self._sink.event(self._start_event(subagent, parent))
        return subagent.id

    def message_source(self, subagent: SubagentRun | None) -> MessageSource:
        """Return which agent writes the messages of this subagent run."""
        if subagent is None:
            return AGENT
        return MessageSource(subagent.id, attributed=self.announce(subagent) is not None)

    def _start_event(self, subagent: SubagentRun, parent: str | None) -> agui.SubagentStartedEvent:
        around = subagent.parent.id if subagent.parent is not None else None
        call = self._conversation.find_call(subagent.call_id, around)
        is_shown = call is not None and call.is_shown
        return agui.SubagentStartedEvent(
            subagent_run_id=subagent.id,
            name=clean_text(subagent.name),
            description=clean_text(subagent.description) if subagent.description else None,
            parent_subagent_run_id=parent,
            parent_tool_call_id=call.id if call is not None and is_shown else None,
            parent_message_id=call.holder.id if call is not None and is_shown else None,
        )

    # -- interrupts -------------------------------------------------------------------------------

    def record_interrupts(
        self, interrupts: Sequence[GraphInterrupt], subagent: SubagentRun | None
    ) -> None:
        """Note which graph has raised these interrupts.

        A nested interrupt is reported once for each graph around it. The first report is the
        innermost graph's.
        """
        for interrupt in interrupts:
            self._raised.setdefault(interrupt.id, interrupt)
            self.askers.setdefault(interrupt.id, subagent.id if subagent is not None else None)

    @property
    def raised_interrupts(self) -> list[GraphInterrupt]:
        """The interrupts of this run."""
        return list(self._raised.values())

    def attribute_interrupts(self, interrupts: Sequence[Interrupt]) -> list[Interrupt]:
        """Return the interrupts with the ids that the client knows: of the subagent and of the tool
        call.

        A server's checkpoints do not name all subagents; the run that has paused saw them.
        """
        result = []
        asked: Counter[tuple[str | None, ...]] = Counter()
        for interrupt in interrupts:
            subagent_run_id = self.askers.get(graph_id(interrupt.id), interrupt.subagent_run_id)
            call = interrupt.tool_call_id, subagent_run_id, interrupt.subagent_run_id
            ids = {
                "subagent_run_id": subagent_run_id if self._attributed else None,
                "tool_call_id": self._asked_call(*call, before=asked[call]),
            }
            asked[call] += 1
            result.append(interrupt.model_copy(update=ids))
        return result

    def _asked_call(
        self,
        call_id: str | None,
        subagent_run_id: str | None,
        graph_run: str | None,
        before: int,
    ) -> str | None:
        """Return the client's id of a call that needs an approval; None if the client does not see
        the agent, or if this run knows the call only as another agent's.

        Args:
            call_id: The model's id.
            subagent_run_id: The agent.
            graph_run: The run of the graph that asks.
            before: How many requests for calls of this id come before.
        """
        if subagent_run_id is not None and self.hidden:
            return None
        calls = self._conversation.find_calls(call_id, subagent_run_id, graph_run)
        call = calls[min(before, len(calls) - 1)] if calls else None
        known = call or self._conversation.call(call_id or "")
        if known is None:
            return call_id
        return known.id if call is not None or known.holder.turn is None else None

    def call_id(self, subagent: SubagentRun | None, own_id: str) -> str:
        """Return the client's id of the call that an agent's model knows by this id."""
        call = self._conversation.find_call(own_id, subagent.id if subagent is not None else None)
        return call.id if call is not None else own_id

    # -- the end ----------------------------------------------------------------------------------

    def suspend(self, subagent: SubagentRun) -> None:
        """A subagent waits for an answer. Its end is emitted with that of the run, which knows the
        interrupts.
        """
        self._suspended.add(subagent.id)

    def finish(self, subagent: SubagentRun) -> None:
        """A subagent has completed."""
        self._end(subagent.id, agui.SubagentFinishedEvent(subagent_run_id=subagent.id))

    def fail(
        self,
        subagent_run_id: str,
        message: str = "The subagent was stopped.",
        code: str = "cancelled",
    ) -> None:
        """A subagent has failed, or (by default) was stopped; `message` is safe to show."""
        error = agui.SubagentErrorEvent(subagent_run_id=subagent_run_id, message=message, code=code)
        self._end(subagent_run_id, error)

    def stop_all(self) -> None:
        """End all that are open: the run was stopped or has failed, and nobody will answer."""
        self._suspended.clear()
        self.close_all()

    def close_all(self, interrupts: Sequence[Interrupt] = ()) -> None:
        """End all that are open: they wait for an answer, or the run has ended without them."""
        for subagent_run_id in reversed(self._started):
            self._end_open(
                subagent_run_id,
                [one.id for one in interrupts if one.subagent_run_id == subagent_run_id],
            )

    def _end_open(self, subagent_run_id: str, interrupt_ids: Sequence[str] = ()) -> None:
        if subagent_run_id not in self._suspended:
            self.fail(subagent_run_id)
            return
        outcome = agui.SubagentFinishedSuspendedOutcome(interrupt_ids=list(interrupt_ids) or None)
        self._end(
            subagent_run_id,
            agui.SubagentFinishedEvent(subagent_run_id=subagent_run_id, outcome=outcome),
        )

    def _end(self, subagent_run_id: str, end: BaseEvent) -> None:
        if subagent_run_id not in self._started or subagent_run_id in self._ends:
            return
        for inner in reversed(self._inner[subagent_run_id]):
            self._end_open(inner)
        self._close(subagent_run_id)
        self._ends[subagent_run_id] = end
        self._sink.event(end)
