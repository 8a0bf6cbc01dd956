"""`AGUICallbackHandler`: AG-UI runs around any Runnable that it is given to.

The hooks of a root run and of everything below it enter here and go to that run's `RootRun`. Events
leave through `on_event`, in the thread of the hook that caused them, or through `events()`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast
from uuid import UUID, uuid4

from ag_ui.core import BaseEvent, Event, RunAgentInput
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables.config import var_child_runnable_config

from langgraph_agui.callbacks.root_run import RootRun
from langgraph_agui.callbacks.run_queue import RunEventQueue, RunSerializer, RunSlot
from langgraph_agui.kernel.checks import check_choice, check_type
from langgraph_agui.options import ReasoningOptions, Subagents
from langgraph_agui.readers.sinks import EventSink
from langgraph_agui.translate.lifecycle import is_last
from langgraph_agui.translate.local.callbacks import Chunk, text_chunk
from langgraph_agui.translate.run_events import RunEvents

# A callback of LangChain's, as a method.
Hook: TypeAlias = Callable[..., None]


@dataclass(eq=False)
class _ActiveRun:
    """A root run that has not ended.

    Attributes:
        run: The run.
        slot: Its place among the runs of the handler.
        members: The ids of its LangChain runs, its own first.
        task: The task that waits for it, if it is a model's call: LangChain reports no end when
            that is cancelled.
        on_done: Called by that task when it is done.
        alone: Whether that task can wait for nothing else meanwhile.
    """

    run: RootRun
    slot: RunSlot
    members: list[UUID]
    task: asyncio.Task[Any] | None = None
    on_done: Callable[[asyncio.Task[Any]], None] = field(default=lambda _task: None)
    alone: bool = False


class AGUICallbackHandler(BaseCallbackHandler):
    """Emits any Runnable's run as a complete AG-UI run.

    `chain.invoke(x, config={"callbacks": [AGUICallbackHandler(on_event)]})`: `on_event` is called
    with `RUN_STARTED` when the outermost run begins, with everything its models, tools, nodes and
    subagents do, and with the one terminal event when it ends. Works for chains, bare models and
    agents, sync and async, one by one or in a `batch`. The outermost run's id is the AG-UI run id.
    The handler knows neither messages nor state of the client, and sends none.

    A handler may be reused, even by concurrent runs: they are emitted one after the other, each as
    a whole, in the order in which they began. A model's call that its task has left (a timeout)
    ends when that task begins another run.

    Args:
        on_event: Receives each event; not an async function. One call at a time, in the thread that
            the work runs in, or in another of this handler's that is in it already. If it raises,
            the run that produced the event raises the same and emits nothing more. Without it the
            events wait for `events()`.
        thread_id: The AG-UI thread id of the runs; a random one by default.
        messages_key: The state channel with the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels (guides/reasoning.md).
        subagents: How clients see subagents (guides/subagents.md).
        stream_tokens: Whether chat models stream under `invoke` too, as they would under `stream`.
            LangChain lets one handler of a run do that: `astream_events` around the same run may
            see less of parsers.

    Raises:
        TypeError: `on_event` is async or not a function, or `reasoning` is of another type.
        ValueError: `subagents` has an unknown value.
    """

    run_inline = True
    raise_error = True
    ignore_llm = False  # a property in LangChain, read for every token

    def __init__(
        self,
        on_event: Callable[[Event], object] | None = None,
        *,
        thread_id: str | None = None,
        messages_key: str = "messages",
        reasoning: ReasoningOptions | None = None,
        subagents: Subagents = "attributed",
        stream_tokens: bool = True,
    ) -> None:
        check_type("on_event", on_event, Callable[..., object] | None)
        call = on_event.__call__ if on_event is not None else None  # type: ignore[operator]  # of an object, its method
        if inspect.iscoroutinefunction(on_event) or inspect.iscoroutinefunction(call):
            raise TypeError(
                "on_event is called from synchronous hooks: pass one that is not async, or use "
                "events()"
            )
        check_choice("subagents", subagents, Subagents)
        check_type("reasoning", reasoning, ReasoningOptions | None)
        self._on_event = cast("Callable[[BaseEvent], object] | None", on_event)
        self._thread_id = thread_id or str(uuid4())
        self._lock = threading.RLock()
        self._make_run_events = partial(
            RunEvents,
            reasoning=reasoning,
            subagents=subagents,
            messages_key=messages_key,
        )
        self._runs: dict[UUID, _ActiveRun] = {}
        # The receiver of chunks of each model call, by `run_id.int`: the hash of a UUID is a
        # function in Python.
        self._models: dict[int, tuple[Callable[[BaseMessage], None], RunSlot]] = {}
        self._queue = RunEventQueue(keep=on_event is None)
        self._receivers = [self._on_event or self._queue.put]
        self._serializer = RunSerializer(self._receivers)
        if stream_tokens:  # having these two makes chat models stream
            self.tap_output_aiter = self.tap_output_iter = lambda _run_id, output: output

    async def events(self, runs: int = 1) -> AsyncGenerator[Event, None]:
        """Yield the events of the next runs as they come, up to the terminal event of the
        `runs`-th.

        Leaving stops no run. Without an `on_event`, runs that have begun before are yielded first,
        and whole.
        """
        in_run = False
        self._queue.open()
        if self._on_event is not None:
            self._receivers.append(self._queue.put)
        try:
            while runs > 0:
                event = await self._queue.take()
                in_run = not is_last(event)
                runs -= not in_run
                yield cast("Event", event)
        finally:
            del self._receivers[1:]
            self._queue.close(in_run=in_run)

    # -- root runs --------------------------------------------------------------------------------

    def _find_or_start(
        self, run_id: UUID, parent_run_id: UUID | None, calls: int
    ) -> tuple[_ActiveRun, UUID | None]:
        """Return the root run of a LangChain run that begins, and its parent; a new root if it has
        none.

        Args:
            run_id: The LangChain run.
            parent_run_id: Its parent as LangChain reports it.
            calls: If it is a model, how many calls of it begin together.
        """
        parent = parent_run_id or _surrounding_run()
        root = self._runs.get(parent) if parent is not None else None
        if root is None:
            return self._runs.get(run_id) or self._start(run_id, calls), None
        self._runs[run_id] = root
        root.members.append(run_id)
        return root, parent

    def _start(self, run_id: UUID, calls: int) -> _ActiveRun:
        run_input = RunAgentInput(thread_id=self._thread_id, run_id=str(run_id), messages=[])
        task = _current_task()
        if task is not None and not self._serializer.inside_on_event:
            # a copy: other threads begin and end runs meanwhile
            for left in list(self._runs.values()):
                # LangChain reports no end when `ainvoke` was cancelled
                if left.alone and left.task is task:
                    self._end(left, asyncio.CancelledError())
        with self._lock:
            slot = self._serializer.open()
            run_events = self._make_run_events(run_input, EventSink(slot.events.append))
            run = RootRun(run_events, self._lock)
            root = self._runs[run_id] = _ActiveRun(run, slot, [run_id])
        if calls and task is not None:
            root.task, root.alone = task, calls == 1
            root.on_done = lambda _task: self._end(root, asyncio.CancelledError())
            task.add_done_callback(root.on_done)
        try:
            self._serializer.flush(slot)
        except BaseException:
            # LangChain does not report the end of a run that failed to begin
            self._end(root, None, emit=False)
            raise
        return root

    def _end(self, root: _ActiveRun, error: BaseException | None, *, emit: bool = True) -> None:
        with self._lock:
            if root.slot.ended:
                return
            for member in root.members:
                self._runs.pop(member, None)
                self._models.pop(member.int, None)
            if root.task is not None:  # the task may live for long, and must not hold the run
                root.task.remove_done_callback(root.on_done)
            try:
                if emit and error is None:
                    root.run.finish()
                elif emit and error is not None:
                    root.run.fail(error)
            finally:
                root.slot.ended = True
        self._serializer.flush(root.slot)

    # -- hooks ------------------------------------------------------------------------------------

    def on_llm_new_token(
        self, token: object, *, chunk: Chunk | None = None, run_id: UUID, **kwargs: object
    ) -> None:
        """A model sends a chunk. The hot path."""
        if (model := self._models.get(run_id.int)) is not None:
            receive, slot = model
            with self._lock:
                receive(
                    chunk.message if isinstance(chunk, ChatGenerationChunk) else text_chunk(token)
                )
            self._serializer.flush(slot)

    @staticmethod
    def _start_hook(hook: Hook, *, is_model: bool = False) -> Hook:
        """Return the hook for the start of a run, which passes the start to the run's root."""

        def start(
            self: AGUICallbackHandler,
            *args: Any,
            run_id: UUID,
            parent_run_id: UUID | None = None,
            **kwargs: Any,
        ) -> None:
            calls = kwargs.get("batch_size", 1) if is_model else 0
            root, parent = self._find_or_start(run_id, parent_run_id, calls)
            hook(root.run, *args, run_id=run_id, parent_run_id=parent, **kwargs)
            if is_model:
                self._models[run_id.int] = root.run.receiver(run_id), root.slot
            self._serializer.flush(root.slot)

        return start

    @staticmethod
    def _end_hook(hook: Hook, *, failed: bool = False) -> Hook:
        """Return the hook for the end of a run; the end of a root run ends its AG-UI run."""

        def end(self: AGUICallbackHandler, outcome: Any, *, run_id: UUID, **kwargs: Any) -> None:
            if (root := self._runs.get(run_id)) is None:
                return
            hook(root.run, outcome, run_id=run_id, **kwargs)
            if root.members[0] == run_id:
                self._end(root, outcome if failed else None)
            self._serializer.flush(root.slot)

        return end

    on_chat_model_start = _start_hook(RootRun.on_chat_model_start, is_model=True)
    on_llm_start = _start_hook(RootRun.on_llm_start, is_model=True)
    on_llm_end = _end_hook(RootRun.on_llm_end)
    on_llm_error = _end_hook(RootRun.on_llm_error, failed=True)
    on_chain_start = _start_hook(RootRun.on_chain_start)
    on_chain_end = _end_hook(RootRun.on_chain_end)
    on_chain_error = _end_hook(RootRun.on_chain_error, failed=True)
    on_tool_start = _start_hook(RootRun.on_tool_start)
    on_tool_end = _end_hook(RootRun.on_tool_end)
    on_tool_error = _end_hook(RootRun.on_tool_error, failed=True)
    on_retriever_start = _start_hook(RootRun.on_retriever_start)
    on_retriever_end = _end_hook(RootRun.on_retriever_end)
    on_retriever_error = _end_hook(RootRun.on_retriever_error, failed=True)

    def on_custom_event(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A custom event was dispatched."""
        if (root := self._runs.get(run_id)) is not None:
            root.run.on_custom_event(*args, run_id=run_id, **kwargs)
            self._serializer.flush(root.slot)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        return None


def _surrounding_run() -> UUID | None:
    """Return the run that this code runs in: not every Runnable reports itself as a parent
    (`with_fallbacks`).
    """
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    return callbacks.parent_run_id if isinstance(callbacks, BaseCallbackManager) else None
