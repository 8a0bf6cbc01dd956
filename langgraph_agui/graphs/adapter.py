"""`GraphAdapter`: a graph enters; its schemas, and the states of its threads, leave.

`local.py` adapts a compiled graph, `server.py` a graph on a LangGraph server.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StateSnapshot
from pydantic import BaseModel, ValidationError
from typing_extensions import is_typeddict

from langgraph_agui.graphs.contents import GraphContents
from langgraph_agui.graphs.past import PAST, PastMessages, removed_from_end
from langgraph_agui.graphs.writes import Writes
from langgraph_agui.kernel.configs import merge_run_configs
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.messages.transformers import Factory, Failed, RunTransformers

CompiledGraph: TypeAlias = Pregel[Any, Any, Any, Any]
# A compiled graph of any state, context, input and output type, or one on a LangGraph server.
Graph: TypeAlias = CompiledGraph | RemoteGraph

# The input of a graph: a mapping of keys, a list of messages, or the user's text (functional API).
InputForm: TypeAlias = Literal["keys", "messages", "text"]

# The only channel of a graph whose state is a list of messages and not a mapping.
ROOT_CHANNEL = "__root__"

# How many states are read in search of one that remembers past messages: runs of ours write those.
_MAX_ANCESTORS = 10


class _EmptyContext(dict[str, object]):
    """An empty runtime context. LangGraph takes a false one for none at all."""

    def __bool__(self) -> bool:
        return True


class InterruptHolder(NamedTuple):
    """A checkpoint that holds an interrupt.

    Attributes:
        namespace: The namespace of its graph.
        values: Its channel values.
        created_at: Its time (ISO 8601).
        is_open: Whether the graph still waits there. If it was killed later, the graphs around it
            do not know.
    """

    namespace: str
    values: object
    created_at: str | None
    is_open: bool = True


class PausedGraph(NamedTuple):
    """A paused graph inside another.

    Attributes:
        namespace: Its checkpoint namespace.
        messages: The messages that it keeps, and the graph around it does not yet.
        asked: The ids of the interrupts that its own nodes have raised.
    """

    namespace: str
    messages: Sequence[BaseMessage]
    asked: Sequence[str]


class RunGraph(NamedTuple):
    """A graph for one run.

    Attributes:
        graph: The graph.
        writes: The tasks in which it writes the thread. They may go on when it has stopped.
    """

    graph: CompiledGraph
    writes: Writes


class Thread(NamedTuple):
    """A state of a thread, and the messages in it.

    Attributes:
        state: The state.
        messages: Its messages.
        graph: The graph that goes on from this state without loading it again, if nothing has been
            written since.
        past: The messages that the thread has or has had.
    """

    state: StateSnapshot
    messages: list[BaseMessage]
    graph: RunGraph | None = None
    past: PastMessages = PastMessages()

    def has(self, message_id: str) -> bool:
        """Return whether the thread has a message."""
        return message_id in [message.id for message in self.messages]

    @property
    def has_ended(self) -> bool:
        """Whether the graph has come to its end, so that nothing of the thread is left to run."""
        return self.state.created_at is not None and not (self.state.next or self.state.tasks)

    @property
    def ended_early(self) -> bool:
        """Whether the last run has failed, or was stopped, between two supersteps."""
        state = self.state
        return bool(state.next) and len(state.next) == len(state.tasks) and not state.interrupts

    def metadata(self, key: str) -> object:
        """Return the value of `key` in the checkpoint's metadata."""
        return (self.state.metadata or {}).get(key)


class GraphAdapter(ABC):
    """The graph of a run. Every method that takes a `config` reads `thread_id` from it.

    The defaults are for a graph that publishes nothing of itself.
    """

    # -- schema -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def has_checkpointer(self) -> bool:
        """Whether the graph keeps its threads."""

    @property
    @abstractmethod
    def lock_owner(self) -> object:
        """The object that thread locks belong to: graphs with one owner share their threads."""

    @property
    def store(self) -> object:
        """The object whose methods read and write the threads."""
        return self.lock_owner

    def checkpointer_problem(self) -> str | None:
        """Return why runs or pauses fail with the graph's checkpointer, and the remedy, as text."""
        return None

    @property
    @abstractmethod
    def outline(self) -> Sequence[str]:
        """Names by which graphs can be told apart. They are the same in every process."""

    # Whether the graph is a compiled `StateGraph`, which knows all of its keys.
    is_state_graph = False

    # Whether the graph is a functional-API entrypoint, whose input is not its state.
    is_function = False

    # The form of a run's input.
    input_form: InputForm = "keys"

    # The keys of the input schema; None if the input has no keys or the schema is unknown.
    input_names: list[str] | None = None

    # The schema of the input as a Python type; None if there is none.
    input_schema: object = None

    # The schema of the runtime context; None if there is none.
    context_schema: object = None

    @property
    def default_context(self) -> object:
        """The runtime context of a run that is given none: of its schema's defaults, if all of its
        fields have one.
        """
        schema = self.context_schema
        if is_typeddict(schema):
            return None if getattr(schema, "__required_keys__", None) else _EmptyContext()
        if isinstance(schema, type) and (is_dataclass(schema) or issubclass(schema, BaseModel)):
            with suppress(TypeError, ValidationError):
                return schema()
        return None

    # All state schemas as Python types, those of single nodes included.
    schemas: Sequence[object] = ()

    # The names of all channels; none before a server was asked.
    channels: Collection[str] = ()

    # The channels in the graph's output; None if the output is one value, or unknown.
    output_names: Collection[str] | None = None

    @property
    def transformers(self) -> Sequence[Factory]:
        """The graph's stream transformers that change its stream, as far as they can run here."""
        return ()

    @property
    def speakers(self) -> Sequence[Factory]:
        """Such transformers of the graphs that may speak in the conversation of this one."""
        return ()

    @property
    def needs_held_messages(self) -> bool:
        """Whether a transformer that changes the stream cannot run here."""
        return False

    def transformers_at(self, namespace: Sequence[str], name: str | None) -> Sequence[Factory]:
        """Return the transformers of the graph at `namespace`, by its name if it is no node.

        Those of all graphs inside are returned if none of them is known by this name.
        """
        return self.transformers if not namespace else ()

    def run_transformers(self, failed: Failed = lambda _: None) -> RunTransformers:
        """Return the transformers of all graphs, for one run; `failed` receives an exception of
        one.
        """
        return RunTransformers(failed, self.transformers_at, self.speakers)

    @property
    def contents(self) -> GraphContents | None:
        """The contents of the graph; None if they are out of reach."""
        return None

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that models of the graph may call, as far as known."""
        return self.contents.tool_names if self.contents is not None else frozenset()

    def args_schema(self, tool: str, namespace: str) -> Mapping[str, object] | None:
        """Return the JSON Schema of the arguments of a tool, as far as known.

        Args:
            tool: The name of the tool.
            namespace: The checkpoint namespace of the graph that has it.
        """
        if self.contents is None:
            return None
        return self.contents.args_schema(tool, inside=bool(namespace))

    def takes_messages(self, messages_key: str) -> bool:
        """Return whether the graph takes messages one by one, into a channel for them."""
        names = self.input_names or ()
        return messages_key in names or ROOT_CHANNEL in names

    def outputs(self, name: str) -> bool:
        """Return whether the graph's output may have this key. True for a name of no channel."""
        return self.output_names is None or name in self.output_names or name not in self.channels

    def keeps_messages(self, messages_key: str) -> bool:
        """Return whether the graph keeps a conversation.

        Only then a message that no node returns is none of the conversation.
        """
        return messages_key in self.channels or self.takes_message_list

    def subgraphs_at(self, namespace: Sequence[str]) -> "list[GraphAdapter]":
        """Return the subgraphs on the way to `namespace`, outermost first.

        Empty unless each of them is a node of the graph around it: a node or tool that calls a
        graph decides by itself what it does with the graph's state.
        """
        return []

    def needs_overwrite(self, channel: str, present: bool) -> bool:
        """Return whether a value must be written as `Overwrite`, because a reducer would merge it.

        Args:
            channel: The channel.
            present: Whether the thread has a value in it. A channel without one would keep the
                `Overwrite` itself.
        """
        return False

    def removes_messages(self, messages_key: str) -> bool:
        """Return whether the messages channel takes `RemoveMessage`, as `add_messages` does."""
        return False

    def may_remove_messages(self, messages_key: str) -> bool:
        """Return whether the graph may remove messages; true for a graph on a server."""
        return True

    @property
    def takes_message_list(self) -> bool:
        """Whether the state is a bare list of messages."""
        return self.input_names == [ROOT_CHANNEL]

    # -- threads ----------------------------------------------------------------------------------

    @abstractmethod
    async def load_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the thread's state; an empty one if the thread does not exist."""

    async def load_once(self, config: RunnableConfig) -> tuple[StateSnapshot, RunGraph | None]:
        """Return the thread's state, and a graph that goes on from it without loading it again."""
        return await self.load_state(config), None

    @abstractmethod
    def load_history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """Yield the thread's states, newest first."""

    @abstractmethod
    async def update_state(
        self, config: RunnableConfig, values: object, as_node: str | None = None
    ) -> None:
        """Write `values` into the thread's state as the node `as_node` would."""

    def node_without_branches(self, fallback: str) -> str:
        """Return a node whose updates of the state run no routers of the graph, else `fallback`."""
        return fallback

    async def load_thread(self, config: RunnableConfig, messages_key: str) -> Thread:
        """Read the thread that `config` names; `messages_key` is the channel of its messages.

        Raises:
            StateError: The checkpoint could not be read.
        """
        try:
            stored, graph = await self.load_once(config)
        except Exception as error:
            raise StateError from error
        thread = Thread(stored, self.thread_messages(stored, messages_key), graph)
        return thread._replace(past=await self._past(config, thread, messages_key))

    async def _past(
        self, config: RunnableConfig, thread: Thread, messages_key: str
    ) -> PastMessages:
        """Return the past of a thread. A state that the application wrote remembers none."""
        stored, past = thread.state, PastMessages.of(thread.state, thread.messages)
        for _ in range(_MAX_ANCESTORS if self.may_remove_messages(messages_key) else 0):
            if stored.parent_config is None or PAST in (stored.metadata or {}):
                break
            stored = await self.load_state(merge_run_configs(config, stored.parent_config))
            past = PastMessages.of(stored, self.thread_messages(stored, messages_key)).joined(past)
        return past

    async def load_thread_before(
        self, config: RunnableConfig, message_id: str, messages_key: str, *, is_gone: bool = False
    ) -> Thread:
        """Read the thread as it was before the message `message_id`.

        A run begins with a checkpoint that LangGraph marks `source: "input"`, taken before the
        input is applied. The newest of them without the message is where a run from that message
        begins again; the old branch stays readable behind its own checkpoints.

        Args:
            config: Names the thread.
            message_id: The message.
            messages_key: The channel of the messages.
            is_gone: Whether the thread has lost the message, so that its newest states lack it too.

        Raises:
            RunInputError: The thread has no such checkpoint any more.
        """
        was_there = not is_gone
        other: Thread | None = None
        async for thread, is_current in self._load_earlier(config, messages_key):
            if not is_current:
                continue
            if thread.has(message_id):
                was_there = True
            elif was_there and thread.metadata("source") == "input":
                return thread
            elif was_there:
                other = other or thread
        if other is not None:  # a thread that was filled by `update_state` has no inputs
            return other
        raise RunInputError(
            ErrorCode.INVALID_INPUT, "The thread cannot be run again from this message."
        )

    async def load_thread_with(
        self, config: RunnableConfig, message_id: str, messages_key: str
    ) -> tuple[Thread, bool] | None:
        """Read the thread as it was when it last had a message that it has lost.

        Returns:
            The thread, and whether the graph has trimmed the message: a later one stayed. None if
            the thread never had it.
        """
        later: list[BaseMessage] = []
        edited_away: Thread | None = None
        async for thread, is_current in self._load_earlier(config, messages_key):
            if not is_current:
                if edited_away is None and thread.has(message_id):
                    edited_away = thread
                continue
            if thread.has(message_id):
                removed = removed_from_end(thread.messages, later)
                return thread, all(message.id != message_id for message in removed)
            later = thread.messages
        return None if edited_away is None else (edited_away, False)

    async def _load_earlier(
        self, config: RunnableConfig, messages_key: str
    ) -> AsyncIterator[tuple[Thread, bool]]:
        """Yield the thread as it was, newest first, each time with whether what it has now was made
        from that: an edit leaves checkpoints that nothing goes on from.
        """
        parent: str | None = None
        async for stored in self.load_history(config):
            own_id = stored.config["configurable"]["checkpoint_id"]
            # Ids are in order of time. A store may have deleted the parent.
            is_current = parent is None or own_id <= parent
            if is_current:
                before = stored.parent_config or {}
                parent = before.get("configurable", {}).get("checkpoint_id", "")
            yield Thread(stored, self.thread_messages(stored, messages_key)), is_current

    def thread_messages(self, stored: StateSnapshot, messages_key: str) -> list[BaseMessage]:
        """Return the messages in a state of a thread."""
        return extract_messages(stored.values, messages_key)

    # -- pauses -----------------------------------------------------------------------------------

    @abstractmethod
    async def stopped_before(self, stored: StateSnapshot) -> tuple[str, ...]:
        """Return the nodes before which the thread waits at a static breakpoint; maybe none."""

    @abstractmethod
    async def find_holders(
        self, config: RunnableConfig, interrupt_ids: Collection[str]
    ) -> dict[str, InterruptHolder]:
        """Return the innermost checkpoint that holds each interrupt, by interrupt id."""

    async def updated_keys(self, state: StateSnapshot) -> Collection[str]:
        """Return the keys that inputs have written since this state, while the graph went on from
        it; none where that is unknown.

        LangGraph collects these writes for a checkpoint. With two of one key, nobody can load the
        thread any more.
        """
        return ()

    async def load_inner_graphs(
        self, config: RunnableConfig, messages_key: str
    ) -> list[PausedGraph]:
        """Return the paused graphs that share their conversation with the graph around them,
        outermost first; none where that is unknown.

        Args:
            config: Names the thread.
            messages_key: The state channel with the conversation.
        """
        return []

    @abstractmethod
    async def load_records(self, pause: StateSnapshot) -> list[Mapping[str, object]]:
        """Return the records of `store_record` beside the thread's last checkpoint, in no order."""

    @abstractmethod
    async def store_record(
        self, pause: StateSnapshot, number: int, record: Mapping[str, object]
    ) -> None:
        """Store a record beside a checkpoint, durably, before the graph goes on.

        Args:
            pause: The state with the checkpoint.
            number: The number of records that are there already.
            record: JSON data; its `id` is the record's own.

        Raises:
            RunInputError: The record cannot be stored as data, or another run was faster.
            StateError: The record is not there when it is read again.
        """

    async def reopened_interrupts(self, config: RunnableConfig, stored: StateSnapshot) -> set[str]:
        """Return the ids of the interrupts of failed tasks that have no answer yet."""
        return set()
