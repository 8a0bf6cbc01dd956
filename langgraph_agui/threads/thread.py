"""A thread as its checkpoint holds it."""

from __future__ import annotations

from typing import NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.errors import StateError
from langgraph_agui.graphs import GraphAdapter

RUN = "agui_run"
"""Key in the metadata of checkpoints: the run that has made them."""


class Thread(NamedTuple):
    """The state of a thread, and the messages in it."""

    state: StateSnapshot
    messages: list[BaseMessage]

    @property
    def version(self) -> object:
        """What names the state of the thread: the run that has made it, or its checkpoint if none of ours has."""
        return self.mark(RUN) or self.state.config.get("configurable", {}).get("checkpoint_id")

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
