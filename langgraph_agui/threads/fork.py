"""The point of a thread before one of its user messages: a message id enters, a checkpoint leaves.

A run begins with a checkpoint that LangGraph marks `source: "input"`, taken before the input is applied. The newest of
them that does not hold the message yet is where a run from that message begins again; the old branch stays readable
behind its own checkpoints. One checkpoint is read for each run that is gone back.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.graphs import GraphAdapter


async def before(
    graph: GraphAdapter, config: RunnableConfig, message_id: str, messages_key: str
) -> tuple[StateSnapshot, Sequence[BaseMessage]]:
    """Return the state of the thread before the message `message_id`, and the messages in it.

    Raises:
        RunInputError: The thread has no such checkpoint any more.
    """
    # A thread that was filled by `update_state` has other checkpoints only.
    for marks in ({"source": "input"}, None):
        async for stored in graph.load_history(config, marks):
            messages = graph.thread_messages(stored, messages_key)
            if all(message.id != message_id for message in messages):
                return stored, messages
    raise RunInputError(ErrorCode.INVALID_INPUT, "The thread cannot be run again from this message.")
