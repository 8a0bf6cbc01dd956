"""One run of a graph: its task, its translation, and the queue between them and the reader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Literal, TypeVar

from ag_ui.core import Message, RunAgentInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained

from langgraph_agui.configs import merged
from langgraph_agui.errors import ErrorCode
from langgraph_agui.graphs import Graph, channel_names
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.to_langchain import agui_messages_to_langchain
from langgraph_agui.messages.veil import visible
from langgraph_agui.models.known import Providers
from langgraph_agui.threads.start import prepare
from langgraph_agui.translate.drive import GraphDrive
from langgraph_agui.translate.outlet import Outlet
from langgraph_agui.translate.sinks import Sink
from langgraph_agui.translate.state import StateView
from langgraph_agui.translate.translation import Translation

T = TypeVar("T")

_LEAVING = 1.0
"""Seconds that a reader who leaves waits for the graph to stop."""

_AGAIN = 0.4
"""Seconds after which a cancelled graph that still runs is cancelled again.

`asyncio.wait_for` loses a cancellation that meets its result (CPython before 3.12), and providers' packages use it.
"""

_unread: set[asyncio.Task[None]] = set()
"""Tasks that nobody waits for: the event loop itself keeps only weak references to them."""


def _keep(task: asyncio.Task[None]) -> None:
    _unread.add(task)
    task.add_done_callback(_unread.discard)


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel `task` until it is done."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_AGAIN)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What an agent decides for all of its runs; see `LangGraphAgent`."""

    messages_key: str = "messages"
    on_disconnect: Literal["cancel", "continue"] = "cancel"
    emit_raw: bool = False
    expose_errors: bool = False
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    providers: Providers = field(default_factory=Providers)


class Run(Generic[T]):
    """A run, begun when it is made: `RUN_STARTED` is said before the thread is loaded.

    Args:
        graph: The compiled graph.
        run_input: What the client sent.
        config: The run's configuration.
        context: The graph's runtime context.
        settings: The agent's settings.
        sink: Makes the sink that puts events, in the form that the reader wants, into the queue.
    """

    def __init__(
        self,
        graph: Graph,
        run_input: RunAgentInput,
        config: RunnableConfig,
        context: object,
        settings: RunSettings,
        sink: Callable[[Callable[[T], object]], Sink],
    ) -> None:
        self._graph = graph
        self._input = run_input
        self._config = merged(config, {"configurable": {"thread_id": run_input.thread_id}})
        self._context = context
        self._settings = settings
        self._outlet = Outlet[T]()
        events = sink(self._outlet.put)
        key = settings.messages_key
        self._show = partial(visible, options=settings.reasoning)
        state = StateView(run_input.state, channel_names(graph.output_channels), {key}, events.event, self._show)
        self._translation = Translation(
            run_input, events, state, reasoning=settings.reasoning, expose_errors=settings.expose_errors
        )
        self._drive = GraphDrive(
            graph,
            self._translation,
            messages_key=key,
            raw=events.event if settings.emit_raw else None,
            fail=self._broken,
        )
        self._loop = asyncio.get_running_loop()
        self._translation.start()
        self._task = asyncio.create_task(self._work(), name=f"agui-run-{run_input.run_id}")
        self._task.add_done_callback(self._ended)

    def on_end(self, call: Callable[[], object]) -> None:
        """Call `call` when the graph has stopped, for whatever reason."""
        self._task.add_done_callback(lambda _task: call())

    def stop(self) -> None:
        """Stop the graph, from any thread; the reader still gets the end of the run."""
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._drive.stop()
        _keep(asyncio.create_task(_end(self._task)))

    async def __aenter__(self) -> Outlet[T]:
        """Read the run: what it says comes out of the outlet."""
        return self._outlet

    async def __aexit__(self, *_: object) -> None:
        """Leave the run; one that is not over goes on or stops as the agent's settings say."""
        if not self._task.done():
            await self._leave()

    async def _leave(self) -> None:
        self._outlet.abandon()
        if self._settings.on_disconnect == "cancel":
            self._stop()
            await asyncio.wait({self._task}, timeout=_LEAVING)
        else:
            _keep(self._task)

    async def _work(self) -> None:
        translation = self._translation
        try:
            key = self._settings.messages_key
            start = await prepare(self._graph, self._input, self._config, key, self._rebuild, self._show)
            translation.know(start.thread)
            if not start.idle:
                await self._drive.run(start.input, self._config, self._context)
            translation.restate()
            translation.finish()
        except asyncio.CancelledError:
            translation.cancel()
        except GraphDrained:
            translation.cancel()
        except Exception as error:  # whatever fails, the client is told
            translation.fail(error)

    def _rebuild(self, messages: Sequence[Message]) -> list[BaseMessage]:
        settings = self._settings
        history = agui_messages_to_langchain(messages, reasoning=settings.reasoning, thread_id=self._input.thread_id)
        return settings.providers.admit(history)

    def _ended(self, _task: asyncio.Task[None]) -> None:
        try:
            self._settings.providers.learn(self._translation.providers)
            self._translation.cancel()  # if it ended without a word: cancelled before its first step
        finally:
            self._outlet.close()

    def _broken(self, error: Exception) -> None:
        """The translation itself failed: end the run rather than tell half of it."""
        self._translation.fail(error, ErrorCode.INTERNAL)
        self._stop()
