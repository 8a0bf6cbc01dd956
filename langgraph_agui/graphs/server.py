"""A graph on a LangGraph server (`RemoteGraph`): its threads, and its published schemas."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from typing import cast
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Interrupt, PregelTask, StateSnapshot
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError

from langgraph_agui.graphs.adapter import GraphAdapter, InputForm, InterruptHolder
from langgraph_agui.kernel.configs import as_mapping, merge_run_configs
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.extract import MessageDecoder, encode_for_server
from langgraph_agui.protocol.json import to_jsonable

logger = run_logger(__name__)

# Namespace of thread ids for threads of a client. Never to be changed: threads would be lost.
_THREADS = UUID("b4f0c1d2-6a57-5e0e-9d53-0a2f7c1e8b36")

# Key in a thread's metadata: the records beside its last checkpoint, and the id of that.
_RECORDS = "agui_records"

# How many states of a thread are read at most.
_HISTORY_LIMIT = 1000

# In how many graphs of one task an interrupt is looked for; each is a request.
_GRAPHS_PER_TASK = 8

# How many interrupts of one task are recognised by their ids alone, without a request.
_INTERRUPTS_PER_TASK = 32


def server_config(config: RunnableConfig, context: object = None) -> RunnableConfig:
    """Return `config` for a LangGraph server: its thread id is a UUID, and AG-UI's any string.

    The runtime context is in it too: a server refuses to take both, and builds the context from
    `configurable`.
    """
    thread, given = str(config["configurable"]["thread_id"]), to_jsonable(as_mapping(context))
    # A server takes a checkpoint id only together with its namespace.
    root = {"checkpoint_ns": ""} if "checkpoint_id" in config["configurable"] else {}
    fields = {**(given if isinstance(given, dict) else {}), **root, **config["configurable"]}
    thread_id = thread if _is_uuid(thread) else str(uuid5(_THREADS, thread))
    return merge_run_configs(config, {"configurable": {**fields, "thread_id": thread_id}})


class RemoteGraphAdapter(GraphAdapter):
    """Adapts a `RemoteGraph`. Schemas are unknown until `load_state` has called `load_schema`."""

    def __init__(self, graph: RemoteGraph) -> None:
        self.graph = graph
        self._schema_loaded = False

    @property
    def has_checkpointer(self) -> bool:
        """See `GraphAdapter`."""
        return True

    @property
    def lock_owner(self) -> object:
        """See `GraphAdapter`."""
        return getattr(self.graph, "checkpointer", self.graph)

    @property
    def store(self) -> object:
        """See `GraphAdapter`. The runs themselves are the runner's."""
        return self

    # -- schema -----------------------------------------------------------------------------------

    @property
    def outline(self) -> Sequence[str]:
        """See `GraphAdapter`."""
        return [self.graph.assistant_id]

    async def load_schema(self) -> None:
        """Ask the server for the graph's schemas, once."""
        if self._schema_loaded:
            return
        assistants = self._client.assistants
        try:
            assistant = self.graph.assistant_id
            if not _is_uuid(assistant):  # the name of a graph
                found = await assistants.search(graph_id=assistant, limit=1)
                assistant = found[0]["assistant_id"]
            schemas = await assistants.get_schemas(assistant)
            properties = {name: _properties(schema) for name, schema in schemas.items()}
            self.channels = properties.get("state_schema", {})
            # Where the server names no output, the input decides.
            inputs = properties.get("input_schema", {})
            self.output_names = properties.get("output_schema") or inputs
            input_schema = schemas.get("input_schema") or {}
            self.input_names = list(inputs) if "properties" in input_schema else None
            forms: Mapping[object, InputForm] = {"array": "messages", "string": "text"}
            self.input_form = forms.get(input_schema.get("type"), "keys")
        except (APIStatusError, IndexError):
            logger.warning(
                "The server does not publish the schemas of %r: all of the client's state is sent "
                "to it.",
                self.graph.assistant_id,
            )
        self._schema_loaded = True

    @property
    def _client(self) -> LangGraphClient:
        if self.graph.client is None:
            raise ValueError("A RemoteGraph needs a `url` or a `client`.")
        return self.graph.client

    # -- threads ----------------------------------------------------------------------------------

    async def load_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """See `GraphAdapter`."""
        await self.load_schema()
        config = server_config(config)
        try:
            stored = await self.graph.aget_state(config, subgraphs=subgraphs)
        except (NotFoundError, TypeError):
            if "checkpoint_id" in config["configurable"] or await self._has_checkpoint(config):
                raise
            return StateSnapshot({}, (), config, None, None, None, (), ())
        return _decoded(stored, MessageDecoder())

    async def _has_checkpoint(self, config: RunnableConfig) -> bool:
        """Return whether the thread has a state: `RemoteGraph` raises for one without."""
        try:
            stored = await self._client.threads.get_state(config["configurable"]["thread_id"])
        except NotFoundError:
            return False
        return bool(stored.get("checkpoint"))

    async def load_subgraph(self, config: RunnableConfig, namespace: str) -> StateSnapshot | None:
        """Return the state of a graph inside the root graph, or one that it calls; None if absent.

        The server reads it as if it were the root graph's, so it shows only channels and tasks that
        the root has too.
        """
        place = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": namespace}
        try:
            stored = await self.graph.aget_state(server_config({"configurable": place}))
        except (APIStatusError, TypeError):  # TypeError: as in `load_state`, there is no checkpoint
            return None
        return _decoded(stored, MessageDecoder())

    async def load_history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """See `GraphAdapter`. Reads at most 1,000 states: `RemoteGraph` asks for the next ones
        in a form that servers refuse.
        """
        decoder = MessageDecoder()
        states = self.graph.aget_state_history(server_config(config), limit=_HISTORY_LIMIT)
        with suppress(NotFoundError):
            async for stored in states:
                yield _decoded(stored, decoder)

    async def update_state(
        self, config: RunnableConfig, values: object, as_node: str | None = None
    ) -> None:
        """See `GraphAdapter`."""
        await self.graph.aupdate_state(server_config(config), encode_for_server(values), as_node)

    # -- pauses -----------------------------------------------------------------------------------

    async def stopped_before(self, stored: StateSnapshot) -> tuple[str, ...]:
        """See `GraphAdapter`. Servers hide breakpoints: a stop without error counts as one."""
        if not stored.next or any(task.error is not None for task in stored.tasks):
            return ()
        thread = await self._client.threads.get(stored.config["configurable"]["thread_id"])
        return () if thread["status"] == "busy" or thread.get("error") else stored.next

    async def find_holders(
        self, config: RunnableConfig, interrupt_ids: Collection[str]
    ) -> dict[str, InterruptHolder]:
        """See `GraphAdapter`. Looks only into graphs inside the root graph."""
        root = await self.load_state(config, subgraphs=True)
        found: dict[str, InterruptHolder] = {}
        for interrupt_id in interrupt_ids:
            holder = await self._find_holder(config, root, interrupt_id)
            if holder is not None:
                found[interrupt_id] = holder
        return found

    async def load_records(self, pause: StateSnapshot) -> list[Mapping[str, object]]:
        """See `GraphAdapter`. The thread's metadata has the records: no checkpoint has room."""
        point = pause.config["configurable"]
        thread = await self._client.threads.get(point["thread_id"])
        kept = (thread["metadata"] or {}).get(_RECORDS)
        if not isinstance(kept, Mapping) or kept.get("checkpoint_id") != point.get("checkpoint_id"):
            return []
        return list(kept["records"])

    async def store_record(
        self, pause: StateSnapshot, number: int, record: Mapping[str, object]
    ) -> None:
        """See `GraphAdapter`. The server stores the values itself, as JSON."""
        point = pause.config["configurable"]
        added = {key: record[key] for key in record if key != "values"}
        records = [*await self.load_records(pause), added]
        kept = {"checkpoint_id": point.get("checkpoint_id"), "records": records}
        await self._client.threads.update(point["thread_id"], metadata={_RECORDS: kept})

    async def _find_holder(
        self, config: RunnableConfig, root: StateSnapshot, interrupt_id: str
    ) -> InterruptHolder | None:
        """Follow the tasks that hold an interrupt, from the root graph to the task that raised it.

        A server returns declared subgraphs with the root's state, and other graphs on request.
        """
        around: StateSnapshot | None = root
        namespace, holder = "", None
        while around is not None and (task := _task_with(around, interrupt_id)) is not None:
            own = f"{namespace}|{task.name}:{task.id}" if namespace else f"{task.name}:{task.id}"
            if _raised_by(own, interrupt_id):
                break
            known = task.state if isinstance(task.state, StateSnapshot) else None
            around = known or await self._graph_of_task(config, own, interrupt_id)
            if around is not None:
                namespace = str(around.config["configurable"].get("checkpoint_ns", ""))
                holder = InterruptHolder(namespace, around.values, around.created_at)
        return holder

    async def _graph_of_task(
        self, config: RunnableConfig, task: str, interrupt_id: str
    ) -> StateSnapshot | None:
        """Return the state of the task's graph that holds the interrupt; None if that is unclear.

        `task` is the task's namespace, and that of the first graph that it runs; LangGraph numbers
        the others. If the server hides the tasks of the only graph, that graph is taken.
        """
        first = found = await self.load_subgraph(config, task)
        for number in range(1, _GRAPHS_PER_TASK):
            if found is None or _task_with(found, interrupt_id) is not None:
                return found
            found = await self.load_subgraph(config, f"{task}|{number}")
            if found is None and number == 1:
                return first
        return None


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _decoded(stored: StateSnapshot, decoder: MessageDecoder) -> StateSnapshot:
    """Return the snapshot with LangChain messages in it."""
    tasks = tuple(_decoded_task(task, decoder) for task in stored.tasks)
    return stored._replace(
        values=cast("dict[str, object]", decoder.decode(stored.values or {})), tasks=tasks
    )


def _decoded_task(task: PregelTask, decoder: MessageDecoder) -> PregelTask:
    state = _decoded(task.state, decoder) if isinstance(task.state, StateSnapshot) else task.state
    return task._replace(state=state, result=decoder.decode(task.result))


def _properties(schema: object) -> Mapping[str, object]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _task_with(stored: StateSnapshot, interrupt_id: str) -> PregelTask | None:
    return next(
        (task for task in stored.tasks if any(one.id == interrupt_id for one in task.interrupts)),
        None,
    )


def _raised_by(task: str, interrupt_id: str) -> bool:
    """Return whether a task raised an interrupt: the id is a digest of the task's namespace."""
    namespaces = (task, *(f"{task}|{answered}" for answered in range(1, _INTERRUPTS_PER_TASK)))
    return any(Interrupt.from_ns(None, namespace).id == interrupt_id for namespace in namespaces)
