"""LangChain's callbacks as calls of `RunEvents`.

One synchronous handler that LangChain runs inline sees every chunk with its LLM run id, calls that
fail mid-stream and `adispatch_custom_event`; no stream mode shows all of these. Callbacks enter
here in whatever thread runs them. They leave through `deliver`, which brings them to the
`RunEvents` one at a time and in order.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from functools import partial
from threading import get_ident
from typing import Any, TypeAlias, TypeVar
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.constants import TAG_HIDDEN
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand

from langgraph_agui.compat.outputs import read_hidden
from langgraph_agui.kernel.configs import graph_of, namespace_of
from langgraph_agui.kernel.errors import ErrorCode, RunStopped
from langgraph_agui.messages.extract import extract_all
from langgraph_agui.messages.hidden import EVERYTHING, Hidden
from langgraph_agui.translate.local.pushed import PushedMessages
from langgraph_agui.translate.local.run_tree import RunLocation, RunTree, SharesMessages, ToolRun
from langgraph_agui.translate.local.sequencer import StreamPosition, StreamSequencer
from langgraph_agui.translate.model_call import ModelCall
from langgraph_agui.translate.run_events import RunEvents

T = TypeVar("T")
Metadata: TypeAlias = dict[str, object]
Chunk: TypeAlias = GenerationChunk | ChatGenerationChunk
Emit: TypeAlias = Callable[[object], None]

_writer: ContextVar[Emit | None]
try:
    from langgraph.pregel._tools import _tool_call_writer as _writer
except ImportError:
    # a LangGraph version that keeps it elsewhere: the output of its tools is not emitted
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

    LangGraph keeps the writer of the running tool in a context variable, which its stream mode
    `tools` sets. That mode adds a second handler to every token; setting the variable here costs
    nothing.
    """

    def __init__(self) -> None:
        self._tokens: dict[UUID, Token[Emit | None]] = {}

    def capture(self, run_id: UUID, emit: Emit) -> None:
        """Pass the output of the tool that is about to run in this context to `emit`, beside other
        handlers of it.
        """
        before = _writer.get()
        if isinstance(before, _Writer) and before.run_id == run_id:
            before.listeners.append(emit)
        else:
            self._tokens[run_id] = _writer.set(_Writer(run_id, emit))

    def release(self, run_id: UUID) -> None:
        """Restore the writer of the tool around this one, which has ended."""
        if (token := self._tokens.pop(run_id, None)) is not None:
            # it has ended in another context, which did not inherit the writer
            with suppress(ValueError):
                _writer.reset(token)


class CallbackSource(BaseCallbackHandler):
    """A callback handler that reports to `RunEvents`. Subclasses implement `deliver` and
    `on_llm_new_token`.

    Args:
        run_events: Receives the calls.
        shares_messages: See `RunTree`.

    Attributes:
        runs: Where the runs of LangChain are in the graph.
        stopped: Whether the run was stopped: further callbacks raise `RunStopped` into the code
            that calls them, which ends a model in a thread. Cancelling a task does not reach that.
    """

    run_inline = True
    raise_error = True
    ignore_llm = False  # a property in LangChain, read for every token

    def __init__(
        self, run_events: RunEvents, shares_messages: SharesMessages = lambda _: None
    ) -> None:
        self._run_events = run_events
        self._messages = run_events.messages
        self._key = run_events.messages_key
        self._inputs: dict[UUID, object] = {}
        # By `run_id.int`: the hash of a UUID is a function in Python, and this is read for every
        # token.
        self._calls: dict[int, ModelCall] = {}
        # The hidden parts of the messages of this run's models, by id.
        self._hidden_messages: dict[str, Hidden] = {}
        self._outputs = ToolOutputs()
        self.runs = RunTree(self._key, shares_messages)
        self.stopped = False

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` when it is its turn: after all earlier ones, and after the graph's stream has
        passed `position`.

        Raises `RunStopped` if the run was stopped.
        """
        raise NotImplementedError

    def _deliver_failure(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Deliver a failure. In a run that was stopped, the failure is the stop itself and needs no
        report.
        """
        with suppress(RunStopped):
            self.deliver(position, call)

    def tap_output_iter(self, run_id: UUID, output: T) -> T:
        """Return the output unchanged."""
        return output

    tap_output_aiter = (
        tap_output_iter  # having the two makes chat models stream, as LangGraph's own handler does
    )

    # -- models -----------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: object,
        messages: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        options: Mapping[str, object] | None = None,
        **kwargs: object,
    ) -> None:
        """A model call begins."""
        location, metadata = self.runs.find(parent_run_id), metadata or {}
        call = ModelCall(
            metadata,
            location.subagent,
            nostream=not self._run_events.hidden_tags.isdisjoint(tags or ()),
            structured=bool((options or {}).get("ls_structured_output_format")),
            output_tool=_output_tool(options),
            in_tool=location.tool is not None,
            hidden=read_hidden(metadata),
            run_id=run_id,
        )
        self._calls[run_id.int] = call
        self.deliver(None, partial(self._run_events.start_model_call, call))

    def on_llm_start(
        self, serialized: object, prompts: object, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A completion model begins."""
        self.on_chat_model_start(serialized, prompts, run_id=run_id, **kwargs)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """A model call has ended."""
        call = self._calls.pop(run_id.int, None)
        generation = (
            response.generations[0][0] if response.generations and response.generations[0] else None
        )
        if call is None or generation is None:
            return
        message = (
            generation.message
            if isinstance(generation, ChatGeneration)
            else AIMessage(content=generation.text)
        )
        call.hidden = EVERYTHING if call.is_hidden else call.hidden.for_message(message)
        message = call.hidden.marked(message)
        if isinstance(generation, ChatGeneration):
            generation.message = message
        self._hidden_messages.update(
            dict.fromkeys(filter(None, (message.id, call.best_id)), call.hidden)
        )
        self._run_events.remember_model_message(call, message)
        self.deliver(None, partial(self._run_events.end_model_call, call, message))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A model call failed."""
        if (call := self._calls.pop(run_id.int, None)) is not None:
            self._deliver_failure(None, partial(self._run_events.fail_model_call, call, error))

    # -- nodes ------------------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: object,
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        name: str | None = None,
        **kwargs: object,
    ) -> None:
        """A chain begins. It matters if it is a node's own run, or later turns out to be a
        graph's.
        """
        call_id = (metadata or {}).get("tool_call_id")
        self.runs.enter(run_id, parent_run_id, name or "", given=inputs, call_id=call_id)
        if not metadata or not name or name != metadata.get("langgraph_node"):
            return
        namespace = namespace_of(metadata)
        if (tags and TAG_HIDDEN in tags) or (
            namespace and self.runs.find(parent_run_id).node == namespace
        ):
            return  # a chain inside the node that happens to have its name
        location, begins = self.runs.enter_node(run_id, parent_run_id, namespace, tags or ())
        if begins and metadata.get("langgraph_step") == 1:
            graph = graph_of(namespace)
            self.deliver(None, partial(self._run_events.begin_graph, graph, namespace))
        self._inputs[run_id] = inputs
        start = partial(self._run_events.start_node, run_id, name, location.subagent, namespace)
        self.deliver(location.position("start"), start)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        """A chain has ended."""
        if run_id in self._inputs:
            self._end_node(run_id, outputs)
        if (subagent := self.runs.leave(run_id)) is not None:
            self.deliver(None, partial(self._run_events.end_subagent, subagent))

    def _end_node(self, run_id: UUID, outputs: object) -> None:
        location = self.runs.find(run_id)
        inputs = partial(extract_all, self._inputs.pop(run_id), self._key)
        output = self._messages.copies.read_output(
            outputs, self._key, location.node, location.subagent
        )
        for message, streamed_id in output.with_copies:
            # It gets an id before the state gives it one, as LangGraph would.
            message.id = message.id or streamed_id or str(uuid4())
            # a node that streams its model returns a message of its own
            if message.id in self._hidden_messages:
                self._hidden_messages[message.id].mark(message)
        end = partial(
            self._run_events.end_node, run_id, output, inputs, location.subagent, location.node
        )
        self.deliver(location.position("end"), end)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A chain failed, was interrupted, or has handed over to the graph around it."""
        if run_id in self._inputs:
            if (update := _handed_over(error, self.runs.find(run_id).node)) is not None:
                with suppress(RunStopped):
                    self._end_node(run_id, update)
            else:
                self._fail_node(run_id, error)
        if (subagent := self.runs.leave(run_id)) is not None:
            self._deliver_failure(None, partial(self._run_events.end_subagent, subagent, error))

    def _fail_node(self, run_id: UUID, error: BaseException) -> None:
        del self._inputs[run_id]
        location = self.runs.find(run_id)
        # Only a pause ends the task for sure: after a failure LangGraph may try the node again.
        paused = isinstance(error, GraphInterrupt)
        position = location.position("end") if paused else ("soon", str(run_id))
        stop = partial(self._run_events.steps.finish, run_id)
        if not isinstance(error, GraphBubbleUp):
            stop = partial(self._run_events.fail_node, run_id, location.node)
        self._deliver_failure(position, stop)
        if paused and error.args:
            self._deliver_failure(
                None, partial(self._run_events.pause, error.args[0], location.subagent)
            )

    # -- tools and the rest -----------------------------------------------------------------------

    def on_tool_start(
        self,
        serialized: object,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """A tool begins."""
        tool = ToolRun.of_start(serialized, kwargs)
        location = self.runs.enter(run_id, parent_run_id, tool.name, tool)
        subagent, graph = location.subagent, graph_of(location.node)
        call_id = tool.call_id or str(run_id)
        output = self._run_events.output

        def emit_output(delta: object) -> None:
            emit = partial(output.emit_tool_output, call_id, tool.name, delta, subagent, graph)
            self.deliver(None, emit)

        self.deliver(None, partial(output.start_tool, call_id, subagent))
        self._outputs.capture(run_id, emit_output)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        """A tool has ended. Inside a node its message is emitted with the node's output."""
        location = self._leave_tool(run_id)
        if location.tool is not None:
            failed = isinstance(output, ToolMessage) and output.status == "error"
            call_id = location.tool.call_id or str(run_id)
            graph, end_tool = graph_of(location.node), self._run_events.output.end_tool
            end = partial(end_tool, call_id, location.subagent, graph, failed=failed)
            self._deliver_failure(None, end)
        if not self._inputs and isinstance(output, ToolMessage):
            output.id = output.id or str(uuid4())
            self.deliver(None, partial(self._messages.emit_message, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A tool failed, or has paused."""
        location = self._leave_tool(run_id)
        if isinstance(error, GraphBubbleUp):
            return
        record = partial(self._run_events.errors.record, error, ErrorCode.TOOL_ERROR)
        self._deliver_failure(None, record)
        if location.tool is not None:
            call_id, name = location.tool.call_id or str(run_id), location.tool.name
            fail = partial(self._run_events.fail_tool, error, call_id, name, location.subagent)
            self._deliver_failure(None, fail)

    def _leave_tool(self, run_id: UUID) -> RunLocation:
        """Return where a tool was that runs no more."""
        location = self.runs.find(run_id)
        self.runs.leave(run_id)
        self._outputs.release(run_id)
        return location

    def on_custom_event(self, name: str, data: object, *, run_id: UUID, **kwargs: object) -> None:
        """`adispatch_custom_event` was called."""
        location = self.runs.find(run_id)
        self.deliver(
            None,
            self._run_events.output.receive_event(
                name, data, location.subagent, location.node or ""
            ),
        )

    def on_retriever_start(
        self,
        serialized: object,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        """A retriever begins; a model may run inside it. Its end matters to nobody."""
        self.runs.enter(run_id, parent_run_id, "")


class LoopCallbackSource(CallbackSource, PushedMessages):  # type: ignore[misc]  # on_chain_end names its outputs otherwise
    """The source of a graph's run: delivers in the thread of the event loop, in the order of the
    sequencer.

    Args:
        run_events: Receives the calls.
        fail: Receives an exception of `RunEvents` itself.
        shares_messages: See `RunTree`.

    Attributes:
        sequencer: Puts the callbacks in order with the parts of the graph's stream.
    """

    def __init__(
        self,
        run_events: RunEvents,
        fail: Callable[[Exception], None],
        shares_messages: SharesMessages,
    ) -> None:
        CallbackSource.__init__(self, run_events, shares_messages)
        PushedMessages.__init__(self)
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self.sequencer = StreamSequencer(self._loop)
        self._waiting = self.sequencer.waiting
        self._thread = get_ident()

    def on_llm_new_token(
        self, token: object, *, chunk: Chunk | None = None, run_id: UUID, **kwargs: object
    ) -> None:
        """A model sends a chunk. It is passed on at once if this is the loop's thread and nothing
        waits. The hot path.

        Raises `RunStopped` in another thread if the run was stopped: what runs in the loop is being
        cancelled.
        """
        if (call := self._calls.get(run_id.int)) is None:
            return
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else text_chunk(token)
        in_loop = get_ident() == self._thread
        if not self._waiting and not self.stopped and in_loop:
            self._messages.receive_chunk(call, message)
        elif not (self.stopped and in_loop):
            self.deliver(None, partial(self._messages.receive_chunk, call, message))

    def on_pushed_message(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """A node has pushed a message (`push_message`)."""
        namespace = namespace_of(metadata)
        subagent = self.runs.subagent_at(graph_of(namespace).split("|"))
        push = partial(self._run_events.push_message, message, subagent, namespace)
        self.deliver(None, push)

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` in the loop's thread when it is its turn. Raises `RunStopped` if the run was
        stopped.
        """
        if self.stopped:
            raise RunStopped
        guarded = partial(self._run_guarded, call)
        if get_ident() == self._thread:
            self.sequencer.put(position, guarded)
            return
        try:
            self._loop.call_soon_threadsafe(self.sequencer.put, position, guarded)
        except RuntimeError as error:  # the loop is closed
            raise RunStopped from error

    def _run_guarded(self, call: Callable[[], None]) -> None:
        if self.stopped or self._run_events.finished:
            return
        try:
            call()
        except Exception as error:  # the loop calls this: nobody above could report the exception
            self._fail(error)


def _handed_over(error: BaseException, task: str) -> object:
    """Return the update of a command for the graph around, if this task of that graph takes it.

    LangGraph raises such a command, and names the task in it on its way (`ParentCommand`).
    """
    command = error.args[0] if isinstance(error, ParentCommand) and error.args else None
    if command is None or command.graph not in (task, task.rpartition("|")[2].partition(":")[0]):
        return None
    return command.update if command.update is not None else {}


def _output_tool(options: Mapping[str, object] | None) -> str | None:
    """Return the tool that a model calls with its structured output; None if it calls none."""
    match options:
        case {
            "ls_structured_output_format": {
                "kwargs": {"method": "function_calling"},
                "schema": {"title": str(name)},
            }
        }:
            return name
    return None


def text_chunk(token: object) -> AIMessageChunk:
    """Return the chunk of a completion model, which sends a text."""
    return AIMessageChunk(content=token if isinstance(token, str) else "")
