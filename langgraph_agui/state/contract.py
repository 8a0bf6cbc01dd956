"""The contract between a graph and its clients: what of the state they see, and what they may change.

The graph's schemas and the agent's options enter. Which keys are shown leaves for the way out; for the way in, what
the client has changed, as the Python values that the graph's nodes get.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui import remote
from langgraph_agui.errors import ErrorCode, RunInputError, StateMismatch
from langgraph_agui.graphs import Graph, declared, first_hint, input_names, output_names
from langgraph_agui.protocol.jsonable import JsonValue, to_jsonable
from langgraph_agui.state.options import StateOptions
from langgraph_agui.state.schema import (
    KeyType,
    Misfit,
    Problem,
    dumped,
    hides_reducer,
    hints_of,
    holds_messages,
    is_private,
    keys_of,
    misfits,
    quoted,
    state_json_schema,
    tell,
    types_of,
)

logger = logging.getLogger(__name__)


class StateContract:
    """What of a graph's state its client sees, and what it may change. One per agent; it holds nothing of runs.

    Args:
        graph: The graph.
        options: What the agent's author decides.
        messages_key: The channel of the messages, which are no state.
        schema: Describes the state as the client sees it; None if nothing does.
        show: Makes JSON data of a graph's value, without what clients do not see.

    Attributes:
        json_schema: The JSON schema of the state as the client sees it; None if nothing describes it.

    Raises:
        ValueError: The options name keys that the graph does not have, the graph marks a reduced key `Private` in the
            wrong place, or `schema` has a field of a type that JSON schemas do not know.
    """

    def __init__(
        self,
        graph: Graph,
        options: StateOptions,
        messages_key: str,
        schema: type[BaseModel] | None = None,
        show: Callable[[object], JsonValue] = to_jsonable,
    ) -> None:
        self._graph = graph
        self._options = options
        self.predict = options.predict
        self._schema = schema
        self.show = show
        self._shared: dict[tuple[str, ...], frozenset[str]] = {}
        self._messages_key = messages_key
        self._known = _known(graph)
        hints = _hints(graph)
        self._include = None if options.include is None else frozenset(options.include)
        # Messages may hold prompts, and what a model is told is not for clients to write.
        private = _private(graph) | _marked(schema)
        messages = {key for key, hint in hints if holds_messages(hint)} - (self._include or frozenset())
        self._hidden = private | messages | _kept(graph, self._known) | {messages_key, *options.exclude}
        # What is only ever previewed under a key that the graph does not have comes back, and is nobody's change.
        previews = {predict.key for predict in options.predict} if isinstance(graph, CompiledStateGraph) else set[str]()
        self._ignored = {messages_key, *options.client_keys, *(previews - self._known)}
        self._input = _input_schema(graph)
        self._types = types_of(self._input)
        self._fields = keys_of(schema) if schema is not None else {}
        described = types_of(schema) if schema is not None else {}
        self._described = {key: described[name] for key, name in self._fields.items()}
        _check_names(graph, options, self._known)
        _check_marks(_hints(graph))
        self.json_schema = state_json_schema(schema, self.shows) if schema is not None else None

    # -- out ----------------------------------------------------------------------------------------------------------

    def shows(self, key: str) -> bool:
        """Whether the client sees this key of the root state: a channel, or a key that the graph does not have."""
        if key in self._hidden or key.startswith("__"):
            return False
        if isinstance(self._graph, RemoteGraph) and not remote.shows(self._graph, key):
            return False
        return self._include is None or key in self._include

    def shared(self, namespace: Sequence[str]) -> frozenset[str]:
        """The channels that the subgraph at `namespace` shares with all graphs around it, and with clients.

        None for graphs that are no nodes themselves.
        """
        path = tuple(place.rpartition(":")[0] for place in namespace)
        if path not in self._shared:
            inner = declared(self._graph, namespace)
            keys = frozenset(self._known) if inner else frozenset[str]()
            for graph in inner:
                keys = keys.intersection(output_names(graph) or ()) - _private(graph)
            self._shared[path] = keys
        return self._shared[path]

    def holds(self, key: str) -> bool:
        """Whether the graph is known to have a channel of this name."""
        return key in self._known or (isinstance(self._graph, RemoteGraph) and remote.holds(self._graph, key))

    def check(self, key: str, value: object) -> None:
        """Check what is about to be shown, if the options want that.

        Args:
            key: The key of the state.
            value: JSON data.

        Raises:
            StateMismatch: It does not fit the agent's schema; the text, for the log, names the place and no values.
        """
        if not self._options.check_output or key not in self._described:
            return
        problems = _fit(self._described[key], key, value)
        if problems:
            raise StateMismatch(tell(problems, "does not fit the agent's state_schema"))

    # -- in -----------------------------------------------------------------------------------------------------------

    def changed(
        self, sent: object, stored: Mapping[str, object] | None, *older: Mapping[str, object]
    ) -> dict[str, object]:
        """What the client has changed, as the Python values that the graph's nodes get.

        What the client was shown and sends again is no change. Neither is None for a key that holds nothing, unless
        the key's type takes it.

        Args:
            sent: `RunAgentInput.state`; what is no object changes nothing.
            stored: The thread's channels now; None where the graph has no checkpointer. Then the client owns the state,
                and everything that it sends and may change is input.
            older: The thread's channels as the client may still hold them: what is as in one of these is no change.

        Returns:
            The values, by key of the graph's input.

        Raises:
            RunInputError: The client may not change a key (`state_refused`), a value does not fit its type
                (`state_invalid`), or it would replace reasoning that the client has not seen (`invalid_input`).
        """
        if not isinstance(sent, Mapping):
            return {}
        state = cast("Mapping[str, object]", sent)
        now = stored or {}
        same = {key for key in state if key not in self._ignored and self._unchanged(key, state[key], [now, *older])}
        touched = state.keys() - same - self._ignored
        empty = {key for key in touched if state[key] is None and key not in now and self.shows(key)}
        names = input_names(self._graph)
        taken = {key: state[key] for key in state if key in touched and self._writable(key, names)}
        graphs = {key for key in touched if self.shows(key) and (key in self._known or names is None)}
        refused = touched - taken.keys() - empty - (graphs if stored is None else set[str]())
        self.refuse(refused)
        for key in sorted(taken.keys() & now.keys()):
            self._guard(key, now[key])
        values, problems = self._loaded(taken)
        stood_for = {problem.key for problem in problems if stored is None and "__type__" in dumped(taken[problem.key])}
        if stood_for:
            told = ", ".join(sorted(stood_for))
            logger.warning("Without a checkpointer, values that JSON does not have are lost between runs: %s", told)
        problems = [problem for problem in problems if problem.key not in empty | stood_for]
        if problems := problems or self._schema_problems(state, same | empty | refused):
            raise RunInputError(ErrorCode.STATE_INVALID, tell(problems))
        return values

    def _unchanged(self, key: str, value: object, held: Iterable[Mapping[str, object]]) -> bool:
        """Whether a key is as the client was shown it. A guess at what it does not see is a change, right or wrong."""
        if not self.shows(key):
            return False
        for channels in held:
            if key in channels:
                forms = (form(channels[key]) for form in (self.show, to_jsonable))
                if any(_same(value, shown) or _same(to_jsonable(value), shown) for shown in forms):
                    return True
        return False

    def _writable(self, key: str, names: Collection[str] | None) -> bool:
        if not self.shows(key) or (names is not None and key not in names):
            return False
        writable = self._options.client_writable
        return writable if isinstance(writable, bool) else key in writable

    def refuse(self, keys: Collection[str]) -> None:
        """Say that the client may not change these keys: raise `RunInputError`, or warn, as the options have it."""
        if not keys:
            return
        told = ", ".join(quoted(key) for key in sorted(keys)[:10]) + (", …" if len(keys) > 10 else "")
        if self._options.refused == "error":
            subject = "The state key" if len(keys) == 1 else "The state keys"
            raise RunInputError(ErrorCode.STATE_REFUSED, f"{subject} {told} cannot be changed.")
        logger.warning("The client has changed keys of the state that it may not change; they were left out: %s", told)

    def _guard(self, key: str, value: object) -> None:
        """Refuse to replace what the client has only seen without its reasoning: that would be lost."""
        if not _same(self.show(value), to_jsonable(value)):
            raise RunInputError(
                ErrorCode.INVALID_INPUT, f"The state {quoted(key)} holds hidden reasoning; it is read-only."
            )

    def _loaded(self, taken: Mapping[str, object]) -> tuple[dict[str, object], list[Problem]]:
        """The Python values of what the graph takes, and what of it does not fit the graph's types."""
        values: dict[str, object] = {}
        problems: list[Problem] = []
        for key, value in taken.items():
            try:
                values[key] = self._load(key, value)
            except Misfit as misfit:
                problems += [problem.under(key) for problem in misfit.problems]
        if isinstance(self._input, type) and issubclass(self._input, BaseModel):
            read = {key: value for key, value in values.items() if key in self._types and self._types[key].readable}
            # What the model says of the whole, it says of the graph's state, not of a part.
            found = misfits(partial(self._input.model_validate, by_alias=False, by_name=True), read)
            problems += [problem for problem in found if problem.key in read]
        return values, problems

    def _load(self, key: str, value: object) -> object:
        if isinstance(value, Mapping) and ("__overwrite__" in value or value.get("type") == "__overwrite__"):
            raise Misfit([Problem(())])  # LangGraph would take it for an instruction, and what is in it for the value
        return self._types[key].load(value) if key in self._types else value

    def _schema_problems(self, state: Mapping[str, object], besides: Collection[str]) -> list[Problem]:
        """What of the client's state does not fit the agent's schema, at other keys than `besides`.

        Of these, those that the client sees count for what is said of the whole.
        """
        if self._schema is None:
            return []
        known = (self._fields.keys() | (state.keys() - self._ignored)) - {self._messages_key}
        data = {key: value for key, value in state.items() if key in known and (key not in besides or self.shows(key))}
        concerned = {self._fields.get(key, key) for key in data if key not in besides}
        if not concerned:
            return []
        problems = misfits(self._schema.model_validate_json, dumped(data))
        required = {name for name, field in self._schema.model_fields.items() if field.is_required()}
        if not required <= {self._fields.get(key) for key in data} and any(not problem.path for problem in problems):
            # A validator of the whole has met a part of it: what remains are the types of the keys.
            fields = [(self._described[key], key) for key in data if key in self._described]
            problems = [problem for kind, key in fields for problem in _fit(kind, key, data[key])]
        return [one for one in problems if not one.path or self._fields.get(one.key, one.key) in concerned]


def _fit(kind: KeyType, key: str, value: object) -> list[Problem]:
    """What of the value of a key does not fit."""
    try:
        kind.load(value)
    except Misfit as misfit:
        return [problem.under(key) for problem in misfit.problems]
    return []


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
        if unknown := sorted(set(cast("Collection[str]", names)).difference(known)):
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


def _marked(schema: type[BaseModel] | None) -> set[str]:
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
    return [_input_schema(graph), getattr(result, "typ", None)]


def _input_schema(graph: Graph) -> object:
    """The schema of what a graph takes; None where there is none."""
    if isinstance(graph, CompiledStateGraph):
        return graph.builder.input_schema
    return None if isinstance(graph, RemoteGraph) else first_hint(graph)


# -- JSON -------------------------------------------------------------------------------------------------------------


def _same(left: object, right: object) -> bool:
    """Whether two JSON values are the same: True is not 1, but 1.0 is."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            pairs.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) is not isinstance(other, bool) or not (one == other or _rounded(one, other)):
            return False
    return True


def _rounded(one: object, other: object) -> bool:
    """Whether two numbers are one to JavaScript, which rounds large integers and sends others back."""
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    try:
        return float(one) == float(other)
    except OverflowError:
        return False
