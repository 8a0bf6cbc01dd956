"""`LangGraphAgent`: a compiled graph as an AG-UI agent.

A `RunAgentInput` enters `run` (or `stream_sse`), events (or SSE bytes) leave. Each run is an object of its own, with
a task of its own in which the graph runs, so one agent serves any number of runs at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Self, TypeVar, Unpack, cast

from ag_ui.core import AgentCapabilities, Event, RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui.capabilities import InputReaders, capabilities_of
from langgraph_agui.configs import merge_run_configs
from langgraph_agui.connect import ThreadSnapshot
from langgraph_agui.conventions import NODE_CONVENTIONS, GraphConventions, interrupt_sink
from langgraph_agui.conventions.switches import Switches, read_switches, warn_of_hooks
from langgraph_agui.errors import CodedError
from langgraph_agui.graphs import Graph, adapt_graph
from langgraph_agui.interrupts.decisions import OnApproval, log_approval
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.messages.to_langchain import ProviderFilter
from langgraph_agui.protocol.sse import encode
from langgraph_agui.run import Run
from langgraph_agui.settings import (
    AgentContext,
    Approvals,
    ClientInstructions,
    ClientProtocol,
    InnerModels,
    InputWhilePaused,
    InterruptForm,
    OnBusy,
    OnDisconnect,
    RunSettings,
    SubagentsOption,
    UnknownThreads,
)
from langgraph_agui.state.contract import StateContract
from langgraph_agui.state.options import StateOptions
from langgraph_agui.threads import locks_for
from langgraph_agui.translate.event_sinks import EventSink, Sink, SSESink, Subscription
from langgraph_agui.translate.old_clients import sink_for_client
from langgraph_agui.translate.run_events import refused_run

T = TypeVar("T")


class LangGraphAgent:
    """Runs a graph for AG-UI front ends.

    Args:
        graph: A compiled `StateGraph`, a `create_agent` agent, or a functional-API entrypoint; with or without a
            checkpointer. Or a `RemoteGraph`, on a LangGraph server. The thread id of the input is its `thread_id`.
        name: The agent's name, for its capabilities.
        description: What it does, for its capabilities.
        config: Configuration of every run (`recursion_limit`, `callbacks`, `configurable`, ...).
        messages_key: The state channel that holds the conversation. It is shown as messages, not as state.
        on_disconnect: What happens to a run when its client leaves: `"cancel"` stops model, tools and subgraphs,
            `"continue"` lets it run to its end (and to its checkpoint).
        emit_raw: Whether LangGraph's own stream parts are sent too, as `RAW`. They hold the whole state, prompts
            included: for debugging only.
        expose_errors: Whether `RUN_ERROR.message` is the exception's text. Such texts hold secrets; the log has
            them in any case, under the `correlationId` of the event's metadata.
        reasoning: Who sees the model's reasoning, and how it travels (docs/reasoning.md). By default all of it is
            shown, and comes back on the next turn.
        subagents: What clients see of subagents, the graphs inside the graph (docs/subagents.md): their messages under
            their own ids (`"attributed"`), the same as messages of the agent (`"inline"`), or nothing (`"hidden"`).
            By default (`"auto"`) clients of before AG-UI 1.0 get them inline, and others attributed.
        client_protocol: In which form clients get events (docs/frontends.md): in that of AG-UI 1.0, in that of before
            (`"0.x"`), or (`"auto"`) in that of before if the input has no `protocolVersion`.
        inner_models: What clients see of models that tools call: what they write, until the tool's node has ended
            (`"live"`), or nothing (`"hidden"`).
        interrupts: How clients are asked (docs/approvals.md): by the outcome of `RUN_FINISHED`, by events as those of
            `ag-ui-langgraph` (`"legacy"`), or by both, which is the default (`"auto"`) for clients of before AG-UI 1.0.
            Answers are taken in either form.
        unknown_threads: What becomes of the history that a client sends with a thread that the server does not know: it
            is imported, as without a checkpointer, or ignored but for the user's messages. Nothing imported counts as
            an approval, and no imported call is run.
        approvals: How approvals are shown: as AG-UI interrupts, or (`"tool_call"`), for clients that know none, as
            calls of a client tool `request_approval` (docs/approvals.md).
        approval_timeout: For how long an interrupt may be answered; it can be cancelled at any time. An interrupt whose
            value has an `expiresAt` of its own keeps that.
        on_approval: Called with each answer before the graph resumes (docs/approvals.md); may be async. If it raises,
            nothing runs. The default writes a line to the log.
        input_while_paused: What happens to a new user message while interrupts are open: it is refused, or it cancels
            all of them and runs.
        client_instructions: Whether the client's system and developer messages reach the model.
        on_busy: What happens to a run while another one is going on in its thread: it is refused (`thread_busy`), or it
            waits. This holds across workers if the checkpointer is on Postgres (docs/scaling.md).
        state: What clients see of the graph's state, and what they may change (docs/state.md). By default the keys of
            the output schema and of the input schema, without the messages.
        state_schema: A pydantic model of the state as clients see it. The state that a client sends is checked against
            it before anything runs; with `check_output` in `state`, the graph's too. The capabilities publish it.
        capabilities: Sections that replace what is found of the agent's capabilities.
        switches: Those of `ag-ui-langgraph`, such as `subagent_visibility` (docs/migrating.md).
    """

    def __init__(
        self,
        graph: Graph,
        name: str = "agent",
        description: str | None = None,
        config: RunnableConfig | None = None,
        *,
        messages_key: str = "messages",
        on_disconnect: OnDisconnect = "cancel",
        emit_raw: bool = False,
        expose_errors: bool = False,
        reasoning: ReasoningOptions | None = None,
        subagents: SubagentsOption = "auto",
        client_protocol: ClientProtocol = "auto",
        inner_models: InnerModels = "live",
        interrupts: InterruptForm = "auto",
        unknown_threads: UnknownThreads = "import",
        approvals: Approvals = "interrupt",
        approval_timeout: timedelta | None = None,
        on_approval: OnApproval = log_approval,
        input_while_paused: InputWhilePaused = "refuse",
        client_instructions: ClientInstructions = "ignore",
        on_busy: OnBusy = "refuse",
        state: StateOptions | None = None,
        state_schema: type[BaseModel] | None = None,
        capabilities: AgentCapabilities | None = None,
        **switches: Unpack[Switches],
    ) -> None:
        if not isinstance(graph, Pregel | RemoteGraph):
            raise TypeError(f"graph must be a compiled graph (did you call .compile()?), not {type(graph).__name__}")
        settings = RunSettings(
            messages_key=messages_key,
            on_disconnect=on_disconnect,
            emit_raw=emit_raw,
            expose_errors=expose_errors,
            reasoning=reasoning or ReasoningOptions(),
            subagents=subagents,
            client_protocol=client_protocol,
            inner_models=inner_models,
            interrupts=interrupts,
            unknown_threads=unknown_threads,
            approvals=approvals,
            approval_timeout=approval_timeout,
            on_approval=on_approval,
            input_while_paused=input_while_paused,
            client_instructions=client_instructions,
            on_busy=on_busy,
        )
        settings = replace(settings, **read_switches(switches))
        self.graph = graph
        self.name = name
        self.description = description
        self.config = config
        adapter, options = adapt_graph(graph), settings.reasoning
        conventions = GraphConventions(adapter)
        show = redactor_for(options)
        contract = StateContract(
            adapter, state or StateOptions(), messages_key, state_schema, show, conventions.state_keys
        )
        # What a checkpointer holds is the graph's own; only a client's history needs a filter.
        known, contents = adapter.has_checkpointer or bool(options.providers), adapter.contents
        found = contents.providers if contents is not None else ()
        providers = ProviderFilter(options.providers) if known else ProviderFilter(found, learns=True)
        self._capabilities = capabilities or AgentCapabilities()
        self._readers = InputReaders(contents, conventions.fields_read())
        self._context = AgentContext(
            adapter, settings, contract, conventions, NODE_CONVENTIONS, providers, self._readers.report_unread
        )
        self._running: list[Run] = []

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Warn of methods that a subclass for `ag-ui-langgraph` overrides and that nothing calls here."""
        super().__init_subclass__(**kwargs)
        warn_of_hooks(cls)

    async def run(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None, context: object = None
    ) -> AsyncGenerator[Event, None]:
        """Run the graph and yield the events of the run.

        `RUN_STARTED` comes first and at once. `RUN_FINISHED` or `RUN_ERROR` comes last: a run that fails does not
        raise. For what happens when the caller leaves the iterator (`aclose`, cancellation), see `on_disconnect`.

        Args:
            run_input: What the client sent (AG-UI 1.0, `RunAgentInput`).
            config: Configuration of this run, over the agent's.
            context: The graph's runtime context for this run.
        """
        try:
            reader = await self.begin(EventSink, run_input, config=config, context=context)
        except CodedError as error:
            for refusal in refused_run(run_input, error):
                yield cast("Event", refusal)
            return
        async with reader:
            while batch := await reader.take():
                for event in batch:
                    reader.behind = event is not batch[-1]
                    yield cast("Event", event)

    async def stream_sse(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None, context: object = None
    ) -> AsyncGenerator[bytes, None]:
        """Run the graph and yield its events as SSE frames; frames that wait together are yielded together.

        The events are those of `run`, without an object for each token. Use it with web frameworks other than FastAPI.
        """
        try:
            reader = await self.begin(SSESink, run_input, config=config, context=context)
        except CodedError as error:
            yield b"".join(encode(event) for event in refused_run(run_input, error))
            return
        async with reader:
            while batch := await reader.take():
                yield b"".join(batch)

    async def begin(
        self,
        sink: Callable[[Callable[[T], object]], Sink],
        run_input: RunAgentInput,
        *,
        config: RunnableConfig | None = None,
        context: object = None,
    ) -> Subscription[T]:
        """Begin a run and return the subscription to it. A server learns whether the run may begin before it answers.

        Args:
            sink: Makes the sink of the subscription: `EventSink` or `SSESink`.
            run_input: What the client sent.
            config: Configuration of this run, over the agent's.
            context: The graph's runtime context for this run.

        Raises:
            RunInputError: Another run is going on in the thread (`thread_busy`).
            StateError: The database that holds the threads cannot be reached.
        """
        reader = self._subscription(sink, run_input)
        config = merge_run_configs(self.config, config)  # which may fail: before the thread is locked
        graph, lease = self._context.graph, None
        locks = locks_for(graph.lock_owner) if graph.has_checkpointer else None
        if locks is not None and self._context.settings.on_busy == "refuse":
            lease = await locks.acquire(run_input.thread_id, wait=False)
        try:
            run = Run(self._context, run_input, config, context, reader, lease, locks if lease is None else None)
        except BaseException:
            if lease is not None:
                lease.let_go()
            raise
        self._running.append(run)
        run.task.add_done_callback(lambda _task: self._running.remove(run))
        return reader

    async def connect(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield the thread as it stands, without running anything: messages with their reasoning, state, interrupts.

        Ids are those of the live runs; an unknown thread is an empty one. If a run is going on in the thread, in this
        process, its events follow: first what there is so far, then the rest as it comes.

        Args:
            run_input: The thread, and what the client holds of it already.
            config: Configuration for reading the thread, over the agent's.
        """
        reader = self.subscribe(EventSink, run_input, config=config)
        async with reader:
            while batch := await reader.take():
                for event in batch:
                    reader.behind = event is not batch[-1]
                    yield cast("Event", event)

    def subscribe(
        self,
        sink: Callable[[Callable[[T], object]], Sink],
        run_input: RunAgentInput,
        *,
        config: RunnableConfig | None = None,
    ) -> Subscription[T]:
        """Connect to the thread and return the reader; `sink` is that of `begin`. See `connect`."""
        reader = self._subscription(sink, run_input)
        for run in self._running:
            if run.input.thread_id == run_input.thread_id and not run.finished:
                run.join(reader, run_input)
                return reader
        ThreadSnapshot(self._context, run_input, merge_run_configs(self.config, config), reader)
        return reader

    def _subscription(self, sink: Callable[[Callable[[T], object]], Sink], run_input: RunAgentInput) -> Subscription[T]:
        reader = Subscription(sink)
        sink_of_client = sink_for_client(reader.sink, self._context, run_input)
        reader.sink = interrupt_sink(sink_of_client, self._context.settings, run_input)
        return reader

    def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop a run: its readers get the `cancelled` outcome. Return whether it was running in this process."""
        runs = [run for run in self._running if (run.input.thread_id, run.input.run_id) == (thread_id, run_id)]
        for run in runs:
            run.stop()
        return bool(runs)

    def clone(self) -> Self:
        """Return this agent: one object serves any number of runs at once."""
        return self

    def get_capabilities(self) -> dict[str, object]:
        """Return `capabilities` as the JSON that clients get. A subclass may override it."""
        return self.capabilities().model_dump(by_alias=True, mode="json")

    def capabilities(self) -> AgentCapabilities:
        """Return what this agent can do (AG-UI 1.0, capabilities): what is found in the graph, and what was configured.

        A field is None where nobody knows, as for a graph on a server.
        """
        found = capabilities_of(self._context, self._readers, self.name, self.description)
        given = self._capabilities
        return found.model_copy(update={field: getattr(given, field) for field in given.model_fields_set})
