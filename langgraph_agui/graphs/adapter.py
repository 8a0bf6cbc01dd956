"""`GraphAdapter`: the questions that a run asks about its graph, and the state of the graph's threads.

`local.py` answers them for a compiled graph, `remote.py` for a graph on a LangGraph server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StateSnapshot

from langgraph_agui.messages.extract import as_mapping, extract_messages

CompiledGraph: TypeAlias = Pregel[Any, Any, Any, Any]
Graph: TypeAlias = CompiledGraph | RemoteGraph
"""A compiled graph of any state, context, input and output type, or one on a LangGraph server."""

InputForm: TypeAlias = Literal["keys", "messages", "text"]
"""What a graph takes as input: a mapping of keys, a list of messages, or the user's text (functional API)."""

ROOT_CHANNEL = "__root__"
"""The only channel of a graph whose state is a list of messages and not a mapping."""


class InterruptHolder(NamedTuple):
    """A checkpoint that holds an interrupt: the namespace of its graph, its channel values, its time (ISO 8601)."""

    namespace: str
    values: object
    created_at: str | None


class GraphAdapter(ABC):
    """What a run needs to know of its graph. Every method that takes a `config` reads `thread_id` from it.

    Where nothing else is said, the methods here answer for a graph that publishes nothing of itself.
    """

    # -- schema -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def has_checkpointer(self) -> bool:
        """Whether the graph keeps its threads."""

    @property
    @abstractmethod
    def lock_owner(self) -> object:
        """The object that thread locks belong to: graphs with the same owner share their threads."""

    is_state_graph = False
    """Whether the graph is a compiled `StateGraph`, which knows all of its keys."""

    is_function = False
    """Whether the graph is a functional-API entrypoint, whose input is not its state."""

    input_form: InputForm = "keys"
    """What a run's input looks like."""

    input_names: list[str] | None = None
    """The keys of the input schema; None if the input has no keys or the schema is unknown."""

    input_schema: object = None
    """The schema of the input as a Python type; None if there is none."""

    schemas: Sequence[object] = ()
    """All state schemas as Python types, those of single nodes included."""

    channels: Collection[str] = ()
    """The names of all channels; none before a server was asked."""

    output_names: Collection[str] | None = None
    """The channels in the graph's output; None if the output is one value, or unknown."""

    def outputs(self, name: str) -> bool:
        """Return whether the graph's output may have this key. True for names that are no channel."""
        return self.output_names is None or name in self.output_names or name not in self.channels

    def subgraphs_at(self, namespace: Sequence[str]) -> list[GraphAdapter]:
        """Return the subgraphs on the way to `namespace`, outermost first.

        Empty unless each of them is a node of the graph around it: what becomes of the state of a graph that a node or
        tool calls is up to that caller.
        """
        return []

    def needs_overwrite(self, channel: str, present: bool) -> bool:
        """Return whether a value must be written to `channel` as `Overwrite`, because a reducer would merge it.

        Args:
            channel: The channel.
            present: Whether the thread has a value in it. A channel without one would keep the `Overwrite` itself.
        """
        return False

    def removes_messages(self, messages_key: str) -> bool:
        """Return whether the messages channel understands `RemoveMessage`, as `add_messages` does."""
        return False

    @property
    def takes_message_list(self) -> bool:
        """Whether the state is a bare list of messages."""
        return self.input_names == [ROOT_CHANNEL]

    # -- threads ------------------------------------------------------------------------------------------------------

    @abstractmethod
    async def load_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the thread's state; an empty one if the thread does not exist."""

    @abstractmethod
    def load_history(
        self, config: RunnableConfig, metadata: Mapping[str, object] | None = None
    ) -> AsyncIterator[StateSnapshot]:
        """Yield the thread's states, newest first; only those with `metadata` in theirs, if given."""

    @abstractmethod
    async def update_state(self, config: RunnableConfig, values: object, as_node: str | None = None) -> None:
        """Write `values` into the thread's state as the node `as_node` would."""

    def node_without_branches(self, fallback: str) -> str:
        """Return a node as which the state can be updated without running the graph's own routers, else `fallback`."""
        return fallback

    def thread_messages(self, stored: StateSnapshot, messages_key: str) -> list[BaseMessage]:
        """Return the messages in a state of a thread."""
        values = stored.values if self.takes_message_list else as_mapping(stored.values) or {}
        return extract_messages(values, messages_key)

    # -- pauses -------------------------------------------------------------------------------------------------------

    @abstractmethod
    async def stopped_before(self, stored: StateSnapshot) -> tuple[str, ...]:
        """Return the nodes before which the thread waits at a static breakpoint; empty if it waits at none."""

    @abstractmethod
    async def find_holders(self, config: RunnableConfig, interrupt_ids: Collection[str]) -> dict[str, InterruptHolder]:
        """Return, by interrupt id, the innermost checkpoint of the thread that holds each interrupt."""

    async def given_answers(self, config: RunnableConfig, interrupt_id: str) -> list[object]:
        """Return the resume values that the interrupted task got in a run that failed afterwards."""
        return []

    async def reopened_interrupts(self, config: RunnableConfig, stored: StateSnapshot) -> set[str]:
        """Return the ids of the interrupts of failed tasks that have no answer yet."""
        return set()
