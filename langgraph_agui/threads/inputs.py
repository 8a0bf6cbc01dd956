"""The graph's input, in the form that the graph takes: messages and the client's state enter, values leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage
from langgraph.types import StateSnapshot

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.messages.extract import as_mapping


def graph_input(
    graph: GraphAdapter, messages: Sequence[BaseMessage], messages_key: str, writes: Mapping[str, object]
) -> object:
    """The graph's input: `messages`, and beside them what is to be written to other channels, where it takes any."""
    form = graph.input_form
    if form == "messages":
        return messages
    if form == "text":
        return next((str(message.text) for message in reversed(messages) if message.type == "human"), "")
    names = graph.input_names
    given = messages and (names is None or messages_key in names)
    return {**writes, messages_key: messages} if given else dict(writes)


def written_beside(stored: StateSnapshot) -> dict[str, object]:
    """What a superstep that is not over has made of the channels that its finished tasks have written."""
    values = as_mapping(stored.values) or {}
    results = [as_mapping(task.result) or {} for task in stored.tasks]
    return {key: values[key] for result in results for key in result if key in values}
