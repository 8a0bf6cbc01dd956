"""The graph's input, in the form that the graph takes: messages and the client's state enter, values leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite, StateSnapshot

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.graphs import ROOT, Graph, input_form, input_names, reduces
from langgraph_agui.messages.found import as_mapping
from langgraph_agui.protocol.jsonable import to_jsonable


def refuse_hidden(
    run_input: RunAgentInput, stored: StateSnapshot, show: Callable[[object], object]
) -> dict[str, object]:
    """What the thread's channels look like to the client that sent its state.

    Raises:
        RunInputError: The client has changed a channel that it has only ever seen without its reasoning: what it
            writes would delete that.
    """
    values = as_mapping(stored.values) or {}
    state = run_input.state if isinstance(run_input.state, Mapping) else {}
    held = {key: show(values[key]) for key in values if key in state}
    for key, shown in held.items():
        if shown != state[key] and shown != to_jsonable(values[key]):
            raise RunInputError(ErrorCode.INVALID_INPUT, f"The state {key!r} holds hidden reasoning; it is read-only.")
    return held


def graph_input(
    graph: Graph,
    run_input: RunAgentInput,
    messages: Sequence[BaseMessage],
    messages_key: str,
    held: Mapping[str, object],
) -> object:
    """The graph's input; `held` is what the thread's channels look like to the client that sent its state."""
    form = input_form(graph)
    if form == "messages":
        return messages
    if form == "text":
        return next((str(message.text) for message in reversed(messages) if message.type == "human"), "")
    names = input_names(graph)
    state = run_input.state if isinstance(run_input.state, Mapping) else {}
    values: dict[str, object] = {}
    for key, value in state.items():
        if key == messages_key or (names is not None and key not in names):
            continue
        if key not in held:
            values[key] = value
        elif held[key] != value:
            values[key] = Overwrite(value) if reduces(graph, key) else value
    if messages and (names is None or messages_key in names):
        values[messages_key] = messages
    return values


def replaces_messages(graph: Graph, messages_key: str) -> bool:
    """Whether messages can be taken out of the channel: by `RemoveMessage`, which `add_messages` understands."""
    channels = getattr(graph, "channels", {})
    return getattr(channels.get(messages_key, channels.get(ROOT)), "operator", None) is add_messages
