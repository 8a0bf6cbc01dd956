"""Shared state, out: the client's copy of the graph's state, and the events that keep it true.

Values of the root graph and previews (what nodes emit, what tool arguments predict, what declared subgraphs have so
far) enter; `STATE_DELTA` and `STATE_SNAPSHOT` leave when the client's copy has to change. The copy begins as the
input's state and follows our own events (AG-UI 1.0, state), so each patch fits what the client holds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ag_ui.core import BaseEvent

from langgraph_agui.messages.extract import as_mapping
from langgraph_agui.protocol.jsonable import JsonValue, json_equal, to_jsonable
from langgraph_agui.protocol.patch import PatchError, apply_patch
from langgraph_agui.state.client_state import ClientStateCache, PreviewHistory
from langgraph_agui.translate.state_change import NOTHING, Change, Maybe, Nothing, Step, following, pointer

logger = logging.getLogger(__name__)


class Contract(Protocol):
    """What may be shown, and how; see `StateContract`."""

    @property
    def show(self) -> Callable[[object], JsonValue]:
        """Makes of a value what the client may see of it."""

    def shows(self, key: str) -> bool:
        """Whether the client sees this key."""

    def holds(self, key: str) -> bool:
        """Whether the graph is known to have a channel of this name."""

    def check(self, key: str, value: object) -> None:
        """Raise if a value that is about to be shown is not what was promised."""


class Unshared:
    """The contract of a state that nobody is shown."""

    show = staticmethod(to_jsonable)

    def shows(self, key: str) -> bool:
        """No."""
        return False

    holds = shows

    def check(self, key: str, value: object) -> None:
        """Nothing is promised."""


class _Preview(NamedTuple):
    """What a key looks like until its owner, a task or a tool call, has ended."""

    owner: str
    key: str
    value: Maybe


class StateView:
    """The client's copy of the state.

    Args:
        baseline: What the client holds when the run begins: `RunAgentInput.state`.
        contract: Says what may be shown, and how.
        emit: Takes the events.
        deltas: Whether changes are sent as patches, where those are smaller than the state.
        before: What the thread's clients were shown before.

    Attributes:
        told: Whether all that the graph has said is told.
        previewed: What was previewed.
    """

    def __init__(
        self,
        baseline: object,
        contract: Contract,
        emit: Callable[[BaseEvent], object],
        *,
        deltas: bool = True,
        before: ClientStateCache | None = None,
    ) -> None:
        self._contract = contract
        self._emit = emit
        self._deltas = deltas
        self._patchable = isinstance(baseline, Mapping)
        own = following(NOTHING, baseline, "").after
        self._own: dict[str, JsonValue] = own if isinstance(own, dict) else {}
        self._client = self._own
        self._truth: dict[str, Maybe] = {}
        self._seen: dict[str, object] = {}
        self._written: set[str] = set()
        self._previews: list[_Preview] = []
        self._ended: set[str] = {""}
        self._begun = False
        self.told = False
        self._whole = False
        self._before = before or ClientStateCache()
        self.previewed = PreviewHistory()

    @property
    def copy(self) -> Mapping[str, JsonValue]:
        """The client's copy as it is now; not changed afterwards."""
        return self._client

    def join(self, *, anew: bool) -> Iterable[BaseEvent]:
        """Return what tells one more reader the copy; nothing before the graph has spoken, then all are told.

        Args:
            anew: Whether the reader holds something that it must not go on holding.
        """
        self._whole = not self._begun
        return self.whole() if self._begun and (self._client or anew) else ()

    def whole(self) -> Iterable[BaseEvent]:
        """Return what tells the copy to a reader, whatever that holds."""
        change = Change({})
        for key, value in self._client.items():
            change.make(key, value)
        return change.events(patchable=False, deltas=self._deltas, tag=None)

    # -- the truth ----------------------------------------------------------------------------------------------

    def wrote(self, keys: Iterable[str]) -> None:
        """Note that a task has written these channels: maybe the objects that they held, changed in place."""
        self._written.update(keys)

    def update(self, values: object) -> None:
        """Take the graph's values after a superstep. Only channels that were written are looked at."""
        self.told = False
        written, self._written = self._written, set()
        channels = as_mapping(values)
        if channels is None:
            return
        found = {
            key: value
            for key, value in channels.items()
            if (key not in self._seen or self._seen[key] is not value or key in written) and self._contract.shows(key)
        }
        gone = [key for key in (self._seen if self._begun else self._claimed()) if key not in channels]
        self._take(found, gone, written)
        self._begun = self.told = True
        if self._whole:
            self._whole = False
            for event in self.whole():
                self._emit(event)

    def _claimed(self) -> list[str]:
        """The client's keys that are not its own; None is as good as nothing."""
        kept = self.kept(self._own)
        return [key for key, value in self._own.items() if value is not None and key not in kept]

    def kept(self, state: object) -> dict[str, object]:
        """What of a client's state is its own: neither the graph's, nor left from what a run has previewed."""
        if not isinstance(state, Mapping):
            return {}
        holds, shows = self._contract.holds, self._contract.shows
        foreign = {key: value for key, value in state.items() if not (holds(key) and shows(key))}
        left, previewed = self._before.is_leftover, self.previewed.contains
        return {key: value for key, value in foreign.items() if not left(key, value) and not previewed(key, value)}

    def settle(self) -> None:
        """Compare once more, without previews: a node may have changed an object in place and not returned it."""
        self._ended.update(preview.owner for preview in self._previews)
        self._take(dict(self._seen), (), ())

    def _take(self, found: Mapping[str, object], gone: Collection[str], written: Collection[str]) -> None:
        steps = {key: self._follow(key, value) for key, value in found.items()}
        for key, step in steps.items():
            if step.operations and self._begun:  # what the run starts from is not its doing
                self._contract.check(key, step.after)
        self._seen.update(found)
        self._truth.update((key, step.after) for key, step in steps.items())
        for key in gone:
            self._seen.pop(key, None)
            self._truth[key] = NOTHING
        self._previews = [one for one in self._previews if one.key not in written]
        self._show(dict.fromkeys([*found, *gone, *self._release(self._ended)]), steps)

    def _follow(self, key: str, value: object) -> Step:
        # No patch may name "__proto__": what it was does not matter.
        before = NOTHING if key == "__proto__" else self._rest(key)
        return following(before, value, pointer(key), self._contract.show)

    # -- previews -----------------------------------------------------------------------------------------------

    def preview(self, owner: str, values: Mapping[str, object], tag: str | None = None) -> set[str]:
        """Show values until `owner` has ended; return the keys that clients do not see, which are left out.

        Args:
            owner: A task of the root graph, or a tool call.
            values: By key.
            tag: The `subagentRunId` of who shows it.
        """
        show = self._contract.show
        made = {
            key: following(NOTHING if key == "__proto__" else self._target(key), value, pointer(key), show).after
            for key, value in values.items()
        }
        return self._preview(owner, made, tag)

    def patch(self, owner: str, operations: Sequence[Mapping[str, object]], tag: str | None = None) -> set[str]:
        """Show what a patch makes of the client's copy, as `preview` does."""
        try:
            result = apply_patch(self._client, operations)
        except PatchError as error:
            logger.warning("A patch of the state does not fit and was left out: %s", error)
            return set()
        if not isinstance(result, dict):
            logger.warning("A patch would make the state something else than an object and was left out.")
            return set()
        values: dict[str, Maybe] = {key: NOTHING for key in self._client if key not in result}
        show = self._contract.show
        for key, value in result.items():
            if self._client.get(key, NOTHING) is not value:
                values[key] = value if show is to_jsonable else show(value)
        return self._preview(owner, values, tag)

    def _preview(self, owner: str, values: Mapping[str, Maybe], tag: str | None) -> set[str]:
        held = {one.key: one.value for one in self._previews if one.owner == owner}
        hidden = {key for key in values if not self._contract.shows(key)}
        values = {key: value for key, value in values.items() if key not in held or not json_equal(held[key], value)}
        shown = [_Preview(owner, key, value) for key, value in values.items() if key not in hidden]
        for one in shown:
            if not isinstance(one.value, Nothing):
                self.previewed.add(one.key, one.value)
        self._previews = [one for one in self._previews if one.owner != owner or one.key not in values] + shown
        self._show([one.key for one in shown], {}, tag)
        return hidden

    def begin(self, owner: str) -> None:
        """A call begins; its id may have been that of an earlier one."""
        self._ended.discard(owner)

    def end(self, owner: str) -> None:
        """A task or a call has ended: its previews stay until the graph's values say what became of them."""
        self._ended.add(owner)

    def next_superstep(self) -> None:
        """The next superstep begins: what the tasks before it have previewed is over."""
        self._show(self._release(self._ended), {})

    def drop(self, owners: Collection[str] | None = None) -> None:
        """Show no more what `owners` have previewed; None means all."""
        self._show(self._release({one.owner for one in self._previews} if owners is None else owners), {})

    def _release(self, owners: Collection[str]) -> set[str]:
        """Forget the previews of `owners`; return their keys."""
        over = {one.key for one in self._previews if one.owner in owners}
        if over:
            self._previews = [one for one in self._previews if one.owner not in owners]
        return over

    # -- the client's copy ----------------------------------------------------------------------------------------

    def _rest(self, key: str) -> Maybe:
        """What the client sees of a key without previews: the graph's value, or else its own."""
        return self._truth.get(key, self._own.get(key, NOTHING))

    def _target(self, key: str) -> Maybe:
        previews = (preview.value for preview in reversed(self._previews) if preview.key == key)
        return next(previews, self._rest(key))

    def _show(self, keys: Collection[str], steps: Mapping[str, Step], tag: str | None = None) -> None:
        """Bring the client's copy of `keys` up to date; `steps` are known ones, from what was shown before."""
        if not keys:
            return
        change = Change(self._client)
        for key in keys:
            change.make(key, self._target(key), steps.get(key))
        for event in change.events(patchable=self._patchable, deltas=self._deltas, tag=tag):
            self._emit(event)
            self._patchable = True
        self._client = change.result
