"""What a graph takes and shows, and the state of its threads.

A compiled graph tells by its channels, one on a LangGraph server by what `remote` has learnt of it from the server.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_origin, get_type_hints

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StateSnapshot

from langgraph_agui import remote
from langgraph_agui.configs import merge_run_configs
from langgraph_agui.messages.extract import as_mapping, extract_messages

logger = logging.getLogger(__name__)

Graph: TypeAlias = Pregel[Any, Any, Any, Any] | RemoteGraph
"""A compiled graph, whatever its state, context, input and output; here, or on a LangGraph server."""


ROOT = "__root__"
"""The one channel of a graph whose state is a list of messages rather than a mapping."""


async def load_state(graph: Graph, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
    """The state of the thread that `config` names; an empty one if there is no such thread.

    A superstep that failed because its writes do not go together fails again when its state is read with them: then it
    is read without.
    """
    if isinstance(graph, RemoteGraph):
        return await remote.load(graph, config, subgraphs=subgraphs)
    try:
        return await graph.aget_state(config, subgraphs=subgraphs)
    except Exception:
        saver = graph.checkpointer
        saved = await saver.aget_tuple(config) if isinstance(saver, BaseCheckpointSaver) else None
        if saved is None or "checkpoint_id" in config["configurable"]:
            raise
        stored = await graph.aget_state(merge_run_configs(config, saved.config), subgraphs=subgraphs)
        logger.warning("The writes of the thread's last step do not go together and were left out", exc_info=True)
        return stored


def thread_messages(graph: Graph, stored: StateSnapshot, messages_key: str) -> list[BaseMessage]:
    """The messages in a state of a thread."""
    whole = input_names(graph) == [ROOT]
    return extract_messages(stored.values if whole else as_mapping(stored.values) or {}, messages_key)


def load_history(
    graph: Graph, config: RunnableConfig, marks: Mapping[str, object] | None = None
) -> AsyncIterator[StateSnapshot]:
    """The states of the thread, the newest first; only those with `marks` in their metadata, if any are given."""
    if isinstance(graph, RemoteGraph):
        return remote.load_history(graph, config, marks)
    return graph.aget_state_history(config, filter=dict(marks) if marks else None)


def quiet_node(graph: Graph, otherwise: str) -> str:
    """A node in whose name the state can be updated without asking the graph's own routers where to go from there."""
    if not isinstance(graph, CompiledStateGraph):
        return otherwise
    builder = graph.builder
    return next((name for name in builder.nodes if not builder.branches.get(name)), otherwise)


async def update_state(graph: Graph, config: RunnableConfig, values: object, as_node: str | None = None) -> None:
    """Write `values` into the state of the thread that `config` names, as the node `as_node` would."""
    if isinstance(graph, RemoteGraph):
        await remote.update(graph, config, values, as_node)
    else:
        await graph.aupdate_state(config, values, as_node=as_node)


def output_names(graph: Graph) -> list[str] | None:
    """The channels that the graph's output shows; None where it is one value, or a server sends those only."""
    if isinstance(graph, RemoteGraph):
        return None
    channels = graph.output_channels
    return None if isinstance(channels, str) else list(channels)


def input_names(graph: Graph) -> list[str] | None:
    """The keys that the graph's input schema names; None where there is no schema of keys."""
    if isinstance(graph, RemoteGraph):
        return remote.input_names(graph)
    if isinstance(graph, CompiledStateGraph):
        return list(graph.builder.schemas[graph.builder.input_schema])
    return None


def is_function(graph: Graph) -> bool:
    """Whether this is a function (functional API), whose input is no state."""
    return not isinstance(graph, RemoteGraph | CompiledStateGraph) and input_names(graph) is None


def declared(graph: Graph, namespace: Sequence[str]) -> list[Pregel[Any, Any, Any, Any]]:
    """The subgraphs on the way to `namespace`, if each is a node of the one around it; else none.

    What becomes of the state of a graph that a node or tool calls is that caller's business.
    """
    found: list[Pregel[Any, Any, Any, Any]] = []
    around = graph
    for place in namespace:
        node = None if isinstance(around, RemoteGraph) else around.nodes.get(place.rpartition(":")[0])
        inner = node.bound if node is not None else None
        if not isinstance(inner, Pregel):
            return []
        found.append(inner)
        around = inner
    return found


def has_checkpointer(graph: Graph) -> bool:
    """Whether the graph keeps its threads (True inherits one from a parent, which a root graph has not).

    A LangGraph server always does.
    """
    return isinstance(graph, RemoteGraph) or graph.checkpointer not in (None, False, True)


def reduces(graph: Graph, channel: str) -> bool:
    """Whether writes to `channel` are combined by a reducer, rather than replacing its value.

    A LangGraph server does not tell: there no channel is said to.
    """
    if isinstance(graph, RemoteGraph):
        return False
    return isinstance(graph.channels.get(channel), BinaryOperatorAggregate | DeltaChannel)


def overwrites(graph: Graph, channel: str, present: bool) -> bool:
    """Whether a value that a client has for `channel` is to be written as `Overwrite`.

    That is where a reducer would combine it with what the channel holds. One that holds nothing takes it as it is: it
    might keep the `Overwrite` itself.

    Args:
        graph: The graph.
        channel: The channel.
        present: Whether the thread has a value in it.
    """
    if isinstance(graph, RemoteGraph) or not reduces(graph, channel):
        return False
    held = graph.channels[channel]
    return present or (isinstance(held, BaseChannel) and held.is_available())


def input_form(graph: Graph) -> Literal["keys", "messages", "text"]:
    """What a run's input is: a mapping of keys, or the list of messages, or (functional API) the user's text."""
    if isinstance(graph, RemoteGraph):
        return remote.input_form(graph)
    if input_names(graph) == [ROOT]:
        return "messages"
    if isinstance(graph, CompiledStateGraph) or not isinstance(graph.input_channels, str):
        return "keys"
    kind = getattr(graph.channels.get(graph.input_channels), "typ", None)
    if isinstance(kind, str):  # from __future__ import annotations
        kind = first_hint(graph)
    kind = get_origin(kind) or kind
    if kind is str:
        return "text"
    return "messages" if isinstance(kind, type) and issubclass(kind, Sequence) else "keys"


def first_hint(graph: Pregel[Any, Any, Any, Any]) -> object:
    """The type of an entrypoint's first parameter; None where it names what only its own scope knows."""
    bound = next(iter(graph.nodes.values())).bound
    try:
        return next(iter(get_type_hints(getattr(bound, "func", None) or getattr(bound, "afunc", None)).values()), None)
    except Exception:  # an annotation may be any expression
        return None
