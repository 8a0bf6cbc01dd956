"""Which keys of a graph's state are its clients': to see, and to change.

The graph's schemas and the agent's options enter; what they say of a key leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pydantic import BaseModel

from langgraph_agui.graphs import GraphAdapter
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

    def __init__(self, graph: GraphAdapter, options: StateOptions, messages_key: str, private: Collection[str]) -> None:
        self.graph = graph
        self.messages_key = messages_key
        self._known = frozenset(graph.channels)
        self._shared: dict[tuple[str, ...], frozenset[str]] = {}
        self._may_write = options.client_writable
        self._include = None if options.include is None else frozenset(options.include)
        hints = _hints(graph)
        _check_names(graph, options, self._known)
        _check_marks(hints)
        # Messages may hold prompts, and what a model is told is not for clients to write.
        messages = {key for key, hint in hints if holds_messages(hint)} - (self._include or frozenset())
        besides = {messages_key, *options.exclude, *private}
        self._hidden = besides | messages | _private(graph)
        # What is only ever previewed under a key that the graph does not have comes back, and is nobody's change.
        previews = {predict.key for predict in options.predict} if graph.is_state_graph else set[str]()
        self.ignored = {messages_key, *options.client_keys, *(previews - self._known)}

    def shows(self, key: str) -> bool:
        """Whether the client sees this key of the root state: a channel, or a key that the graph does not have."""
        if key in self._hidden or key.startswith("__"):
            return False
        if not self.graph.outputs(key):
            return False
        return self._include is None or key in self._include

    def shared(self, namespace: Sequence[str]) -> frozenset[str]:
        """The channels that the subgraph at `namespace` shares with all graphs around it, and with clients.

        None for graphs that are no nodes themselves.
        """
        path = tuple(place.rpartition(":")[0] for place in namespace)
        if path not in self._shared:
            inner = self.graph.subgraphs_at(namespace)
            keys = frozenset(self._known) if inner else frozenset[str]()
            for graph in inner:
                keys = keys.intersection(graph.output_names or ()) - _private(graph)
            self._shared[path] = keys
        return self._shared[path]

    def holds(self, key: str) -> bool:
        """Whether the graph is known to have a channel of this name."""
        return key in self._known or self.graph.has_channel(key)

    def writable(self, key: str, names: Collection[str] | None) -> bool:
        """Whether the client may change this key; `names` are those of the graph's input, if it has any."""
        if not self.shows(key) or (names is not None and key not in names):
            return False
        writable = self._may_write
        return writable if isinstance(writable, bool) else key in writable


# -- what a graph tells -----------------------------------------------------------------------------------------------


def _check_names(graph: GraphAdapter, options: StateOptions, known: Collection[str]) -> None:
    """Refuse names that a graph does not have: one that is misspelt in `exclude` would show what is to be hidden."""
    if not graph.is_state_graph:
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


def _hints(graph: GraphAdapter) -> list[tuple[str, object]]:
    """The keys of all schemas of a graph, with their annotations."""
    return [(key, hint) for each in graph.schemas for key, hint in hints_of(each).items()]


def _private(graph: GraphAdapter) -> set[str]:
    """The keys that a graph marks `Private`."""
    return {key for key, hint in _hints(graph) if is_private(hint)}


def marked(schema: type[BaseModel] | None) -> set[str]:
    """The keys that the agent's schema marks `Private`, by all their names."""
    if schema is None:
        return set()
    fields = {name for name, hint in hints_of(schema).items() if is_private(hint)}
    return fields | {key for key, name in keys_of(schema).items() if name in fields}
