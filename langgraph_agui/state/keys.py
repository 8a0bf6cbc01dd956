"""Which keys of a graph's state are its clients': to see, and to change.

The graph's schemas and the agent's options enter; what they say of a key leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui import remote
from langgraph_agui.graphs import Graph, declared, first_hint, output_names
from langgraph_agui.state.options import StateOptions
from langgraph_agui.state.schema import hides_reducer, hints_of, holds_messages, is_private, keys_of


class StateKeys:
    """The keys of a graph's state.

    Args:
        graph: The graph.
        options: What the agent's author decides.
        messages_key: The channel of the messages, which are no state.
        private: More keys that clients have nothing to do with.

    Attributes:
        ignored: Keys that a client may send without changing anything.

    Raises:
        ValueError: The options name keys that the graph does not have, or it marks a reduced key in the wrong place.
    """

    def __init__(self, graph: Graph, options: StateOptions, messages_key: str, private: Collection[str]) -> None:
        self.graph = graph
        self.messages_key = messages_key
        self._known = _known(graph)
        self._shared: dict[tuple[str, ...], frozenset[str]] = {}
        self._may_write = options.client_writable
        self._include = None if options.include is None else frozenset(options.include)
        hints = _hints(graph)
        _check_names(graph, options, self._known)
        _check_marks(hints)
        # Messages may hold prompts, and what a model is told is not for clients to write.
        messages = {key for key, hint in hints if holds_messages(hint)} - (self._include or frozenset())
        besides = {messages_key, *options.exclude, *private}
        self._hidden = besides | messages | _private(graph) | _kept(graph, self._known)
        # What is only ever previewed under a key that the graph does not have comes back, and is nobody's change.
        previews = {predict.key for predict in options.predict} if isinstance(graph, CompiledStateGraph) else set[str]()
        self.ignored = {messages_key, *options.client_keys, *(previews - self._known)}

    def shows(self, key: str) -> bool:
        """Whether the client sees this key of the root state: a channel, or a key that the graph does not have."""
        if key in self._hidden or key.startswith("__"):
            return False
        if isinstance(self.graph, RemoteGraph) and not remote.shows(self.graph, key):
            return False
        return self._include is None or key in self._include

    def shared(self, namespace: Sequence[str]) -> frozenset[str]:
        """The channels that the subgraph at `namespace` shares with all graphs around it, and with clients.

        None for graphs that are no nodes themselves.
        """
        path = tuple(place.rpartition(":")[0] for place in namespace)
        if path not in self._shared:
            inner = declared(self.graph, namespace)
            keys = frozenset(self._known) if inner else frozenset[str]()
            for graph in inner:
                keys = keys.intersection(output_names(graph) or ()) - _private(graph)
            self._shared[path] = keys
        return self._shared[path]

    def holds(self, key: str) -> bool:
        """Whether the graph is known to have a channel of this name."""
        return key in self._known or (isinstance(self.graph, RemoteGraph) and remote.holds(self.graph, key))

    def writable(self, key: str, names: Collection[str] | None) -> bool:
        """Whether the client may change this key; `names` are those of the graph's input, if it has any."""
        if not self.shows(key) or (names is not None and key not in names):
            return False
        writable = self._may_write
        return writable if isinstance(writable, bool) else key in writable


# -- what a graph tells -----------------------------------------------------------------------------------------------


def _known(graph: Graph) -> set[str]:
    """The keys that are the graph's own; none yet of a graph on a server."""
    if isinstance(graph, RemoteGraph):
        return set()
    schemas = graph.builder.schemas.values() if isinstance(graph, CompiledStateGraph) else ()
    return set(graph.channels).union(*schemas)


def _kept(graph: Graph, known: Collection[str]) -> set[str]:
    """The keys that the graph keeps out of its output."""
    shown = output_names(graph)
    return set() if shown is None else set(known).difference(shown)


def _check_names(graph: Graph, options: StateOptions, known: Collection[str]) -> None:
    """Refuse names that a graph does not have: one that is misspelt in `exclude` would show what is to be hidden."""
    if not isinstance(graph, CompiledStateGraph):
        return
    writable = options.client_writable
    for option, names in (
        ("exclude", options.exclude),
        ("client_writable", [] if isinstance(writable, bool) else writable),
    ):
        if unknown := sorted(set(names).difference(known)):
            raise ValueError(f"StateOptions.{option} names what the graph's state does not have: {', '.join(unknown)}")


def _check_marks(hints: Iterable[tuple[str, object]]) -> None:
    """Refuse `Private` behind a reducer, which LangGraph looks for in the last place only."""
    for key, hint in hints:
        if hides_reducer(hint):
            raise ValueError(f"{key!r}: put Private before the reducer, as in Annotated[list, Private, operator.add]")


def _hints(graph: Graph) -> list[tuple[str, object]]:
    """The keys of all schemas of a graph, with their annotations."""
    return [(key, hint) for each in _schemas(graph) for key, hint in hints_of(each).items()]


def _private(graph: Graph) -> set[str]:
    """The keys that a graph marks `Private`."""
    return {key for key, hint in _hints(graph) if is_private(hint)}


def marked(schema: type[BaseModel] | None) -> set[str]:
    """The keys that the agent's schema marks `Private`, by all their names."""
    if schema is None:
        return set()
    fields = {name for name, hint in hints_of(schema).items() if is_private(hint)}
    return fields | {key for key, name in keys_of(schema).items() if name in fields}


def _schemas(graph: Graph) -> list[object]:
    """All schemas of a graph's state, those of single nodes too; of a function, what it takes and returns."""
    if isinstance(graph, RemoteGraph):
        return []
    if isinstance(graph, CompiledStateGraph):
        return [*graph.builder.schemas]
    result = graph.channels.get(graph.output_channels) if isinstance(graph.output_channels, str) else None
    return [input_schema(graph), getattr(result, "typ", None)]


def input_schema(graph: Graph) -> object:
    """The schema of what a graph takes; None where there is none."""
    if isinstance(graph, CompiledStateGraph):
        return graph.builder.input_schema
    return None if isinstance(graph, RemoteGraph) else first_hint(graph)
