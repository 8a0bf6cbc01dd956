"""A thread as it stands: what `connect` tells where no run is going on."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.configs import merged
from langgraph_agui.errors import StateError
from langgraph_agui.graphs import Graph, has_checkpointer, load_state, output_names, thread_messages
from langgraph_agui.interrupts.convention import ask
from langgraph_agui.interrupts.pause import Pause
from langgraph_agui.settings import RunSettings
from langgraph_agui.translate.readers import Reader
from langgraph_agui.translate.state import StateView
from langgraph_agui.translate.translation import Translation

T = TypeVar("T")


class Look:
    """Tells a thread's state, messages and open interrupts, as a run that runs nothing.

    Args:
        graph: The graph.
        run_input: The thread, and what the client holds of it.
        config: Configuration for reading the thread.
        settings: The agent's settings.
        reader: Hears it.
    """

    def __init__(
        self, graph: Graph, run_input: RunAgentInput, config: RunnableConfig, settings: RunSettings, reader: Reader[T]
    ) -> None:
        self._graph = graph
        self._config = merged(config, {"configurable": {"thread_id": run_input.thread_id}})
        self._settings = settings
        self._outlet = reader.outlet
        hidden, emit = {settings.messages_key}, reader.sink.event
        state = StateView(run_input.state, output_names(graph), hidden, emit, settings.show)
        self._translation = Translation(
            run_input, reader.sink, state, reasoning=settings.reasoning, expose_errors=settings.expose_errors
        )
        self._translation.start()
        self._task = asyncio.create_task(self._work(), name=f"agui-look-{run_input.thread_id}")
        reader.leave = self._leave

    async def _leave(self) -> None:
        self._task.cancel()

    async def _work(self) -> None:
        translation = self._translation
        try:
            pause = await self._read() if has_checkpointer(self._graph) else Pause()
            translation.restate()  # first, for clients keep the order in which they are told
            interrupts = ask(pause, self._settings.approvals, translation.announce)
            translation.finish(interrupts)
        except Exception as error:  # whatever fails, the client is told
            translation.fail(error)
        finally:
            self._outlet.close()

    async def _read(self) -> Pause:
        try:
            stored = await load_state(self._graph, self._config)
        except Exception as error:
            raise StateError from error
        messages = thread_messages(self._graph, stored, self._settings.messages_key)
        self._translation.know(messages)
        if stored.created_at is not None:
            self._translation.values((), stored.values, messages)
        return await self._settings.pauses(self._graph).of_thread(stored, self._config)
