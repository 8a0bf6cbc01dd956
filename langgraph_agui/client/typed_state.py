"""The shared state of a conversation: as the agent sent it, and as a Python type.

In: the state that a client holds after each event, JSON data; the user's changes to its typed form. Out: that form, and
the state that the next run is sent.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, cast

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypeVar

from langgraph_agui.protocol.jsonable import JsonValue, to_jsonable
from langgraph_agui.protocol.same import same

logger = logging.getLogger(__name__)

StateT = TypeVar("StateT", default=Any)


class _Nothing:
    """Stands for a typed state that has not been read; `None` may be one."""


_NOTHING: Final = _Nothing()


class TypedState(Generic[StateT]):
    """Keeps both forms. Data that the type does not know stays in what is sent.

    Args:
        kind: What the state is read as, anything that pydantic validates; None leaves it as JSON data.
        reported: Is given what is wrong with a state that does not fit, once as long as the same is wrong; without it,
            that is logged.
    """

    def __init__(self, kind: Any, reported: Callable[[ValidationError], None] | None = None) -> None:
        self._adapter: TypeAdapter[StateT] | None = None if kind is None else TypeAdapter(kind)
        self._report = reported or _log
        self.clear()

    def clear(self) -> None:
        """Begin anew, without a state."""
        self.restore({})

    def restore(self, state: JsonValue, typed: JsonValue = None) -> None:
        """Begin with what `sent` and `kept` have told."""
        self._held: object = state
        self._shared = False
        """Whether `_held` is the agent's, and not ours to change."""
        self._typed: StateT | _Nothing = _NOTHING
        self._told: JsonValue = {}
        """What `_typed` looked like when it was read: what differs from it are the user's changes."""
        self._wrong: object = None
        """What was reported."""
        if self._adapter is not None:
            with suppress(ValidationError):
                self._read(state if typed is None else typed)

    @property
    def value(self) -> StateT:
        """The state, typed. What is changed in it is sent with the next run.

        Raises:
            ValidationError: The agent has sent no state yet that fits, and an empty one does not.
        """
        if self._adapter is None:
            if self._shared:
                self._held, self._shared = to_jsonable(self._held), False
            return cast("StateT", self._held)
        if isinstance(self._typed, _Nothing):
            return self._read(self._held)
        return self._typed

    def set(self, value: StateT) -> None:
        """Replace the state; it is sent with the next run. Raises `ValidationError` if it does not fit."""
        if self._adapter is None:
            self._held, self._shared = to_jsonable(value), False
        else:
            self._typed = self._adapter.validate_python(value)

    def hear(self, state: object) -> None:
        """Take the state that the agent has sent. One that does not fit is reported, and the typed one stays.

        It is sent in place of the keys that do not fit; the agent's other keys are not taken back.
        """
        self._held, self._shared = state, True
        if self._adapter is None:
            return
        try:
            self._read(state)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False)
            unfit = {one["loc"][0] for one in wrong if one["loc"]}
            if isinstance(self._told, dict):
                self._told = {key: value for key, value in self._told.items() if key not in unfit}
            if wrong != self._wrong:
                self._wrong = wrong
                self._report(error)

    def sent(self) -> JsonValue:
        """The state for the next run: what the agent sent, with the user's changes in it."""
        held = to_jsonable(self._held)
        if self._adapter is None or isinstance(self._typed, _Nothing):
            return held
        now = self._dump(self._typed)
        changed = _changed(held, self._told, now)
        self._held, self._told = changed, now
        return changed

    def kept(self) -> JsonValue:
        """The typed state as JSON data where `sent` does not tell it, since the agent's last one did not fit."""
        if self._adapter is None or isinstance(self._typed, _Nothing):
            return None
        typed = self._dump(self._typed)
        with suppress(ValidationError):
            if same(self._dump(self._validated(self.sent())), typed):
                return None
        return typed

    def _read(self, state: object) -> StateT:
        self._typed = self._validated(state)
        self._told, self._wrong = self._dump(self._typed), None
        return self._typed

    def _validated(self, state: object) -> StateT:
        """As JSON, for which strict types have rules of their own."""
        assert self._adapter is not None  # noqa: S101
        return self._adapter.validate_json(json.dumps(to_jsonable(state)))

    def _dump(self, value: StateT) -> JsonValue:
        assert self._adapter is not None  # noqa: S101
        return to_jsonable(self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True))


def _changed(held: JsonValue, before: JsonValue, now: JsonValue) -> JsonValue:
    """`held` with what has changed from `before` to `now`; keys that neither of them has stay."""
    if same(before, now):
        return held
    if not (isinstance(held, dict) and isinstance(before, dict) and isinstance(now, dict)):
        return now
    kept = {key: value for key, value in held.items() if key in now or key not in before}
    changed = [key for key in now if key not in before or not same(before[key], now[key])]
    return {**kept, **{key: _changed(held.get(key), before.get(key), now[key]) for key in changed}}


def _log(error: ValidationError) -> None:
    places = ", ".join("/".join(map(str, one["loc"])) or "/" for one in error.errors())
    logger.warning("The agent's state does not fit at %s; the last one that did is kept.", places)
