"""LangChain's callbacks as calls of a translation.

One synchronous handler that LangChain runs inline sees every chunk with its LLM run id, calls that fail mid-stream and
`adispatch_custom_event`; no stream mode shows all of these. Callbacks enter here in whatever thread runs them. They
leave through `deliver`, which brings them to the translation one at a time and in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.constants import TAG_HIDDEN, TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from langgraph_agui.errors import ErrorCode, RunStopped
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.messages.to_agui import HIDDEN, SUMMARIZATION
from langgraph_agui.namespaces import namespace_of, task_id
from langgraph_agui.translate.run_tree import RunLocation, RunTree, ToolRun
from langgraph_agui.translate.stream_sequencer import StreamPosition, StreamSequencer
from langgraph_agui.translate.tool_output import ToolOutputs
from langgraph_agui.translate.translation import Translation

T = TypeVar("T")
Metadata = dict[str, object]


class _ModelCall(NamedTuple):
    """A model call: where it runs, the metadata of its start, and whether the client sees nothing of it."""

    location: RunLocation
    metadata: Metadata
    hidden: bool


class _NodeRun(NamedTuple):
    """A run of a node: where it is, and its input."""

    location: RunLocation
    inputs: object

    def position(self, point: Literal["start", "end"]) -> StreamPosition | None:
        """Where in the stream the node starts or ends; None if the stream does not show this node."""
        return (point, task_id(self.location.node)) if self.location.namespace is not None else None


class CallbackSource(BaseCallbackHandler):
    """A callback handler that reports to a translation. Subclasses implement `deliver` and `deliver_chunk`.

    Args:
        translation: Receives the calls.
        messages_key: The state channel that holds the conversation.

    Attributes:
        runs: Where the runs of LangChain are in the graph.
        stopped: Whether the run was stopped: further callbacks raise `RunStopped` into the code that calls them, which
            ends a model in a thread. Cancelling a task does not reach that.
    """

    run_inline = True
    raise_error = True

    def __init__(self, translation: Translation, messages_key: str) -> None:
        self._translation = translation
        self._messages = translation.messages
        self._key = messages_key
        self._tasks: dict[str, UUID] = {}
        self._nodes: dict[UUID, _NodeRun] = {}
        self._models: dict[UUID, _ModelCall] = {}
        self._outputs = ToolOutputs()
        self.runs = RunTree()
        self.stopped = False

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` when it is its turn: after all earlier ones, and after the graph's stream has passed `position`.

        Raises `RunStopped` if the run was stopped.
        """
        raise NotImplementedError

    def deliver_chunk(self, run_id: UUID, message: BaseMessage) -> None:
        """Pass a chunk of a model call to the translation in the same way. Called for every token."""
        raise NotImplementedError

    def _deliver_failure(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Deliver a failure. In a run that was stopped, the failure is the stop itself and needs no report."""
        with suppress(RunStopped):
            self.deliver(position, call)

    # Having these two makes chat models stream under `invoke`, as LangGraph's own handler does.
    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[T]) -> AsyncIterator[T]:
        """Return the output unchanged."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[T]) -> Iterator[T]:
        """Return the output unchanged."""
        return output

    # -- models -------------------------------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: object,
        messages: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: object,
    ) -> None:
        """A model call begins; the client does not see one that is tagged `nostream` or that sums up the history."""
        metadata, location = metadata or {}, self.runs.find(parent_run_id)
        hidden = (tags is not None and TAG_NOSTREAM in tags) or metadata.get("lc_source") == SUMMARIZATION
        self._models[run_id] = _ModelCall(location, metadata, hidden)
        if not hidden:
            self.deliver(None, partial(self._translation.start_model_call, run_id, metadata, location.subagent))

    def on_llm_start(self, serialized: object, prompts: object, *, run_id: UUID, **kwargs: Any) -> None:
        """A completion model begins."""
        self.on_chat_model_start(serialized, prompts, run_id=run_id, **kwargs)

    def on_llm_new_token(
        self, token: object, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, run_id: UUID, **kwargs: Any
    ) -> None:
        """A model sends a chunk. The hot path."""
        if isinstance(chunk, ChatGenerationChunk):
            self.deliver_chunk(run_id, chunk.message)
        elif isinstance(token, str) and token:
            self.deliver_chunk(run_id, AIMessageChunk(content=token))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """A model call has ended."""
        model = self._models.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        if model is None or generation is None:
            return
        message = generation.message if isinstance(generation, ChatGeneration) else AIMessage(content=generation.text)
        location, metadata, hidden = model
        if hidden:
            message.response_metadata[HIDDEN] = True
        else:
            self._translation.remember_model_message(namespace_of(metadata), message, location.subagent)
        self.deliver(None, partial(self._translation.end_model_call, run_id, message, metadata, hidden=hidden))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A model call failed."""
        self._models.pop(run_id, None)
        self._deliver_failure(None, partial(self._translation.fail_model_call, run_id, error))

    # -- nodes --------------------------------------------------------------------------------------------------

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
        """A chain begins. It matters if it is a node's own run, or later turns out to be a graph's."""
        self.runs.enter(run_id, parent_run_id, name or "")
        if not metadata or name is None or name != metadata.get("langgraph_node"):
            return
        namespace = namespace_of(metadata)
        task = task_id(namespace)
        if (tags and TAG_HIDDEN in tags) or task in self._tasks:
            return  # a chain inside the node that happens to have its name
        location = self.runs.enter_node(run_id, parent_run_id, namespace, tags or ())
        self._tasks[task] = run_id
        self._nodes[run_id] = node = _NodeRun(location, inputs)
        start = partial(self._translation.start_node, run_id, name, location.subagent)
        self.deliver(node.position("start"), start)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        """A chain has ended."""
        if (node := self._leave_node(run_id)) is not None:
            self._end_node(run_id, node, outputs)
        if (subagent := self.runs.leave(run_id)) is not None:
            self.deliver(None, partial(self._translation.end_subagent, subagent))

    def _end_node(self, run_id: UUID, node: _NodeRun, outputs: object) -> None:
        location, inputs = node.location, partial(extract_messages, node.inputs, self._key)
        found = extract_messages(outputs, self._key)
        returned = {message.id for message in found if message.id is not None}
        messages = [(message, self._identify(location, message, returned)) for message in found]
        end = partial(self._translation.end_node, run_id, messages, inputs, location.subagent)
        self.deliver(node.position("end"), end)

    def _identify(self, location: RunLocation, message: BaseMessage, returned: set[str]) -> str | None:
        """Return the id of what `message` repeats, and give it an id before the state does, as LangGraph would."""
        original = self._translation.copied_message_id(location.node, message, returned, location.subagent)
        if message.id is None:
            message.id = original or str(uuid4())
        return original

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A chain failed or was interrupted."""
        if (node := self._leave_node(run_id)) is not None:
            self._abort_node(run_id, node, error)
        if (subagent := self.runs.leave(run_id)) is not None:
            self._deliver_failure(None, partial(self._translation.end_subagent, subagent, error))

    def _abort_node(self, run_id: UUID, node: _NodeRun, error: BaseException) -> None:
        # Only a pause ends the task for sure: after a failure LangGraph may try the node again.
        paused = isinstance(error, GraphInterrupt)
        position = node.position("end") if paused else ("soon", str(run_id))
        self._deliver_failure(position, partial(self._translation.abort_node, run_id))
        if paused and error.args:
            self._deliver_failure(None, partial(self._translation.pause, error.args[0], node.location.subagent))

    def is_node(self, run_id: UUID) -> bool:
        """Whether this run is one of a node, of the outermost graph or of one inside it."""
        return run_id in self._nodes

    def _leave_node(self, run_id: UUID) -> _NodeRun | None:
        node = self._nodes.pop(run_id, None)
        if node is not None:
            self._tasks.pop(task_id(node.location.node), None)
        return node

    # -- tools and the rest -------------------------------------------------------------------------------------

    def on_tool_start(
        self,
        serialized: object,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: object = None,
        tool_call_id: object = None,
        name: object = None,
        **kwargs: object,
    ) -> None:
        """A tool begins."""
        tool = ToolRun.of_start(serialized, inputs, tool_call_id, name)
        subagent = self.runs.enter_tool(run_id, parent_run_id, tool).subagent
        call_id = tool.call_id or str(run_id)

        def emit_output(delta: object) -> None:
            self.deliver(None, partial(self._translation.emit_tool_output, call_id, tool.name, delta, subagent))

        self.deliver(None, partial(self._translation.start_tool, call_id, subagent))
        self._outputs.capture(run_id, emit_output)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        """A tool has ended. Inside a node its message is emitted with the node's output."""
        failed = isinstance(output, ToolMessage) and output.status == "error"
        self._end_tool(run_id, failed=failed)
        if not self._nodes and isinstance(output, ToolMessage):
            output.id = output.id or str(uuid4())
            self.deliver(None, partial(self._translation.emit_message, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A tool failed."""
        paused = isinstance(error, GraphBubbleUp)
        if not paused:
            self._deliver_failure(None, partial(self._translation.record_error, error, ErrorCode.TOOL_ERROR))
        self._end_tool(run_id, failed=True, paused=paused)

    def _end_tool(self, run_id: UUID, *, failed: bool, paused: bool = False) -> None:
        location = self.runs.find(run_id)
        self.runs.leave(run_id)
        self._outputs.release(run_id)
        if location.tool is not None and not paused:
            call_id = location.tool.call_id or str(run_id)
            end = partial(self._translation.end_tool, call_id, location.subagent, failed=failed)
            self._deliver_failure(None, end)

    def on_custom_event(self, name: str, data: object, *, run_id: UUID, **kwargs: object) -> None:
        """`adispatch_custom_event` was called."""
        self.deliver(None, partial(self._translation.emit_custom, name, data, self.runs.find(run_id).subagent))

    def on_retriever_start(
        self, serialized: object, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: object
    ) -> None:
        """A retriever begins; a model may run inside it."""
        self.runs.enter(run_id, parent_run_id, "")

    def on_retriever_end(self, documents: object, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever has ended."""
        self.runs.leave(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever failed."""
        self.runs.leave(run_id)


class LoopCallbackSource(CallbackSource):
    """The source of a graph's run: delivers in the thread of the event loop, in the order of the sequencer.

    Args:
        translation: Receives the calls.
        messages_key: The state channel that holds the conversation.
        sequencer: Puts the callbacks in order with the parts of the graph's stream.
        fail: Receives an exception of the translation itself.
    """

    def __init__(
        self, translation: Translation, messages_key: str, sequencer: StreamSequencer, fail: Callable[[Exception], None]
    ) -> None:
        super().__init__(translation, messages_key)
        self._waiting = sequencer.waiting
        self._sequencer = sequencer
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()

    def deliver_chunk(self, run_id: UUID, message: BaseMessage) -> None:
        """Pass a chunk to the translation; at once if this is the loop's thread and nothing waits."""
        if not self._waiting and not self.stopped and get_ident() == self._thread:
            self._messages.receive_chunk(run_id, message)
        else:
            self.deliver(None, partial(self._messages.receive_chunk, run_id, message))

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` in the loop's thread when it is its turn. Raises `RunStopped` if the run was stopped."""
        if self.stopped:
            raise RunStopped
        guarded = partial(self._run_guarded, call)
        if get_ident() == self._thread:
            self._sequencer.put(position, guarded)
            return
        try:
            self._loop.call_soon_threadsafe(self._sequencer.put, position, guarded)
        except RuntimeError as error:  # the loop is closed
            raise RunStopped from error

    def _run_guarded(self, call: Callable[[], None]) -> None:
        if self.stopped or self._translation.finished:
            return
        try:
            call()
        except Exception as error:  # the loop calls this: nobody above could report the exception
            self._fail(error)
