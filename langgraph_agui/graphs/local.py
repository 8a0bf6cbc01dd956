"""A compiled graph in this process: its channels and schemas, its threads and their pauses."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple, get_origin, get_type_hints
from uuid import NAMESPACE_OID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.last_value import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.constants import END, START
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import All, Interrupt, StateSnapshot

from langgraph_agui.graphs.adapter import (
    ROOT_CHANNEL,
    CompiledGraph,
    GraphAdapter,
    InputForm,
    InterruptHolder,
    PausedGraph,
    RunGraph,
)
from langgraph_agui.graphs.contents import GraphContents, contents_of, names_interrupt
from langgraph_agui.graphs.loaded import LoadedCheckpointer
from langgraph_agui.graphs.writes import RunCheckpointer, Writes
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError, as_state_error
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.extract import find_messages, message_ids
from langgraph_agui.messages.transformers import Factory, changing

logger = run_logger(__name__)

# LangGraph's channels of pending writes that do not end a task. It exports no name for the last.
_CONTROL = frozenset((INTERRUPT, RESUME, ERROR, "__error_source_node__"))
# A channel of ours.
_RECORD = "__agui_record__"

# LangChain's middleware for approvals.
_APPROVALS = "HumanInTheLoopMiddleware"


class FunctionChannels(NamedTuple):
    """The channels of a functional-API graph that hold the end of its last run.

    Attributes:
        returned: The returned value.
        saved: The value that the next run gets as `previous`. The two differ if the function
            returns an `entrypoint.final`.
    """

    returned: str
    saved: str

    @classmethod
    def of(cls, graph: CompiledGraph) -> "FunctionChannels | None":
        """Return those of a graph; None if it is no `@entrypoint`."""
        if (graph.input_channels, graph.output_channels) != (START, END):
            return None
        kept = {name for name, one in graph.channels.items() if isinstance(one, LastValue)}
        return cls(END, next(iter(kept - {END}), END))


class LocalGraphAdapter(GraphAdapter):
    """Adapts a compiled graph.

    Attributes:
        graph: The graph.
        function: The channels of a functional-API graph; None for other graphs.
    """

    function: FunctionChannels | None = None

    def __init__(self, graph: CompiledGraph) -> None:
        self.graph = graph
        output = graph.output_channels
        self.output_names = None if isinstance(output, str) else frozenset(output)
        self.context_schema = graph.context_schema
        self._builder = graph.builder if isinstance(graph, CompiledStateGraph) else None
        if self._builder is not None:
            schemas = self._builder.schemas
            self.is_state_graph = True
            self.schemas = [*schemas]
            self.channels = set(graph.channels).union(*schemas.values())
            self.input_schema = self._builder.input_schema
            self.input_names = list(schemas[self._builder.input_schema])
            self.input_form = "messages" if self.takes_message_list else "keys"
        else:
            result = graph.channels.get(output) if isinstance(output, str) else None
            self.is_function = True
            self.channels = set(graph.channels)
            self.input_schema = _first_parameter(graph)
            self.schemas = [self.input_schema, getattr(result, "typ", None)]
            self.function = FunctionChannels.of(graph)
            self.input_form = self._function_input_form()

    @property
    def outline(self) -> Sequence[str]:
        """See `GraphAdapter`."""
        return [self.graph.get_name(), *sorted({*self.graph.nodes, *self.contents.tools})]

    @cached_property
    def contents(self) -> GraphContents:
        """See `GraphAdapter`."""
        return contents_of(self.graph)

    @cached_property
    def transformers(self) -> Sequence[Factory]:
        """See `GraphAdapter`."""
        return changing(self.graph.stream_transformers, here=True)

    @cached_property
    def speakers(self) -> Sequence[Factory]:
        """See `GraphAdapter`."""
        return changing(self.contents.speakers, here=True)

    @cached_property
    def needs_held_messages(self) -> bool:
        """See `GraphAdapter`."""
        inside = chain.from_iterable(self.contents.transformers.values())
        elsewhere = changing([*self.graph.stream_transformers, *inside], here=False)
        if elsewhere:
            logger.warning(
                "A stream transformer of the graph, or of one inside it, is asynchronous (it has "
                "`aprocess`) and does not run here. Messages are held back until their node and "
                "the hooks of middleware behind it have ended."
            )
        return bool(elsewhere)

    def transformers_at(self, namespace: Sequence[str], name: str | None) -> Sequence[Factory]:
        """See `GraphAdapter`."""
        if not namespace:
            return self.transformers
        if inner := self.subgraphs_at(namespace):
            return inner[-1].transformers
        by_name = self.contents.transformers
        found = by_name.get(name or "")
        if found is None:  # it may be any of them: a node or a configuration can rename a graph
            found = [*chain.from_iterable(by_name.values())]
        return changing(found, here=True)

    @property
    def readable(self) -> CompiledGraph:
        """The graph itself; of a functional-API graph, a copy whose state has what it saves too."""
        if self.function is None:
            return self.graph
        graph = copy(self.graph)
        graph.stream_channels = list(self.function)
        return graph

    def returned(self, values: Any) -> object:
        """Return what a graph has returned, by the values of its channels."""
        return values if self.function is None else values.get(self.function.returned)

    def state(self, values: Any) -> Any:
        """Return the state of a graph, by the values of its channels.

        That of a functional-API graph is what it saves, if there are messages in it, else what it
        returns.
        """
        if self.function is None:
            return values
        saved = values.get(self.function.saved)
        return saved if find_messages(saved, depth=2) else self.returned(values)

    # The checkpointer is read whenever it is needed: applications may set it once their event loop
    # runs.

    @property
    def has_checkpointer(self) -> bool:
        """See `GraphAdapter`. True would inherit a checkpointer, but a root graph has no parent."""
        return self.graph.checkpointer not in (None, False, True)

    @property
    def lock_owner(self) -> object:
        """See `GraphAdapter`."""
        return self.graph.checkpointer

    def checkpointer_problem(self) -> str | None:
        """See `GraphAdapter`."""
        if self._saver is not None:
            return _sync_problem(self._saver)
        if self.graph.checkpointer is True:
            return (
                "checkpointer=True takes the checkpointer of a graph around this one, and there is "
                "none: compile it with its own, such as checkpointer=InMemorySaver(), or with none."
            )
        pauses = None if self.has_checkpointer else next(self._pauses(), None)
        if pauses is None:
            return None
        return (
            f"The graph pauses by {pauses}, so it needs a checkpointer that keeps the thread: "
            "compile it with one, such as checkpointer=InMemorySaver()."
        )

    def _pauses(self) -> Iterator[str]:
        """Yield all that certainly pauses the graph: its options, LangChain's middleware, and
        functions of nodes and tools whose own code names `interrupt`. Other objects may decide by
        themselves.
        """
        if self.graph.interrupt_before_nodes or self.graph.interrupt_after_nodes:
            yield "interrupt_before or interrupt_after"
        for name, node in self.graph.nodes.items():
            bound = node.bound
            # Without a checkpointer of its own, it gets that of the graph around it.
            if isinstance(bound, Pregel) and bound.checkpointer in (None, True):
                yield from LocalGraphAdapter(bound)._pauses()
            hooks = [getattr(bound, part, None) for part in ("func", "afunc")]
            owners = {getattr(hook, "__qualname__", "").partition(".")[0] for hook in hooks}
            middleware = getattr(hooks[0], "__self__", None)
            # A subclass that overrides them may decide by itself.
            if owners == {_APPROVALS} and getattr(middleware, "interrupt_on", True):
                yield _APPROVALS
            if any(map(names_interrupt, hooks)):
                yield f"interrupt() in the node {name!r}"
        for name, tool in self.contents.tools.items():
            functions = [getattr(tool, part, None) for part in ("func", "coroutine")]
            if any(map(names_interrupt, functions)):
                yield f"interrupt() in the tool {name!r}"

    @property
    def _saver(self) -> BaseCheckpointSaver[str] | None:
        saver = self.graph.checkpointer
        return saver if isinstance(saver, BaseCheckpointSaver) else None

    async def _saved(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._saver.aget_tuple(config) if self._saver is not None else None

    # -- schema -----------------------------------------------------------------------------------

    def _function_input_form(self) -> InputForm:
        if not isinstance(self.graph.input_channels, str):
            return "keys"
        kind = getattr(self.graph.channels.get(self.graph.input_channels), "typ", None)
        if isinstance(kind, str):  # from __future__ import annotations
            kind = self.input_schema
        kind = get_origin(kind) or kind
        if kind is str:
            return "text"
        return "messages" if isinstance(kind, type) and issubclass(kind, Sequence) else "keys"

    def subgraphs_at(self, namespace: Sequence[str]) -> list[GraphAdapter]:
        """See `GraphAdapter`."""
        found: list[GraphAdapter] = []
        graph = self.graph
        # LangGraph numbers the graphs that one task runs: they are the same one.
        for task in [one for one in namespace if not one.isdigit()]:
            node = graph.nodes.get(task.rpartition(":")[0])
            if node is None or not isinstance(node.bound, Pregel):
                return []
            graph = node.bound
            found.append(LocalGraphAdapter(graph))
        return found

    def shares_messages(self, namespace: Sequence[str], messages_key: str) -> bool | None:
        """Return whether a graph that is a node shares the conversation of the graph around it.

        Args:
            namespace: Where the graph runs.
            messages_key: The state channel with the conversation.

        Returns:
            None if the node is no graph itself.
        """
        inner = self.subgraphs_at(namespace)
        if not inner:
            return None
        around = inner[-2] if len(inner) > 1 else self
        graphs = (around, inner[-1])
        keeps = all(graph.keeps_messages(messages_key) for graph in graphs)
        return keeps and inner[-1].outputs(messages_key)

    def needs_overwrite(self, channel: str, present: bool) -> bool:
        """See `GraphAdapter`."""
        known = self.graph.channels.get(channel)
        return isinstance(known, BinaryOperatorAggregate | DeltaChannel) and (
            present or known.is_available()
        )

    def removes_messages(self, messages_key: str) -> bool:
        """See `GraphAdapter`."""
        channels = self.graph.channels
        channel = channels.get(messages_key, channels.get(ROOT_CHANNEL))
        return getattr(channel, "operator", None) is add_messages

    def may_remove_messages(self, messages_key: str) -> bool:
        """See `GraphAdapter`."""
        return self.removes_messages(messages_key)

    # -- threads ----------------------------------------------------------------------------------

    async def load_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """See `GraphAdapter`."""
        return await self._load_state(self.readable, config, subgraphs)

    async def load_once(self, config: RunnableConfig) -> tuple[StateSnapshot, RunGraph | None]:
        """See `GraphAdapter`."""
        once = self.for_run(LoadedCheckpointer)
        return await self._load_state(once.graph, config), once

    def for_run(self, checkpointer: type[RunCheckpointer] = RunCheckpointer) -> RunGraph:
        """Return the graph for one run, which stores the thread through a `checkpointer`."""
        graph, writes = self.readable, Writes()
        # A subclass may keep state of its own in the graph, which a copy would lose.
        if self._saver is not None and type(graph) in (Pregel, CompiledStateGraph):
            graph = copy(graph)  # its own method `copy` loses the state's type
            graph.checkpointer = checkpointer(self._saver, writes)
        return RunGraph(graph, writes)

    async def _load_state(
        self, graph: CompiledGraph, config: RunnableConfig, subgraphs: bool = False
    ) -> StateSnapshot:
        """Load a state. Leave out conflicting pending writes of the last step, with a warning."""
        try:
            return self._read(await graph.aget_state(config, subgraphs=subgraphs))
        except Exception as error:
            if as_state_error(error, self.store) is not error:
                raise
            saved = await self._saved(config)
            if saved is None or "checkpoint_id" in config["configurable"]:
                raise
            config = merge_run_configs(config, saved.config)
            stored = await graph.aget_state(config, subgraphs=subgraphs)
            logger.warning(
                "The pending writes of the thread's last step conflict and were left out.",
                exc_info=True,
            )
            count_dropped("pending_writes")
            return self._read(stored)

    def _read(self, stored: StateSnapshot) -> StateSnapshot:
        return stored._replace(values=self.state(stored.values))

    async def load_history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """See `GraphAdapter`."""
        async for stored in self.readable.aget_state_history(config):
            yield self._read(stored)

    async def update_state(
        self, config: RunnableConfig, values: object, as_node: str | None = None
    ) -> None:
        """See `GraphAdapter`."""
        await self.graph.aupdate_state(config, values, as_node=as_node)

    def node_without_branches(self, fallback: str) -> str:
        """See `GraphAdapter`."""
        if self._builder is None:
            return fallback
        branches = self._builder.branches
        return next((name for name in self._builder.nodes if not branches.get(name)), fallback)

    # -- pauses -----------------------------------------------------------------------------------

    async def stopped_before(self, stored: StateSnapshot) -> tuple[str, ...]:
        """See `GraphAdapter`. Breakpoints say why a graph has stopped: its checkpoint does not."""
        if not stored.next or any(task.error is not None for task in stored.tasks):
            return ()
        before, after = self.graph.interrupt_before_nodes, self.graph.interrupt_after_nodes
        if _matches(stored.next, before) or self._stops_inside(stored.next):
            return stored.next
        if after and stored.parent_config is not None:
            parent = await self.graph.aget_state(stored.parent_config)
            if _matches([node for node in parent.next if node != START], after):
                return stored.next
        return ()

    def _stops_inside(self, nodes: Collection[str]) -> bool:
        """Return whether a node is, or contains, a subgraph with static breakpoints."""
        inner = self.graph.get_subgraphs(recurse=True)
        graphs = [graph for name, graph in inner if name.partition("|")[0] in nodes]
        return any(
            graph.interrupt_before_nodes or graph.interrupt_after_nodes
            for graph in graphs
            if isinstance(graph, Pregel)
        )

    async def find_holders(
        self, config: RunnableConfig, interrupt_ids: Collection[str]
    ) -> dict[str, InterruptHolder]:
        """See `GraphAdapter`."""
        found: dict[str, InterruptHolder] = {}
        newest: dict[str, CheckpointTuple] = {}
        async for saved in self._current_checkpoints(config):
            namespace = str(saved.config["configurable"].get("checkpoint_ns", ""))
            last = newest.setdefault(namespace, saved)
            if saved.checkpoint["id"] > last.checkpoint["id"]:
                newest[namespace] = saved
            for interrupt_id in _asked(saved).intersection(interrupt_ids):
                known = found.get(interrupt_id)
                if known is None or len(namespace) > len(known.namespace):
                    values, created_at = saved.checkpoint["channel_values"], saved.checkpoint["ts"]
                    found[interrupt_id] = InterruptHolder(namespace, values, created_at)
        return {
            interrupt_id: holder._replace(
                is_open=interrupt_id in _asked(newest[holder.namespace], waiting=True)
            )
            for interrupt_id, holder in found.items()
        }

    async def load_inner_graphs(
        self, config: RunnableConfig, messages_key: str
    ) -> list[PausedGraph]:
        """See `GraphAdapter`."""
        root = await self.load_state(config, subgraphs=True)
        return [*self._inner_graphs(root, messages_key)]

    def _inner_graphs(self, around: StateSnapshot, key: str) -> Iterator[PausedGraph]:
        known = message_ids(around.values, key)
        for task in around.tasks:
            if not isinstance(inner := task.state, StateSnapshot):
                continue
            namespace = str(inner.config["configurable"].get("checkpoint_ns", ""))
            shares = self.shares_messages(namespace.split("|"), key)
            if shares is None:
                shares = bool(known & message_ids(inner.values, key))
            if shares:
                messages = self.thread_messages(inner, key)
                new = [one for one in messages if one.id not in known]
                own = [one for one in inner.tasks if one.state is None]
                asked = [raised.id for one in own for raised in one.interrupts]
                yield PausedGraph(namespace, new, asked)
                yield from self._inner_graphs(inner, key)

    async def updated_keys(self, state: StateSnapshot) -> Collection[str]:
        """See `GraphAdapter`. The writes of an input belong to none of the tasks."""
        saved = await self._saved(_place(state))
        tasks = {task.id for task in state.tasks}
        writes = saved.pending_writes or () if saved is not None else ()
        return {channel for task_id, channel, _ in writes if task_id not in tasks}

    async def load_records(self, pause: StateSnapshot) -> list[Mapping[str, object]]:
        """See `GraphAdapter`. A record is a pending write to a channel that no graph has."""
        saved = await self._saved(_place(pause))
        writes = saved.pending_writes or () if saved is not None else ()
        return [
            value
            for _, channel, value in writes
            if channel == _RECORD and isinstance(value, Mapping)
        ]

    async def store_record(
        self, pause: StateSnapshot, number: int, record: Mapping[str, object]
    ) -> None:
        """See `GraphAdapter`. Savers keep a task's first write: of two processes one succeeds."""
        saver, place = self._saver, _place(pause)
        if saver is None:
            raise StateError
        try:
            saver.serde.dumps_typed(record)
        except Exception as error:  # the serializer is the application's
            message = "The answer cannot be stored: it is nested too deeply, or is not JSON."
            raise RunInputError(ErrorCode.INTERRUPT_INVALID, message) from error
        name = f"{_RECORD} {place['configurable']['checkpoint_id']} {number}"
        await saver.aput_writes(place, [(_RECORD, record)], str(uuid5(NAMESPACE_OID, name)))
        stored = await self.load_records(pause)
        if all(one.get("id") != record["id"] for one in stored):
            raise RunInputError(ErrorCode.THREAD_BUSY) if len(stored) > number else StateError

    async def reopened_interrupts(self, config: RunnableConfig, stored: StateSnapshot) -> set[str]:
        """See `GraphAdapter`.

        A failed task keeps its answers, and LangGraph shows its last interrupt as open even if it
        is answered. The id of an interrupt contains how many were answered before it, which
        distinguishes the two.
        """
        saved = await self._saved(_thread_config(config))
        if saved is None:
            return set()
        writes = saved.pending_writes or ()
        answers = {task_id: len(value) for task_id, channel, value in writes if channel == RESUME}
        found: set[str] = set()
        for task in stored.tasks:
            if task.error is not None:
                namespace = f"{task.name}:{task.id}"
                if answered := answers.get(task.id):
                    namespace = f"{namespace}|{answered}"
                found.add(Interrupt.from_ns(None, namespace).id)
        return found

    async def _current_checkpoints(self, config: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
        """Yield the thread's last root checkpoint, and those that its subgraphs have made since."""
        saver = self._saver
        if saver is None or (last := await saver.aget_tuple(_thread_config(config))) is None:
            return
        async for saved in saver.alist(_thread_config(config)):
            if saved.checkpoint["id"] >= last.checkpoint["id"]:  # ids grow with time
                yield saved
            elif not isinstance(saver, InMemorySaver):
                return  # database savers list the newest checkpoint first, whatever its namespace


def _sync_problem(saver: BaseCheckpointSaver[str]) -> str | None:
    """Return a remedy, as text, for a checkpointer that is for synchronous graphs only.

    It has asynchronous methods too, but they only raise `NotImplementedError`.
    """
    code = getattr(saver.aget_tuple, "__code__", None)
    if code is None or code.co_names[:1] != ("NotImplementedError",):
        return None
    better = "an asynchronous one"
    for cls in type(saver).__mro__:
        name, module = f"Async{cls.__name__}", f"{cls.__module__}.aio"
        with suppress(ImportError):
            better = f"{name} of {module}" if hasattr(import_module(module), name) else better
    return (
        f"The checkpointer {type(saver).__name__} is synchronous, and runs are not: use {better}."
    )


def _first_parameter(graph: CompiledGraph) -> object:
    """Return the type of an entrypoint's first parameter; None if it cannot be resolved."""
    bound = next(iter(graph.nodes.values())).bound
    try:
        hints = get_type_hints(getattr(bound, "func", None) or getattr(bound, "afunc", None))
    except Exception:  # an annotation may be any expression
        return None
    return next(iter(hints.values()), None)


def _matches(nodes: Sequence[str], breakpoints: All | Sequence[str]) -> bool:
    return any(breakpoints == "*" or node in breakpoints for node in nodes)


def _thread_config(config: RunnableConfig) -> RunnableConfig:
    return {"configurable": {"thread_id": config["configurable"]["thread_id"]}}


def _place(stored: StateSnapshot) -> RunnableConfig:
    """Return the configuration that names the checkpoint of a state."""
    point = stored.config["configurable"]
    keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return {"configurable": {key: point.get(key, "") for key in keys}}


def _asked(saved: CheckpointTuple, *, waiting: bool = False) -> set[str]:
    """Return the ids of the interrupts of a checkpoint's tasks.

    If `waiting`, tasks that have ended are left out.
    """
    writes = saved.pending_writes or ()
    ended = {task_id for task_id, channel, _ in writes if channel not in _CONTROL}
    ids: set[str] = set()
    for task_id, channel, value in writes:
        if channel == INTERRUPT and not (waiting and task_id in ended):
            raised = value if isinstance(value, Sequence) else [value]
            ids.update(str(getattr(one, "id", "")) for one in raised)
    return ids
