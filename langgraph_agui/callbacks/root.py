"""One run of a Runnable: the translation of all that happens in it, and the source that feeds that.

What a root run takes, returns or fails with enters; events leave through a sink. There is no stream of a graph beside
the callbacks: the state of a graph is seen only where it begins and where it ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID, uuid4

from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

from langgraph_agui.errors import RunStopped
from langgraph_agui.messages.extract import extract_messages, find_messages
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.settings import Subagents
from langgraph_agui.translate.callback_source import CallbackSource
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.stream_sequencer import StreamPosition
from langgraph_agui.translate.translation import Translation

Lock: TypeAlias = AbstractContextManager[bool]
"""A reentrant lock."""


def lock() -> Lock:
    """Return a new one."""
    return threading.RLock()


class RootRun:
    """A root run.

    Args:
        run_input: Its ids, and what its client holds.
        sink: Takes the events.
        lock: Held while anything is told.
        messages_key: The state channel that holds the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels.
        subagents: What is seen of subagents.
        expose_errors: Whether `RUN_ERROR.message` is the exception's text.
    """

    def __init__(
        self,
        run_input: RunAgentInput,
        sink: Sink,
        lock: Lock,
        *,
        messages_key: str,
        reasoning: ReasoningOptions | None,
        subagents: Subagents,
        expose_errors: bool = False,
    ) -> None:
        self.translation = Translation(
            run_input, sink, reasoning=reasoning, subagents=subagents, expose_errors=expose_errors
        )
        self.source = _Source(self, messages_key, lock)
        self._key = messages_key

    def tell(self, call: Callable[[], None]) -> None:
        """Do something that tells something."""
        self.source.deliver(None, call)

    def takes(self, values: object) -> None:
        """Take the root's input: nothing in it is new."""
        self.tell(lambda: self.translation.set_initial_messages(find_messages(values)))

    def notices(self, values: object) -> None:
        """Take what a graph's first node is given, its thread included: nothing in it is new either."""
        self.tell(lambda: self.translation.mark_known(self._messages(values)))

    def hears(self, values: object) -> None:
        """Take what a further node is given: a subagent that hands over does not return the result of its call."""
        for message in self._messages(values):
            if isinstance(message, LCToolMessage):
                self.tell(partial(self.translation.emit_message, message))

    def returns(self, values: object, *, graph: bool) -> None:
        """Take the root's output: what of it was not told is told now, as messages, or else as the run's result."""
        if graph:
            self.tell(lambda: self.translation.update_graph((), values, self._messages(values)))
            return
        for message in self._answers(values):
            self.tell(partial(self.source.arrived, message))
        if not self.source.graphs and not find_messages(values):  # a graph's state is not for its client
            self.tell(lambda: self.translation.set_result(values))

    def _answers(self, values: object) -> list[BaseMessage]:
        """The messages that a Runnable which is no graph answers with; what else has some in it may be a prompt."""
        if isinstance(values, Mapping):
            alone: list[BaseMessage] = [value for value in values.values() if isinstance(value, AIMessage)]
            return self._messages(values) or alone
        return self._messages(values) if isinstance(values, BaseMessage | list) else []

    def _messages(self, values: object) -> list[BaseMessage]:
        # What a user said comes from the caller, who has shown it already.
        return [message for message in extract_messages(values, self._key) if message.type != "human"]

    def fail(self, error: BaseException) -> None:
        """The root has failed, or was stopped."""
        stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit)
        self.tell(self.translation.cancel_run if stopped else lambda: self.translation.fail_run(error))


class _Source(CallbackSource):
    """The source of a root run: sees what its outermost run takes and returns, too."""

    def __init__(self, root: RootRun, messages_key: str, lock: Lock) -> None:
        super().__init__(root.translation, messages_key)
        self._lock = lock
        self._root = root
        self._outermost: UUID | None = None
        self.graphs: set[UUID] = set()

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` at once, under the lock. Raises `RunStopped` if the run was stopped."""
        if self.stopped:
            raise RunStopped
        with self._lock:
            if not self._translation.finished:  # a run may leave work running that nobody waits for
                call()

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: object,
    ) -> None:
        """A model sends a chunk. The hot path."""
        if isinstance(chunk, ChatGenerationChunk):
            message = chunk.message
        elif isinstance(token, str) and token:
            message = AIMessageChunk(content=token)
        else:
            return
        if self.stopped:
            raise RunStopped
        with self._lock:
            self._messages.receive_chunk(run_id, message)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain begins."""
        if self._outermost is None:
            self._outermost = run_id
            self._root.takes(inputs)
        super().on_chain_start(serialized, inputs, run_id=run_id, **kwargs)
        graph = kwargs.get("parent_run_id")
        if graph is None or not self.is_node(run_id) or not self.runs.is_graph(graph):
            return
        if graph in self.graphs:
            self._root.hears(inputs)
        else:
            self.graphs.add(graph)
            self._root.notices(inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain has ended."""
        graph = self.runs.is_graph(run_id)
        super().on_chain_end(outputs, run_id=run_id, **kwargs)
        if run_id == self._outermost:
            self._root.returns(outputs, graph=graph)

    def on_tool_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A tool begins."""
        self._outermost = self._outermost or run_id
        super().on_tool_start(*args, run_id=run_id, **kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool has ended."""
        super().on_tool_end(output, run_id=run_id, **kwargs)
        if run_id == self._outermost:
            self._root.returns(output, graph=False)

    def arrived(self, message: BaseMessage) -> None:
        """A Runnable that is no graph returns a message: tell it, unless a model has said it."""
        original = self._translation.copied_message_id("", message) if message.id is None else None
        if original is None:
            self._translation.emit_message(message if message.id else message.model_copy(update={"id": str(uuid4())}))
