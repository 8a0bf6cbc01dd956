"""One run of any Runnable as an AG-UI run; `astream_agui` streams one.

LangChain's callbacks enter, and what the outermost Runnable takes and returns; events leave through
a sink. No stream of a graph runs beside the callbacks, so the state of a graph is seen only where
it begins and where it ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

from ag_ui.core import Event, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.pregel import Pregel

from langgraph_agui.callbacks.run_queue import RunEventQueue
from langgraph_agui.graphs import adapt_graph
from langgraph_agui.kernel.checks import check_choice, check_type
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import RunStopped
from langgraph_agui.messages.extract import extract_messages, find_messages
from langgraph_agui.messages.transformers import RunTransformers
from langgraph_agui.options import ReasoningOptions, Subagents
from langgraph_agui.readers.sinks import EventSink
from langgraph_agui.translate.lifecycle import is_last
from langgraph_agui.translate.local.callbacks import CallbackSource, Chunk, text_chunk
from langgraph_agui.translate.local.sequencer import StreamPosition
from langgraph_agui.translate.run_events import RunEvents


class RootRun(CallbackSource):
    """The callback source of one root run: a run of a Runnable with all that runs inside it.

    Calls reach `RunEvents` at once, one at a time under the lock: parallel branches call from
    several threads.

    Args:
        run_events: Makes the run's events.
        lock: Held while `RunEvents` works.
    """

    def __init__(self, run_events: RunEvents, lock: threading.RLock) -> None:
        super().__init__(run_events)
        self._lock = lock
        self._outermost: UUID | None = None
        self._graphs: set[UUID] = set()

    def deliver(self, position: StreamPosition | None, call: Callable[[], None]) -> None:
        """Run `call` at once, under the lock. Raises `RunStopped` if the run was stopped."""
        if self.stopped:
            raise RunStopped
        with self._lock:
            if not self._run_events.finished:  # a run may leave work running that nobody waits for
                call()

    def on_llm_new_token(
        self, token: object, *, chunk: Chunk | None = None, run_id: UUID, **kwargs: object
    ) -> None:
        """A model sends a chunk. Raises `RunStopped` if the run was stopped. The hot path."""
        if (call := self._calls.get(run_id.int)) is None:
            return
        if self.stopped:
            raise RunStopped
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else text_chunk(token)
        with self._lock:
            self._messages.receive_chunk(call, message)

    def receiver(self, run_id: UUID) -> Callable[[BaseMessage], None]:
        """Return the receiver of chunks of a model call that has begun. Call it under the lock."""
        return partial(self._messages.receive_chunk, self._calls[run_id.int])

    def finish(self, *, snapshot: bool = False) -> None:
        """The Runnable has returned. Emit the end of the run, after a `MESSAGES_SNAPSHOT` if asked
        for.
        """
        self.deliver(None, self._run_events.end_graph)
        if self._graphs:
            self.deliver(None, self._run_events.settle_passed_calls)
        if snapshot:
            self.deliver(None, self._run_events.emit_messages_snapshot)
        self.deliver(None, self._run_events.finish_run)

    def fail(self, error: BaseException) -> None:
        """The Runnable has failed, or was stopped."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit):
            self.deliver(None, self._run_events.cancel_run)
        else:
            self.deliver(None, partial(self._run_events.fail_run, error))

    # -- hooks ------------------------------------------------------------------------------------

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain begins. The input of the outermost one and of a graph's first node is not
        new.
        """
        if self._outermost is None:
            self._outermost = run_id
            self.deliver(
                None, partial(self._run_events.set_initial_messages, find_messages(inputs))
            )
        super().on_chain_start(serialized, inputs, run_id=run_id, **kwargs)
        graph = kwargs.get("parent_run_id")
        if graph is None or run_id not in self._inputs or not self.runs.is_graph(graph):
            return
        messages = self._agent_messages(inputs)
        if graph not in self._graphs:
            self._graphs.add(graph)
            self.deliver(None, partial(self._messages.mark_known, messages))
            return
        # A subagent that hands over does not return the result of its call.
        results = [message for message in messages if isinstance(message, ToolMessage)]
        self.deliver(None, partial(self._run_events.emit_new, [], results))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain has ended."""
        graph = self.runs.is_graph(run_id)
        super().on_chain_end(outputs, run_id=run_id, **kwargs)
        if run_id == self._outermost and graph:
            update = partial(
                self._run_events.update_graph, (), outputs, self._agent_messages(outputs)
            )
            self.deliver(None, update)
        elif run_id == self._outermost:
            self._emit_output(outputs)

    def on_tool_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A tool begins."""
        self._outermost = self._outermost or run_id
        super().on_tool_start(*args, run_id=run_id, **kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool has ended."""
        super().on_tool_end(output, run_id=run_id, **kwargs)
        if run_id == self._outermost:
            self._emit_output(output)

    # -- the output -------------------------------------------------------------------------------

    def _emit_output(self, output: object) -> None:
        """Emit the output of a Runnable that is no graph: new messages, or else the result of the
        run.
        """
        for message, streamed_id in self._messages.copies.find_all("", self._answers(output)):
            if message.id is None:
                if streamed_id is not None:
                    continue
                message = message.model_copy(update={"id": str(uuid4())})
            self.deliver(None, partial(self._messages.emit_message, message))
        if not self._graphs and not find_messages(output):  # a graph's state is not for its client
            self.deliver(None, partial(self._run_events.output.set_result, output))

    def _answers(self, output: object) -> list[BaseMessage]:
        """Return the messages that are an answer; other outputs with messages in them may be a
        prompt.
        """
        if isinstance(output, Mapping):
            return self._agent_messages(output) or [
                one for one in output.values() if isinstance(one, AIMessage)
            ]
        return self._agent_messages(output) if isinstance(output, BaseMessage | list) else []

    def _agent_messages(self, values: object) -> list[BaseMessage]:
        """Return the messages but the user's: they come from the caller, who has shown them
        already.
        """
        return [
            message for message in extract_messages(values, self._key) if message.type != "human"
        ]


async def astream_agui(
    runnable: Runnable[Any, Any],
    input: object,  # noqa: A002  # as every Runnable calls it
    run_input: RunAgentInput,
    *,
    config: RunnableConfig | None = None,
    messages_key: str = "messages",
    reasoning: ReasoningOptions | None = None,
    subagents: Subagents = "attributed",
    expose_errors: bool = False,
) -> AsyncGenerator[Event, None]:
    """Run any Runnable and yield the events of the run.

    `RUN_STARTED` comes first, with the ids of `run_input`. Then comes everything that models,
    tools, nodes and subagents do, a `MESSAGES_SNAPSHOT` of the client's messages and the new ones,
    and one of `RUN_FINISHED` and `RUN_ERROR`: a run that fails does not raise. An output without
    messages is `RUN_FINISHED.result`. Leaving the iterator cancels the Runnable. For graphs with
    threads, state and approvals, use `LangGraphAgent`.

    Args:
        runnable: A chain, a model, an agent. Its `ainvoke` is called, under which chat models
            stream.
        input: The Runnable's input. `agui_messages_to_langchain(run_input.messages)` makes messages
            of the client's.
        run_input: The client's input (AG-UI 1.0, `RunAgentInput`): the ids of the run, the messages
            that it holds.
        config: Configuration of the Runnable.
        messages_key: The state channel with the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels (guides/reasoning.md).
        subagents: How clients see subagents (guides/subagents.md).
        expose_errors: Whether `RUN_ERROR.message` is the exception's text, and the output of a tool
            that has ended the run shows it too. It may contain secrets.

    Raises:
        TypeError: `reasoning`, `run_input` or `expose_errors` is of another type.
        ValueError: `subagents` has an unknown value.
    """
    check_choice("subagents", subagents, Subagents)
    check_type("reasoning", reasoning, ReasoningOptions | None)
    check_type("run_input", run_input, RunAgentInput, "RunAgentInput.model_validate(data)")
    check_type("expose_errors", expose_errors, bool)
    graph = adapt_graph(runnable) if isinstance(runnable, Pregel) else None
    queue = RunEventQueue(keep=True)
    run_events = RunEvents(
        run_input,
        EventSink(queue.put),
        reasoning=reasoning,
        subagents=subagents,
        expose_errors=expose_errors,
        messages_key=messages_key,
        transformers=graph.run_transformers if graph is not None else RunTransformers,
        hold_messages=graph is not None and graph.needs_held_messages,
    )
    run = RootRun(run_events, threading.RLock())
    task = asyncio.create_task(
        _invoke(runnable, input, config, run), name=f"agui-run-{run_input.run_id}"
    )
    in_run = True
    try:
        while in_run:
            event = await queue.take()
            in_run = not is_last(event)
            yield cast("Event", event)
    finally:
        run.stopped = in_run  # a run that has ended may leave work running, which we do not stop
        task.cancel()
        await asyncio.wait({task}, timeout=1)


async def _invoke(
    runnable: Runnable[Any, Any], given: object, config: RunnableConfig | None, run: RootRun
) -> None:
    try:
        await runnable.ainvoke(given, merge_run_configs(config, {"callbacks": [run]}))
        run.finish(snapshot=True)
    except BaseException as error:
        with suppress(RunStopped):  # nobody reads any more
            run.fail(error)
        if not isinstance(error, Exception):
            raise
