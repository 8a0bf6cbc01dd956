"""One run of a graph: its task, its translation, and those who read it."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.graph import END

from langgraph_agui.aio import await_shielded, keep_alive
from langgraph_agui.configs import merge_run_configs
from langgraph_agui.errors import ApprovalRefused, ErrorCode
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.approval_tool import present_interrupts
from langgraph_agui.interrupts.approvals import Approval
from langgraph_agui.interrupts.pending_reader import PendingInterrupts
from langgraph_agui.interrupts.resume import Resolution
from langgraph_agui.messages.to_langchain import HistoryConverter
from langgraph_agui.settings import RunSettings
from langgraph_agui.state.client_state import RUN
from langgraph_agui.threads.locks import ThreadLease
from langgraph_agui.threads.planner import RunPlan, RunPlanner
from langgraph_agui.threads.repair import cancelled_results
from langgraph_agui.translate.event_sinks import Broadcaster, JoinedSink, Subscription
from langgraph_agui.translate.runners import graph_runner_for

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LEAVING = 1.0
"""Seconds that a reader who leaves waits for the graph to stop."""

_AGAIN = 0.4
"""Seconds after which a cancelled graph that still runs is cancelled again.

`asyncio.wait_for` loses a cancellation that meets its result (CPython before 3.12), and providers' packages use it.
"""


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel `task` until it is done."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_AGAIN)


Admission: TypeAlias = Callable[[], Awaitable[ThreadLease]]
"""Waits until a run may go on in its thread."""


class Run:
    """A run, begun when it is made: `RUN_STARTED` is said before the thread is loaded.

    Args:
        graph: The compiled graph.
        run_input: What the client sent.
        config: The run's configuration.
        context: The graph's runtime context.
        settings: The agent's settings.
        reader: Hears the run; when it leaves, the run goes on or stops as the settings say.
        lease: The right to run in the thread, let go before the run says its end; or what waits for it, where the run
            says that it has begun before it may go on.
    """

    def __init__(
        self,
        graph: GraphAdapter,
        run_input: RunAgentInput,
        config: RunnableConfig,
        context: object,
        settings: RunSettings,
        reader: Subscription[T],
        lease: ThreadLease | Admission | None = None,
    ) -> None:
        self._graph = graph
        self._input = run_input
        self._config = merge_run_configs(
            settings.client_config(run_input),
            config,
            {"configurable": {"thread_id": run_input.thread_id}, "metadata": {RUN: run_input.run_id}},
        )
        self._context = context
        self._settings = settings
        self._admission = lease if callable(lease) else None
        self._lease = None if callable(lease) else lease
        self._readers = Broadcaster(reader.sink)
        self._closing: list[Callable[[], None]] = [reader.close]
        reader.on_leave = partial(self._leave, reader)
        key = settings.messages_key
        self._translation = settings.translation(run_input, self._readers)
        self._pauses = settings.pauses(graph)
        self._beginning = RunPlanner(
            graph,
            run_input,
            self._config,
            self._pauses,
            settings.contract,
            settings.shown.get(run_input.thread_id),
            HistoryConverter(
                run_input.thread_id, settings.reasoning, settings.threads.client_instructions, settings.providers
            ),
            settings.threads,
        )
        raw = self._readers.event if settings.emit_raw else None
        self._drive = graph_runner_for(graph, self._translation, messages_key=key, raw=raw, fail=self._broken)
        self._loop = asyncio.get_running_loop()
        self._translation.emit_run_started()
        self._task = asyncio.create_task(self._work(), name=f"agui-run-{run_input.run_id}")
        self._task.add_done_callback(self._ended)

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of the thread and of the run."""
        return self._input.thread_id, self._input.run_id

    @property
    def over(self) -> bool:
        """Whether the end of the run has been said."""
        return self._translation.finished

    def on_end(self, call: Callable[[], object]) -> None:
        """Call `call` when the graph has stopped, for whatever reason."""
        self._task.add_done_callback(lambda _task: call())

    def join(self, reader: Subscription[T], run_input: RunAgentInput) -> None:
        """Let one more reader hear the run: what there is so far, and then the rest. Its leaving changes nothing."""
        sink = JoinedSink(reader.sink, run_input)
        self._translation.replay(sink, run_input)
        self._readers.add(sink)
        self._closing.append(reader.close)
        self._translation.refresh_writers()

        async def leave() -> None:
            self._hush(sink)
            if reader.unread:
                self._note(reader)

        reader.on_leave = leave

    def _hush(self, sink: JoinedSink) -> None:
        self._readers.remove(sink)
        if not self._task.done():
            self._translation.refresh_writers()

    # -- stopping -------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the graph, from any thread; its readers still get the end of the run."""
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._drive.stop()
        keep_alive(asyncio.create_task(_end(self._task)))

    async def _leave(self, reader: Subscription[T]) -> None:
        """The run's own reader has left."""
        self._note(reader)
        if self._task.done():
            return
        if self._settings.on_disconnect == "cancel":
            self._stop()
            await asyncio.wait({self._task}, timeout=_LEAVING)
        else:
            keep_alive(self._task)

    def _note(self, reader: Subscription[T]) -> None:
        """Note what the client knows whose reader leaves."""
        cache = self._settings.shown.open(self._input.thread_id)
        self._translation.save_client_state(cache, unread=reader.unread, behind=reader.behind)

    def _ended(self, _task: asyncio.Task[None]) -> None:
        try:
            self._settings.providers.learn(self._translation.providers)
            self._translation.cancel_run()  # if it ended without a word: cancelled before its first step
        finally:
            for close in self._closing:
                close()
            if self._lease is not None:  # cancelled before it could let go
                self._lease.let_go()

    def _broken(self, error: Exception) -> None:
        """The translation itself failed: end the run rather than tell half of it."""
        self._translation.fail_run(error, ErrorCode.INTERNAL)
        self._stop()

    # -- working --------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        end = await self._play()
        # Who hears the end may send the next input at once: the thread is free by then.
        if self._lease is not None:
            lease, self._lease = self._lease, None
            await await_shielded(lease.release())
        end()

    async def _play(self) -> Callable[[], None]:
        """Run the graph; return what says the end of the run."""
        translation = self._translation
        try:
            if self._admission is not None:
                self._lease = await self._admission()
            start = await self._beginning.start()
            await self._approve(start.resolution)
            pause = await self._go(start)
            if start.resolution is not None and not pause:
                rest = await self._beginning.rest(start)
                if start.gives_up_at is not None and rest.idle:
                    translation.update_state(rest.values)
                    translation.emit_messages_snapshot()
                    return translation.cancel_run
                pause = await self._go(rest)
            if pause is None:
                interrupts = None
            else:
                interrupts = translation.attribute_interrupts(
                    present_interrupts(pause, self._settings.approvals, translation.emit_approval_calls)
                )
            translation.emit_messages_snapshot(interrupts or ())
            return lambda: translation.finish_run(interrupts)
        except (asyncio.CancelledError, GraphDrained):
            return translation.cancel_run
        except Exception as error:  # whatever fails, the client is told
            failure = error
            return lambda: translation.fail_run(failure)

    async def _go(self, start: RunPlan) -> PendingInterrupts | None:
        """Run the graph from `start`; return what the thread waits for, None where there is no thread."""
        self._translation.load_thread(start.thread)
        if start.gives_up_at is not None:
            await self._give_up(start, start.gives_up_at)
        if start.idle:
            self._translation.update_state(start.values)
            return start.pause
        theirs = {tool.name for tool in self._input.tools or ()}  # no stream answers those (AG-UI 1.0, frontend tools)
        self._translation.emit_added_results([result for result in start.healed if result.name not in theirs])
        if start.settles:
            await self._graph.update_state(self._config, None, END)
        config = merge_run_configs(self._config, start.config)
        self._translation.resume_superstep(start.values)
        await self._drive.run(start.input, config, self._context)
        if not self._graph.has_checkpointer:
            if self._translation.paused:
                raise RuntimeError("The graph has paused and cannot go on: compile it with a checkpointer")
            return None
        if not self._translation.paused:
            return PendingInterrupts()
        self._translation.paused = False
        stored = await self._graph.load_state(self._config)
        self._translation.update_state(stored.values)  # with what finished tasks have written beside the pause
        return await self._pauses.of_thread(stored, self._config)

    async def _approve(self, resolution: Resolution | None) -> None:
        """Tell who approves what, before it takes effect."""
        for given in resolution.decisions if resolution is not None else ():
            try:
                told = self._settings.on_approval(Approval.of(self._input, *given, self._config, self._context))
                if inspect.isawaitable(told):
                    await told
            except Exception as error:
                raise ApprovalRefused from error

    async def _give_up(self, start: RunPlan, node: str) -> None:
        """Give the thread's pause up: its calls are answered as cancelled, and nothing of it is left to run."""
        config = merge_run_configs(self._config, start.config)
        at = self._graph.node_without_branches(node)
        if start.writes:
            await self._graph.update_state(config, dict(start.writes), at)
        if results := cancelled_results(start.thread):
            try:
                await self._graph.update_state(config, {self._settings.messages_key: results}, at)
            except Exception:  # it asks the graph where to go from there, which may be prepared for other messages only
                logger.warning("The cancelled calls are answered with the next message", exc_info=True)
            self._translation.emit_added_results(results)
        await self._graph.update_state(config, None, END)
