"""The shared state of a conversation: as the agent sent it, and as a Python type.

In: the state after each event, as JSON data; the user's changes to its typed form. Out: the typed
form, and the state to send with the next run.
"""

import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, cast

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from langgraph_agui.kernel.quoting import printable
from langgraph_agui.protocol.json import JsonValue, dump_json, same_for_clients, to_jsonable

logger = logging.getLogger(__name__)

# How many states that nobody has read are kept, in case the last ones do not fit.
_MAX_UNREAD: Final = 8

StateT = TypeVar("StateT", default=Any)


class _Unset:
    """Stands for a value that no state has fitted yet; `None` may be a value."""


class TypedState(Generic[StateT]):
    """Keeps both forms of the state.

    Data that the type does not know is still sent, by `three_way_merge`. A `SecretStr` is sent as
    pydantic writes it, as stars, so changes to it are lost, unless a serializer writes its value.

    A state from the agent is parsed when somebody reads `value`, and by `read`: to parse the state
    after each delta would cost more than everything else. So an invalid state is not reported if
    another one replaces it unread.

    Args:
        kind: The type of the state, anything that pydantic validates; None leaves it as JSON data.
        on_invalid: Is called with the error of a state that does not fit, once while the error
            stays the same. Without it, the error is logged.
    """

    def __init__(
        self, kind: Any, on_invalid: Callable[[ValidationError], None] | None = None
    ) -> None:
        self._adapter: TypeAdapter[StateT] | None = None if kind is None else TypeAdapter(kind)
        self._on_invalid = on_invalid or _log
        self.restore({})

    def restore(self, state: JsonValue, typed: JsonValue = None) -> None:
        """Start again with a state, and its typed form as `saved_value` returned it."""
        # The agent's state. It may be shared with the events: do not change it.
        self._received: object = state
        self._unread: deque[object] = deque(maxlen=_MAX_UNREAD)
        self._value: StateT | _Unset = _Unset()
        # `_value` as JSON data when it was parsed: differences are the user's changes.
        self._base: JsonValue = {}
        self._reported: object = None
        with suppress(ValidationError):
            self._load(state if typed is None else typed)

    @property
    def value(self) -> StateT:
        """The state, typed. Changes to it are sent with the next run.

        Raises:
            ValidationError: No state has fitted the type yet, and an empty one does not.
        """
        self.read()
        return self._load(self._received) if isinstance(self._value, _Unset) else self._value

    def set(self, value: StateT) -> None:
        """Replace the state for the next run. Raises `ValidationError` if it does not fit."""
        self.read()
        if self._adapter is None:
            self._value = self._parse(value)
        else:
            self._value = self._adapter.validate_python(value)

    def receive(self, state: object) -> None:
        """Take a state from the agent. It replaces the user's changes until now."""
        self._received = state
        self._unread.append(state)

    def read(self) -> None:
        """Parse the last state that was received.

        If it does not fit, the error is reported, and the newest unread one that does fit is
        loaded. Then the top-level keys that do fit are taken from the last one, unless the result
        is invalid.
        """
        if not self._unread:
            return
        last, *earlier = reversed(self._unread)
        self._unread.clear()
        try:
            self._load(last)
        except ValidationError as error:
            for state in earlier:
                with suppress(ValidationError):
                    self._load(state)
                    break
            self._repair(to_jsonable(last), error)

    def _repair(self, state: JsonValue, error: ValidationError) -> None:
        """Take the keys of `state` that fit. The others keep their old values, which are sent."""
        errors = error.errors(include_url=False, include_context=False)
        is_new = errors != self._reported
        unfit = {str(one["loc"][0]) for one in errors if one["loc"]}
        if unfit and isinstance(state, dict):
            mended = {key: value for key, value in state.items() if key not in unfit}
            old: JsonValue = None
            # the other keys do not fit together, or an old value cannot be written
            with suppress(ValueError):
                for by_alias in (False, True):  # an agent may call a field by either name
                    if not isinstance(self._value, _Unset):
                        old = self._dump(self._value, by_alias)
                    if isinstance(old, dict):
                        mended |= {key: old[key] for key in unfit if key in old}
                if not same_for_clients(mended, old):
                    self._load(mended)
                self._received = mended
        if isinstance(self._base, dict):
            self._base = {key: value for key, value in self._base.items() if key not in unfit}
        self._reported = errors
        if is_new:
            self._on_invalid(error)

    def to_json(self) -> JsonValue:
        """Return the agent's state as JSON data, with the user's changes."""
        self.read()
        if isinstance(self._value, _Unset):
            return to_jsonable(self._received)
        value = self._dump(self._value)
        if self._adapter is None:
            return value
        return three_way_merge(to_jsonable(self._received), self._base, value)

    def commit(self) -> JsonValue:
        """Return `to_json` for a run that starts now: then the agent has the user's changes.

        Raises:
            ValidationError: A change of the user's does not fit.
        """
        state = self.to_json()
        if not isinstance(self._value, _Unset):
            value = self._dump(self._value)
            if not same_for_clients(self._base, value):
                self._parse(value)
            self._received, self._base = state, value
        return state

    def saved_value(self) -> JsonValue:
        """Return the typed state as JSON data if it is not in `to_json`, else None.

        It is not if the agent's last state did not fit.
        """
        state = self.to_json()
        if isinstance(self._value, _Unset):
            return None
        value = self._dump(self._value)
        with suppress(ValidationError):
            if same_for_clients(self._dump(self._parse(state)), value):
                return None
        return value

    def _load(self, state: object) -> StateT:
        self._value = self._parse(state)
        self._base = self._dump(self._value)
        self._reported = None
        return self._value

    def _parse(self, state: object) -> StateT:
        if self._adapter is None:
            return cast("StateT", to_jsonable(state))
        # From JSON text, because strict types have other rules for JSON than for Python values.
        return self._adapter.validate_json(dump_json(state))

    def _dump(self, value: StateT, by_alias: bool = True) -> JsonValue:
        if self._adapter is not None:
            value = self._adapter.dump_python(
                value, mode="json", by_alias=by_alias, round_trip=True, warnings=False
            )
        return to_jsonable(value)


def _log(error: ValidationError) -> None:
    places = ", ".join("/".join(map(str, one["loc"])) or "/" for one in error.errors())
    logger.warning("The agent's state does not fit at %s; the old values stay.", printable(places))


def three_way_merge(document: JsonValue, before: JsonValue, after: JsonValue) -> JsonValue:
    """Return `document` with the changes from `before` to `after`.

    Keys that only the document has stay. So they do in the elements of a list that keeps its
    length, whether an element stays, moves or changes in its place. In a list that becomes longer
    or shorter, elements that stay or move are those of the document; the others are as in `after`,
    because nothing shows which element they were.
    """
    if same_for_clients(before, after):
        return document
    match document, before, after:
        case list(), list(), list() if len(document) == len(before):
            return _merge_lists(document, before, after)
        case dict(), dict(), dict():
            merged = {
                key: value for key, value in document.items() if key in after or key not in before
            }
            for key, value in after.items():
                if key not in before or not same_for_clients(before[key], value):
                    merged[key] = three_way_merge(document.get(key), before.get(key), value)
            return merged
        case _:
            return after


def _merge_lists(
    document: list[JsonValue], before: list[JsonValue], after: list[JsonValue]
) -> list[JsonValue]:
    # For each index in `after`, the index in `before` that its element comes from.
    pairs = enumerate(zip(before, after, strict=False))
    source = {index: index for index, (old, new) in pairs if same_for_clients(old, new)}
    moved: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, old in enumerate(before):
        if index not in source:
            moved[json.dumps(old, sort_keys=True)].append(index)
    for index, new in enumerate(after):
        if index not in source and (origins := moved[json.dumps(new, sort_keys=True)]):
            source[index] = origins.popleft()
    used = set(source.values())
    merged: list[JsonValue] = []
    for index, new in enumerate(after):
        if index in source:
            merged.append(document[source[index]])
        elif len(before) == len(after) and index not in used:
            merged.append(three_way_merge(document[index], before[index], new))
        else:
            merged.append(new)
    return merged
