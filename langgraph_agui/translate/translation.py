"""One run, told as AG-UI events.

Signals enter from a source (callbacks, stream parts), in order; events leave through the sink: `RUN_STARTED` first,
exactly one terminal event last, everything closed before it (AG-UI 1.0, runs). Nothing here waits or knows of threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunFinishedCancelledOutcome,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
)
from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp, GraphDrained
from langgraph.errors import GraphInterrupt as GraphInterruptError
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.custom_events import AGENT_OUTPUT
from langgraph_agui.errors import SAFE_MESSAGES, ErrorClassifier, ErrorCode, RunStopped
from langgraph_agui.interrupts.pending import calls_in, pending_interrupt
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.extract import as_mapping, extract_messages
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.translate.activities import Activities
from langgraph_agui.translate.broadcast import JoinedSink
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.message_tracker import MessageTracker
from langgraph_agui.translate.predict import Predictor
from langgraph_agui.translate.run_events import run_error, run_finished, run_started
from langgraph_agui.translate.state_view import StateView
from langgraph_agui.translate.steps import Steps
from langgraph_agui.translate.subagents import SubagentRun, Subagents, SubagentTracker

logger = logging.getLogger(__name__)


class Translation:
    """The events of one run.

    Args:
        run_input: What the client sent.
        sink: Takes the events.
        state: The graph's state, as the client sees it; None if clients see nothing of it.
        reasoning: Who sees reasoning, and how it travels.
        subagents: What is seen of subagents.
        expose_errors: Whether `RUN_ERROR.message` may carry the exception's own text.
    """

    def __init__(
        self,
        run_input: RunAgentInput,
        sink: Sink,
        state: StateView | None = None,
        *,
        reasoning: ReasoningOptions | None = None,
        subagents: Subagents = "attributed",
        expose_errors: bool = False,
    ) -> None:
        self._input = run_input
        self._sink = sink
        self.state = state or StateView({}, None, sink.event)
        self._expose_errors = expose_errors
        values = EncryptedValueCodec(reasoning, run_input.thread_id)
        # Activities are in no snapshot: one would delete all that the client has from earlier runs.
        conversation = Conversation([one for one in run_input.messages if not isinstance(one, ActivityMessage)])
        self.lanes = SubagentTracker(sink, subagents, self._call, self._close_lane)
        self.speech = MessageTracker(conversation, Predictor(sink, self.state), values, self.lanes)
        self.token = self.speech.token
        self._steps = Steps(sink.event)
        self._activities = Activities(sink)
        self._begun: set[tuple[str, ...]] = set()
        self._ended: set[str] = set()
        self.blame = ErrorClassifier()
        self._show = redactor_for(values.options)
        self.raised: dict[str, tuple[GraphInterrupt, SubagentRun | None]] = {}
        self.paused = False
        self._result: object = None
        self.done = False

    # -- the run ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Say that the run has begun."""
        self._sink.event(run_started(self._input))

    def join(self, sink: JoinedSink, run_input: RunAgentInput) -> None:
        """Tell a reader who joins what there is so far, and open again what is open, in its terms."""
        sink.event(run_started(run_input))
        sink.own = self.state.client_only(run_input.state)
        for told in self.state.join(replace=sink.own != run_input.state):
            sink.event(told)
        messages = self.speech.snapshot()
        settled = self.speech.items.settled(messages)
        sink.take_back({message.id for message in messages} - {message.id for message in settled})
        sink.event(MessagesSnapshotEvent(messages=settled))
        self.lanes.reopen(sink)
        self._steps.reopen(sink)
        self.speech.items.reopen(sink)
        self._activities.reopen(sink)

    def read_anew(self) -> None:
        """Tell what is open to those who read now: a reader has come or gone."""
        self.speech.items.rewrite()

    def know(self, thread: Sequence[BaseMessage]) -> None:
        """Take note of the thread as the checkpoint holds it: nothing in it is new, nor is what a run starts from."""
        self._begun.clear()
        self.speech.know(thread)

    def begin(self, messages: Sequence[BaseMessage]) -> None:
        """The root begins with these messages: they are nothing new."""
        self._begun.add(())
        self.speech.notice(messages)
        self.speech.begin(messages)

    def restate(self, interrupts: Sequence[Interrupt] = ()) -> None:
        """Say the whole conversation once more, as the graph's state has it, when nothing more will be said of it.

        Only where the run's input tells what the client holds: a snapshot deletes what it leaves out.

        Args:
            interrupts: What the run is about to end with; the subagents that have raised them end with this.
        """
        if not self.done:
            self._settle()
            self.lanes.close_all(interrupts)
            self.state.settle()
            self._sink.event(MessagesSnapshotEvent(messages=self.speech.snapshot()))

    def _settle(self) -> None:
        theirs = {tool.name for tool in self._input.tools or ()}
        self.speech.items.answer_failed(self._ended, theirs)
        self._close()

    def finish(self, interrupts: Sequence[Interrupt] | None = None) -> None:
        """End a run that came to its end, or paused at `interrupts`: by default those that it was told of."""
        if self.done:
            return
        self._settle()
        if interrupts is None:
            calls = calls_in(self.speech.stored)
            raised = [pending_interrupt(one, calls, self._show) for one, _ in self.raised.values()]
            interrupts = self.owned([one for each in raised for one in each.interrupts])
        self.lanes.close_all(interrupts)
        outcome: RunFinishedOutcome
        if interrupts:
            outcome = RunFinishedInterruptOutcome(type="interrupt", interrupts=list(interrupts))
        else:
            pending = self.speech.items.pending()
            outcome = RunFinishedSuccessOutcome(type="success", pending_tool_call_ids=pending or None)
        self._finished(outcome, None if interrupts else self._result)

    def cancel(self) -> None:
        """End a run that was stopped on purpose."""
        if not self.done:
            self._close()
            self.lanes.stop_all()
            self._finished(RunFinishedCancelledOutcome(type="cancelled"), None)

    def fail(self, error: BaseException, otherwise: ErrorCode = ErrorCode.GRAPH_ERROR) -> None:
        """End a run that failed. The client gets a code and a safe text, the log the exception (see `errors`)."""
        code = self.blame.code(error, otherwise)
        ending = run_error(self._input, error, code, self.speech.usage.total(), expose=self._expose_errors)
        if self.done:
            return
        try:
            self._close()
            self.lanes.stop_all()
        except Exception:
            logger.exception("Run %s: its items could not be closed", self._input.run_id)
        self.done = True
        self._sink.event(ending)

    def _finished(self, outcome: RunFinishedOutcome, result: object) -> None:
        self.done = True
        self._sink.event(run_finished(self._input, outcome, result, self.speech.usage.total()))

    def _close(self) -> None:
        self.speech.close()
        self._steps.close()
        self._activities.close_all()
        self.state.drop_previews()

    # -- models, nodes and tools --------------------------------------------------------------------------------

    def model_start(self, run_id: UUID, metadata: Mapping[str, object], lane: SubagentRun | None = None) -> None:
        """A visible model call begins."""
        if not self.lanes.hides(lane):
            self.speech.model_start(run_id, metadata, lane)
            self.state.model_start(metadata)

    def model_error(self, run_id: UUID, error: BaseException) -> None:
        """A model call failed: what it said is closed at once, whether or not the run goes on without it."""
        self.blame.put(error, ErrorCode.MODEL_ERROR)
        self.state.drop_previews(self.speech.model_failed(run_id))

    def node_start(self, run_id: UUID, node: str, lane: SubagentRun | None = None) -> None:
        """A node begins."""
        if not self.lanes.hides(lane):
            self._steps.start(run_id, node, self.lanes.tag(lane))

    def node_end(
        self,
        run_id: UUID,
        messages: Iterable[tuple[BaseMessage, str | None]],
        given: Callable[[], Iterable[BaseMessage]],
        lane: SubagentRun | None = None,
    ) -> None:
        """A node has ended.

        Args:
            run_id: The node's run.
            messages: The messages in its output, each with the id of the streamed message that it copies.
            given: Finds the messages in its input: those are nothing new.
            lane: The subagent that it is part of.
        """
        if self.lanes.hides(lane):
            return
        self.speech.returned(messages, given, lane)
        self._steps.finish(run_id)

    def lane_end(self, lane: SubagentRun, error: BaseException | None = None) -> None:
        """A subagent has ended: well, or with `error`."""
        if isinstance(error, GraphInterruptError | GraphDrained):
            self.lanes.suspend(lane)
        elif error is None or isinstance(error, GraphBubbleUp):  # it has handed over to the graph around it
            self._ended.add(lane.id)
            self.lanes.finish(lane)
        else:
            self.speech.items.abandon(lane.id)
            self._lane_failed(lane, error)

    def _lane_failed(self, lane: SubagentRun, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt | RunStopped):
            self.lanes.stop(lane)
        else:
            code = self.blame.code(error, ErrorCode.GRAPH_ERROR)
            self.lanes.fail(lane, str(error) if self._expose_errors else SAFE_MESSAGES[code], code.value)

    def _call(self, lane: str | None, call_id: str) -> tuple[str, str] | None:
        items = self.speech.items
        public = items.call_ids.of(lane, call_id)
        holder = items.conversation.holder(public)
        return (public, holder) if holder is not None else None

    def _close_lane(self, lane: str) -> None:
        self.speech.close(lane)
        self._steps.close(lane)

    def node_error(self, run_id: UUID) -> None:
        """A node has ended without an output: it failed, paused, or was cancelled."""
        self._steps.finish(run_id)

    def tool_start(self, key: str, lane: SubagentRun | None = None) -> None:
        """A tool begins; `key` is its call."""
        self._activities.begin(self._public_call(key, lane))

    def tool_output(self, key: str, tool: str, delta: object, lane: SubagentRun | None = None) -> None:
        """A tool tells a part of its output."""
        if not self.lanes.hides(lane):
            public = self._public_call(key, lane)
            self._activities.output(public, tool, self._show(delta), self.lanes.tag(lane))

    def tool_end(self, key: str, lane: SubagentRun | None = None, *, failed: bool = False) -> None:
        """A tool has come to its end."""
        self._activities.end(self._public_call(key, lane), "failed" if failed else "done")

    def _public_call(self, call_id: str, lane: SubagentRun | None) -> str:
        return self.speech.items.call_ids.of(lane.id if lane is not None else None, call_id)

    def written(self, value: object, lane: SubagentRun | None = None) -> None:
        """A node has written to the custom stream."""
        if not self.lanes.hides(lane) and not self.state.custom(value, self.lanes.tag(lane)):
            self.custom("custom", value, lane)

    def custom(self, name: str, value: object, lane: SubagentRun | None = None) -> None:
        """The graph sent an event of its own, or tells what another agent says or does."""
        if self.lanes.hides(lane):
            return
        if name == AGENT_OUTPUT and isinstance(value, BaseMessage):
            self.speech.arrived(value, lane)
        elif name == AGENT_OUTPUT and isinstance(value, ActivitySnapshotEvent | ActivityDeltaEvent):
            self._sink.event(value.model_copy(update={"subagent_run_id": self.lanes.tag(lane)}))
        else:
            self._sink.event(CustomEvent(name=name, value=self._show(value), subagent_run_id=self.lanes.tag(lane)))

    def pause(self, interrupts: Sequence[GraphInterrupt], lane: SubagentRun | None = None) -> None:
        """The graph has paused: at `interrupt()` calls, or (none given) at a static breakpoint.

        A nested interrupt is told by every graph around it, the innermost first: that one has raised it.
        """
        self.paused = True
        for interrupt in interrupts:
            self.raised.setdefault(interrupt.id, (interrupt, lane))

    def owned(self, interrupts: Sequence[Interrupt]) -> list[Interrupt]:
        """The same, as the client knows them: each with the subagent that asks, and the call that it asks about.

        A server's checkpoints do not tell of all subagents; the run that has paused has heard them.
        """
        call_of = self.speech.items.call_ids.asked_about

        def owned(one: Interrupt) -> Interrupt:
            raised = self.raised.get(one.id) or self.raised.get(one.id.rpartition(":")[0])
            lane = raised[1].id if raised is not None and raised[1] is not None else one.subagent_run_id
            told = {"subagent_run_id": self.lanes.shown_as(lane), "tool_call_id": call_of(lane, one.tool_call_id)}
            return one.model_copy(update=told)

        return [owned(one) for one in interrupts]

    # -- state --------------------------------------------------------------------------------------------------

    def values(
        self,
        namespace: tuple[str, ...],
        values: object,
        messages: Sequence[BaseMessage],
        lane: SubagentRun | None = None,
    ) -> None:
        """The state of a graph after a superstep; the first one of each graph is what it started from."""
        if namespace and self.lanes.hidden:  # the first one comes before its lane is known
            return
        first = namespace not in self._begun
        if first and not namespace:
            self.begin(messages)
        elif first:
            self._begun.add(namespace)
            self.speech.notice(messages)
        else:
            for message in messages:
                self.speech.arrived(message, lane)
        self.state.values(namespace, values, self.lanes.tag(lane))
        if namespace:
            return
        if not first:
            self.speech.update(messages)
        if as_mapping(values) is None and not extract_messages(values, ""):
            self._result = self._show(values)  # a functional-API graph that returns a bare value

    def returned(self, value: object) -> None:
        """The run ends with this value, which nobody has said."""
        self._result = self._show(value)
