"""Shared state, out: what of a graph's state a client sees, and when it is told.

The values of the root graph enter after each superstep; a `STATE_SNAPSHOT` leaves when they differ from what the
client holds, which is the input's state and then our own snapshots (AG-UI 1.0, state).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ag_ui.core import BaseEvent, StateSnapshotEvent

from langgraph_agui.messages.found import as_mapping
from langgraph_agui.protocol.jsonable import to_jsonable


class StateView:
    """The client's copy of the state.

    Args:
        baseline: What the client holds when the run begins: `RunAgentInput.state`.
        keys: The channels that may be shown; None for all.
        hidden: Channels that are shown elsewhere: the messages.
        emit: Takes the snapshots.
        show: Makes of a channel's value what a client may see of it, as JSON data.
    """

    def __init__(
        self,
        baseline: object,
        keys: Collection[str] | None,
        hidden: Collection[str],
        emit: Callable[[BaseEvent], object],
        show: Callable[[object], object] = to_jsonable,
    ) -> None:
        self._client: dict[str, object] = dict(baseline) if isinstance(baseline, Mapping) else {}
        self._keys = keys
        self._hidden = hidden
        self._emit = emit
        self._show = show
        self._seen: dict[str, object] = {}

    @property
    def shown(self) -> dict[str, object]:
        """The client's copy as it is now."""
        return self._client

    def update(self, values: object) -> None:
        """Compare the graph's values with the client's copy. A channel still holding the same object is skipped."""
        self._apply(values, lambda key, value: key not in self._seen or self._seen[key] is not value)

    def settle(self) -> None:
        """Compare once more, channel by channel: a node may have changed an object in place."""
        self._apply(self._seen, lambda _key, _value: True)

    def _apply(self, values: object, look: Callable[[str, object], bool]) -> None:
        channels = as_mapping(values)
        if channels is None:
            return
        changed: dict[str, object] = {}
        for key, value in channels.items():
            if key in self._hidden or key.startswith("__") or (self._keys is not None and key not in self._keys):
                continue
            if look(key, value):
                plain = self._show(value)
                if key not in self._client or self._client[key] != plain:
                    changed[key] = plain
            self._seen[key] = value
        if changed:
            # What the client keeps in its state for itself stays there.
            self._client = {**self._client, **changed}
            self._emit(StateSnapshotEvent(snapshot=self._client))
