"""The contract between a graph and its clients: what of the state they see, and what they may change.

What a client sends enters, and what the thread holds; what the client has changed leaves, as the Python values that the
graph's nodes get. For the way out it says which keys are shown, how, and whether a value is what was promised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import cast

from pydantic import BaseModel

from langgraph_agui.errors import ErrorCode, RunInputError, StateMismatch
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.protocol.jsonable import JsonValue, json_equal, to_jsonable
from langgraph_agui.state.keys import StateKeys, marked
from langgraph_agui.state.options import StateOptions
from langgraph_agui.state.schema import (
    KeyType,
    Misfit,
    Problem,
    dumped,
    keys_of,
    misfits,
    quoted,
    state_json_schema,
    tell,
    types_of,
)

logger = logging.getLogger(__name__)


class StateContract(StateKeys):
    """What of a graph's state its client sees, and what it may change. One per agent; it holds nothing of runs.

    Args:
        graph: The graph.
        options: What the agent's author decides.
        messages_key: The channel of the messages, which are no state.
        schema: Describes the state as the client sees it; None if nothing does.
        show: Makes JSON data of a graph's value, without what clients do not see.

    Attributes:
        predict: Which tool arguments are shown while they stream.
        deltas: Whether changes are sent as patches, where those are smaller than the state.
        json_schema: The JSON schema of the state as the client sees it; None if nothing describes it.

    Raises:
        ValueError: The options name keys that the graph does not have, the graph marks a reduced key `Private` in the
            wrong place, or `schema` has a field of a type that JSON schemas do not know.
    """

    def __init__(
        self,
        graph: GraphAdapter,
        options: StateOptions,
        messages_key: str,
        schema: type[BaseModel] | None = None,
        show: Callable[[object], JsonValue] = to_jsonable,
    ) -> None:
        super().__init__(graph, options, messages_key, marked(schema))
        self.predict = options.predict
        self.deltas = options.emit == "delta"
        self.show = show
        self._checks_output = options.check_output
        self._raises = options.refused == "error"
        self._schema = schema
        self._input = graph.input_schema
        self._types = types_of(self._input)
        self._fields = keys_of(schema) if schema is not None else {}
        described = types_of(schema) if schema is not None else {}
        self._described = {key: described[name] for key, name in self._fields.items()}
        self.json_schema = state_json_schema(schema, self.shows) if schema is not None else None

    # -- out ----------------------------------------------------------------------------------------------------------

    def check(self, key: str, value: object) -> None:
        """Check what is about to be shown, if the options want that.

        Args:
            key: The key of the state.
            value: JSON data.

        Raises:
            StateMismatch: It does not fit the agent's schema; the text, for the log, names the place and no values.
        """
        if not self._checks_output or key not in self._described:
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
        held = [now, *older]
        unchanged = {key for key in state if key not in self.ignored and self._unchanged(key, state[key], held)}
        touched = state.keys() - unchanged - self.ignored
        empty = {key for key in touched if state[key] is None and key not in now and self.shows(key)}
        names = self.graph.input_names
        taken = {key: state[key] for key in state if key in touched and self.writable(key, names)}
        graphs = {key for key in touched if self.shows(key) and (self.holds(key) or names is None)}
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
        if problems := problems or self._schema_problems(state, unchanged | empty | refused):
            raise RunInputError(ErrorCode.STATE_INVALID, tell(problems))
        return values

    def _unchanged(self, key: str, value: object, held: Iterable[Mapping[str, object]]) -> bool:
        """Whether a key is as the client was shown it. A guess at what it does not see is a change, right or wrong."""
        if not self.shows(key):
            return False
        for channels in held:
            if key in channels:
                forms = (form(channels[key]) for form in (self.show, to_jsonable))
                if any(json_equal(value, shown) or json_equal(to_jsonable(value), shown) for shown in forms):
                    return True
        return False

    def refuse(self, keys: Collection[str]) -> None:
        """Say that the client may not change these keys: raise `RunInputError`, or warn, as the options have it."""
        if not keys:
            return
        told = ", ".join(quoted(key) for key in sorted(keys)[:10]) + (", …" if len(keys) > 10 else "")
        if self._raises:
            subject = "The state key" if len(keys) == 1 else "The state keys"
            raise RunInputError(ErrorCode.STATE_REFUSED, f"{subject} {told} cannot be changed.")
        logger.warning("The client has changed keys of the state that it may not change; they were left out: %s", told)

    def _guard(self, key: str, value: object) -> None:
        """Refuse to replace what the client has only seen without its reasoning: that would be lost."""
        if not json_equal(self.show(value), to_jsonable(value)):
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
        known = (self._fields.keys() | (state.keys() - self.ignored)) - {self.messages_key}
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
