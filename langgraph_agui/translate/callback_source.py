"""The callback source: what LangChain says of models, nodes and tools while they run, as signals to a translation.

One synchronous handler, run inline: it sees every chunk with its LLM run id, calls that fail mid-stream and
`adispatch_custom_event`, none of which a stream mode shows whole. Hooks enter here in whatever thread runs them;
signals leave through a `Delivery`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Literal, NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.constants import TAG_HIDDEN, TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from langgraph_agui.errors import ErrorCode, RunStopped
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.messages.to_agui import HIDDEN, SUMMARIZATION
from langgraph_agui.namespaces import namespace_of, task_id
from langgraph_agui.translate.copies import CopyDetector
from langgraph_agui.translate.run_tree import RunLocation, RunTree, tool_run
from langgraph_agui.translate.stream_sequencer import StreamPosition
from langgraph_agui.translate.tool_output import ToolOutputs
from langgraph_agui.translate.translation import Translation

T = TypeVar("T")
Metadata = dict[str, object]


class Delivery(Protocol):
    """Brings signals to a translation, one at a time and in order."""

    def token(self, run_id: UUID, message: BaseMessage) -> None:
        """Deliver a chunk. The hot path."""

    def signal(self, mark: StreamPosition | None, call: Callable[[], None]) -> None:
        """Deliver any other signal; where the source has a stream beside it, not before the stream's `mark`."""


class _Model(NamedTuple):
    """A model call: where it is, what its start told, and whether nobody is told of it."""

    place: RunLocation
    metadata: Metadata
    hidden: bool


class _Node(NamedTuple):
    """A run of a node: where it is, and its input."""

    place: RunLocation
    inputs: object

    def mark(self, point: Literal["start", "end"]) -> StreamPosition | None:
        """Where in the stream the node starts or ends; nowhere, if the stream does not say."""
        return (point, task_id(self.place.node)) if self.place.namespace is not None else None


class CallbackSource(BaseCallbackHandler):
    """A callback handler that tells a translation what happens.

    Args:
        translation: Is told.
        delivery: How the signals get there.
        messages_key: The state channel that holds the conversation.
    """

    run_inline = True
    raise_error = True

    def __init__(self, translation: Translation, delivery: Delivery, messages_key: str) -> None:
        self._to = translation
        self._delivery = delivery
        self._token = delivery.token
        self._key = messages_key
        self._tasks: dict[str, UUID] = {}
        self._nodes: dict[UUID, _Node] = {}
        self._models: dict[UUID, _Model] = {}
        self._copies = CopyDetector()
        self._outputs = ToolOutputs()
        self.places = RunTree()

    # Having these two makes chat models stream under `invoke`, as LangGraph's own handler does.
    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[T]) -> AsyncIterator[T]:
        """Pass the output on."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[T]) -> Iterator[T]:
        """Pass the output on."""
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
        """A model call begins; one that is tagged `nostream`, or that sums up the history, is not told."""
        told, place = metadata or {}, self.places.of(parent_run_id)
        hidden = (tags is not None and TAG_NOSTREAM in tags) or told.get("lc_source") == SUMMARIZATION
        self._models[run_id] = _Model(place, told, hidden)
        if not hidden:
            self._delivery.signal(None, lambda: self._to.model_start(run_id, told, place.lane))

    def on_llm_start(
        self,
        serialized: object,
        prompts: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
        **kwargs: object,
    ) -> None:
        """A completion model begins."""
        self.on_chat_model_start(
            serialized, prompts, run_id=run_id, parent_run_id=parent_run_id, tags=tags, metadata=metadata
        )

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: object,
    ) -> None:
        """A chunk of the model's message."""
        if isinstance(chunk, ChatGenerationChunk):
            self._token(run_id, chunk.message)
        elif isinstance(token, str) and token:
            self._token(run_id, AIMessageChunk(content=token))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """A model call has ended."""
        model = self._models.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        if model is None or generation is None:
            return
        message = generation.message if isinstance(generation, ChatGeneration) else AIMessage(content=generation.text)
        lanes, (place, metadata, hidden) = self._to.lanes, model
        if hidden:
            message.response_metadata[HIDDEN] = True
        elif not lanes.hides(place.lane):
            self._copies.say(namespace_of(metadata), message, lanes.owner(place.lane))
        self._delivery.signal(None, lambda: self._to.speech.model_end(run_id, message, metadata, hidden=hidden))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A model call failed."""
        self._models.pop(run_id, None)
        self._failed(None, lambda: self._to.model_error(run_id, error))

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
        """A chain begins; of interest when it is a node's own run, or later turns out to be a graph's."""
        self.places.enter(run_id, parent_run_id, name or "")
        if not metadata or name is None or name != metadata.get("langgraph_node"):
            return
        namespace = namespace_of(metadata)
        task = task_id(namespace)
        if (tags and TAG_HIDDEN in tags) or task in self._tasks:
            return  # a chain inside the node that happens to have its name
        place = self.places.enter_node(run_id, parent_run_id, namespace, tags or ())
        self._tasks[task] = run_id
        self._nodes[run_id] = node = _Node(place, inputs)
        self._delivery.signal(node.mark("start"), lambda: self._to.node_start(run_id, name, place.lane))

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        """A chain has ended."""
        if (node := self._leave(run_id)) is not None:
            self._node_end(run_id, node, outputs)
        if (lane := self.places.leave(run_id)) is not None:
            self._delivery.signal(None, lambda: self._to.lane_end(lane))

    def _node_end(self, run_id: UUID, node: _Node, outputs: object) -> None:
        found = extract_messages(outputs, self._key)
        returned = {message.id for message in found if message.id is not None}
        messages = [(message, self._identify(node.place, message, returned)) for message in found]
        self._delivery.signal(
            node.mark("end"),
            lambda: self._to.node_end(
                run_id, messages, lambda: extract_messages(node.inputs, self._key), node.place.lane
            ),
        )

    def _identify(self, place: RunLocation, message: BaseMessage, returned: set[str]) -> str | None:
        """Return the id of what `message` copies, and give it an id before the state does, as LangGraph would."""
        original = self._copies.original(place.node, message, returned, self._to.lanes.owner(place.lane))
        if message.id is None:
            message.id = original or str(uuid4())
        return original

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A chain failed or was interrupted."""
        if (node := self._leave(run_id)) is not None:
            self._node_error(run_id, node, error)
        if (lane := self.places.leave(run_id)) is not None:
            self._failed(None, lambda: self._to.lane_end(lane, error))

    def _node_error(self, run_id: UUID, node: _Node, error: BaseException) -> None:
        # Only a pause ends the task for sure: after a failure the node may be tried again.
        paused = isinstance(error, GraphInterrupt)
        mark = node.mark("end") if paused else ("soon", str(run_id))
        self._failed(mark, lambda: self._to.node_error(run_id))
        if paused and error.args:
            self._failed(None, lambda: self._to.pause(error.args[0], node.place.lane))

    def _failed(self, mark: StreamPosition | None, call: Callable[[], None]) -> None:
        """Deliver the signal of a failure. In a run that was stopped it is the stop itself: nobody need be told."""
        with suppress(RunStopped):
            self._delivery.signal(mark, call)

    def is_node(self, run_id: UUID) -> bool:
        """Whether this run is one of a node, of the outermost graph or of one inside it."""
        return run_id in self._nodes

    def _leave(self, run_id: UUID) -> _Node | None:
        node = self._nodes.pop(run_id, None)
        if node is not None:
            self._tasks.pop(task_id(node.place.node), None)
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
        tool = tool_run(serialized, inputs, tool_call_id, name)
        self.places.enter_tool(run_id, parent_run_id, tool)
        key, lane = tool.call_id or str(run_id), self.places.of(run_id).lane

        def told(delta: object) -> None:
            self._delivery.signal(None, lambda: self._to.tool_output(key, tool.name, delta, lane))

        self._delivery.signal(None, lambda: self._to.tool_start(key, lane))
        self._outputs.begin(run_id, told)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        """A tool has ended; inside a node its message is told with the node's output."""
        failed = isinstance(output, LCToolMessage) and output.status == "error"
        self._tool_end(run_id, failed=failed)
        if not self._nodes and isinstance(output, LCToolMessage):
            self._delivery.signal(None, lambda: self._to.speech.answered(output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A tool failed."""
        paused = isinstance(error, GraphBubbleUp)
        if not paused:
            self._failed(None, lambda: self._to.blame.put(error, ErrorCode.TOOL_ERROR))
        self._tool_end(run_id, failed=True, paused=paused)

    def _tool_end(self, run_id: UUID, *, failed: bool, paused: bool = False) -> None:
        place = self.places.of(run_id)
        self.places.leave(run_id)
        self._outputs.end(run_id)
        if place.tool is not None and not paused:
            key = place.tool.call_id or str(run_id)
            self._failed(None, lambda: self._to.tool_end(key, place.lane, failed=failed))

    def on_custom_event(self, name: str, data: object, *, run_id: UUID, **kwargs: object) -> None:
        """`adispatch_custom_event` was called."""
        lane = self.places.of(run_id).lane
        self._delivery.signal(None, lambda: self._to.custom(name, data, lane))

    def on_retriever_start(
        self, serialized: object, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: object
    ) -> None:
        """A retriever begins; a model may run inside it."""
        self.places.enter(run_id, parent_run_id, "")

    def on_retriever_end(self, documents: object, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever has ended."""
        self.places.leave(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever failed."""
        self.places.leave(run_id)
