"""`AGUICallbackHandler`: an AG-UI run around any Runnable, without a graph adapter.

Hooks of a root run and of everything below it enter here and go to the same callback source that feeds
`LangGraphAgent`; events leave through `on_event`, in the thread of the hook that caused them.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar, cast
from uuid import UUID, uuid4

from ag_ui.core import BaseEvent, Event, RunAgentInput
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

from langgraph_agui.messages.found import messages_in
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.translate.order import Mark
from langgraph_agui.translate.sinks import EventSink
from langgraph_agui.translate.source import CallbackSource, Metadata
from langgraph_agui.translate.translation import Translation

T = TypeVar("T")


class _Locked:
    """Delivers signals at once, one at a time: parallel branches call back from several threads."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._lock = threading.RLock()

    def token(self, run_id: UUID, message: BaseMessage) -> None:
        with self._lock:
            self._translation.token(run_id, message)

    def signal(self, mark: Mark | None, call: Callable[[], None]) -> None:
        with self._lock:
            call()


class _Root:
    """One root run: its translation, the source that feeds it, and the runs below it."""

    def __init__(
        self,
        run_id: UUID,
        thread_id: str,
        key: str,
        on_event: Callable[[Event], object],
        reasoning: ReasoningOptions | None,
    ) -> None:
        self.run_id = run_id
        self.members = [run_id]
        run_input = RunAgentInput(
            thread_id=thread_id,
            run_id=str(run_id),
            state={},
            messages=[],
            tools=[],
            context=[],
            forwarded_props={},
        )
        sink = EventSink(cast("Callable[[BaseEvent], object]", on_event))
        self.translation = Translation(run_input, sink, reasoning=reasoning)
        self.delivery = _Locked(self.translation)
        self.source = CallbackSource(self.translation, self.delivery, key)
        self._key = key

    def tell(self, call: Callable[[], None]) -> None:
        self.delivery.signal(None, call)

    def state(self, values: object) -> None:
        """Take the root's input (what is nothing new) or output (what must be told by now)."""
        # What a user said comes from the caller, who has shown it already.
        messages = [message for message in messages_in(values, self._key) if message.type != "human"]
        self.tell(lambda: self.translation.values((), values, messages))

    def fail(self, error: BaseException) -> None:
        cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit)
        self.tell(self.translation.cancel if cancelled else lambda: self.translation.fail(error))


class AGUICallbackHandler(BaseCallbackHandler):
    """Tells any Runnable's run as a complete AG-UI run.

    `chain.invoke(x, config={"callbacks": [AGUICallbackHandler(on_event)]})`: `on_event` is called with `RUN_STARTED`
    when the outermost run begins, with everything its models, tools and nodes do, and with the one terminal event
    when it ends. Works for chains, bare models and agents, sync and async. The outermost run's id is the AG-UI run id;
    a handler used again begins a new run. Of runs at the same time (`batch`), give each a handler of its own: their
    events would mix. The client's own messages are not known here, so no `MESSAGES_SNAPSHOT` is sent.

    Args:
        on_event: Takes each event; not an async function. It is called from the thread that the work runs in; what it
            raises, the run raises.
        thread_id: The AG-UI thread id of the runs; a random one by default.
        messages_key: The state channel that holds the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels (docs/reasoning.md).
    """

    run_inline = True
    raise_error = True

    def __init__(
        self,
        on_event: Callable[[Event], object],
        *,
        thread_id: str | None = None,
        messages_key: str = "messages",
        reasoning: ReasoningOptions | None = None,
    ) -> None:
        if inspect.iscoroutinefunction(on_event):
            raise TypeError("on_event is called from synchronous hooks: pass a function that is not async")
        self._on_event = on_event
        self._thread_id = thread_id or str(uuid4())
        self._key = messages_key
        self._reasoning = reasoning
        self._roots: dict[UUID, _Root] = {}

    # Having these two makes chat models stream under `invoke`.
    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[T]) -> AsyncIterator[T]:
        """Pass the output on."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[T]) -> Iterator[T]:
        """Pass the output on."""
        return output

    def _enter(self, run_id: UUID, parent_run_id: UUID | None) -> _Root:
        root = self._roots.get(parent_run_id) if parent_run_id is not None else None
        if root is None:
            root = self._roots[run_id] = _Root(run_id, self._thread_id, self._key, self._on_event, self._reasoning)
            root.tell(root.translation.start)
        else:
            self._roots[run_id] = root
            root.members.append(run_id)
        return root

    def _leave(self, run_id: UUID, end: Callable[[_Root], None]) -> None:
        root = self._roots.get(run_id)
        if root is not None and root.run_id == run_id:
            for member in root.members:
                self._roots.pop(member, None)
            end(root)

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
        """A model call begins."""
        source = self._enter(run_id, parent_run_id).source
        source.on_chat_model_start(serialized, messages, run_id=run_id, tags=tags, metadata=metadata)

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
        """A chunk of a model's message."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_llm_new_token(token, chunk=chunk, run_id=run_id)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """A model call has ended."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_llm_end(response, run_id=run_id)
        self._leave(run_id, lambda root: root.tell(root.translation.finish))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A model call failed."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_llm_error(error, run_id=run_id)
        self._leave(run_id, lambda root: root.fail(error))

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
        """A chain, graph or node begins."""
        root = self._enter(run_id, parent_run_id)
        if root.run_id == run_id:
            root.state(inputs)
        root.source.on_chain_start(serialized, inputs, run_id=run_id, tags=tags, metadata=metadata, name=name)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        """A chain, graph or node has ended."""

        def end(root: _Root) -> None:
            root.state(outputs)
            root.tell(root.translation.finish)

        if (root := self._roots.get(run_id)) is not None:
            root.source.on_chain_end(outputs, run_id=run_id)
        self._leave(run_id, end)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A chain, graph or node failed, paused or was cancelled."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_chain_error(error, run_id=run_id)
        self._leave(run_id, lambda root: root.fail(error))

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
        self._enter(run_id, parent_run_id)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        """A tool has ended."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_tool_end(output, run_id=run_id)
        self._leave(run_id, lambda root: root.tell(root.translation.finish))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A tool failed."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_tool_error(error, run_id=run_id)
        self._leave(run_id, lambda root: root.fail(error))

    def on_retriever_start(
        self, serialized: object, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: object
    ) -> None:
        """A retriever begins; a model may run inside it."""
        self._enter(run_id, parent_run_id)

    def on_retriever_end(self, documents: object, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever has ended."""
        self._leave(run_id, lambda root: root.tell(root.translation.finish))

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A retriever failed."""
        self._leave(run_id, lambda root: root.fail(error))

    def on_custom_event(self, name: str, data: object, *, run_id: UUID, **kwargs: object) -> None:
        """A custom event was dispatched."""
        if (root := self._roots.get(run_id)) is not None:
            root.source.on_custom_event(name, data, run_id=run_id)
