"""Translates one run into AG-UI events.

The actions of a graph enter as method calls, in order and in one thread at a time. Events leave
through the sink: `RUN_STARTED` first, one terminal event last, and everything closed before it
(AG-UI 1.0, runs).
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast
from uuid import UUID

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Interrupt, RunAgentInput
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp, GraphDrained
from langgraph.errors import GraphInterrupt as GraphInterruptError
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.compat.interrupts import show_to_pages
from langgraph_agui.compat.outputs import read_predictions
from langgraph_agui.graphs import Thread
from langgraph_agui.interrupts.pauses import interrupt_requests
from langgraph_agui.kernel.configs import as_mapping, graph_of, namespace_of
from langgraph_agui.kernel.errors import (
    ErrorClassifier,
    ErrorCode,
    RunStopped,
    error_text,
    is_caused_by,
)
from langgraph_agui.kernel.telemetry import log_fields, run_logger
from langgraph_agui.kernel.weak import weakly
from langgraph_agui.messages.content import interrupted, unanswered_calls
from langgraph_agui.messages.conversation import Conversation, Unkept
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.extract import extract_messages, extract_other_results
from langgraph_agui.messages.providers import maker_of
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.messages.to_agui import is_summary
from langgraph_agui.messages.transformers import WITHHELD, MakeTransformers, RunTransformers
from langgraph_agui.options import ReasoningOptions, Subagents
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.readers.run_log import (
    OwnSnapshot,
    messages_and_activities,
    thread_before,
)
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.held_output import HeldOutput
from langgraph_agui.translate.lifecycle import Steps, Usage, run_error, run_started
from langgraph_agui.translate.messages import KeepsMessages, NodeInput, RunMessages
from langgraph_agui.translate.model_call import ModelCall
from langgraph_agui.translate.output import CustomOutput
from langgraph_agui.translate.predictor import Predictor
from langgraph_agui.translate.repeated_messages import NodeOutput
from langgraph_agui.translate.state_view import Namespace, StateView
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker
from langgraph_agui.translate.thread_messages import ThreadMessages

logger = run_logger(__name__)


class PausedStep(NamedTuple):
    """What a client has seen of a paused step.

    Attributes:
        unkept: The messages that the root graph does not keep.
        tasks: The checkpoint namespaces of the tasks that have begun and not ended.
        askers: The subagents that have raised interrupts, by the ids of these; None for those of
            the agent itself. The others are known by their checkpoints.
    """

    unkept: Sequence[Unkept] = ()
    tasks: Sequence[str] = ()
    askers: Mapping[str, str | None] = {}


class RunEvents:
    """The events of one run: `RUN_STARTED` when it is made, the others as calls come.

    Args:
        run_input: The client's input.
        sink: Receives the events.
        state: The graph's state as the client sees it; None if clients see nothing of it.
        reasoning: Who sees reasoning, and how it travels.
        subagents: How clients see subagents.
        keeps_messages: Whether the graph keeps a conversation: then a message that no node returns
            is withdrawn.
        may_remove_messages: Whether the graph may remove messages by `RemoveMessage`.
        hides_inner: Whether the messages of models that tools call are hidden.
        hidden_tags: The tags of model calls that are hidden, beside `nostream`.
        shows_middleware: Whether the hooks of middleware are steps.
        expose_errors: Whether clients may get the texts of exceptions; None if there is no option
            for it.
        messages_key: The state channel with the conversation.
        emit_raw: Whether each part of the graph's stream is emitted as a `RAW` event too.
        transformers: Makes the stream transformers of all graphs.
        hold_messages: Whether messages are held back until the hooks of middleware have seen them.

    Attributes:
        messages_key: As given.
        hidden_tags: The tags of model calls that clients do not see.
        messages: Receives the chunks of model calls and whole messages. Sources call it directly:
            they do so for every token.
        state: The graph's state as the client sees it.
        subagents: Decides how the client sees subagents.
        steps: The steps of the nodes that run.
        errors: Knows which part of the graph raised which error: it names the code if the run fails
            with it.
        transformers: The stream transformers of the graph and of those inside it.
        usage: Counts the tokens that models report.
        output: Receives the output of nodes and tools besides messages and state.
        providers: The providers whose models were called.
        paused: Whether the graph has paused; the owner of the run resets it.
        finished: Whether the terminal event was emitted.
    """

    def __init__(
        self,
        run_input: RunAgentInput,
        sink: Sink,
        state: StateView | None = None,
        *,
        reasoning: ReasoningOptions | None = None,
        subagents: Subagents = "attributed",
        keeps_messages: KeepsMessages = bool,
        may_remove_messages: bool = False,
        hides_inner: bool = False,
        hidden_tags: Collection[str] = (),
        shows_middleware: bool = False,
        expose_errors: bool | None = None,
        messages_key: str = "messages",
        emit_raw: bool = False,
        transformers: MakeTransformers = RunTransformers,
        hold_messages: bool = False,
    ) -> None:
        self._input = run_input
        self._client_tools = {tool.name for tool in run_input.tools or ()}
        self._sink = sink
        self.state = state or StateView({}, None, sink.event)
        self._expose_errors = expose_errors
        self._log_fields = log_fields(run_input)
        self.errors = ErrorClassifier()
        self.transformers = transformers(weakly(self._transformer_failed))
        stored = self.transformers.of_stored()
        codec = EncryptedValueCodec(reasoning, run_input.thread_id, stored)
        # No snapshot holds activities: one that did would delete those of earlier runs in the
        # client.
        held = [message for message in run_input.messages if message.role != "activity"]
        conversation = self._conversation = Conversation(held)
        self.subagents = SubagentTracker(
            sink, subagents, conversation, weakly(self._close_subagent)
        )
        self._stored = ThreadMessages(conversation, codec, held, may_remove=may_remove_messages)
        predictor = Predictor(sink, self.state)
        self.messages = RunMessages(
            conversation,
            predictor,
            codec,
            self._stored,
            self.subagents,
            keeps_messages,
            self.transformers,
        )
        self._keeps_messages = keeps_messages
        self._hides_inner = hides_inner
        self._holds_messages = hold_messages
        self._held = HeldOutput()
        self.hidden_tags = frozenset({TAG_NOSTREAM, *hidden_tags})
        self.messages_key = messages_key
        self._emit_raw = emit_raw
        self.usage = Usage()
        self.steps = Steps(sink, self.usage, shows_middleware=shows_middleware)
        self._redact = redactor_for(codec.options)
        self.output = CustomOutput(
            sink, self.messages, self.state, self.subagents, self._redact, self.transformers
        )
        # The graphs that have reported their states, the root graph with the last one.
        self._known_graphs: dict[Namespace, object] = {}
        self._ended_subagents: set[str] = set()
        # In development, the emitters of the exceptions of tools, by the subagents of the tools.
        self._tool_errors: defaultdict[
            str | None, list[tuple[BaseException, Callable[[], None]]]
        ] = defaultdict(list)
        self.providers: set[str] = set()
        self.paused = False
        self.finished = False
        sink.event(run_started(run_input))

    # -- the run ----------------------------------------------------------------------------------

    def before(self) -> list[BaseEvent]:
        """Return the events that stand for the time before the run, for a client that joins."""
        state = self._input.state
        messages, past = self._stored.before()
        return thread_before(messages, past, dict(state) if isinstance(state, Mapping) else {})

    def settle_calls(self, tools: Collection[str]) -> None:
        """Answer the open calls of these tools: the graph has come to its end, and no client runs
        them.
        """
        self.messages.settle_calls(tools, self._client_tools)

    def settle_passed_calls(self) -> None:
        """Answer the open calls that the agent has passed without a result, unless it has paused:
        nobody knows which tools are whose.
        """
        if not self.subagents.raised_interrupts:
            self.messages.settle_passed_calls()

    def emit_messages_snapshot(
        self, interrupts: Sequence[Interrupt] = (), *, paused: bool = False
    ) -> None:
        """Emit the whole conversation as the graph's state holds it. Nothing may follow but the
        terminal event.

        Call it only where the input holds what the client has: a snapshot deletes what it leaves
        out.

        Args:
            interrupts: Those that the run is about to end with; the subagents that raised them are
                suspended.
            paused: Whether the thread waits for an answer.
        """
        if not self.finished:
            self._settle_all(interrupts, paused=paused)
            self._emit_snapshot()

    def emit_thread(self, *, paused: bool) -> None:
        """Emit the conversation with its media, for a client that may have nothing of it. Nothing
        may follow but the terminal event.

        Args:
            paused: Whether the thread waits for an answer.
        """
        if not self.finished:
            self._settle_all((), paused=paused)
            for event in messages_and_activities(self._stored.with_media()):
                self._sink.event(event)

    def _settle_all(self, interrupts: Sequence[Interrupt], *, paused: bool) -> None:
        self._settle()
        if not paused:
            self.messages.withdraw_drafts()
        self.subagents.close_all(interrupts)
        self.state.settle()
        self._tell_summary()

    def _tell_summary(self) -> None:
        """Tell a client that does not know it that the thread has a summary in place of earlier
        messages.

        A snapshot with an activity in it would delete the client's others. So it is an event of its
        own, which comes before the messages that the thread still has.
        """
        if any(map(is_summary, self._stored.later())):
            activity_id = f"{self._input.thread_id}:summary"
            if all(message.id != activity_id for message in self._input.messages):
                self.output.emit_summary(activity_id)

    def _emit_snapshot(self) -> None:
        messages = self._stored.snapshot()
        own, trimmed = self._stored.own_in(messages), self._stored.trimmed()
        self._sink.event(OwnSnapshot.of(messages, own, trimmed))
        self._conversation.free_withdrawn_ids()

    def finish_run(self, interrupts: Sequence[Interrupt] | None = None) -> None:
        """End a run that has completed, or paused at `interrupts`; by default those that were
        raised in it.
        """
        if self.finished:
            return
        self._settle()
        if interrupts is None:
            calls = unanswered_calls(self._stored.now)
            requests = [
                request
                for raised in self.subagents.raised_interrupts
                for request in interrupt_requests(raised, calls, self._redact)
            ]
            show_to_pages(requests)
            interrupts = self.subagents.attribute_interrupts(
                [request.interrupt for request in requests]
            )
        self.subagents.close_all(interrupts)
        if interrupts:
            self._emit_finished(
                agui.RunFinishedInterruptOutcome(type="interrupt", interrupts=list(interrupts))
            )
        else:
            pending = self.messages.pending_calls() or None
            outcome = agui.RunFinishedSuccessOutcome(type="success", pending_tool_call_ids=pending)
            self._emit_finished(outcome, self.output.result)

    def cancel_run(self) -> None:
        """End a run that was stopped on purpose."""
        if not self.finished:
            self._break_off()
            self._emit_finished(agui.RunFinishedCancelledOutcome(type="cancelled"))

    def fail_run(self, error: BaseException, otherwise: ErrorCode = ErrorCode.GRAPH_ERROR) -> None:
        """End a run that failed. The client gets a code and a safe text, the log gets the
        exception.
        """
        code = self.errors.classify(error, otherwise)
        usage = self.usage.total()
        event = run_error(
            self._input, error, code, usage, expose=self._expose_errors, fields=self._log_fields
        )
        if self.finished:
            return
        try:
            self._emit_tool_errors(error, None)
            self._break_off()
        except Exception:
            logger.exception("Run %.80r: closing its open messages failed", self._input.run_id)
        self._end(event)

    def use_state_as_result(self) -> None:
        """Make the visible values of the graph the result, unless there is one: no message
        shows its output.
        """
        if self.output.result is None:
            self.output.result = self.state.graph_values or None

    def _emit_finished(self, outcome: agui.RunFinishedOutcome, result: object = None) -> None:
        thread_id, run_id, usage = self._input.thread_id, self._input.run_id, self.usage.total()
        event = agui.RunFinishedEvent(
            thread_id=thread_id, run_id=run_id, outcome=outcome, result=result, usage=usage
        )
        self._end(event)

    def _end(self, event: agui.BaseEvent) -> None:
        self._sink.event(event)
        self.finished = True
        self._conversation.clear()

    def _settle(self) -> None:
        self.messages.withdraw_elsewhere()
        self.messages.settle_ended(self._ended_subagents, self._client_tools)
        self._close()

    def _break_off(self) -> None:
        self._close()
        self.messages.break_off(self._client_tools)
        self.messages.withdraw_elsewhere(interrupted)
        self._emit_due_snapshot()
        self.subagents.stop_all()

    def _close(self) -> None:
        self.messages.close()
        self.steps.close()
        self.output.close()
        self.state.drop_previews()

    def pause(
        self, interrupts: Sequence[GraphInterrupt], subagent: SubagentRun | None = None
    ) -> None:
        """Note that the graph has paused: at `interrupt()` calls, or (none given) at a static
        breakpoint.
        """
        self.paused = True
        self.subagents.record_interrupts(interrupts, subagent)

    def remove_client_results(self, interrupts: Sequence[Interrupt]) -> None:
        """Take from the client its own results of calls that the graph is about to answer: a page
        may have made some when it was asked about them.
        """
        calls = {one.tool_call_id for one in self.subagents.attribute_interrupts(interrupts)}
        if self._conversation.remove_results(calls):
            self._emit_snapshot()

    # -- models -----------------------------------------------------------------------------------

    def start_model_call(self, call: ModelCall) -> None:
        """A model call begins."""
        predictions = read_predictions(call.metadata)
        is_predicted = call.output_tool in {
            *self.state.expected,
            *(one.tool for one in predictions),
        }
        is_streamed = not (  # else its message is emitted whole, if a node returns it
            self._holds_messages
            or (call.structured and self.messages.keeps_messages() and not is_predicted)
            or (self._hides_inner and call.in_tool)
        )
        if is_streamed and not call.is_hidden:
            self._transform(call)
        if call.is_hidden or self.subagents.hides(call.subagent):
            return
        if is_streamed:
            self.messages.start_model_call(call)
            self._emit_due_snapshot()
        self.state.expect(predictions)

    def _transform(self, call: ModelCall) -> None:
        """Let the message of a call go through the stream transformers, if there are any."""
        graph = graph_of(namespace_of(call.metadata))
        name = call.subagent.name if call.subagent is not None else None
        call.transformers = self.transformers.of_graph(graph, name)
        if call.transformers is not None:
            metadata = {**call.metadata, "run_id": str(call.run_id)}
            call.transformed = call.transformers.message(
                metadata, graph.split("|") if graph else ()
            )
            call.nostream = call.nostream or not call.transformed.begins()

    def end_model_call(self, call: ModelCall, message: BaseMessage) -> None:
        """A model call has returned `message`."""
        self.usage.add(message, call.metadata)
        if (provider := maker_of(message.response_metadata)) is not None:
            self.providers.add(provider)
        if self._holds_messages and not (call.structured or call.is_hidden):
            self.messages.unseen.add(message.id)
        self.messages.end_model_call(call, message)

    def fail_model_call(self, call: ModelCall, error: BaseException) -> None:
        """A model call failed: close its message at once, whether or not the run goes on without
        it.
        """
        self.errors.record(error, ErrorCode.MODEL_ERROR)
        self.state.drop_previews(self.messages.fail_model_call(call))

    def remember_model_message(self, call: ModelCall, message: BaseMessage) -> None:
        """Note the message of a model call, for `RepeatedMessages`. Any thread may call this."""
        if not call.is_hidden and not self.subagents.hides(call.subagent):
            self.messages.copies.add(namespace_of(call.metadata), message, call.subagent)

    def push_message(
        self, message: BaseMessage, subagent: SubagentRun | None, namespace: str
    ) -> None:
        """A node has pushed a message. `namespace` is the checkpoint namespace of its task."""
        if not self.subagents.hides(subagent):
            self.messages.emit_message(message, subagent, namespace, stays=True)

    def end_graph(self) -> None:
        """The root graph has come to its end, or to a pause: no hook will change a message."""
        self._held.release()

    def load_thread(self, thread: Thread, taken: Collection[str] = ()) -> None:
        """Take the thread as the checkpoint holds it: none of it is new, nor is what the run starts
        from.

        Args:
            thread: The thread.
            taken: The ids of the client's messages that the run adds to it.
        """
        self._known_graphs.clear()
        self.messages.load_thread(thread.messages)
        self._stored.find_gone(thread.past)
        if thread.state.created_at is not None and self._keeps_messages():
            self._stored.take(taken)

    def load_step(self, step: PausedStep, *, show: bool) -> None:
        """Take the thread's paused step. What the client has of it goes when it runs again.

        Args:
            step: The step.
            show: Whether to show the client what it has not of it.
        """
        self._stored.load_unkept(step.unkept)
        self.messages.load_unkept(step.unkept, show=show)
        self.messages.open_tasks.update(step.tasks)
        self.subagents.askers.update(step.askers)

    def drop_step(self) -> None:
        """The paused step never runs again: the client loses what it has seen of it."""
        self.messages.withdraw_drafts()
        self._emit_due_snapshot()

    def paused_step(self) -> PausedStep:
        """Return what the client has seen of the step that has paused."""
        unkept, tasks = self._conversation.unkept(), self.messages.open_tasks
        own = {asked: None for asked, owner in self.subagents.askers.items() if owner is None}
        return PausedStep(unkept, sorted(tasks), own)

    def set_initial_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Take the messages that the root graph starts from: none of them is new."""
        self._known_graphs.setdefault((), None)
        self.messages.set_initial(messages)

    # -- nodes and subagents ----------------------------------------------------------------------

    def start_node(
        self, run_id: UUID, node: str, subagent: SubagentRun | None = None, namespace: str = ""
    ) -> None:
        """A node begins, maybe once more. `namespace` is the checkpoint namespace of its task."""
        self.messages.start_node(namespace)
        self._emit_due_snapshot()
        if not self.subagents.hides(subagent):
            self.steps.start(run_id, node, self.subagents.announce(subagent), namespace)

    def begin_graph(self, namespace: str, task: str) -> None:
        """The first superstep of a graph inside another begins; see `RunMessages.begin_graph`."""
        self.messages.begin_graph(namespace, task)
        self._emit_due_snapshot()

    def end_node(
        self,
        run_id: UUID,
        output: NodeOutput,
        inputs: NodeInput,
        subagent: SubagentRun | None,
        namespace: str,
    ) -> None:
        """A node has ended; see `RunMessages.end_node`."""
        if self.subagents.hides(subagent):
            return

        def emit(output: NodeOutput) -> None:
            self.messages.end_node(output, inputs, subagent, namespace)
            self._emit_due_snapshot()

        if self._holds_messages:
            self._held.end_task(namespace)  # what the graphs inside hold comes before it
            self._held.hold(output, emit, subagent, graph_of(namespace))
        else:
            emit(output)
        self.steps.finish(run_id)

    def fail_node(self, run_id: UUID, namespace: str) -> None:
        """A node has failed. LangGraph may try it again."""
        self._held.fail_task(namespace)
        self.steps.finish(run_id)

    def _emit_due_snapshot(self) -> None:
        # A snapshot shows the state of the root graph, and so what that holds back.
        if not self._held.holds_any("") and self.messages.take_due():
            self._emit_snapshot()

    def end_subagent(self, subagent: SubagentRun, error: BaseException | None = None) -> None:
        """A subagent has ended: well, or with `error`."""
        self._held.end_subagent(subagent)
        if isinstance(error, GraphInterruptError | GraphDrained):
            self.subagents.suspend(subagent)
        elif error is None or isinstance(error, GraphBubbleUp):
            # it has handed over to the graph around it
            self._ended_subagents.add(subagent.id)
            self.subagents.finish(subagent)
        else:
            self._emit_tool_errors(error, subagent.id)
            self.messages.abandon(subagent.id)
            if isinstance(
                error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt | RunStopped
            ):
                self.subagents.fail(subagent.id)
            else:
                code = self.errors.classify(error)
                message = error_text(error) if self._expose_errors else code.message
                self.subagents.fail(subagent.id, message, code.value)

    # -- tools ------------------------------------------------------------------------------------

    def fail_tool(
        self, error: BaseException, call_id: str, tool: str, subagent: SubagentRun | None
    ) -> None:
        """The tool of a call has raised `error`."""
        self.output.end_tool(call_id, subagent, failed=True)
        if self._expose_errors:
            emit = partial(self.output.emit_tool_error, error, call_id, tool, subagent)
            owner = subagent.id if subagent is not None else None
            self._tool_errors[owner].append((error, emit))

    def _emit_tool_errors(self, error: BaseException, subagent_run_id: str | None) -> None:
        """Emit the exceptions of tools that have ended a subagent, or (None) the run, with
        `error`. A graph may handle others.
        """
        for raised, emit in self._tool_errors.pop(subagent_run_id, ()):
            if is_caused_by(error, raised):
                emit()

    def _transformer_failed(self, error: Exception) -> None:
        self.errors.record(error, ErrorCode.GRAPH_ERROR)

    def _close_subagent(self, subagent_run_id: str) -> None:
        self.messages.close(subagent_run_id)
        self.steps.close(subagent_run_id)

    # -- state ------------------------------------------------------------------------------------

    def update_graph(
        self,
        namespace: Namespace,
        values: object,
        messages: Sequence[BaseMessage],
        subagent: SubagentRun | None = None,
    ) -> None:
        """Take the state of a graph after a superstep; the first one of each graph is what it
        started from.
        """
        # the first one arrives before its subagent is known
        if namespace and self.subagents.hidden:
            return
        first, graph = namespace not in self._known_graphs, "|".join(namespace)
        changed = self.state.changed(namespace, values, self._known_graphs.get(namespace))
        results = extract_other_results(values if changed is None else changed, self.messages_key)
        if first:
            # A functional graph reports its state once, when its tasks have ended: no hook of it
            # will change a message.
            self._held.release(graph)
        if first and not namespace:
            self.set_initial_messages(messages)
            self.messages.mark_known(results)
        elif first:
            self._known_graphs[namespace] = None
            self.messages.mark_known([*messages, *results])
        else:
            self.emit_new(messages, results, subagent, graph)
        self.state.values(namespace, values, self.subagents.announce(subagent))
        if namespace:
            return
        self._known_graphs[()] = values
        if not first:
            self.messages.update(messages)
            self._emit_due_snapshot()

    def emit_new(
        self,
        messages: Sequence[BaseMessage],
        results: Sequence[ToolMessage],
        subagent: SubagentRun | None = None,
        graph: str = "",
    ) -> None:
        """Emit those of the messages of the graph at a namespace that are new: no callback has
        shown them.

        Args:
            messages: Those of its conversation.
            results: Results in its other channels. Where messages are held back, these may be
                copies of what hooks have changed.
            subagent: The subagent that the graph is.
            graph: The namespace.
        """

        def emit(output: NodeOutput) -> None:
            self.messages.emit_new([message for message, _ in output.messages], subagent, graph)

        if not self._holds_messages:
            self.messages.emit_new([*messages, *results], subagent, graph)
        elif new := self.messages.find_new(messages):
            output = NodeOutput([(message, None) for message in new], ())
            self._held.hold(output, emit, subagent, graph)

    def set_returned(self, value: object, state: object) -> None:
        """Make the value that a functional-API graph returns the result of the run, if no message
        shows it, and its state does not.
        """
        is_state = value is state and as_mapping(state) is not None
        if not (value is None or is_state or extract_messages(value, self.messages_key)):
            self.output.set_result(value)

    def record_part(self, part: Mapping[str, object]) -> None:
        """Emit a part of the graph's stream as a `RAW` event, if that is wanted.

        Transformers know values and custom data only, so other parts stay hidden where there are
        some. Where messages are held back, parts that have messages stay hidden.
        """
        if not self._emit_raw or (self._holds_messages and part["type"] != "custom"):
            return
        namespace = cast("Namespace", part["ns"])
        if (transformers := self.transformers.of_stored("|".join(namespace))) is not None:
            if part["type"] not in ("values", "custom"):
                return
            shown = transformers.as_json(str(part["type"]), part["data"], namespace)
            part = {**part, "data": shown}
        if part["data"] is not WITHHELD:
            self._sink.event(agui.RawEvent(event=to_jsonable(dict(part)), source="langgraph"))

    def record_task(self, namespace: Namespace, task: Mapping[str, object]) -> bool:
        """Take a task of the graph at `namespace`, as the stream reports it. Return whether it has
        ended.
        """
        ended = "result" in task or "error" in task
        if ended:
            self.state.task_end(namespace, str(task["id"]), task.get("result"))
        else:
            self._held.start_task(str(task["name"]), "|".join(namespace))
            self.state.task_start(namespace)
        return ended
