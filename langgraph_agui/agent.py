"""`LangGraphAgent`: a compiled graph as an AG-UI agent.

A `RunAgentInput` enters `run` (or `stream_sse`), events (or SSE bytes) leave. Each run is an object
of its own, with a task of its own in which the graph runs, so one agent serves any number of runs
at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from inspect import signature
from typing import Self, Unpack, cast
from uuid import uuid4

from ag_ui.core import AgentCapabilities, Event, RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.compat.inputs import FilledKeys
from langgraph_agui.compat.switches import (
    OptionGroups,
    Switches,
    read_approvals,
    read_switches,
    warn_of_hooks,
)
from langgraph_agui.graphs import Graph, adapt_graph
from langgraph_agui.kernel.aio import Going, Maybe, awaited, run_in_loop_of, use_own_executor
from langgraph_agui.kernel.checks import check_choice, check_type
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import CodedError, ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.telemetry import run_context, watch_queue
from langgraph_agui.messages.redaction import redactor_for
from langgraph_agui.messages.to_langchain import ProviderFilter
from langgraph_agui.options import (
    ApprovalOptions,
    ClientOptions,
    OnBusy,
    OnDisconnect,
    ReasoningOptions,
    RunLimits,
    StateOptions,
    TrustOptions,
)
from langgraph_agui.protocol.input import CleanInput, clean_input
from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.sinks import own_copy
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.runs.capabilities import capabilities_of
from langgraph_agui.runs.client_tools import ClientTools
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.run import Run
from langgraph_agui.runs.show_thread import ShownThread
from langgraph_agui.state.contract import StateContract
from langgraph_agui.translate.lifecycle import refused_run
from langgraph_agui.workers.locks_for import locks_for
from langgraph_agui.workers.run_reader import RemoteReader
from langgraph_agui.workers.store import RunStore
from langgraph_agui.workers.workers import Workers

logger = logging.getLogger(__name__)

# Seconds that the store of the threads has to answer whether it is there.
_READY_TIMEOUT = 2.0

# A thread that nobody has, to ask it for.
_NO_THREAD = f"langgraph-agui-{uuid4()}"


class LangGraphAgent:
    """Runs a graph for AG-UI front ends.

    Args:
        graph: A compiled `StateGraph`, a `create_agent` agent, or a functional-API entrypoint; with
            or without a checkpointer. Or a `RemoteGraph`, on a LangGraph server. The thread id of
            the input is its `thread_id`.
        name: The agent's name, for its capabilities; by default "agent". A `run_store` needs one:
            agents of one name share their runs in it.
        description: Its purpose, for its capabilities.
        config: Configuration of every run (`recursion_limit`, `callbacks`, `configurable`, ...).
        messages_key: The state channel with the conversation. It is shown as messages, not as
            state.
        reasoning: Who sees the model's reasoning, and how it travels. By default all of it is
            shown, and comes back on the next turn.
        state: The keys of the graph's state that clients see, and those that they may change. By
            default those of the output schema and of the input schema, without the messages.
        approvals: How clients are asked while the graph is paused, and what their answers do.
        clients: Which version of AG-UI clients get, and how they see subagents.
        limits: How long a run may take, how many runs and readers there may be, how large an input.
        trust: Which parts of a client's input are trusted: its history, instructions and media.
        on_disconnect: Whether a run goes on when its client leaves: `"cancel"` stops model, tools
            and subgraphs, `"continue"` lets it run to its end (and to its checkpoint).
        on_busy: Whether a run is refused (`thread_busy`) or waits while another one is active in
            its thread. This holds across workers if the checkpointer is on Postgres
            (operations/scaling.md).
        run_store: Where the workers of an agent find each other's runs, by its name, to follow and
            stop them: a `RedisRunStore` or a `PostgresRunStore` (operations/scaling.md). By default
            only this process has its runs. An agent with a store works in one event loop, and so
            does one whose checkpointer is on Postgres.
        capabilities: Sections that replace the detected capabilities of the agent.
        expose_errors: Whether `RUN_ERROR.message` is the exception's text, and the output of a tool
            that has ended the run shows it too. Such texts can contain secrets; the log has them in
            any case, under the `correlationId` of the event's metadata.
        switches: Options under other names, such as `subagent_visibility` (docs/migrating.md).

    Attributes:
        reasoning: As given.
        limits: As given.

    Raises:
        TypeError: An option is unknown, or of another type.
        ValueError: Two options contradict each other, or a `run_store` has no `name`.
    """

    def __init__(
        self,
        graph: Graph,
        name: str | None = None,
        description: str | None = None,
        config: RunnableConfig | None = None,
        *,
        messages_key: str = "messages",
        reasoning: ReasoningOptions | None = None,
        state: StateOptions | None = None,
        approvals: ApprovalOptions | None = None,
        clients: ClientOptions | None = None,
        limits: RunLimits | None = None,
        trust: TrustOptions | None = None,
        on_disconnect: OnDisconnect = "cancel",
        on_busy: OnBusy = "refuse",
        run_store: RunStore | None = None,
        capabilities: AgentCapabilities | None = None,
        expose_errors: bool = False,
        **switches: Unpack[Switches],
    ) -> None:
        adapter = adapt_graph(graph)
        if adapter.has_checkpointer and (problem := adapter.checkpointer_problem()):
            raise TypeError(problem)
        approvals = read_approvals(approvals)
        for option, value, kind in (
            ("name", name, str | None),
            ("description", description, str | None),
            ("config", config, Mapping | None),
            ("messages_key", messages_key, str),
            ("reasoning", reasoning, ReasoningOptions | None),
            ("state", state, StateOptions | None),
            ("approvals", approvals, ApprovalOptions),
            ("clients", clients, ClientOptions | None),
            ("limits", limits, RunLimits | None),
            ("trust", trust, TrustOptions | None),
            ("capabilities", capabilities, AgentCapabilities | None),
            ("expose_errors", expose_errors, bool),
        ):
            check_type(option, value, kind)
        check_type("run_store", run_store, RunStore | None, "RedisRunStore(url)")
        check_choice("on_disconnect", on_disconnect, OnDisconnect)
        check_choice("on_busy", on_busy, OnBusy)
        if run_store is not None and name is None:
            raise ValueError(
                "run_store needs the agent's name, because agents of one name share their runs: "
                'write LangGraphAgent(graph, name="support", run_store=store)'
            )
        name = "agent" if name is None else name
        groups = OptionGroups(
            reasoning or ReasoningOptions(),
            state or StateOptions(),
            approvals,
            clients or ClientOptions(),
            limits or RunLimits(),
            trust or TrustOptions(),
        )
        if switches:
            groups = read_switches(groups, switches, signature(LangGraphAgent).parameters)
        if groups.emit_raw and groups.reasoning.visibility != "full":
            raise ValueError(
                "emit_raw_events sends all of the graph's state, including the reasoning that "
                "should be hidden"
            )
        self.graph = graph
        self.name = name
        self.description = description
        self.config = config
        self.reasoning = groups.reasoning
        self.limits = groups.limits
        self._on_busy = on_busy
        filled = FilledKeys(adapter)
        show = redactor_for(groups.reasoning)
        contract = StateContract(adapter, groups.state, messages_key, show, filled.state_keys)
        # A checkpointer holds the graph's own messages; only a client's history needs a filter.
        if adapter.has_checkpointer or groups.reasoning.providers:
            providers = ProviderFilter(groups.reasoning.providers)
        else:
            found = adapter.contents.providers if adapter.contents is not None else ()
            providers = ProviderFilter(found, learns=True)
        self._capabilities = capabilities or AgentCapabilities()
        self._context = AgentContext(
            name=name,
            graph=adapter,
            messages_key=messages_key,
            reasoning=groups.reasoning,
            approvals=groups.approvals,
            clients=groups.clients,
            limits=groups.limits,
            trust=groups.trust,
            on_disconnect=on_disconnect,
            expose_errors=expose_errors,
            emit_raw=groups.emit_raw,
            contract=contract,
            filled=filled,
            providers=providers,
            client_tools=ClientTools(adapter, filled.takes_tools),
        )
        if warning := self._context.no_messages:
            logger.warning("Agent %.80r: %s", name, warning)
        self._workers: Workers | None = None
        if run_store is not None:
            self._workers = Workers(self._context, run_store, name)
        self._running = Going[Run]()
        self._shown = Going[ShownThread | RemoteReader]()
        self._serving = 0
        self._stopping = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Warn of overridden methods that nothing calls here."""
        super().__init_subclass__(**kwargs)
        warn_of_hooks(cls)

    def run(
        self,
        run_input: RunAgentInput,
        *,
        config: RunnableConfig | None = None,
        context: object = None,
    ) -> AsyncGenerator[Event, None]:
        """Run the graph and yield the events of the run.

        `RUN_STARTED` comes first and at once. `RUN_FINISHED` or `RUN_ERROR` comes last: a run that
        fails does not raise. For what happens when the caller leaves the iterator (`aclose`,
        cancellation), see `on_disconnect`.

        Args:
            run_input: The client's input (AG-UI 1.0, `RunAgentInput`).
            config: Configuration of this run, over the agent's.
            context: The graph's runtime context for this run.
        """
        begin = partial(self.begin, run_input, config=config, context=context)
        return _events_of(self.name, run_input, begin)

    async def stream_sse(
        self,
        run_input: RunAgentInput,
        *,
        config: RunnableConfig | None = None,
        context: object = None,
    ) -> AsyncGenerator[bytes, None]:
        """Run the graph and yield its events as SSE frames; frames that wait together are yielded
        together.

        The events are those of `run`. Use it with web frameworks other than FastAPI.
        """
        try:
            reader = await self.begin(run_input, config=config, context=context)
        except CodedError as error:
            yield b"".join(encode(event) for event in refused_run(run_input, error, self.name))
            return
        async with reader:
            while frames := await reader.take_frames():
                yield frames

    async def begin(
        self,
        run_input: RunAgentInput | CleanInput,
        *,
        config: RunnableConfig | None = None,
        context: object = None,
    ) -> Subscription:
        """Begin a run and return the subscription to it. A server learns whether the run may begin
        before it answers.

        Args:
            run_input: The client's input.
            config: Configuration of this run, over the agent's.
            context: The graph's runtime context for this run.

        Raises:
            RunInputError: Another run is going on in the thread (`thread_busy`), as many runs as
                the agent may have (`too_many_runs`), the server is stopping (`server_stopping`),
                the agent works in another event loop (`wrong_event_loop`), or an id is not text
                (`invalid_input`).
            StateError: The database that holds the threads cannot be reached.
        """
        if self._workers is not None:
            self._workers.event_loop.enter()
        clean = clean_input(run_input)
        reader = self._subscription(clean.input)
        # which may fail: before the thread is locked
        config = merge_run_configs(self.config, config)
        graph, lease = self._context.graph, None
        self._check_room(len(self._running))
        locks = locks_for(graph.lock_owner) if graph.has_checkpointer else None
        if locks is not None and self._on_busy == "refuse":
            lease = await locks.acquire(clean.input.thread_id)
        try:
            self._check_room(len(self._running))  # others may have begun meanwhile
            run = Run(self._context, clean, config, context, reader, lease, locks)
        except BaseException:
            if lease is not None:
                await lease.release()
            raise
        self._running.add(run)
        if self._workers is not None:
            self._workers.share(run)
        return reader

    def _check_room(self, going: int) -> None:
        if self._stopping:
            raise RunInputError(ErrorCode.SERVER_STOPPING)
        limit = self.limits.runs
        if limit is not None and going >= limit:
            raise RunInputError(ErrorCode.TOO_MANY_RUNS)

    def connect(
        self, run_input: RunAgentInput, *, config: RunnableConfig | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield the thread as it stands, without running anything: messages with their reasoning,
        state, interrupts.

        Ids are those of the live runs; an unknown thread is an empty one. If a run is active in the
        thread (with a `run_store`, in any worker), its events follow: first what there is so far,
        then the rest as it comes. If the graph keeps no threads, the `run_id` must be that of the
        run: its thread id is no proof of having begun it.

        Args:
            run_input: The thread, and the messages that the client already has.
            config: Configuration for reading the thread, over the agent's.
        """
        return _events_of(self.name, run_input, partial(self.subscribe, run_input, config=config))

    def subscribe(
        self,
        run_input: RunAgentInput | CleanInput,
        *,
        config: RunnableConfig | None = None,
    ) -> Subscription:
        """Connect to the thread and return the reader. See `connect`.

        Raises:
            RunInputError: As many clients follow the run as may (`too_many_readers`), the agent
                works in another event loop (`wrong_event_loop`), or an id is not text
                (`invalid_input`).
        """
        run_input = clean_input(run_input).input
        reader = self._subscription(run_input)
        for run in self._running:
            if run.waits and self._workers is not None:
                continue  # the run that has the thread may be in another worker
            if run.may_be_joined(run_input):
                run.join(reader, run_input)
                if self._workers is not None:
                    self._workers.join(run, run_input.run_id)
                return reader
        self._check_room(sum(one.shows_thread for one in self._shown))
        config = merge_run_configs(self.config, config)
        show = partial(ShownThread, self._context, run_input, config, reader)
        shown = show() if self._workers is None else self._workers.follow(run_input, reader, show)
        self._shown.add(shown)
        return reader

    def _subscription(self, run_input: RunAgentInput) -> Subscription:
        converts = self._context.client_form(run_input).converts(run_input)
        context = run_context(self._context.name, run_input)
        reader = context.run(Subscription, self.limits.unread, *converts)
        watch_queue(reader, self._context.name)
        return reader

    async def cancel(self, thread_id: str, run_id: str) -> bool:
        """Stop a run: its readers get the `cancelled` outcome. Return whether it was active.

        A client that has joined the run may use its own `run_id`, unless that is the id of another
        run of the thread: then that one stops. With a `run_store` the run may be in any worker.

        Raises:
            RunInputError: The agent works in another event loop (`wrong_event_loop`).
            StateError: The `run_store` does not answer.
        """
        runs = [run for run in self._running if run.input.thread_id == thread_id]
        own = [run for run in runs if run.input.run_id == run_id]
        joined = [run for run in runs if run_id in run.joined_ids]
        if own or self._workers is None:
            return _stop(own or joined)
        try:
            if await self._workers.cancel(thread_id, run_id):
                return True
        except StateError:
            if not joined:
                raise
        return _stop(joined) or await self._workers.cancel_joined(thread_id, run_id)

    def check_checkpointer(self) -> None:
        """Check that the graph can pause, if it must. `serving` does that too.

        Raises:
            ValueError: The graph must pause, or run asynchronously, and its checkpointer does not
                allow it.
        """
        if problem := self._context.graph.checkpointer_problem():
            raise ValueError(problem)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The time in which an application serves the agent: the last one that leaves it drains the
        agent.

        Enter it in the application's lifespan, inside that of the checkpointer. The routes of an
        agent that is mounted before the application starts do it by themselves.

        It also gives the event loop an executor with room for synchronous nodes and tools that
        hang, unless the application has set one. uvloop does not show that: there, set one of your
        own inside.

        With a `run_store`, it logs a warning if another agent of this name has another graph.

        Raises:
            ValueError: As in `check_checkpointer`.
            RunInputError: The agent works in another event loop (`wrong_event_loop`).
        """
        self.check_checkpointer()
        if self._workers is not None:
            self._workers.event_loop.enter()
            await self._workers.namesakes.enter()
        use_own_executor()
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            if not self._serving:
                await self.drain()
                if self._workers is not None:
                    await self._workers.namesakes.leave()
                self._stopping = False

    async def drain(self, grace: float = 0) -> None:
        """Refuse new runs, let those that are going on end, and end what is left with
        `server_stopping`.

        Args:
            grace: Seconds that the runs have to end by themselves.
        """
        self._stopping = True
        going: list[Run | ShownThread | RemoteReader] = [*self._running, *self._shown]
        await asyncio.gather(
            *(run_in_loop_of(one.task, one.end(ErrorCode.SERVER_STOPPING, grace)) for one in going)
        )
        if self._workers is not None:
            await self._workers.drain()

    async def is_ready(self) -> bool:
        """Return whether the agent takes runs: it is not stopping, and the store of its threads
        answers.
        """
        if self._stopping:
            return False
        try:
            async with asyncio.timeout(_READY_TIMEOUT):
                if self._context.graph.has_checkpointer:
                    await self._context.graph.load_state(
                        {"configurable": {"thread_id": _NO_THREAD}}
                    )
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
        """Return what this agent can do (AG-UI 1.0, capabilities): what is found in the graph, and
        what was configured.

        A field is None if it can't be known, as for a graph on a server.
        """
        found = capabilities_of(self._context, self.name, self.description)
        given = self._capabilities
        return found.model_copy(
            update={field: getattr(given, field) for field in given.model_fields_set}
        )


def _stop(runs: Sequence[Run]) -> bool:
    """Stop runs. Return whether there are any."""
    for run in runs:
        run.stop()
    return bool(runs)


async def _events_of(
    name: str, run_input: RunAgentInput, begin: Callable[[], Maybe[Subscription]]
) -> AsyncGenerator[Event, None]:
    """Yield the events of the subscription that `begin` returns; those of a refusal by agent `name`
    if it refuses.
    """
    try:
        reader = await awaited(begin())
    except CodedError as error:
        for refusal in refused_run(run_input, error, name):
            yield cast("Event", refusal)
        return
    async with reader:
        while batch := await reader.take():
            for event in batch:
                yield cast("Event", own_copy(event))
