"""The contract between a graph and its clients: the keys that clients see, and those that they may
change.

The graph's schemas and the agent's options enter once. Later the state that a client sends enters,
and what it has changed leaves, as the Python values that the graph's nodes get.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from pydantic import BaseModel

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.kernel.errors import CodedError, ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted, quoted_list
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.options import StateOptions
from langgraph_agui.protocol.json import JsonValue, dump_json, same, same_for_clients, to_jsonable
from langgraph_agui.state import schema as schemas
from langgraph_agui.state.schema import Problem, describe

logger = run_logger(__name__)

# The default of `messages_key`, as LangGraph calls the channel.
_USUAL_KEY: Final = "messages"

# How many names of previewed keys are remembered. A graph has fewer, but may make names up.
_MAX_PREVIEWED: Final = 1_000


class StateContract:
    """The keys of a graph's state that clients see, and those that they may change. One per agent,
    shared by all runs.

    Args:
        graph: The graph.
        options: The decisions of the agent's author.
        messages_key: The channel of the messages, which are no state.
        show: Makes JSON data of a graph's value, without hidden parts.
        hidden: Keys that the adapter fills in: clients do not see them, unless the options include
            them.

    Attributes:
        predict: Which tool arguments are shown while they stream.
        deltas: Whether changes are sent as patches, where those are smaller than the state.
        json_schema: The JSON schema of the state as clients see it; None if nothing describes it.
        message_keys: The keys of the graph's input that hold messages.

    Raises:
        ValueError: The options or `messages_key` name keys that the graph does not have, the graph
            marks a reduced key `Private` in the wrong place, or their `schema` has a field of a
            type that JSON schemas do not know.
    """

    def __init__(
        self,
        graph: GraphAdapter,
        options: StateOptions,
        messages_key: str,
        show: Callable[[object], JsonValue] = to_jsonable,
        hidden: Collection[str] = (),
    ) -> None:
        self._graph = graph
        self._options = options
        self._messages_key = messages_key
        schema = self._schema = options.schema
        self.show = show
        self.predict = options.predict
        self.deltas = options.send == "patches"
        hints = _hints(graph)
        _check_options(options, graph, hints)
        _check_messages_key(messages_key, graph, hints)
        # Messages may contain prompts, which clients must not write.
        holders = {key for key, hint in hints if schemas.holds_messages(hint)}
        hidden = {*hidden, *holders}.difference(options.include or ())
        self._hidden = {messages_key, *options.exclude, *hidden, *_private(hints)}
        self.message_keys = sorted(holders.intersection(graph.input_names or ()))
        self._ignored = {messages_key, *options.client_keys}
        # Keys that runs preview: predicted ones, and those that runs of this agent have shown.
        self._previewed = {one.key for one in options.predict}
        self._shared: dict[tuple[str, ...], frozenset[str]] = {}
        self._types = schemas.types_of(graph.input_schema)
        # The agent's schema: its fields by the keys of their JSON form, and the types of those
        # keys.
        self._fields: dict[str, str] = {}
        self.json_schema: dict[str, object] | None = None
        if schema is not None:
            self._fields = schemas.keys_of(schema)
            private = _private(schemas.hints_of(schema).items())
            self._hidden |= private | {key for key, name in self._fields.items() if name in private}
            self.json_schema = schemas.state_json_schema(schema, self.shows)
        described = schemas.types_of(schema)
        self._described = {key: described[name] for key, name in self._fields.items()}

    # -- keys -------------------------------------------------------------------------------------

    def shows(self, key: str) -> bool:
        """Return whether clients see this key of the root state: a channel, or a key that the graph
        does not have.
        """
        if key in self._hidden or key.startswith("__") or not self._graph.outputs(key):
            return False
        return self._options.include is None or key in self._options.include

    def has_channel(self, key: str) -> bool:
        """Return whether the graph is known to have a channel of this name."""
        return key in self._graph.channels

    def shared(self, namespace: Sequence[str]) -> frozenset[str]:
        """Return the channels that the subgraph at `namespace` shares with all graphs around it,
        and with clients.

        Empty for graphs that are no nodes themselves.
        """
        path = tuple(place.rpartition(":")[0] for place in namespace)
        if path not in self._shared:
            inner = self._graph.subgraphs_at(namespace)
            keys = frozenset(self._graph.channels if inner else ())
            for graph in inner:
                keys = keys.intersection(graph.output_names or ()) - _private(_hints(graph))
            self._shared[path] = keys
        return self._shared[path]

    def _writable(self, key: str) -> bool:
        names, writable = self._graph.input_names, self._options.client_writable
        if not self.shows(key) or (names is not None and key not in names):
            return False
        return writable if isinstance(writable, bool) else key in writable

    def writable_keys(self) -> list[str] | None:
        """Return the keys that clients may change; None if the graph's input is not known."""
        writable = self._options.client_writable
        names = self._graph.input_names if writable is True else writable or ()
        return None if names is None else sorted(filter(self._writable, names))

    # -- previews ---------------------------------------------------------------------------------

    def note_previewed(self, keys: Iterable[str]) -> None:
        """Note that a run has previewed these keys."""
        if len(self._previewed) < _MAX_PREVIEWED:
            self._previewed.update(keys)

    def _is_only_preview(self, key: str) -> bool:
        """Return whether a key is no one's but the previews': neither the graph nor the client has
        it.
        """
        return (
            key in self._previewed
            and key not in self._options.client_keys
            and self._graph.input_names is not None
            and not self.has_channel(key)
        )

    def client_only(self, state: object) -> dict[str, object]:
        """Return the client's own part of its state: no key of the graph's, and no preview."""
        if not isinstance(state, Mapping):
            return {}
        return {
            key: value
            for key, value in state.items()
            if not (self.has_channel(key) and self.shows(key)) and not self._is_only_preview(key)
        }

    def without_previewed(
        self, sent: Mapping[str, object], stored: Mapping[str, object]
    ) -> dict[str, object]:
        """Return a client's state without the keys that runs preview; a warning names those that
        differ from the thread's.

        Args:
            sent: `RunAgentInput.state`.
            stored: The thread's channels now.
        """
        previewed = self._previewed & sent.keys()
        self._warn_of_old(
            key for key in previewed - self._ignored if not self._is_echo(key, sent[key], (stored,))
        )
        return {key: value for key, value in sent.items() if key not in previewed}

    def _warn_of_old(self, keys: Iterable[str]) -> None:
        """Warn of keys whose values are left out, though they differ from the thread's."""
        if old := sorted(filter(self._writable, keys)):
            logger.warning(
                "A client sent values of these keys that may be old, or left over from previews; "
                "they were left out: %s",
                quoted_list(old, most=10),
            )
            count_dropped("client_state", len(old))

    # -- out --------------------------------------------------------------------------------------

    def check(self, key: str, value: object) -> None:
        """Check JSON data that is about to be shown under `key`, if the options want that.

        Raises:
            CodedError: It does not fit the agent's schema; the text, for the log, names the place
                and no values.
        """
        if self._options.check and (problems := self._misfits(key, value)):
            raise CodedError(
                ErrorCode.STATE_INVALID, describe(problems, "does not fit StateOptions.schema")
            )

    def _misfits(self, key: str, value: object) -> list[Problem]:
        """Return the problems of a value with the agent's schema."""
        return self._described[key].load(key, value)[1] if key in self._described else []

    # -- in ---------------------------------------------------------------------------------------

    def changed(
        self, sent: object, stored: Mapping[str, object] | None, *older: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the client's changes, as the Python values that the graph's nodes get.

        A key is written if the client may change it, and sends another value than the thread holds
        or, in `older`, has held. None is no change for a key that holds nothing, unless the key's
        type takes it. Keys of `StateOptions.client_keys`, and keys that exist only in previews, are
        ignored. Every other change is refused, see `StateOptions.forbidden_change`.

        Args:
            sent: `RunAgentInput.state`; anything but an object changes nothing.
            stored: The thread's channels now; None where the graph has no checkpointer. Then the
                client owns the state, and everything that it sends and may change is input.
            older: The thread's channels as the client may still hold them.

        Returns:
            The values, by key of the graph's input.

        Raises:
            RunInputError: The client may not change a key (`state_refused`), a value does not fit
                its type (`state_invalid`), or it would replace reasoning that the client has not
                seen (`invalid_input`).
        """
        if not isinstance(sent, Mapping):
            return {}
        state: dict[str, object] = {
            key: value for key, value in sent.items() if not self._is_only_preview(key)
        }
        now = stored or {}
        considered = state.keys() - self._ignored
        same_now = {key for key in considered if self._is_echo(key, state[key], (now,))}
        old = {key for key in considered - same_now if self._is_echo(key, state[key], older)}
        self._warn_of_old(old)
        unchanged = same_now | old
        touched = considered - unchanged
        # None for a key that holds nothing is no change, unless it fits the key's type.
        empty = {
            key for key in touched if state[key] is None and key not in now and self.shows(key)
        }
        taken = {
            key: value for key, value in state.items() if key in touched and self._writable(key)
        }
        refused = touched - taken.keys() - empty
        if stored is None:
            # The client sends back the last run's whole state, also keys that are no input.
            refused = {key for key in refused if not self._may_be_output(key)}
        self.refuse(refused)
        self._protect_hidden(now, taken)
        values, problems = self._load(taken)
        lost = self._lost(taken, problems) if stored is None else set()
        problems = [problem for problem in problems if problem.key not in empty | lost]
        problems = problems or self._schema_problems(state, unchanged | empty | refused)
        if problems:
            raise RunInputError(ErrorCode.STATE_INVALID, describe(problems))
        return values

    def _may_be_output(self, key: str) -> bool:
        """Return whether a run may have shown this key as the graph's."""
        return self.shows(key) and (self._graph.input_names is None or self.has_channel(key))

    def form_of(self, key: str) -> Callable[[object], JsonValue]:
        """Return the function that makes the client's form of the values of a key; `to_jsonable`
        if nothing is ever hidden.
        """
        is_changed = self._graph.speakers or self._graph.transformers
        return partial(self._transformed, key) if is_changed else self.show

    def _transformed(self, key: str, value: object) -> JsonValue:
        try:
            transformers = self._graph.run_transformers().of_stored()
            shown = value if transformers is None else transformers.value(key, value)
        except Exception:
            logger.warning(
                "A stream transformer refuses the state %.80r; clients see null.",
                key,
                exc_info=True,
            )
            count_dropped("hidden_state")
            return None
        return self.show(shown)

    def _protect_hidden(self, now: Mapping[str, object], changed: Iterable[str]) -> None:
        """Refuse changes of values of which the client does not see all: the rest would be lost."""
        for key in sorted(now.keys() & set(changed)):
            if not same_for_clients(self.form_of(key)(now[key]), to_jsonable(now[key])):
                text = f"The state {quoted(key)} has hidden values; it is read-only."
                raise RunInputError(ErrorCode.INVALID_INPUT, text)

    def _lost(self, taken: Mapping[str, object], problems: Iterable[Problem]) -> set[str]:
        """Return the keys that do not fit because JSON has no such values, and warn of them."""
        lost = {problem.key for problem in problems if "__type__" in dump_json(taken[problem.key])}
        if lost:
            logger.warning(
                "Without a checkpointer, values that JSON does not have are lost between runs: %s",
                quoted_list(sorted(lost)),
            )
        return lost

    def _is_echo(self, key: str, value: object, states: Iterable[Mapping[str, object]]) -> bool:
        """Return whether a client sends a key as it was sent to it. It cannot echo a key that it
        does not see.
        """
        if not self.shows(key):
            return False
        for channels in states:
            if key not in channels:
                continue
            if same(value, channels[key]):
                return True
            # The second form is costly, and rarely needed.
            for convert in (self.form_of(key), to_jsonable):
                form = convert(channels[key])
                if same_for_clients(value, form) or same_for_clients(to_jsonable(value), form):
                    return True
        return False

    def refuse(self, keys: Collection[str]) -> None:
        """Refuse changes of these keys: raise `RunInputError`, or log a warning, as the options
        set.
        """
        if not keys:
            return
        names = quoted_list(sorted(keys), most=10)
        if self._options.forbidden_change == "refuse":
            subject = "The state key" if len(keys) == 1 else "The state keys"
            raise RunInputError(ErrorCode.STATE_REFUSED, f"{subject} {names} cannot be changed.")
        logger.warning(
            "The client may not change these keys of the state; they were left out: %s", names
        )
        count_dropped("client_state", len(keys))

    def _load(self, taken: Mapping[str, object]) -> tuple[dict[str, object], list[Problem]]:
        """Return the Python values of the keys that the graph takes, and their problems with the
        graph's types.
        """
        values: dict[str, object] = {}
        problems: list[Problem] = []
        for key, value in taken.items():
            if isinstance(value, Mapping) and (
                "__overwrite__" in value or value.get("type") == "__overwrite__"
            ):
                # LangGraph would read it as an instruction and not as a value.
                problems.append(Problem((key,)))
                continue
            loaded, found = self._types[key].load(key, value) if key in self._types else (value, [])
            problems += found
            if not found:
                values[key] = loaded
        model = self._graph.input_schema
        if isinstance(model, type) and issubclass(model, BaseModel):
            read = {
                key: value
                for key, value in values.items()
                if key in self._types and self._types[key].readable
            }
            # Problems of the model as a whole are about the graph's state, and this is only a part
            # of it.
            found = schemas.misfits(
                lambda: model.model_validate(read, by_alias=False, by_name=True)
            )
            problems += [problem for problem in found if problem.key in read]
        return values, problems

    def _schema_problems(
        self, state: Mapping[str, object], excluded: Collection[str]
    ) -> list[Problem]:
        """Return the problems of the client's state with the agent's schema, at other keys than
        `excluded`.

        Excluded keys that the client sees are still validated with the rest, for validators of the
        whole.
        """
        if self._schema is None:
            return []
        known = (self._fields.keys() | (state.keys() - self._ignored)) - {self._messages_key}
        data = {
            key: value
            for key, value in state.items()
            if key in known and (key not in excluded or self.shows(key))
        }
        concerned = {self._fields.get(key, key) for key in data if key not in excluded}
        if not concerned:
            return []
        problems = schemas.misfits(partial(self._schema.model_validate_json, dump_json(data)))
        required = {
            name for name, field in self._schema.model_fields.items() if field.is_required()
        }
        is_whole = required <= {self._fields.get(key) for key in data}
        if not is_whole and any(not problem.path for problem in problems):
            # A validator of the whole has met a part: only the types of the keys can be judged.
            problems = [
                problem for key, value in data.items() for problem in self._misfits(key, value)
            ]
        return [
            one
            for one in problems
            if not one.path or self._fields.get(one.key, one.key) in concerned
        ]


def _hints(graph: GraphAdapter) -> list[tuple[str, object]]:
    """Return the keys of all schemas of a graph, with their annotations."""
    return [
        (key, hint) for schema in graph.schemas for key, hint in schemas.hints_of(schema).items()
    ]


def _private(hints: Iterable[tuple[str, object]]) -> set[str]:
    return {key for key, hint in hints if schemas.is_private(hint)}


def _check_options(
    options: StateOptions, graph: GraphAdapter, hints: Collection[tuple[str, object]]
) -> None:
    """Raise `ValueError` for names that the graph does not have, and for marks in the wrong
    place.
    """
    writable = () if isinstance(options.client_writable, bool) else options.client_writable
    predicted = {one.key for one in options.predict}.difference(options.client_keys)
    for option, names in (
        ("exclude", options.exclude),
        ("client_writable", writable),
        ("predict", predicted),
    ):
        # a misspelt key in `exclude` would show a hidden one
        if problem := _unknown(f"StateOptions.{option}", names, graph, hints):
            raise ValueError(
                f"{problem} List keys that the graph itself does not have in "
                "StateOptions.client_keys."
            )
    for key, hint in hints:
        if schemas.hides_reducer(hint):  # LangGraph looks for the reducer in the last place only
            raise ValueError(
                f"{key!r}: put Private before the reducer, as in Annotated[list, Private, "
                f"operator.add]"
            )


def _check_messages_key(
    messages_key: str, graph: GraphAdapter, hints: Collection[tuple[str, object]]
) -> None:
    """Raise `ValueError` for a channel of messages that the graph does not have, or that holds no
    list. Without one at all, a graph runs by its state alone.
    """
    if messages_key == _USUAL_KEY or graph.takes_message_list:
        return
    if problem := _unknown("messages_key", [messages_key], graph, hints):
        raise ValueError(problem)
    for key, hint in hints:
        if key == messages_key and hint in (str, int, float, bool):
            raise ValueError(f"messages_key names {key!r}, which is not a list of messages.")


def _unknown(
    option: str,
    names: Collection[str],
    graph: GraphAdapter,
    hints: Collection[tuple[str, object]],
) -> str | None:
    """Return which of the names in an option the graph is known not to have, as text; None if it
    has all.
    """
    unknown = sorted(set(names).difference(graph.channels)) if graph.is_state_graph else []
    if not unknown:
        return None
    known = ", ".join(sorted({key for key, _ in hints}))
    return (
        f"{option} names keys that the graph's state does not have: {', '.join(unknown)}. "
        f"Its keys are {known}."
    )
