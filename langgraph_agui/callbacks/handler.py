"""`AGUICallbackHandler`: AG-UI runs around whatever Runnables it is given to.

Hooks of a root run and of everything below it enter here and go to that run's callback source, the one that feeds
`LangGraphAgent`; events leave through `on_event`, in the thread of the hook that caused them, or through `events()`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast
from uuid import UUID, uuid4

from ag_ui.core import BaseEvent, Event
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

from langgraph_agui.callbacks.event_queue import RunEventQueue, is_last
from langgraph_agui.callbacks.root import RootRun, lock
from langgraph_agui.callbacks.roots import Roots
from langgraph_agui.callbacks.run_serializer import RunSerializer
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.settings import Subagents, check_choice

Args: TypeAlias = tuple[Any, ...]
More: TypeAlias = dict[str, Any]
T = TypeVar("T")


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
        on_event: Takes each event; not an async function. One call at a time, in the thread that the work runs in, or
            in another of this handler's that is in it already. What it raises, the run that it concerns raises; nothing
            more of that run is told. Without it the events wait for `events()`.
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
        call = on_event.__call__ if on_event is not None else None  # type: ignore[operator]  # of an object, its method
        if inspect.iscoroutinefunction(on_event) or inspect.iscoroutinefunction(call):
            raise TypeError("on_event is called from synchronous hooks: pass one that is not async, or use events()")
        check_choice("subagents", subagents, Subagents)
        self._on_event = cast("Callable[[BaseEvent], object] | None", on_event)
        self._waiting = RunEventQueue(keeps=on_event is None)
        self._turns, held = RunSerializer(self._tell), lock()
        make = partial(RootRun, lock=held, messages_key=messages_key, reasoning=reasoning, subagents=subagents)
        self._roots = Roots(make, held, self._turns, thread_id or str(uuid4()))
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
            if not self._waiting.reading:
                return
        self._waiting.put(event)

    # -- hooks ----------------------------------------------------------------------------------------------------

    def _begin(
        self, hook: str, args: Args, run_id: UUID, parent_run_id: UUID | None, more: More, calls: int = 0
    ) -> None:
        root, parent = self._roots.enter(run_id, parent_run_id, calls)
        getattr(root.run.source, hook)(*args, run_id=run_id, parent_run_id=parent, **more)
        self._turns.tell(root.turn)

    def _end(self, hook: str, args: Args, run_id: UUID, more: More, error: BaseException | None = None) -> None:
        root = self._roots.of(run_id)
        if root is None:
            return
        run = root.run
        getattr(run.source, hook)(*args, run_id=run_id, **more)
        if root.run_id == run_id:
            self._roots.end(root, run.translation.finish_run if error is None else lambda: run.fail(error))
        self._turns.tell(root.turn)

    def on_chat_model_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A model call begins."""
        self._begin("on_chat_model_start", args, run_id, parent_run_id, kwargs, kwargs.get("batch_size", 1))

    def on_llm_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A completion model begins."""
        self._begin("on_llm_start", args, run_id, parent_run_id, kwargs, kwargs.get("batch_size", 1))

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
        root = self._roots.of(run_id)
        if root is None:
            return
        root.run.source.on_llm_new_token(token, chunk=chunk, run_id=run_id)
        self._turns.tell(root.turn)

    def on_llm_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A model call has ended."""
        self._end("on_llm_end", args, run_id, kwargs)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model call failed."""
        self._end("on_llm_error", (error,), run_id, kwargs, error)

    def on_chain_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A chain, graph or node begins."""
        self._begin("on_chain_start", args, run_id, parent_run_id, kwargs)

    def on_chain_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A chain, graph or node has ended."""
        self._end("on_chain_end", args, run_id, kwargs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain, graph or node failed, paused or was cancelled."""
        self._end("on_chain_error", (error,), run_id, kwargs, error)

    def on_tool_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A tool begins."""
        self._begin("on_tool_start", args, run_id, parent_run_id, kwargs)

    def on_tool_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A tool has ended."""
        self._end("on_tool_end", args, run_id, kwargs)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool failed."""
        self._end("on_tool_error", (error,), run_id, kwargs, error)

    def on_retriever_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """A retriever begins; a model may run inside it."""
        self._begin("on_retriever_start", args, run_id, parent_run_id, kwargs)

    def on_retriever_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A retriever has ended."""
        self._end("on_retriever_end", args, run_id, kwargs)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever failed."""
        self._end("on_retriever_error", (error,), run_id, kwargs, error)

    def on_custom_event(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """A custom event was dispatched."""
        if (root := self._roots.of(run_id)) is not None:
            root.run.source.on_custom_event(*args, run_id=run_id, **kwargs)
            self._turns.tell(root.turn)
