"""Runs a graph of this process, and reports to `RunEvents`.

The parts of the graph's stream enter here, its callbacks enter through `LoopCallbackSource`; the
sequencer puts both in one order. They leave as calls of `RunEvents`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypedDict, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, StreamMode

from langgraph_agui.graphs import LocalGraphAdapter, RunGraph
from langgraph_agui.graphs.writes import Writes
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.translate.local.callbacks import LoopCallbackSource
from langgraph_agui.translate.run_events import RunEvents

MODES: Sequence[StreamMode] = ["values", "updates", "custom", "tasks"]

# Receives an exception of `RunEvents` itself.
Fail: TypeAlias = Callable[[Exception], None]


class StreamPart(TypedDict):
    """One part of a graph's stream (LangGraph's v2 format)."""

    type: str
    ns: tuple[str, ...]
    data: object


class GraphRunner:
    """Runs a graph and reports to `RunEvents`. There is one for graphs here and one for graphs on
    a server.

    Args:
        run_events: Receives all reports.
        fail: Receives an exception of `RunEvents` itself.
    """

    def __init__(self, run_events: RunEvents, fail: Fail) -> None:
        self._run_events = run_events
        self._key = run_events.messages_key
        self._fail = fail

    def stop(self) -> None:
        """Report nothing more, and end the threads that cancelling the task of `run` does not
        reach.
        """
        raise NotImplementedError

    async def wait_for_writes(self, limit: float) -> bool:
        """Wait until all is stored that the graph has begun to write, or `limit` seconds are over.
        To be called when `run` has raised.

        Returns:
            Whether all is stored; False if that is unknown.
        """
        return False

    async def run(
        self,
        graph_input: object,
        config: RunnableConfig,
        context: Any,
        graph: RunGraph | None = None,
    ) -> None:
        """Run the graph to its end. Raises the graph's exceptions.

        Args:
            graph_input: Its input.
            config: Its configuration.
            context: Its runtime context.
            graph: The same graph, with the thread already loaded.
        """
        raise NotImplementedError


class LocalGraphRunner(GraphRunner):
    """Runs a graph of this process; see `GraphRunner`."""

    def __init__(self, graph: LocalGraphAdapter, run_events: RunEvents, fail: Fail) -> None:
        super().__init__(run_events, fail)
        self._graph = graph
        shares_messages = partial(graph.shares_messages, messages_key=run_events.messages_key)
        self._source = LoopCallbackSource(run_events, fail, shares_messages)
        self._sequencer = self._source.sequencer
        self._writes = Writes()

    def stop(self) -> None:
        """End the work of callbacks in threads, which cancelling a task does not reach."""
        self._source.stopped = True

    async def wait_for_writes(self, limit: float) -> bool:
        """See `GraphRunner`."""
        return await self._writes.wait(limit)

    async def run(
        self,
        graph_input: object,
        config: RunnableConfig,
        context: Any,
        graph: RunGraph | None = None,
    ) -> None:
        """Run the graph to its end; see `GraphRunner`."""
        compiled, self._writes = graph or self._graph.for_run()
        config = merge_run_configs(config, {"callbacks": [self._source]})
        stream = cast(
            "AsyncIterator[StreamPart]",
            compiled.astream(
                graph_input,
                config,
                context=context,
                stream_mode=MODES,
                subgraphs=True,
                version="v2",
            ),
        )
        try:
            async for part in stream:
                self._handle(part)
        finally:
            self._sequencer.release()

    def _handle(self, part: StreamPart) -> None:
        data, namespace = part["data"], part["ns"]
        subagent = self._source.runs.subagent_at(namespace)
        self._run_events.record_part(part)
        match part["type"]:
            case "tasks":
                task = cast("Mapping[str, object]", data)
                ended = self._run_events.record_task(namespace, task)
                self._sequencer.advance(("end" if ended else "start", str(task["id"])))
            case "values":
                if not namespace:
                    self._sequencer.end_superstep()
                    returned, data = self._graph.returned(data), self._graph.state(data)
                    self._run_events.set_returned(returned, data)
                messages = extract_messages(data, self._key)
                self._run_events.update_graph(namespace, data, messages, subagent)
            case "custom":
                self._run_events.output.emit_written(data, subagent, "|".join(namespace))
            case "updates" if (
                not namespace
                and isinstance(data, Mapping)
                and data.get("__interrupt__") is not None
            ):
                self._run_events.pause(cast("tuple[Interrupt, ...]", data["__interrupt__"]))
