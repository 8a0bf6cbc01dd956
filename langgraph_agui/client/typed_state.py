"""The shared state of a conversation: as the agent sent it, and as a Python type.

In: the state that a client holds after each event, JSON data; the user's changes to its typed form. Out: that form, and
the state that the next run is sent.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final, Generic, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import TypeVar

from langgraph_agui.client.changes import changed
from langgraph_agui.protocol.jsonable import JsonValue, json_equal, to_jsonable

logger = logging.getLogger(__name__)

_TRIED: Final = 8
"""How many updates that nobody has looked at are read if the last one does not fit."""

StateT = TypeVar("StateT", default=Any)


class _Nothing:
    """Stands for a typed state that has not been read; `None` may be one."""


_NOTHING: Final = _Nothing()


class TypedState(Generic[StateT]):
    """Keeps both forms.

    Data that the type does not know stays in what is sent, but for that of list elements which were changed while the
    list became longer or shorter. A `SecretStr` is sent as pydantic writes it, as stars, and no change of it is
    noticed, unless a serializer tells it.

    What the agent sends is read when somebody looks, and by `read`: to validate all of a state at each delta would cost
    more than all else. So a state that does not fit is not reported if the next one came before anybody has looked.

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
        self._unread: deque[object] = deque(maxlen=_TRIED)
        """The agent's last states, as long as nobody has looked."""
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
                self._held, self._shared = _copied(self._held), False
            return cast("StateT", self._held)
        self.read()
        if isinstance(self._typed, _Nothing):
            return self._read(self._held)
        return self._typed

    def set(self, value: StateT) -> None:
        """Replace the state; it is sent with the next run. Raises `ValidationError` if it does not fit."""
        if self._adapter is None:
            self._held, self._shared = to_jsonable(value), False
        else:
            self.read()
            self._typed = self._adapter.validate_python(value)

    def hear(self, state: object) -> None:
        """Take the state that the agent has sent, which goes before what was changed until now."""
        self._held, self._shared = state, True
        if self._adapter is not None:
            self._unread.append(state)

    def read(self) -> None:
        """Read what was heard. A state that does not fit is reported, and read with what stood where it does not.

        If that does not fit either, the last one that did stays. What stays is sent in place of the keys that do not
        fit; the agent's other keys are not taken back. Of states that nobody has looked at, only the last few are
        tried.
        """
        if not self._unread:
            return
        last = self._unread.pop()
        try:
            self._read(last)
        except ValidationError as error:
            while self._unread:
                with suppress(ValidationError):
                    self._read(self._unread.pop())
                    break
            self._refuse(to_jsonable(last), error)
        finally:
            self._unread.clear()

    def _refuse(self, state: JsonValue, error: ValidationError) -> None:
        wrong = error.errors(include_url=False, include_context=False)
        unfit = {str(one["loc"][0]) for one in wrong if one["loc"]}
        if unfit and isinstance(state, dict):
            with suppress(ValueError):  # it does not fit without them, or what stands there cannot be written
                self._read_around(state, unfit)
        if isinstance(self._told, dict):
            self._told = {key: value for key, value in self._told.items() if key not in unfit}
        if wrong != self._wrong:
            self._wrong = wrong
            self._report(error)

    def _read_around(self, state: dict[str, JsonValue], unfit: Collection[str]) -> None:
        """Read `state` with what stood under the keys `unfit`, if something did."""
        mended = {key: value for key, value in state.items() if key not in unfit}
        old: JsonValue = None
        if not isinstance(self._typed, _Nothing):
            old = self._dump(self._typed)
            for told in (self._dump(self._typed, by_alias=False), old):  # an agent may call a field by either name
                if isinstance(told, dict):
                    mended |= {key: told[key] for key in unfit if key in told}
        if json_equal(mended, old):
            self._told = old
        else:
            self._typed = self._validated(mended)
            self._told = self._dump(self._typed)

    def sent(self) -> JsonValue:
        """The state for the next run: what the agent sent, with the user's changes in it."""
        self.read()
        held = to_jsonable(self._held)
        if self._adapter is None or isinstance(self._typed, _Nothing):
            return held
        return changed(held, self._told, self._dump(self._typed))

    def send(self) -> JsonValue:
        """The same, for a run that begins now: the agent has it then.

        Raises:
            ValidationError: What the user has changed does not fit.
        """
        sent = self.sent()
        if self._adapter is not None and not isinstance(self._typed, _Nothing):
            now = self._dump(self._typed)
            if not json_equal(self._told, now):
                self._adapter.validate_json(json.dumps(now))
            self._held, self._told = sent, now
        return sent

    def kept(self) -> JsonValue:
        """The typed state as JSON data where `sent` does not tell it, since the agent's last one did not fit."""
        self.read()
        if self._adapter is None or isinstance(self._typed, _Nothing):
            return None
        typed = self._dump(self._typed)
        with suppress(ValidationError):
            if json_equal(self._dump(self._validated(self.sent())), typed):
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

    def _dump(self, value: StateT, by_alias: bool = True) -> JsonValue:
        assert self._adapter is not None  # noqa: S101
        told = self._adapter.dump_python(value, mode="json", by_alias=by_alias, round_trip=True, warnings=False)
        return to_jsonable(told)


def _copied(value: object) -> JsonValue:
    """What `to_jsonable` makes of JSON data, in a third of the time: each look at a changed state costs this."""
    try:
        copy: JsonValue = from_json(to_json(value))
    except ValueError:  # halves of surrogate pairs, or very deep
        return to_jsonable(value)
    return copy


def _log(error: ValidationError) -> None:
    places = ", ".join("/".join(map(str, one["loc"])) or "/" for one in error.errors())
    logger.warning("The agent's state does not fit at %s; what stood there stays.", places)
