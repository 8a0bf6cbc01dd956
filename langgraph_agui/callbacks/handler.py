"""`AGUICallbackHandler`: AG-UI runs around whatever Runnables it is given to.

Hooks of a root run and of everything below it enter here and go to that run's callback source, the one that feeds
`LangGraphAgent`; events leave through `on_event`, in the thread of the hook that caused them, or through `events()`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from ag_ui.core import BaseEvent, Event, RunAgentInput
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables.config import var_child_runnable_config

from langgraph_agui.callbacks.root import RootRun, lock
from langgraph_agui.callbacks.turns import Turn, Turns
from langgraph_agui.callbacks.waiting import Waiting, is_last
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.translate.lanes import Subagents, checked
from langgraph_agui.translate.sinks import EventSink

T = TypeVar("T")


class _Root:
    """A root run that is going on: its turn to speak, and the runs below it.

    Attributes:
        task: What waits for it, if it is a model's call: nobody tells when that is cancelled.
        alone: Whether that task can wait for nothing else meanwhile.
    """

    def __init__(self, run_id: UUID, run: RootRun, turn: Turn) -> None:
        self.run_id = run_id
        self.run = run
        self.turn = turn
        self.members = [run_id]
        self.task: asyncio.Task[Any] | None = None
        self.alone = False


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        return None


def _surrounding() -> UUID | None:
    """The run that this code runs in: not every Runnable tells those inside it (`with_fallbacks`)."""
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    return callbacks.parent_run_id if isinstance(callbacks, BaseCallbackManager) else None


def _pass_on(run_id: UUID, output: T) -> T:
    return output


class AGUICallbackHandler(BaseCallbackHandler):
    """Tells any Runnable's run as a complete AG-UI run.

    `chain.invoke(x, config={"callbacks": [AGUICallbackHandler(on_event)]})`: `on_event` is called with `RUN_STARTED`
    when the outermost run begins, with everything its models, tools, nodes and subagents do, and with the one terminal
    event when it ends. Works for chains, bare models and agents, sync and async, one by one or in a `batch`. The
    outermost run's id is the AG-UI run id. The client's own messages and state are not known here: neither is told.

    A handler may be used again, also at the same time: runs are told one after the other, each as a whole, in the order
    in which they have begun. A model's call that its task has left (a timeout) ends when that task begins another run.

    Args:
        on_event: Takes each event; not an async function. It is called from the thread that the work runs in, one call
            at a time. What it raises, the run that it concerns raises; nothing more of that run is told. Without it
            the events wait for `events()`.
        thread_id: The AG-UI thread id of the runs; a random one by default.
        messages_key: The state channel that holds the conversation, where a graph runs.
        reasoning: Who sees the model's reasoning, and how it travels (docs/reasoning.md).
        subagents: What is seen of subagents (docs/subagents.md).
        stream_tokens: Whether chat models stream under `invoke` too, as they would under `stream`. LangChain lets one
            handler of a run do that: `astream_events` around the same run may see less of parsers.

    Raises:
        TypeError: `on_event` is an async function.
        ValueError: There is no such way to show subagents.
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
        if inspect.iscoroutinefunction(on_event):
            raise TypeError("on_event is called from synchronous hooks: pass one that is not async, or use events()")
        self._on_event = cast("Callable[[BaseEvent], object] | None", on_event)
        self._waiting = Waiting(keeps=on_event is None)
        self._turns = Turns(self._tell)
        self._lock = lock()
        self._thread_id = thread_id or str(uuid4())
        self._run = partial(
            RootRun, lock=self._lock, messages_key=messages_key, reasoning=reasoning, subagents=checked(subagents)
        )
        self._roots: dict[UUID, _Root] = {}
        if stream_tokens:  # having these two makes chat models stream
            self.tap_output_aiter = self.tap_output_iter = _pass_on

    async def events(self, runs: int = 1) -> AsyncGenerator[Event, None]:
        """Yield the events of the next runs as they come, up to the terminal event of the `runs`-th.

        Leaving stops no run. Without an `on_event`, runs that have begun before are yielded first, and whole.
        """
        within = False
        self._waiting.open()
        try:
            while runs > 0:
                event = await self._waiting.take()
                within = not is_last(event)
                runs -= not within
                yield cast("Event", event)
        finally:
            self._waiting.leave(within=within)

    def _tell(self, event: BaseEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
        self._waiting.put(event)

    # -- runs -----------------------------------------------------------------------------------------------------

    def _enter(self, run_id: UUID, parent_run_id: UUID | None, *, calls: int = 0) -> tuple[RootRun, UUID | None]:
        """The root run that a run which begins is part of, and its parent; a new one, if it is part of none.

        Args:
            run_id: The run.
            parent_run_id: What LangChain says is its parent.
            calls: How many calls of a model begin together, if it is one.
        """
        parent = parent_run_id or _surrounding()
        root = self._roots.get(parent) if parent is not None else None
        if root is None:
            return self._begin(run_id, calls).run, None
        self._raise(root)
        self._roots[run_id] = root
        root.members.append(run_id)
        return root.run, parent

    def _begin(self, run_id: UUID, calls: int) -> _Root:
        run_input = RunAgentInput(
            thread_id=self._thread_id,
            run_id=str(run_id),
            state={},
            messages=[],
            tools=[],
            context=[],
            forwarded_props={},
        )
        with self._lock:
            self._give_up()
            turn = self._turns.join()
            root = self._roots[run_id] = _Root(run_id, self._run(run_input, EventSink(turn.put)), turn)
        if calls and (task := _current_task()) is not None:
            root.task, root.alone = task, calls == 1
            task.add_done_callback(lambda _task: self._end(root, root.run.translation.cancel))
        try:
            root.run.tell(root.run.translation.start)
        except BaseException:
            self._end(root, lambda: None)  # LangChain does not tell the end of what has not begun
            raise
        return root

    def _give_up(self) -> None:
        """End a model's call that this task has left: LangChain does not tell when `ainvoke` was cancelled."""
        task = _current_task()
        for root in [root for root in self._roots.values() if root.alone and root.task is task]:
            self._end(root, root.run.translation.cancel)

    def _of(self, run_id: UUID) -> RootRun | None:
        """The root run that a run is part of."""
        root = self._roots.get(run_id)
        if root is None:
            return None
        self._raise(root)
        return root.run

    def _raise(self, root: _Root) -> None:
        """Raise what `on_event` has raised of this run while another one let it speak."""
        failure, root.turn.failure = root.turn.failure, None
        if failure is not None:
            raise failure

    def _leave(self, run_id: UUID, end: Callable[[RootRun], None]) -> None:
        """A run has ended; `end` tells so, if it is a root."""
        root = self._roots.get(run_id)
        if root is not None and root.run_id == run_id:
            self._end(root, lambda: end(root.run))

    def _end(self, root: _Root, end: Callable[[], None]) -> None:
        with self._lock:
            if root.turn.ended:
                return
            for member in root.members:
                self._roots.pop(member, None)
            try:
                end()
            finally:
                root.turn.end()

    # -- hooks ----------------------------------------------------------------------------------------------------

    def on_chat_model_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A model call begins."""
        run, parent = self._enter(run_id, parent_run_id, calls=kwargs.get("batch_size", 1))
        run.source.on_chat_model_start(*args, run_id=run_id, parent_run_id=parent, **kwargs)

    def on_llm_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A completion model begins."""
        run, parent = self._enter(run_id, parent_run_id, calls=kwargs.get("batch_size", 1))
        run.source.on_llm_start(*args, run_id=run_id, parent_run_id=parent, **kwargs)

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """A chunk of a model's message. The hot path."""
        root = self._roots.get(run_id)
        if root is None:
            return
        if root.turn.failure is not None:
            self._raise(root)
        if isinstance(chunk, ChatGenerationChunk):
            root.run.delivery.token(run_id, chunk.message)
        else:
            root.run.source.on_llm_new_token(token, chunk=chunk, run_id=run_id)

    def on_llm_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A model call has ended."""
        if (run := self._of(run_id)) is not None:
            run.source.on_llm_end(*args, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.translation.finish())

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model call failed."""
        if (run := self._of(run_id)) is not None:
            run.source.on_llm_error(error, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.fail(error))

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A chain, graph or node begins."""
        run, parent = self._enter(run_id, parent_run_id)
        run.source.on_chain_start(serialized, inputs, run_id=run_id, parent_run_id=parent, **kwargs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain, graph or node has ended."""
        if (run := self._of(run_id)) is not None:
            run.source.on_chain_end(outputs, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.translation.finish())

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain, graph or node failed, paused or was cancelled."""
        if (run := self._of(run_id)) is not None:
            run.source.on_chain_error(error, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.fail(error))

    def on_tool_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A tool begins."""
        run, parent = self._enter(run_id, parent_run_id)
        run.source.on_tool_start(*args, run_id=run_id, parent_run_id=parent, **kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool has ended."""
        if (run := self._of(run_id)) is not None:
            run.source.on_tool_end(output, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.translation.finish())

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool failed."""
        if (run := self._of(run_id)) is not None:
            run.source.on_tool_error(error, run_id=run_id, **kwargs)
        self._leave(run_id, lambda root: root.fail(error))

    def on_retriever_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A retriever begins; a model may run inside it."""
        run, parent = self._enter(run_id, parent_run_id)
        run.source.on_retriever_start(*args, run_id=run_id, parent_run_id=parent, **kwargs)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever has ended."""
        if (run := self._of(run_id)) is not None:
            run.source.on_retriever_end(documents, run_id=run_id)
        self._leave(run_id, lambda root: root.translation.finish())

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever failed."""
        if (run := self._of(run_id)) is not None:
            run.source.on_retriever_error(error, run_id=run_id)
        self._leave(run_id, lambda root: root.fail(error))

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A custom event was dispatched."""
        if (run := self._of(run_id)) is not None:
            run.source.on_custom_event(name, data, run_id=run_id, **kwargs)
