"""A thread as its checkpoint holds it."""

from __future__ import annotations

from typing import NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.errors import StateError
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.state.client_state import state_version


class Thread(NamedTuple):
    """The state of a thread, and the messages in it."""

    state: StateSnapshot
    messages: list[BaseMessage]

    @property
    def version(self) -> object:
        """What names the state of the thread, see `state_version`."""
        return state_version(self.state)

    def mark(self, key: str) -> object:
        """What the metadata of the checkpoint say under `key`."""
        return (self.state.metadata or {}).get(key)


async def open_thread(graph: GraphAdapter, config: RunnableConfig, messages_key: str) -> Thread:
    """Read the thread that `config` names; `messages_key` is the channel of its messages.

    Raises:
        StateError: The checkpoint could not be read.
    """
    try:
        stored = await graph.load_state(config)
    except Exception as error:
        raise StateError from error
    return Thread(stored, graph.thread_messages(stored, messages_key))
