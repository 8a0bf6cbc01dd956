"""One change of the client's state: the old and the new values of its keys enter, one event leaves, or a few.

Patches are RFC 6902; a snapshot goes out instead where it is smaller, or where no patch leads there that clients take.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias, cast

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent

from langgraph_agui.protocol.diff import NotPlain, Operation, changes, escaped, plain, weigh
from langgraph_agui.protocol.jsonable import JsonValue, to_jsonable
from langgraph_agui.protocol.sse import MAX_FRAME

logger = logging.getLogger(__name__)

_TOO_LARGE: Final = MAX_FRAME - 1024
"""Characters of JSON that an event with nothing else in it must stay below."""

_SURELY_FITS: Final = MAX_FRAME // 8
"""What weighs less fits, whatever is in it: an escaped character is six."""

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def measure(data: object) -> int:
    """About how many characters JSON data are; exact where that may be too many for one event."""
    weight = weigh(data, _SURELY_FITS)
    return weight if weight < _SURELY_FITS else len(_JSON.encode(data).encode("utf-16-le")) // 2


class Nothing:
    """The type of the absence of a value."""


NOTHING: Final = Nothing()
Maybe: TypeAlias = "JsonValue | Nothing"


class Step(NamedTuple):
    """How a key of the state changes; without operations `after` is `before`, the same object."""

    before: Maybe
    operations: list[Operation]
    after: Maybe


def pointer(key: str) -> str:
    """The JSON pointer to a key of the state."""
    return f"/{escaped(key)}"


def towards(before: Maybe, after: Maybe, path: str) -> Step:
    """How `before` becomes `after`, both JSON data that nobody changes. Raises `Unpatchable`."""
    if after is before:
        return Step(before, [], before)
    if isinstance(after, Nothing):
        return Step(before, [{"op": "remove", "path": path}], after)
    if isinstance(before, Nothing):
        return Step(before, [{"op": "add", "path": path, "value": after}], after)
    return Step(before, *changes(before, after, path, owned=True))


def following(before: Maybe, value: object, path: str, show: Callable[[object], JsonValue] = to_jsonable) -> Step:
    """How `before` becomes what `show` makes of a value of the graph, which may be changed in place later.

    Raises `Unpatchable`.
    """
    if show is not to_jsonable:
        return towards(before, show(value), path)
    try:
        if isinstance(before, Nothing):
            return towards(before, plain(value), path)
        return Step(before, *changes(before, value, path))
    except (NotPlain, RuntimeError):  # a thread that was left running may change it meanwhile
        return towards(before, to_jsonable(value), path)


class Change:
    """What is to change of the client's copy.

    Args:
        client: The copy; never changed itself.
    """

    def __init__(self, client: dict[str, JsonValue]) -> None:
        self.result = client
        self._before = client
        self._steps: list[list[Operation]] = []
        self._weights: list[int] = []
        self._anew = 0
        self._unpatchable = False

    def make(self, key: str, value: Maybe, known: Step | None = None) -> None:
        """Make `key` what `value` is; `known` is a step that leads there, perhaps from elsewhere."""
        held = self.result.get(key, NOTHING)
        if held is value:
            return
        operations: list[Operation] = []
        if key == "__proto__":  # no patch may name it
            self._unpatchable |= held != value
        elif known is not None and known.before is held and known.after is value:
            operations = known.operations
        else:
            operations = towards(held, value, pointer(key)).operations
        weight = measure(operations)
        if weight >= _TOO_LARGE:
            logger.warning("The state %r is too large for a client and is not shown.", key)
            self.make(key, NOTHING)  # rather than that the client sends back what was there before
            return
        if self.result is self._before:
            self.result = dict(self._before)
        if isinstance(value, Nothing):
            del self.result[key]
        else:
            self.result[key] = value
            self._anew += len(operations) == 1 and operations[0]["path"] == pointer(key)
        if operations:
            self._steps.append(operations)
            self._weights.append(weight)

    def events(self, *, patchable: bool, deltas: bool, tag: str | None) -> Iterator[BaseEvent]:
        """The events that bring the client there.

        Args:
            patchable: Whether what the client holds can be patched: it is an object.
            deltas: Whether patches are wanted.
            tag: The `subagentRunId` of who has changed the state.
        """
        if not self._steps and not self._unpatchable and patchable:
            return
        if self._unpatchable or self._whole(patchable=patchable, deltas=deltas):
            yield StateSnapshotEvent(snapshot=self.result, subagent_run_id=tag)
            return
        if not patchable:
            yield StateSnapshotEvent(snapshot={}, subagent_run_id=tag)
        for piece in self._pieces():
            yield StateDeltaEvent(delta=cast("list[Any]", piece), subagent_run_id=tag)

    def _whole(self, *, patchable: bool, deltas: bool) -> bool:
        """Whether the whole state is to be sent: wanted, needed or smaller, and not too much for one event."""
        weight = sum(self._weights)
        if self._anew >= len(self.result):
            return weight < _TOO_LARGE
        if patchable and deltas and weigh(self.result, weight) >= weight:
            return False
        return measure(self.result) < _TOO_LARGE

    def _pieces(self) -> Iterator[list[Operation]]:
        piece: list[Operation] = []
        total = 0
        for operations, weight in zip(self._steps, self._weights, strict=True):
            if piece and total + weight >= _TOO_LARGE:
                yield piece
                piece, total = [], 0
            piece += operations
            total += weight
        yield piece
