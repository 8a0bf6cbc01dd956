"""`LangGraphAgent`: a compiled graph as an AG-UI agent.

A `RunAgentInput` enters `run` (or `stream_sse`), events (or SSE bytes) leave. Each run is an object of its own, with
a task of its own in which the graph runs, so one agent serves any number of runs at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Self, TypeVar, Unpack, cast
from uuid import uuid4

from ag_ui.core import AgentCapabilities, BaseEvent, Event, RunAgentInput
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from langgraph_agui.aio import Maybe, awaited, run_in_loop_of, use_own_executor
from langgraph_agui.capabilities import InputReaders, capabilities_of, warn_of_unknown_tools
from langgraph_agui.configs import merge_run_configs
from langgraph_agui.connect import ThreadSnapshot
from langgraph_agui.conventions import NODE_CONVENTIONS, GraphConventions, interrupt_sink
from langgraph_agui.conventions.switches import AgentOptions, read_options, warn_of_hooks
from langgraph_agui.errors import CodedError, ErrorCode, RunInputError
from langgraph_agui.graphs import Graph, adapt_graph
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.messages.to_langchain import ProviderFilter
from langgraph_agui.protocol.cleaning import clean_input
from langgraph_agui.protocol.sse import encode
from langgraph_agui.run import Run
from langgraph_agui.run_store.store import RunStore
from langgraph_agui.settings import AgentContext, RunSettings, check_type
from langgraph_agui.sharing import SharedRuns
from langgraph_agui.sharing.followed import FollowedRun
from langgraph_agui.state.contract import StateContract
from langgraph_agui.state.options import StateOptions
from langgraph_agui.telemetry import watch_queue
from langgraph_agui.threads import locks_for
from langgraph_agui.translate.event_sinks import EventSink, MakeSink, SSESink
from langgraph_agui.translate.old_clients import sink_for_client
from langgraph_agui.translate.run_events import refused_run
from langgraph_agui.translate.subscription import Subscription

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that the store of the threads has to answer whether it is there.
_READY_TIMEOUT = 2.0

# A thread that nobody has, to ask it for.
_NO_THREAD = f"langgraph-agui-{uuid4()}"


class LangGraphAgent:
    """Runs a graph for AG-UI front ends.

    The switches of `ag-ui-langgraph`, such as `subagent_visibility`, are options too (docs/migrating.md).

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
        reasoning: Who sees the model's reasoning, and how it travels (guides/reasoning.md). By default all of it is
            shown, and comes back on the next turn.
        subagents: What clients see of subagents, the graphs inside the graph (guides/subagents.md): their messages
            under their own ids (`"attributed"`), the same as messages of the agent (`"inline"`), or nothing
            (`"hidden"`). By default (`"auto"`) clients of before AG-UI 1.0 get them inline, and others attributed.
        client_protocol: In which form clients get events (reference/clients.md): in that of AG-UI 1.0, in that of
            before (`"0.x"`), or (`"auto"`) in that of before if the input has no `protocolVersion`.
        inner_models: What clients see of models that tools call: what they write, until the tool's node has ended
            (`"live"`), or nothing (`"hidden"`).
        interrupts: How clients are asked (guides/approvals.md): by the outcome of `RUN_FINISHED`, by events as those of
            `ag-ui-langgraph` (`"legacy"`), or by both. By default (`"auto"`) clients of before AG-UI 1.0 are asked by
            events, and others by the outcome. Answers are taken in each form.
        unknown_threads: What becomes of the history that a client sends with a thread that the server does not know: it
            is imported, as without a checkpointer, or ignored but for the user's messages. Nothing imported counts as
            an approval, and no imported call is run.
        approvals: How approvals are shown: as AG-UI interrupts, or (`"tool_call"`), for clients that know none, as
            calls of a client tool `request_approval` (guides/approvals.md).
        approval_timeout: For how long an interrupt may be answered, unless its value has an `expiresAt` of its own.
        on_approval: Called with each answer before the graph resumes (guides/approvals.md); may be async. If it raises,
            nothing runs. The default writes a line to the log.
        input_while_paused: What happens to a new user message while interrupts are open: it is refused, or it cancels
            all of them and runs.
        client_instructions: Whether the client's system and developer messages reach the model.
        media_urls: Which URLs media in a client's messages may have, because the server may fetch them: `https` to
            public hosts (`"public"`), `"any"` with a scheme, `"none"`, or those for which a function returns True. A
            path is held like a URL. Inline data is taken if it is a file of the kind that the part names. A run with
            other media is refused (operations/limits.md).
        on_busy: What happens to a run while another one is going on in its thread: it is refused (`thread_busy`), or it
            waits. This holds across workers if the checkpointer is on Postgres (operations/scaling.md).
        run_timeout: Seconds, or a `timedelta`, after which a run is stopped with the code `run_timeout`. The time in
            which it waits for its thread does not count.
        idle_timeout: The same for a run that emits nothing for so long, also because its model thinks in hiding.
        max_concurrent_runs: How many runs this agent has at once, in this process, those that wait included; one more
            is refused (`too_many_runs`).
        max_waiting: How many runs wait in one thread, if `on_busy` is `"wait"`; one more is refused (`thread_busy`).
        max_readers: How many clients follow one run; one more is refused (`too_many_readers`).
        max_unread: The bytes that wait for a client. With more it gets `reader_too_slow`, and has left the run.
        merge_fragments: Whether fragments of one text, reasoning or call that wait together for a client leave as one
            event, which saves bytes and the client's work. At the pace of most providers none wait.
        state: What clients see of the graph's state, and what they may change (guides/state.md). By default the keys of
            the output schema and of the input schema, without the messages.
        state_schema: A pydantic model of the state as clients see it. The state that a client sends is checked against
            it before anything runs; with `check_output` in `state`, the graph's too. The capabilities publish it.
        capabilities: Sections that replace what is found of the agent's capabilities.
        run_store: Where the workers of an agent find each other's runs, by its name, to follow and stop them: a
            `RedisRunStore` or a `PostgresRunStore` (operations/scaling.md). By default only this process has its runs.
    """

    def __init__(
        self,
        graph: Graph,
        name: str = "agent",
        description: str | None = None,
        config: RunnableConfig | None = None,
        *,
        reasoning: ReasoningOptions | None = None,
        state: StateOptions | None = None,
        state_schema: type[BaseModel] | None = None,
        capabilities: AgentCapabilities | None = None,
        run_store: RunStore | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        adapter = adapt_graph(graph)
        if adapter.has_checkpointer and (problem := adapter.checkpointer_problem()):
            raise TypeError(problem)
        check_type("description", description, str | None)
        check_type("state", state, StateOptions | None)
        check_type("capabilities", capabilities, AgentCapabilities | None)
        check_type("run_store", run_store, RunStore | None)
        if state_schema is not None and not (isinstance(state_schema, type) and issubclass(state_schema, BaseModel)):
            raise TypeError(f"state_schema must be a pydantic model, not {state_schema!r}")
        reasoning = reasoning or ReasoningOptions()
        settings = RunSettings(**read_options(options), reasoning=reasoning)
        self.graph = graph
        self.name = name
        self.description = description
        self.config = config
        conventions = GraphConventions(adapter)
        show = redactor_for(reasoning)
        contract = StateContract(
            adapter, state or StateOptions(), settings.messages_key, state_schema, show, conventions.state_keys
        )
        # What a checkpointer holds is the graph's own; only a client's history needs a filter.
        known, contents = adapter.has_checkpointer or bool(reasoning.providers), adapter.contents
        found = contents.providers if contents is not None else ()
        providers = ProviderFilter(reasoning.providers) if known else ProviderFilter(found, learns=True)
        self._capabilities = capabilities or AgentCapabilities()
        self._readers = InputReaders(contents, conventions.fields_read())
        warn_of_unknown_tools(contract.predict, contents, self._readers)
        self._context = AgentContext(
            name, adapter, settings, contract, conventions, NODE_CONVENTIONS, providers, self._readers.report_unread
        )
        self._shared = SharedRuns(self._context, run_store, name) if run_store is not None else None
        self._running: list[Run] = []
        self._shown: set[ThreadSnapshot | FollowedRun] = set()
        self._serving = 0
        self._stopping = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Warn of methods that a subclass for `ag-ui-langgraph` overrides and that nothing calls here."""
        super().__init_subclass__(**kwargs)
        warn_of_hooks(cls)

    def run(
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
        begin = partial(self.begin, EventSink, run_input, config=config, context=context)
        return _events_of(self.name, run_input, begin)

    async def stream_sse(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None, context: object = None
    ) -> AsyncGenerator[bytes, None]:
        """Run the graph and yield its events as SSE frames; frames that wait together are yielded together.

        The events are those of `run`, without an object for each token. Use it with web frameworks other than FastAPI.
        """
        try:
            reader = await self.begin(SSESink, run_input, config=config, context=context)
        except CodedError as error:
            yield b"".join(encode(event) for event in refused_run(run_input, error, self.name))
            return
        async with reader:
            while batch := await reader.take():
                yield b"".join(batch)

    async def begin(
        self,
        sink: MakeSink[T],
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
            RunInputError: Another run is going on in the thread (`thread_busy`), as many runs as the agent may have
                (`too_many_runs`), the server is stopping (`server_stopping`), or an id is no text (`invalid_input`).
            StateError: The database that holds the threads cannot be reached.
        """
        run_input, weight = clean_input(run_input)
        reader = self._subscription(sink, run_input)
        config = merge_run_configs(self.config, config)  # which may fail: before the thread is locked
        graph, settings, lease = self._context.graph, self._context.settings, None
        self._check_room(len(self._running))
        locks = locks_for(graph.lock_owner) if graph.has_checkpointer else None
        if locks is not None and settings.on_busy == "refuse":
            lease = await locks.acquire(run_input.thread_id)
        try:
            self._check_room(len(self._running))  # others may have begun meanwhile
            run = Run(self._context, run_input, config, context, reader, lease, locks, weight)
        except BaseException:
            if lease is not None:
                lease.let_go()
            raise
        self._running.append(run)
        run.task.add_done_callback(lambda _task: self._running.remove(run))
        if self._shared is not None:
            self._shared.share(run)
        return reader

    def _check_room(self, going: int) -> None:
        if self._stopping:
            raise RunInputError(ErrorCode.SERVER_STOPPING)
        limit = self._context.settings.max_concurrent_runs
        if limit is not None and going >= limit:
            raise RunInputError(ErrorCode.TOO_MANY_RUNS)

    def connect(self, run_input: RunAgentInput, *, config: RunnableConfig | None = None) -> AsyncGenerator[Event, None]:
        """Yield the thread as it stands, without running anything: messages with their reasoning, state, interrupts.

        Ids are those of the live runs; an unknown thread is an empty one. If a run is going on in the thread (with a
        `run_store`, in any worker), its events follow: first what there is so far, then the rest as it comes. If the
        graph keeps no threads, the `run_id` must be that of the run: its thread id is no proof of having begun it.

        Args:
            run_input: The thread, and what the client holds of it already.
            config: Configuration for reading the thread, over the agent's.
        """
        return _events_of(self.name, run_input, partial(self.subscribe, EventSink, run_input, config=config))

    def subscribe(
        self, sink: MakeSink[T], run_input: RunAgentInput, *, config: RunnableConfig | None = None
    ) -> Subscription[T]:
        """Connect to the thread and return the reader; `sink` is that of `begin`. See `connect`.

        Raises:
            RunInputError: As many clients follow the run as may (`too_many_readers`), or an id is no text
                (`invalid_input`).
        """
        run_input, _ = clean_input(run_input)
        reader = self._subscription(sink, run_input)
        for run in self._running:
            if run.may_be_joined(run_input):
                run.join(reader, run_input)
                if self._shared is not None:
                    self._shared.join(run, run_input.run_id)
                return reader
        self._check_room(sum(one.shows_thread for one in self._shown))
        config = merge_run_configs(self.config, config)
        show = partial(ThreadSnapshot, self._context, run_input, config, reader)
        shown = show() if self._shared is None else self._shared.follow(run_input, reader, show)
        self._shown.add(shown)
        shown.task.add_done_callback(lambda _task: self._shown.discard(shown))
        return reader

    def _subscription(self, sink: MakeSink[T], run_input: RunAgentInput) -> Subscription[T]:
        settings = self._context.settings
        reader = Subscription(sink, settings.max_unread, merges=settings.merge_fragments)
        watch_queue(reader, self._context.name)
        sink_of_client = sink_for_client(reader.sink, self._context, run_input)
        reader.sink = interrupt_sink(sink_of_client, settings, run_input)
        return reader

    async def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop a run: its readers get the `cancelled` outcome. Return whether it was going on.

        Who has joined it may use a `run_id` of its own. With a `run_store` the run may be in any worker; raises
        `StateError` if that does not answer.
        """
        runs = [run for run in self._running if run.input.thread_id == thread_id and run_id in run.run_ids]
        for run in runs:
            run.stop()
        return bool(runs) or (self._shared is not None and await self._shared.cancel(thread_id, run_id))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The time in which an application serves the agent: the last one that leaves it drains the agent.

        Enter it in the application's lifespan, inside that of the checkpointer. The routes of an agent that is mounted
        before the application starts do it by themselves.

        It also gives the event loop an executor with room for synchronous nodes and tools that hang, unless the
        application has set one. uvloop does not show that: there, set one of your own inside.

        Raises:
            ValueError: The graph must pause, or run asynchronously, and its checkpointer does not allow it.
        """
        if problem := self._context.graph.checkpointer_problem():
            raise ValueError(problem)
        use_own_executor()
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            if not self._serving:
                await self.drain()
                self._stopping = False

    async def drain(self, grace: float = 0) -> None:
        """Refuse new runs, let those that are going on end, and end what is left with `server_stopping`.

        Args:
            grace: Seconds that the runs have to end by themselves.
        """
        self._stopping = True
        going: list[Run | ThreadSnapshot | FollowedRun] = [*self._running, *self._shown]
        await asyncio.gather(*(run_in_loop_of(one.task, one.end(ErrorCode.SERVER_STOPPING, grace)) for one in going))
        if self._shared is not None:
            await self._shared.drain()

    async def is_ready(self) -> bool:
        """Return whether the agent takes runs: it is not stopping, and the store of its threads answers."""
        if self._stopping:
            return False
        try:
            async with asyncio.timeout(_READY_TIMEOUT):
                if self._context.graph.has_checkpointer:
                    await self._context.graph.load_state({"configurable": {"thread_id": _NO_THREAD}})
        except Exception:
            logger.exception("The store of the threads does not answer.")
            return False
        return True

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


async def _events_of(
    name: str, run_input: RunAgentInput, begin: Callable[[], Maybe[Subscription[BaseEvent]]]
) -> AsyncGenerator[Event, None]:
    """Yield the events of the subscription that `begin` returns; those of a refusal by agent `name` if it refuses."""
    try:
        reader = await awaited(begin())
    except CodedError as error:
        for refusal in refused_run(run_input, error, name):
            yield cast("Event", refusal)
        return
    async with reader:
        while batch := await reader.take():
            for event in batch:
                reader.behind = event is not batch[-1]
                yield cast("Event", event)
