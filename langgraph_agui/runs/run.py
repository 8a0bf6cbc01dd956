"""One run of a graph: its task, its events, and their readers.

`RunAgentInput` enters `Run`; its events leave through the subscriptions to it.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial

from ag_ui.core import BaseEvent, Interrupt, RunAgentInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.graph import END

from langgraph_agui.compat.approval_tool import REQUEST_APPROVAL, split_approvals
from langgraph_agui.compat.clients import ClientForm
from langgraph_agui.compat.inputs import warn_of_node
from langgraph_agui.graphs import Thread
from langgraph_agui.interrupts.decisions import log_approval
from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.kernel.aio import (
    Caller,
    cancel_until_done,
    despite_cancel,
    keep_alive,
    run_here,
    run_in_thread,
    seconds,
    within,
)
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import (
    CodedError,
    ErrorCode,
    RunInputError,
    as_state_error,
    is_data_refused,
)
from langgraph_agui.kernel.hooks import Hook
from langgraph_agui.kernel.telemetry import RunWatch, count_dropped, run_logger
from langgraph_agui.kernel.weak import weakly
from langgraph_agui.messages.content import caller_id, cancelled, unanswered_calls
from langgraph_agui.nodes import ASKED, frontend_config
from langgraph_agui.protocol.input import CleanInput
from langgraph_agui.readers.joined import join
from langgraph_agui.readers.run_log import RunLog
from langgraph_agui.readers.sinks import Broadcaster, IdleTimer, Sink
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import OFFERED, AgentContext
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks
from langgraph_agui.runs.paused import load_step, store_step
from langgraph_agui.runs.plan import Abandon, Execute, Resume, RunPlan, Show
from langgraph_agui.runs.planner import RunPlanner
from langgraph_agui.state.client_state import RUN
from langgraph_agui.translate.run_events import PausedStep, RunEvents
from langgraph_agui.translate.server.stream import graph_runner_for
from langgraph_agui.translate.state_view import StateView

logger = run_logger(__name__)

# Seconds that a reader who leaves waits for the graph to stop.
_LEAVE_TIMEOUT = 1.0

# Seconds that a run which was stopped waits for what its graph writes.
_WRITE_TIMEOUT = 5.0

# The cost from which an input is read in a thread.
_LARGE = 5_000

# Results that are emitted without a break.
_BATCH = 500


def start_events(agent: AgentContext, run_input: RunAgentInput, sink: Sink) -> RunEvents:
    """Return the events of a run, sent to `sink`, after `RUN_STARTED` was emitted."""
    return RunEvents(
        run_input,
        sink,
        StateView(run_input.state, agent.contract, sink.event),
        reasoning=agent.reasoning,
        subagents=agent.client_form(run_input).subagents,
        keeps_messages=partial(agent.graph.keeps_messages, agent.messages_key),
        may_remove_messages=agent.graph.may_remove_messages(agent.messages_key),
        hides_inner=agent.clients.models_in_tools == "hidden",
        hidden_tags=agent.clients.hidden_tags,
        shows_middleware=agent.clients.middleware_steps == "show",
        expose_errors=agent.expose_errors,
        messages_key=agent.messages_key,
        emit_raw=agent.emit_raw,
        transformers=agent.graph.run_transformers,
        hold_messages=agent.clients.hold_messages or agent.graph.needs_held_messages,
    )


def emit_pending(
    form: ClientForm, pending: PendingInterrupts, run_events: RunEvents
) -> list[Interrupt]:
    """Emit approvals as tool calls, if the client is asked so; return the other interrupts."""
    interrupts = [request.interrupt for request in pending.requests]
    if form.approvals_as_calls:
        calls, interrupts = split_approvals(pending)
        if calls:
            run_events.messages.emit_approval_calls(AIMessage("", tool_calls=calls))
    return run_events.subagents.attribute_interrupts(interrupts)


class _PauseAbandoned(Exception):  # noqa: N818  # not an error: the client's wish
    """The client has cancelled the pause and asks for nothing else: the run ends as cancelled."""


class Run:
    """A run. It starts when it is made: `RUN_STARTED` is emitted before the thread is loaded.

    Args:
        agent: The context that all runs of the agent share.
        clean: The client's input.
        config: The run's configuration.
        context: The graph's runtime context.
        reader: The first reader. When it leaves, the run goes on or stops as the agent decides.
        lease: The right to run in the thread. The run releases it before its terminal event.
        locks: Give that right to a run without a lease; None if the graph keeps no threads.

    Attributes:
        input: The client's input.
        task: Done when the graph has stopped, for whatever reason.
        entered: Done when the run has its thread, or has ended.
        joined_ids: The run ids of the clients that have joined.
    """

    def __init__(
        self,
        agent: AgentContext,
        clean: CleanInput,
        config: RunnableConfig,
        context: object,
        reader: Subscription,
        lease: ThreadLease | None = None,
        locks: ThreadLocks | None = None,
    ) -> None:
        self._agent = agent
        self._graph = agent.graph
        self.input = run_input = clean.input
        self.joined_ids = set[str]()
        self._form = agent.client_form(run_input)
        self._for_nodes = _for_nodes(run_input, self._form)
        self._asked: set[str] = set()
        metadata: dict[str, object] = {RUN: run_input.run_id}
        if offered := agent.offered_tools(run_input):
            metadata[OFFERED] = json.dumps(sorted(offered))
        own: RunnableConfig = {
            "configurable": {"thread_id": run_input.thread_id, ASKED: self._asked},
            "metadata": metadata,
        }
        self._config = merge_run_configs(frontend_config(self._for_nodes), config, own)
        self._context = context
        self._lease = lease
        self._locks = locks
        self._watch = RunWatch(agent.name, run_input)
        self._log = RunLog(weakly(self._before), agent.limits.unread)
        self._broadcaster = Broadcaster(self._log, reader, watch=self._watch.event)
        self._readers = [reader]
        self._end_code: ErrorCode | None = None
        self._timers: list[asyncio.TimerHandle | IdleTimer] = []
        reader.on_leave = self._first_reader_left
        self._run_events = self._watch.context.run(
            start_events, agent, run_input, self._broadcaster
        )
        call: Caller = run_in_thread if clean.cost > _LARGE else run_here
        self._planner = RunPlanner(agent, run_input, self._config, call)
        self._runner = graph_runner_for(self._graph, self._run_events, weakly(self._events_failed))
        self.entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        name = f"agui-run-{run_input.run_id}"
        self.task = asyncio.create_task(self._work(), name=name, context=self._watch.start())
        self.task.add_done_callback(self._ended, context=self._watch.context)

    @property
    def finished(self) -> bool:
        """Whether the terminal event was emitted."""
        return self._run_events.finished

    @property
    def waits(self) -> bool:
        """Whether it waits for its thread, which another run has, perhaps in another worker."""
        return self._lease is None and self._locks is not None

    def may_be_joined(self, run_input: RunAgentInput) -> bool:
        """Return whether the input of `connect` asks for this run.

        Raises:
            RunInputError: It does, and as many clients follow the run as may (`too_many_readers`).
        """
        if self.finished or self.input.thread_id != run_input.thread_id:
            return False
        if self.task.get_loop() is not asyncio.get_running_loop():
            return False  # a reader's queue works in one event loop
        if not self._graph.has_checkpointer and self.input.run_id != run_input.run_id:
            return False  # nobody guards the ids of threads that nobody keeps
        if sum(not reader.left.is_set() for reader in self._readers) >= self._agent.limits.readers:
            raise RunInputError(ErrorCode.TOO_MANY_READERS)
        return True

    def join(self, reader: Subscription, run_input: RunAgentInput) -> None:
        """Add a reader, which gets the events so far and all later ones."""
        self.joined_ids.add(run_input.run_id)
        own_state = self._agent.contract.client_only(run_input.state)
        join(reader, self._log.events(), run_input, own_state)
        self.follow(reader)

    def log(self) -> list[BaseEvent]:
        """Return the log of the run so far."""
        return self._log.events()

    def follow(self, reader: Subscription) -> None:
        """Add a reader, which gets all later events."""
        self._broadcaster.add(reader)
        self._readers = [*(one for one in self._readers if not one.left.is_set()), reader]

        async def leave() -> None:
            self._broadcaster.remove(reader)

        reader.on_leave = leave

    def _before(self) -> list[BaseEvent]:
        return self._run_events.before()

    # -- stopping ---------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the graph, from any thread; its readers still get the end of the run."""
        self.task.get_loop().call_soon_threadsafe(self._stop)

    async def end(self, code: ErrorCode, grace: float = 0) -> None:
        """End the run with an error, unless it ends by itself within `grace` seconds.

        Wait until its thread is written, and a short time until its readers have the end. To be
        called in the run's event loop.
        """
        await asyncio.wait({self.task}, timeout=grace)
        self._end(code)
        await asyncio.wait({self.task}, timeout=_LEAVE_TIMEOUT + _WRITE_TIMEOUT)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_TIMEOUT):
                for reader in self._readers:
                    await reader.left.wait()

    def _end(self, code: ErrorCode) -> None:
        if not self.task.done():
            self._end_code = self._end_code or code
            self._stop()

    def _stop(self) -> None:
        self._runner.stop()
        keep_alive(asyncio.create_task(cancel_until_done(self.task)))

    async def _first_reader_left(self) -> None:
        if self.task.done():
            return
        if self._agent.on_disconnect == "cancel":
            self._stop()
            await asyncio.wait({self.task}, timeout=_LEAVE_TIMEOUT)
        else:
            keep_alive(self.task)

    def _events_failed(self, error: Exception) -> None:
        """End the run: an event could not be made, and half of a run is not emitted."""
        self._run_events.fail_run(error, ErrorCode.INTERNAL)
        self._stop()

    def _ended(self, task: asyncio.Task[None]) -> None:
        try:
            self._agent.providers.learn(self._run_events.providers)
            # if there was no terminal event: it was cancelled before the first step, or its own
            # work has failed, as by an exception that is no `Exception`
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._run_events.fail_run(error)
            self._run_events.cancel_run()
        finally:
            for timer in self._timers:
                timer.cancel()
            for reader in self._readers:
                reader.close()
            if not self.entered.done():
                self.entered.set_result(None)
            if self._lease is not None:
                self._lease.release()
            self._watch.end()

    def _start_timers(self) -> None:
        """Start the clocks that end the run if it, or its silence, takes too long."""
        limits, loop = self._agent.limits, self.task.get_loop()
        if (total := seconds(limits.total)) is not None:
            self._timers.append(loop.call_later(total, self._end, ErrorCode.RUN_TIMEOUT))
        if (idle := seconds(limits.idle)) is not None:
            watch = IdleTimer(idle, partial(self._end, ErrorCode.RUN_TIMEOUT))
            self._broadcaster.add(watch)
            self._timers.append(watch)

    # -- running ----------------------------------------------------------------------------------

    async def _work(self) -> None:
        interrupts: list[Interrupt] | None = None
        failure: BaseException | None = None
        try:
            interrupts = await self._run()
        except Exception as error:
            failure = error
            await despite_cancel(self._runner.wait_for_writes(_WRITE_TIMEOUT))
        except asyncio.CancelledError as error:
            failure = error
            await despite_cancel(self._load_kept())
        # A client that gets the terminal event may send the next input at once: release the thread
        # before.
        if self._lease is not None:
            with suppress(asyncio.CancelledError):
                await self._lease.release()
        try:
            self._tell_end(interrupts, failure)
        finally:
            failure = None  # its traceback holds this frame

    def _tell_end(self, interrupts: list[Interrupt] | None, failure: BaseException | None) -> None:
        """Emit the terminal event."""
        if failure is None:
            try:
                self._run_events.finish_run(interrupts)
            except Exception as error:  # such as a result that no client takes
                self._run_events.fail_run(error, ErrorCode.INTERNAL)
        elif self._end_code is not None:
            self._run_events.fail_run(CodedError(self._end_code))
        elif isinstance(failure, asyncio.CancelledError | GraphDrained | _PauseAbandoned):
            self._run_events.cancel_run()
        else:
            self._run_events.fail_run(as_state_error(failure, self._graph.store))

    async def _load_kept(self) -> None:
        """Wait until the thread is written, and take what it keeps: the stream of a run that was
        stopped may not have told all of it.
        """
        is_written = await self._runner.wait_for_writes(_WRITE_TIMEOUT)
        if not is_written or self._lease is None:
            return
        key = self._agent.messages_key
        try:
            thread = await within(_WRITE_TIMEOUT, self._graph.load_thread(self._config, key))
        except Exception:  # the run was stopped, and ends as such
            logger.warning("The thread could not be loaded after the run.", exc_info=True)
        else:
            self._run_events.messages.update(thread.messages)

    async def _run(self) -> list[Interrupt] | None:
        """Carry out the plan for the input, and return the interrupts at the end.

        Returns:
            The interrupts; None if the graph keeps no threads.

        Raises:
            _PauseAbandoned: The input cancels the thread's pause, and brings nothing else.
        """
        if self._lease is None and self._locks is not None:
            self._lease = await self._locks.acquire(
                self.input.thread_id, self._agent.limits.waiting
            )
        self.entered.set_result(None)
        self._start_timers()
        plan = await self._planner.plan()
        step = PausedStep()
        if plan.thread is not None:
            shown, waits_for = isinstance(plan, Show), self._planner.pending
            step = await load_step(self._agent, plan.thread, waits_for, self._config, shown=shown)
        pending = await self._carry_out(plan, step)
        if isinstance(plan, Resume | Abandon) and not pending:
            followup = await self._planner.plan_followup(plan)
            if isinstance(plan, Abandon) and isinstance(followup, Show):
                self._run_events.state.values((), followup.values)
                self._run_events.emit_messages_snapshot()
                raise _PauseAbandoned
            pending = await self._carry_out(followup, PausedStep())
        interrupts = (
            None if pending is None else emit_pending(self._form, pending, self._run_events)
        )
        if not pending:
            self._run_events.settle_calls(self._agent.own_tools(self.input))
        self._run_events.emit_messages_snapshot(interrupts or (), paused=bool(pending))
        if not self._graph.keeps_messages(self._agent.messages_key):
            self._run_events.use_state_as_result()
        return interrupts

    async def _carry_out(self, plan: RunPlan, step: PausedStep) -> PendingInterrupts | None:
        """Carry out a plan, where the thread has paused in `step`; return the open interrupts then,
        None if the graph keeps no threads.
        """
        if isinstance(plan, Resume | Abandon):
            on_answer = Hook(
                "on_answer",
                self._agent.approvals.on_answer or log_approval,
                self._agent.limits.hook,
            )
            await plan.resolution.report(on_answer, self.input, self._config, self._context)
        if isinstance(plan, Resume):
            await plan.use.record(self._graph)
        self._load(plan, step)
        if isinstance(plan, Resume | Abandon):
            self._run_events.remove_client_results(
                [request.interrupt for request, *_ in plan.resolution.decisions]
            )
        match plan:
            case Show():
                self._run_events.state.values((), plan.values)
                return plan.pending
            case Execute():
                # The stream answers no calls of the client's own tools (AG-UI 1.0, frontend tools).
                client_tools = {tool.name for tool in self.input.tools or ()}
                healed = [one for one in plan.healed if one.name not in client_tools]
                for start in range(0, len(healed), _BATCH):
                    self._run_events.messages.emit_added_results(healed[start : start + _BATCH])
                    # other runs go on meanwhile: a hostile history has thousands
                    await asyncio.sleep(0)
                if plan.settle_first:
                    await self._settle()
                thread = None if plan.settle_first else plan.thread
                pending = await self._run_graph(plan.input, plan.config, thread)
                if not pending:
                    self._report_unasked()
                return pending
            case Resume():
                self._run_events.state.resume_superstep(plan.superstep)
                return await self._run_graph(plan.command, plan.config)
            case Abandon():
                await self._abandon(plan)
                return PendingInterrupts()

    def _load(self, plan: RunPlan, step: PausedStep) -> None:
        """Give the thread and its paused step to the events of the run."""
        if plan.thread is not None:
            self._run_events.load_thread(plan.thread, plan.taken)
        asks = isinstance(plan, Show) and bool(plan.pending)
        self._run_events.load_step(step, show=asks)
        if isinstance(plan, Execute | Abandon):
            self._run_events.drop_step()

    async def _settle(self) -> None:
        """End the last superstep of the thread, which was killed."""
        try:
            await self._graph.update_state(self._config, None, END)
        except Exception as error:
            if not is_data_refused(error):
                raise
            logger.warning(
                "The store refuses what the thread's last step has written; it is left out.",
                exc_info=True,
            )
            count_dropped("pending_writes")

    async def _run_graph(
        self, graph_input: object, config: RunnableConfig | None, thread: Thread | None = None
    ) -> PendingInterrupts | None:
        """Run the graph, from `thread` if that was loaded and nothing was written into it since."""
        config = merge_run_configs(self._config, config)
        context = self._agent.filled.runtime_context(self._context, self.input)
        if context is None:
            context = self._graph.default_context
        graph = thread.graph if thread is not None else None
        await self._runner.run(graph_input, config, context, graph)
        self._run_events.end_graph()
        if "tools" in self._asked:
            self._agent.client_tools.report_asked()
        if not self._run_events.paused:
            return PendingInterrupts() if self._graph.has_checkpointer else None
        if not self._graph.has_checkpointer:
            raise CodedError(ErrorCode.NO_CHECKPOINTER)
        self._run_events.paused = False
        stored = await self._graph.load_state(self._config)
        # with the values that finished tasks have written
        self._run_events.state.values((), stored.values)
        await store_step(self._graph, stored, self._run_events.paused_step())
        return await self._agent.pending_interrupts(stored, self._config)

    def _report_unasked(self) -> None:
        """Warn of the client's tools and properties that no node has asked for.

        Nobody knows that of a graph on a server. A graph that was only resumed is not judged: it
        may have asked before its pause.
        """
        if self._graph.contents is None:
            return
        if "tools" not in self._asked:
            self._agent.client_tools.report_unasked(self._for_nodes.tools or ())
        if "forwardedProps" not in self._asked:
            warn_of_node(self.input)

    async def _abandon(self, plan: Abandon) -> None:
        """End the thread's pause: answer its calls as cancelled, and leave nothing of it to run."""
        config = merge_run_configs(self._config, plan.config)
        node = self._graph.node_without_branches(plan.node)
        if plan.writes:
            await self._graph.update_state(config, dict(plan.writes), node)
        messages = plan.thread.messages
        calls = [
            (call["id"] or "", call["name"]) for call in unanswered_calls(messages, at_end=True)
        ]
        results = [
            cancelled(call_id, name, caller_id(messages, call_id)) for call_id, name in calls
        ]
        if results:
            try:
                await self._graph.update_state(config, {self._agent.messages_key: results}, node)
            except Exception:
                # the update runs the graph's own routers, which may not expect these messages
                logger.warning(
                    "The cancelled calls are answered with the next message", exc_info=True
                )
            self._run_events.messages.emit_added_results(results)
        await self._graph.update_state(config, None, END)


def _for_nodes(run_input: RunAgentInput, form: ClientForm) -> RunAgentInput:
    """Return the input for nodes: without the tool that only stands for approvals."""
    if not form.approvals_as_calls:
        return run_input
    tools = [tool for tool in run_input.tools or [] if tool.name != REQUEST_APPROVAL]
    return run_input.model_copy(update={"tools": tools})
