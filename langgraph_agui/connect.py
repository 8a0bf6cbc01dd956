"""A thread as it stands: what `connect` tells where no run is going on."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.configs import merge_run_configs
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.approval_tool import present_interrupts
from langgraph_agui.interrupts.pending_reader import PendingInterrupts
from langgraph_agui.settings import RunSettings
from langgraph_agui.threads.thread import open_thread
from langgraph_agui.translate.event_sinks import Subscription

T = TypeVar("T")


class ThreadSnapshot:
    """Tells a thread's state, messages and open interrupts, as a run that runs nothing.

    Args:
        graph: The graph.
        run_input: The thread, and what the client holds of it.
        config: Configuration for reading the thread.
        settings: The agent's settings.
        reader: Hears it.
    """

    def __init__(
        self,
        graph: GraphAdapter,
        run_input: RunAgentInput,
        config: RunnableConfig,
        settings: RunSettings,
        reader: Subscription[T],
    ) -> None:
        self._graph = graph
        self._config = merge_run_configs(config, {"configurable": {"thread_id": run_input.thread_id}})
        self._settings = settings
        self._reader = reader
        self._thread_id = run_input.thread_id
        self._version: object = None
        self._translation = settings.translation(run_input, reader.sink)
        self._translation.emit_run_started()
        self._task = asyncio.create_task(self._work(), name=f"agui-look-{run_input.thread_id}")
        reader.on_leave = self._leave

    async def _leave(self) -> None:
        self._task.cancel()
        if not self._reader.unread and self._version is not None:
            self._settings.shown.open(self._thread_id).record_received(self._version)

    async def _work(self) -> None:
        translation = self._translation
        try:
            pause = await self._read() if self._graph.has_checkpointer else PendingInterrupts()
            translation.emit_messages_snapshot()  # first, for clients keep the order in which they are told
            interrupts = translation.attribute_interrupts(
                present_interrupts(pause, self._settings.approvals, translation.emit_approval_calls)
            )
            translation.finish_run(interrupts)
        except Exception as error:  # whatever fails, the client is told
            translation.fail_run(error)
        finally:
            self._reader.close()

    async def _read(self) -> PendingInterrupts:
        thread = await open_thread(self._graph, self._config, self._settings.messages_key)
        self._translation.load_thread(thread.messages)
        self._version = thread.version
        if thread.state.created_at is not None:
            self._translation.update_graph((), thread.state.values, thread.messages)
        return await self._settings.pauses(self._graph).of_thread(thread.state, self._config)
