"""Translates one run into AG-UI events.

What a graph does enters as method calls, in order and in one thread at a time; events leave through the sink:
`RUN_STARTED` first, one terminal event last, and everything closed before it (AG-UI 1.0, runs).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from ag_ui import core as agui
from ag_ui.core import Interrupt, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp, GraphDrained
from langgraph.errors import GraphInterrupt as GraphInterruptError
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.configs import namespace_of
from langgraph_agui.errors import ErrorClassifier, ErrorCode, RunStopped
from langgraph_agui.interrupts.pending import interrupt_requests
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.extract import as_mapping, extract_messages
from langgraph_agui.messages.options import ReasoningOptions, maker_of
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.messages.to_agui import open_tool_calls
from langgraph_agui.settings import NodeConventions, Subagents
from langgraph_agui.state.client_state import ClientStateCache
from langgraph_agui.state.options import predictions_of
from langgraph_agui.translate.custom_output import CustomOutput
from langgraph_agui.translate.event_sinks import JoinedSink, Sink
from langgraph_agui.translate.message_emitter import MessageEmitter
from langgraph_agui.translate.message_tracker import CopyDetector, MessageTracker, ModelCall, NodeInput, NodeOutput
from langgraph_agui.translate.run_events import Steps, Usage, run_error, run_started
from langgraph_agui.translate.snapshot import StateMessages
from langgraph_agui.translate.state_view import Namespace, Predictor, StateView
from langgraph_agui.translate.subagents import PublicCallIds, SubagentRun, SubagentTracker

logger = logging.getLogger(__name__)


class Translation:
    """The events of one run.

    Args:
        run_input: The client's input.
        sink: Receives the events.
        conventions: What nodes written for other adapters expect.
        state: The graph's state as the client sees it; None if clients see nothing of it.
        reasoning: Who sees reasoning, and how it travels.
        subagents: What clients see of subagents.
        keeps_messages: Whether the graph keeps a conversation: then a message that no node returns is withdrawn.
        hides_inner: Whether the messages of models that tools call are hidden.
        expose_errors: Whether `RUN_ERROR.message` may be the exception's own text.

    Attributes:
        conventions: As given. Its methods may be called in any thread.
        messages: Receives the chunks of model calls. Sources call it directly, because they do so for every token.
        output: Receives what nodes and tools emit besides messages and state.
        providers: The providers whose models were called.
        paused: Whether the graph has paused; the owner of the run resets it.
        finished: Whether the terminal event was emitted.
    """

    def __init__(
        self,
        run_input: RunAgentInput,
        sink: Sink,
        conventions: NodeConventions,
        state: StateView | None = None,
        *,
        reasoning: ReasoningOptions | None = None,
        subagents: Subagents = "attributed",
        keeps_messages: Callable[[], bool] = bool,
        hides_inner: bool = False,
        expose_errors: bool = False,
    ) -> None:
        self._input = run_input
        self._sink = sink
        self._state = state or StateView({}, None, sink.event)
        self._expose_errors = expose_errors
        codec = EncryptedValueCodec(reasoning, run_input.thread_id)
        # No snapshot holds activities: one that did would delete those of earlier runs in the client.
        held = [message for message in run_input.messages if not isinstance(message, agui.ActivityMessage)]
        conversation = self._conversation = Conversation(held)
        self._call_ids = PublicCallIds(conversation)
        self._subagents = SubagentTracker(sink, subagents, self._call_ids, self._close_subagent)
        self._emitter = MessageEmitter(conversation, self._call_ids, Predictor(sink, self._state), codec)
        self._stored = StateMessages(conversation, self._call_ids, codec)
        self.messages = MessageTracker(conversation, self._emitter, self._stored, self._subagents, keeps_messages)
        self._keeps_messages = keeps_messages
        self._hides_inner = hides_inner
        self._copies = CopyDetector()
        self._usage = Usage()
        self._steps = Steps(sink)
        self._errors = ErrorClassifier()
        self._redact = redactor_for(codec.options)
        self.conventions = conventions
        self.output = CustomOutput(
            sink, self.messages, self._state, self._subagents, self._call_ids, self._redact, self._copies, conventions
        )
        self._known_graphs: set[Namespace] = set()
        self._ended_subagents: set[str] = set()
        self.providers: set[str] = set()
        self.paused = False
        self.finished = False

    # -- the run ------------------------------------------------------------------------------------------------

    def emit_run_started(self) -> None:
        """Emit `RUN_STARTED`."""
        self._sink.event(run_started(self._input))

    def replay(self, sink: JoinedSink, run_input: RunAgentInput) -> None:
        """Bring a client that joins up to date: by snapshots, and by what is still open, from its beginning."""
        sink.event(run_started(run_input))
        sink.own_state = self._state.client_only(run_input.state)
        for event in self._state.join(replace=sink.own_state != run_input.state):
            sink.event(event)
        messages = self._stored.snapshot()
        settled = self._emitter.without_unfinished(messages)
        sink.retract({message.id for message in messages} - {message.id for message in settled})
        sink.event(agui.MessagesSnapshotEvent(messages=settled))
        self._subagents.replay(sink)
        self._steps.replay(sink)
        self._emitter.replay(sink)
        self.output.replay(sink)

    def refresh_writers(self) -> None:
        """Make open messages write to the current readers: one has joined or left."""
        self._emitter.refresh_writers()

    def emit_messages_snapshot(self, interrupts: Sequence[Interrupt] = ()) -> None:
        """Emit the whole conversation as the graph's state holds it. Nothing may follow but the terminal event.

        Call it only where the input holds what the client has: a snapshot deletes what it leaves out. `interrupts` are
        those that the run is about to end with; the subagents that raised them are suspended.
        """
        if not self.finished:
            self._settle()
            self._subagents.close_all(interrupts)
            self._state.settle()
            self._emit_snapshot()

    def _emit_snapshot(self) -> None:
        self._sink.event(agui.MessagesSnapshotEvent(messages=self._stored.snapshot()))

    def finish_run(self, interrupts: Sequence[Interrupt] | None = None) -> None:
        """End a run that has completed, or paused at `interrupts`; by default those that were raised in it."""
        if self.finished:
            return
        self._settle()
        if interrupts is None:
            calls = open_tool_calls(self._stored.now)
            raised = [interrupt_requests(one, calls, self._redact) for one in self._subagents.raised_interrupts]
            interrupts = self.attribute_interrupts([request.interrupt for requests in raised for request in requests])
        self._subagents.close_all(interrupts)
        if interrupts:
            self._emit_finished(agui.RunFinishedInterruptOutcome(type="interrupt", interrupts=list(interrupts)))
        else:
            pending = self._emitter.pending_calls() or None
            outcome = agui.RunFinishedSuccessOutcome(type="success", pending_tool_call_ids=pending)
            self._emit_finished(outcome, self.output.result)

    def cancel_run(self) -> None:
        """End a run that was stopped on purpose."""
        if not self.finished:
            self._close()
            self._subagents.stop_all()
            self._emit_finished(agui.RunFinishedCancelledOutcome(type="cancelled"))

    def fail_run(self, error: BaseException, otherwise: ErrorCode = ErrorCode.GRAPH_ERROR) -> None:
        """End a run that failed. The client gets a code and a safe text, the log gets the exception."""
        code = self.classify_error(error, otherwise)
        event = run_error(self._input, error, code, self._usage.total(), expose=self._expose_errors)
        if self.finished:
            return
        try:
            self._close()
            self._subagents.stop_all()
        except Exception:
            logger.exception("Run %.80r: closing its open messages failed", self._input.run_id)
        self.finished = True
        self._sink.event(event)

    def use_state_as_result(self) -> None:
        """Make what clients see of the graph's values the result, unless there is one: no message shows its output."""
        if self.output.result is None:
            self.output.result = self._state.graph_values or None

    def _emit_finished(self, outcome: agui.RunFinishedOutcome, result: object = None) -> None:
        self.finished = True
        thread_id, run_id, usage = self._input.thread_id, self._input.run_id, self._usage.total()
        event = agui.RunFinishedEvent(thread_id=thread_id, run_id=run_id, outcome=outcome, result=result, usage=usage)
        self._sink.event(event)

    def _settle(self) -> None:
        client_tools = {tool.name for tool in self._input.tools or ()}
        self._emitter.interrupt_calls(self._ended_subagents, client_tools)
        self._close()

    def _close(self) -> None:
        self.messages.close()
        self._steps.close()
        self.output.close()
        self._state.drop_previews()

    def record_error(self, error: BaseException, code: ErrorCode) -> None:
        """Note which part of the graph raised `error`: it names the code if the run fails with it."""
        self._errors.record(error, code)

    def classify_error(self, error: BaseException, otherwise: ErrorCode = ErrorCode.GRAPH_ERROR) -> ErrorCode:
        """Return the code of a run that fails with `error`."""
        return self._errors.classify(error, otherwise)

    def pause(self, interrupts: Sequence[GraphInterrupt], subagent: SubagentRun | None = None) -> None:
        """Note that the graph has paused: at `interrupt()` calls, or (none given) at a static breakpoint."""
        self.paused = True
        self._subagents.record_interrupts(interrupts, subagent)

    def remove_client_results(self, interrupts: Sequence[Interrupt]) -> None:
        """Take from the client its own results of calls that the graph is about to answer (CopilotKit makes them)."""
        calls = {one.tool_call_id for one in self.attribute_interrupts(interrupts)}
        if self._conversation.remove_results(calls):
            self._emit_snapshot()

    def attribute_interrupts(self, interrupts: Sequence[Interrupt]) -> list[Interrupt]:
        """Return the interrupts with the ids that the client knows: of the subagent and of the tool call."""
        return self._subagents.attribute_interrupts(interrupts)

    # -- models -------------------------------------------------------------------------------------------------

    def start_model_call(self, call: ModelCall) -> None:
        """A model call begins."""
        if (call.structured and self._keeps_messages()) or (self._hides_inner and call.in_tool):
            return  # its message is emitted whole, if a node returns it
        if not call.hidden and not self._subagents.hides(call.subagent):
            self.messages.start_model_call(call)
            self._emit_withdrawals()
            self._state.expect(predictions_of(call.metadata))
            self._state.expect(self.conventions.predictions_of(call.metadata))

    def end_model_call(self, call: ModelCall, message: BaseMessage) -> None:
        """A model call has returned `message`."""
        self.add_usage(message, call.metadata)
        if (provider := maker_of(message.response_metadata)) is not None:
            self.providers.add(provider)
        self.messages.end_model_call(call, message)

    def add_usage(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """Count the tokens that a model reports with `message`."""
        self._usage.add(message, metadata)

    def fail_model_call(self, call: ModelCall, error: BaseException) -> None:
        """A model call failed: close its message at once, whether or not the run goes on without it."""
        self._errors.record(error, ErrorCode.MODEL_ERROR)
        self._state.drop_previews(self.messages.fail_model_call(call))

    def remember_model_message(self, call: ModelCall, message: BaseMessage) -> None:
        """Note what a model call has returned, for `find_copies`. Any thread may call this."""
        if not call.hidden and not self._subagents.hides(call.subagent):
            self._copies.add(namespace_of(call.metadata), message, self._subagents.visible_id(call.subagent))

    def find_copies(
        self, namespace: str, messages: Sequence[BaseMessage], subagent: SubagentRun | None = None
    ) -> NodeOutput:
        """Return a node's messages with the ids of the streamed ones that they repeat. Any thread may call this."""
        return self._copies.find_all(namespace, messages, self._subagents.visible_id(subagent))

    def load_thread(self, messages: Sequence[BaseMessage]) -> None:
        """Take the thread as the checkpoint holds it: none of it is new, nor is what the run starts from."""
        self._known_graphs.clear()
        self.messages.load_thread(messages)

    def set_initial_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Take the messages that the root graph starts from: none of them is new."""
        self._known_graphs.add(())
        self.messages.set_initial(messages)

    def mark_known(self, messages: Iterable[BaseMessage]) -> None:
        """Note messages that a graph was given: they are not new."""
        self.messages.mark_known(messages)

    def emit_message(self, message: BaseMessage, subagent: SubagentRun | None = None) -> None:
        """Emit a whole message that is new, such as a tool result. Does nothing for one that the client has."""
        self.messages.emit_message(message, subagent)

    def emit_added_results(self, messages: Sequence[BaseMessage]) -> None:
        """Emit the tool results that we ourselves have added to the thread, where the client has their calls."""
        self.messages.emit_added_results(messages)

    def emit_approval_calls(self, message: AIMessage) -> None:
        """Emit a message of approval calls, without those that the client has from an earlier run."""
        self.messages.emit_approval_calls(message)

    # -- nodes and subagents ----------------------------------------------------------------------------------------

    def start_node(self, run_id: UUID, node: str, subagent: SubagentRun | None = None, namespace: str = "") -> None:
        """A node begins, maybe once more. `namespace` is the checkpoint namespace of its task."""
        self.messages.retry_node(namespace)
        self._emit_withdrawals()
        if not self._subagents.hides(subagent):
            self._steps.start(run_id, node, self._subagents.announce(subagent))

    def end_node(
        self,
        run_id: UUID,
        messages: NodeOutput,
        inputs: NodeInput,
        subagent: SubagentRun | None = None,
        namespace: str = "",
    ) -> None:
        """A node has ended; see `MessageTracker.end_node`."""
        if not self._subagents.hides(subagent):
            self.messages.end_node(messages, inputs, subagent, namespace)
            self._emit_withdrawals()
            self._steps.finish(run_id)

    def _emit_withdrawals(self) -> None:
        if self.messages.take_withdrawn():
            self._emit_snapshot()

    def abort_node(self, run_id: UUID) -> None:
        """A node has ended without an output: it failed, paused, or was cancelled."""
        self._steps.finish(run_id)

    def end_subagent(self, subagent: SubagentRun, error: BaseException | None = None) -> None:
        """A subagent has ended: well, or with `error`."""
        if isinstance(error, GraphInterruptError | GraphDrained):
            self._subagents.suspend(subagent)
        elif error is None or isinstance(error, GraphBubbleUp):  # it has handed over to the graph around it
            self._ended_subagents.add(subagent.id)
            self._subagents.finish(subagent)
        else:
            self._emitter.abandon(subagent.id)
            if isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt | RunStopped):
                self._subagents.fail(subagent.id)
            else:
                code = self.classify_error(error)
                message = str(error) if self._expose_errors else code.message
                self._subagents.fail(subagent.id, message, code.value)

    def _close_subagent(self, subagent_run_id: str) -> None:
        self.messages.close(subagent_run_id)
        self._steps.close(subagent_run_id)

    # -- state --------------------------------------------------------------------------------------------------

    def update_graph(
        self, namespace: Namespace, values: object, messages: Sequence[BaseMessage], subagent: SubagentRun | None = None
    ) -> None:
        """Take the state of a graph after a superstep; the first one of each graph is what it started from."""
        if namespace and self._subagents.hidden:  # the first one arrives before its subagent is known
            return
        first = namespace not in self._known_graphs
        if first and not namespace:
            self.set_initial_messages(messages)
        elif first:
            self._known_graphs.add(namespace)
            self.messages.mark_known(messages)
        else:
            for message in messages:
                self.messages.emit_message(message, subagent)
        self._state.values(namespace, values, self._subagents.announce(subagent))
        if namespace:
            return
        if not first:
            self.messages.update(messages)
        if as_mapping(values) is None and not extract_messages(values, ""):
            self.output.set_result(values)  # a functional-API graph that returns a bare value

    def update_state(self, values: object) -> None:
        """Take the root graph's values, as the checkpoint has them; not its messages."""
        self._state.values((), values)

    def resume_superstep(self, values: object) -> None:
        """Show what tasks of an unfinished superstep have written, until the superstep is over."""
        self._state.resume_superstep(values)

    def record_task(self, namespace: Namespace, task: Mapping[str, object]) -> bool:
        """Take a task of the graph at `namespace`, as the stream reports it. Return whether it has ended."""
        ended = "result" in task or "error" in task
        if ended:
            self._state.task_end(namespace, str(task["id"]), task.get("result"))
        else:
            self._state.task_start(namespace)
        return ended

    def save_client_state(self, cache: ClientStateCache, *, unread: bool, behind: bool) -> None:
        """Record what a client knows of the state when it leaves; see `Subscription` for `unread` and `behind`."""
        state = self._state
        if unread:
            cache.record_left(self._input.run_id, state.previewed, None if behind else state.copy)
        elif state.up_to_date:  # else the run was refused, and its client knows no more than before
            cache.record_received(self._input.run_id)
