"""What a compiled graph takes and shows: its channels, read from the graph itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_origin, get_type_hints

from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

Graph: TypeAlias = Pregel[Any, Any, Any, Any]
"""A compiled graph, whatever its state, context, input and output."""


ROOT = "__root__"
"""The one channel of a graph whose state is a list of messages rather than a mapping."""


def channel_names(channels: str | Sequence[str]) -> list[str] | None:
    """The names of a graph's output channels; None for a graph whose output is one value."""
    return None if isinstance(channels, str) else list(channels)


def input_names(graph: Graph) -> list[str] | None:
    """The keys that the graph's input schema names; None where there is no schema of keys."""
    if isinstance(graph, CompiledStateGraph):
        return list(graph.builder.schemas[graph.builder.input_schema])
    return None


def has_checkpointer(graph: Graph) -> bool:
    """Whether the graph keeps its threads (True inherits one from a parent, which a root graph has not)."""
    return graph.checkpointer not in (None, False, True)


def reduces(graph: Graph, channel: str) -> bool:
    """Whether writes to `channel` are combined by a reducer, rather than replacing its value."""
    return isinstance(graph.channels.get(channel), BinaryOperatorAggregate)


def input_form(graph: Graph) -> Literal["keys", "messages", "text"]:
    """What a run's input is: a mapping of keys, or the list of messages, or (functional API) the user's text."""
    if input_names(graph) == [ROOT]:
        return "messages"
    if isinstance(graph, CompiledStateGraph) or not isinstance(graph.input_channels, str):
        return "keys"
    kind = getattr(graph.channels.get(graph.input_channels), "typ", None)
    if isinstance(kind, str):  # from __future__ import annotations
        kind = _first_hint(graph)
    kind = get_origin(kind) or kind
    if kind is str:
        return "text"
    return "messages" if isinstance(kind, type) and issubclass(kind, Sequence) else "keys"


def _first_hint(graph: Graph) -> object:
    """The type of an entrypoint's first parameter; None where it names what only its own scope knows."""
    bound = next(iter(graph.nodes.values())).bound
    try:
        return next(iter(get_type_hints(getattr(bound, "func", None) or getattr(bound, "afunc", None)).values()), None)
    except Exception:  # an annotation may be any expression
        return None
