"""`LangGraphAgent`: a compiled graph as an AG-UI agent.

A `RunAgentInput` enters `run` (or `stream_sse`), events (or SSE bytes) leave. Each run is an object of its own, with
a task of its own in which the graph runs, so one agent serves any number of runs at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Literal, TypeVar, cast

from ag_ui.core import (
    AgentCapabilities,
    Event,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    RunAgentInput,
    StateCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from langgraph_agui.configs import merged
from langgraph_agui.graphs import Graph, has_checkpointer
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.models.known import Providers
from langgraph_agui.run import Run, RunSettings
from langgraph_agui.translate.sinks import EventSink, Sink, SSESink

T = TypeVar("T")


class LangGraphAgent:
    """Runs a graph for AG-UI front ends.

    Args:
        graph: A compiled `StateGraph`, a `create_agent` agent, or a functional-API entrypoint; with or without a
            checkpointer. The thread id of the input is its `thread_id`.
        name: The agent's name, for its capabilities.
        description: What it does, for its capabilities.
        config: Configuration of every run (`recursion_limit`, `callbacks`, `configurable`, ...).
        messages_key: The state channel that holds the conversation. It is shown as messages, not as state.
        on_disconnect: What becomes of a run whose events nobody reads any more: `"cancel"` stops model, tools and
            subgraphs, `"continue"` lets it come to its end (and to its checkpoint).
        emit_raw: Whether LangGraph's own stream parts are sent too, as `RAW`. They hold the whole state, prompts
            included: for debugging only.
        expose_errors: Whether `RUN_ERROR.message` is the exception's text. Such texts hold secrets; the log has
            them in any case, under the `correlationId` of the event's metadata.
        reasoning: Who sees the model's reasoning, and how it travels (docs/reasoning.md). By default all of it is
            shown, and comes back on the next turn.
    """

    def __init__(
        self,
        graph: Graph,
        name: str = "agent",
        description: str | None = None,
        config: RunnableConfig | None = None,
        *,
        messages_key: str = "messages",
        on_disconnect: Literal["cancel", "continue"] = "cancel",
        emit_raw: bool = False,
        expose_errors: bool = False,
        reasoning: ReasoningOptions | None = None,
    ) -> None:
        if not isinstance(graph, Pregel):
            raise TypeError(f"graph must be a compiled graph (did you call .compile()?), not {type(graph).__name__}")
        self.graph = graph
        self.name = name
        self.description = description
        self.config = config
        options = reasoning or ReasoningOptions()
        if emit_raw and options.visibility != "full":
            raise ValueError("emit_raw sends all of the graph's state, which would show the reasoning that is hidden")
        # What a checkpointer holds is the graph's own; only a client's history comes past here.
        known = has_checkpointer(graph) or bool(options.providers)
        providers = Providers() if known else Providers.of(graph)
        self._settings = RunSettings(messages_key, on_disconnect, emit_raw, expose_errors, options, providers)
        self._running: list[tuple[str, str, Callable[[], None]]] = []

    async def run(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None, context: object = None
    ) -> AsyncGenerator[Event, None]:
        """Run the graph and yield the events of the run.

        `RUN_STARTED` comes first and at once, one of `RUN_FINISHED` and `RUN_ERROR` last: a run that fails does not
        raise. Leaving the iterator (`break` and `aclose`, cancelling) leaves the run, see `on_disconnect`.

        Args:
            run_input: What the client sent (AG-UI 1.0, `RunAgentInput`).
            config: Configuration of this run, over the agent's.
            context: The graph's runtime context for this run.
        """
        async with self._begin(EventSink, run_input, config, context) as outlet:
            while batch := await outlet.take():
                for event in batch:
                    yield cast("Event", event)

    async def stream_sse(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None, context: object = None
    ) -> AsyncGenerator[bytes, None]:
        """Run the graph and yield its events as SSE frames, several in one piece where several wait.

        The same events as `run`, without building an object for each token; the way to a web framework of your own.
        """
        async with self._begin(SSESink, run_input, config, context) as outlet:
            while batch := await outlet.take():
                yield b"".join(batch)

    def _begin(
        self,
        sink: Callable[[Callable[[T], object]], Sink],
        run_input: RunAgentInput,
        config: RunnableConfig | None,
        context: object,
    ) -> Run[T]:
        run = Run(self.graph, run_input, merged(self.config, config), context, self._settings, sink)
        entry = (run_input.thread_id, run_input.run_id, run.stop)
        self._running.append(entry)
        run.on_end(lambda: self._running.remove(entry))
        return run

    def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop a run on purpose: its reader gets the `cancelled` outcome. Return whether it was running here."""
        stops = [stop for thread, run, stop in self._running if (thread, run) == (thread_id, run_id)]
        for stop in stops:
            stop()
        return bool(stops)

    def capabilities(self) -> AgentCapabilities:
        """What this agent can do, as AG-UI 1.0 describes it. Informative: the stream is the truth."""
        stored = has_checkpointer(self.graph)
        return AgentCapabilities(
            identity=IdentityCapabilities(name=self.name, type="langgraph", description=self.description),
            transport=TransportCapabilities(streaming=True),
            tools=ToolsCapabilities(supported=True, parallel_calls=True),
            state=StateCapabilities(snapshots=True, deltas=False, persistent_state=stored),
            reasoning=ReasoningCapabilities(supported=True, streaming=True, encrypted=True),
            human_in_the_loop=HumanInTheLoopCapabilities(supported=stored, interrupts=stored),
        )
