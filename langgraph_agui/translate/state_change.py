"""One change of the client's state: as patches, or as a snapshot where that is smaller or the only
way.

Old and new values of the state's keys enter; `STATE_DELTA` or `STATE_SNAPSHOT` events leave (RFC
6902; AG-UI 1.0, state).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias, cast

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent

from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.protocol.diff import Operation, changes, escaped
from langgraph_agui.protocol.json import JsonValue, dump_json, is_larger, size, to_jsonable
from langgraph_agui.protocol.sse import MAX_FRAME

logger = run_logger(__name__)

# The JSON of an event with nothing else in it must have fewer characters.
_TOO_LARGE: Final = MAX_FRAME - 1024


class Nothing:
    """The type of `NOTHING`, which stands for a key that is absent."""


NOTHING: Final = Nothing()
Maybe: TypeAlias = "JsonValue | Nothing"


class Step(NamedTuple):
    """How the value of one key changes. Without operations, `after` is the same object as
    `before`.
    """

    before: Maybe
    operations: list[Operation]
    after: Maybe


def step_to_json(before: Maybe, after: Maybe, key: str) -> Step:
    """Return the step from `before` to `after`, both JSON data that nobody changes."""
    path = f"/{escaped(key)}"
    if after is before:
        return Step(before, [], before)
    if isinstance(after, Nothing):
        return Step(before, [{"op": "remove", "path": path}], after)
    if isinstance(before, Nothing):
        return Step(before, [{"op": "add", "path": path, "value": after}], after)
    return Step(before, *changes(before, after, key))


def step_to_value(
    before: Maybe, value: object, key: str, show: Callable[[object], JsonValue] = to_jsonable
) -> Step:
    """Return the step from `before` to the result of `show` for a graph's value, which may be
    changed in place later.
    """
    if key == "__proto__":  # no patch may name it, so there is nothing to compare with
        before = NOTHING
    if show is to_jsonable and not isinstance(before, Nothing):
        return Step(before, *changes(before, value, key))
    return step_to_json(before, show(value), key)


class StateChange:
    """Collects the changes of the client's state.

    Args:
        before: The client's state. It is never changed itself.

    Attributes:
        after: The client's state with the changes. It is `before` itself until something changes.
    """

    def __init__(self, before: dict[str, JsonValue]) -> None:
        self.after = before
        self._before = before
        self._patches: list[tuple[list[Operation], int]] = []
        self._new_values = 0
        self._unpatchable = False

    def set(self, key: str, value: Maybe, known: Step | None = None) -> None:
        """Set `key` to JSON data, or remove it. `known` is used if it leads from the current value
        to the new one.
        """
        current = self.after.get(key, NOTHING)
        if current is value:
            return
        operations: list[Operation] = []
        if key == "__proto__":  # no patch may name it
            self._unpatchable |= current != value
        elif known is not None and known.before is current and known.after is value:
            operations = known.operations
        else:
            operations = step_to_json(current, value, key).operations
        weight = size(operations)
        if not _fits(operations, weight):
            logger.warning("The state %.80r is too large for a client and is not shown.", key)
            count_dropped("large_state")
            # The client must not send the old value back as if it were the graph's.
            self.set(key, NOTHING)
            return
        if self.after is self._before:
            self.after = dict(self._before)
        if isinstance(value, Nothing):
            del self.after[key]
        else:
            self.after[key] = value
            self._new_values += len(operations) == 1 and operations[0]["path"] == f"/{escaped(key)}"
        if operations:
            self._patches.append((operations, weight))

    def events(
        self, *, patchable: bool, deltas: bool, subagent_run_id: str | None
    ) -> Iterator[BaseEvent]:
        """Return the events that bring the client there.

        Args:
            patchable: Whether the client's state is an object, so that patches apply.
            deltas: Whether patches are wanted.
            subagent_run_id: The subagent that has changed the state.
        """
        if not self._patches and not self._unpatchable and patchable:
            return
        if self._unpatchable or self._prefers_snapshot(patchable and deltas):
            yield StateSnapshotEvent(snapshot=self.after, subagent_run_id=subagent_run_id)
            return
        if not patchable:
            yield StateSnapshotEvent(snapshot={}, subagent_run_id=subagent_run_id)
        delta: list[Operation] = []
        total = 0
        for operations, weight in self._patches:
            if delta and total + weight >= _TOO_LARGE:
                yield StateDeltaEvent(
                    delta=cast("list[Any]", delta), subagent_run_id=subagent_run_id
                )
                delta, total = [], 0
            delta += operations
            total += weight
        yield StateDeltaEvent(delta=cast("list[Any]", delta), subagent_run_id=subagent_run_id)

    def _prefers_snapshot(self, deltas: bool) -> bool:
        """Return whether to send the whole state: it is wanted or smaller, and not too much for one
        event.
        """
        weight = sum(weight for _, weight in self._patches)
        if deltas and self._new_values < len(self.after) and is_larger(self.after, weight - 1):
            return False
        return _fits(self.after, size(self.after))


def _fits(data: object, weight: int) -> bool:
    """Return whether JSON data of `weight` bytes is small enough for one event. Clients count as
    JavaScript does.
    """
    return weight < _TOO_LARGE or len(dump_json(data).encode("utf-16-le")) // 2 < _TOO_LARGE
