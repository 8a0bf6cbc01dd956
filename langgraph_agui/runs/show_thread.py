"""`connect` without a running run: a thread as it stands enters, the events that show it leave."""

from __future__ import annotations

import asyncio

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.kernel.aio import seconds
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import CodedError, ErrorCode, as_state_error
from langgraph_agui.kernel.telemetry import run_context
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.history import shown_thread
from langgraph_agui.runs.paused import load_step
from langgraph_agui.runs.run import emit_pending, start_events


class ShownThread:
    """Emits a thread's messages, state and open interrupts, as a run that runs nothing.

    Args:
        agent: The context that all runs of the agent share.
        run_input: The client's input: it names the thread, and has the client's copy of it.
        config: Configuration for reading the thread.
        reader: Receives the events.

    Attributes:
        task: Done when the thread was shown.
        shows_thread: Always true; see `RemoteReader`.
    """

    shows_thread = True

    def __init__(
        self,
        agent: AgentContext,
        run_input: RunAgentInput,
        config: RunnableConfig,
        reader: Subscription,
    ) -> None:
        self._agent = agent
        self._config = merge_run_configs(
            config, {"configurable": {"thread_id": run_input.thread_id}}
        )
        self._reader = reader
        self._input = run_input
        self._context = run_context(agent.name, run_input)
        self._run_events = self._context.run(start_events, agent, run_input, reader)
        name = f"agui-connect-{run_input.thread_id}"
        self.task = asyncio.create_task(self._work(), name=name, context=self._context)
        reader.on_leave = self._leave

    async def end(self, code: ErrorCode, grace: float = 0) -> None:
        """End it with an error, unless it ends by itself within `grace` seconds.

        To be called in its own event loop.
        """
        await asyncio.wait({self.task}, timeout=grace)
        if self.task.cancel():
            self._context.run(self._run_events.fail_run, CodedError(code))

    async def _leave(self) -> None:
        self.task.cancel()

    async def _work(self) -> None:
        try:
            async with asyncio.timeout(seconds(self._agent.limits.total)):
                pending = (
                    await self._load()
                    if self._agent.graph.has_checkpointer
                    else PendingInterrupts()
                )
            # before approval calls: clients keep the order of arrival
            self._run_events.emit_thread(paused=bool(pending))
            form = self._agent.client_form(self._input)
            self._run_events.finish_run(emit_pending(form, pending, self._run_events))
        except TimeoutError:
            self._run_events.fail_run(CodedError(ErrorCode.RUN_TIMEOUT))
        except Exception as error:
            self._run_events.fail_run(as_state_error(error, self._agent.graph.store))
        finally:
            self._reader.close()

    async def _load(self) -> PendingInterrupts:
        thread = await self._agent.graph.load_thread(self._config, self._agent.messages_key)
        own_tools = self._agent.own_tools(self._input, thread)
        client_tools = {tool.name for tool in self._input.tools or ()}
        thread = shown_thread(thread, self._agent.messages_key, own_tools, client_tools)
        self._run_events.load_thread(thread)
        pending = await self._agent.pending_interrupts(thread.state, self._config)
        step = await load_step(self._agent, thread, pending, self._config)
        self._run_events.load_step(step, show=bool(pending))
        if thread.state.created_at is not None:
            self._run_events.update_graph((), thread.state.values, thread.messages)
        return pending
