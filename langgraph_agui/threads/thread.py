"""A thread as its checkpoints hold it: a configuration enters, a state and its messages leave."""

from __future__ import annotations

from typing import NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.graphs import GraphAdapter


class Thread(NamedTuple):
    """A state of a thread, and the messages in it."""

    state: StateSnapshot
    messages: list[BaseMessage]

    def metadata(self, key: str) -> object:
        """Return what the checkpoint's metadata has under `key`."""
        return (self.state.metadata or {}).get(key)


async def load_thread(graph: GraphAdapter, config: RunnableConfig, messages_key: str) -> Thread:
    """Read the thread that `config` names; `messages_key` is the channel of its messages.

    Raises:
        StateError: The checkpoint could not be read.
    """
    try:
        stored = await graph.load_state(config)
    except Exception as error:
        raise StateError from error
    return Thread(stored, graph.thread_messages(stored, messages_key))


async def load_before(graph: GraphAdapter, config: RunnableConfig, message_id: str, messages_key: str) -> Thread:
    """Read the thread as it was before the message `message_id`.

    A run begins with a checkpoint that LangGraph marks `source: "input"`, taken before the input is applied. The newest
    of them without the message is where a run from that message begins again; the old branch stays readable behind its
    own checkpoints.

    Raises:
        RunInputError: The thread has no such checkpoint any more.
    """
    # A thread that was filled by `update_state` has other checkpoints only.
    for metadata in ({"source": "input"}, None):
        async for stored in graph.load_history(config, metadata):
            messages = graph.thread_messages(stored, messages_key)
            if all(message.id != message_id for message in messages):
                return Thread(stored, messages)
    raise RunInputError(ErrorCode.INVALID_INPUT, "The thread cannot be run again from this message.")
