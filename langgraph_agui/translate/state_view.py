"""The client's copy of the graph's state during one run, and the events that keep it up to date.

The graph's values and previews enter. Previews are values that nodes emit, that tool arguments
predict, and that declared subgraphs have written so far. `STATE_DELTA` and `STATE_SNAPSHOT` leave
when the copy changes. The copy begins as the input's state and follows our own events (AG-UI 1.0,
state), so each patch fits what the client holds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from ag_ui import core as agui

from langgraph_agui.kernel.configs import as_mapping, task_id
from langgraph_agui.kernel.quoting import printable, quoted_list
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.nodes import PredictState, emission_in, predictions_in
from langgraph_agui.protocol.json import JsonValue, same, same_for_clients, to_jsonable
from langgraph_agui.protocol.patch import PatchError, apply_patch
from langgraph_agui.state.contract import StateContract
from langgraph_agui.translate.state_change import (
    NOTHING,
    Maybe,
    Nothing,
    StateChange,
    Step,
    step_to_value,
)

logger = run_logger(__name__)

# Owner of previews of what the finished tasks of a resumed superstep have written.
_SUPERSTEP: Final = "superstep"

Namespace = tuple[str, ...]


class StateView:
    """The client's copy of the state in one run.

    Args:
        client_state: The client's state when the run begins: `RunAgentInput.state`.
        contract: The keys that clients may see, and how; None if they see nothing.
        emit: Receives the events.

    Attributes:
        copy: The client's state now. It is replaced, never changed.
        expected: The predictions for each tool.
    """

    def __init__(
        self,
        client_state: object,
        contract: StateContract | None,
        emit: Callable[[agui.BaseEvent], object],
    ) -> None:
        self._contract = contract
        self._deltas = contract is None or contract.deltas
        self._emit = emit
        self._patchable = isinstance(client_state, Mapping)
        # `clean_input` has made it JSON data that nobody else holds.
        self.copy: dict[str, JsonValue] = (
            dict(client_state) if isinstance(client_state, Mapping) else {}
        )
        # The copy without previews: the graph's values, and the client's where the graph has none.
        self._base: dict[str, Maybe] = dict(self.copy)
        # The graph's own objects, as reported last. One that is reported again and was not written
        # has not changed.
        self._values: dict[str, object] = {}
        self._inner_values: dict[Namespace, Mapping[str, object]] = {}
        self._written: dict[Namespace, set[str]] = {}
        # By owner, a task or a tool call, and key, the last one at the end.
        self._previews: dict[tuple[str, str], Maybe] = {}
        # Tasks and calls that have ended. Their previews stay until the graph's values show what
        # became of them.
        self._ended_owners: set[str] = {""}
        self._begun = False
        self.expected: dict[str, tuple[PredictState, ...]] = {}
        self.expect(() if contract is None else contract.predict)
        self._warned: set[str] = set()

    @property
    def graph_values(self) -> dict[str, JsonValue]:
        """The graph's own values, as far as clients see them, without previews."""
        known = ((key, self._base[key]) for key in self._values)
        return {key: value for key, value in known if not isinstance(value, Nothing)}

    def client_only(self, state: object) -> dict[str, object]:
        """Return the client's own part of its state: no key of the graph's, and no preview."""
        if self._contract is not None:
            return self._contract.client_only(state)
        return dict(state) if isinstance(state, Mapping) else {}

    # -- the graph's values -----------------------------------------------------------------------

    def task_start(self, namespace: Namespace) -> None:
        """A task of the graph at `namespace` begins. In the root, previews of the last superstep
        end then.
        """
        if not namespace:
            self._update(self._release(self._ended_owners), {})

    def task_end(self, namespace: Namespace, task: str, result: object) -> None:
        """A task has ended; `result` has its writes, by channel."""
        keys = [str(key) for key in result] if isinstance(result, Mapping) else []
        self._written.setdefault(namespace, set()).update(keys)
        if not namespace:
            self._ended_owners |= {task, _SUPERSTEP}

    def changed(
        self, namespace: Namespace, values: object, before: object
    ) -> Mapping[str, object] | None:
        """Return the channels of a graph that may have changed since it reported `before`."""
        channels, known = as_mapping(values), as_mapping(before) or {}
        if channels is None or not known:
            return channels
        written = self._written.get(namespace, ())
        return {
            key: value
            for key, value in channels.items()
            if key in written or known.get(key) is not value
        }

    def values(
        self, namespace: Namespace, values: object, subagent_run_id: str | None = None
    ) -> None:
        """Take the state of the graph at `namespace` after a superstep; a declared subgraph's is a
        preview.
        """
        channels = as_mapping(values)
        if namespace:
            if channels is not None:
                self._preview_subgraph(namespace, channels, subagent_run_id)
            return
        written = self._written.get((), set())
        self._inner_values.clear()
        self._written.clear()
        if channels is None:
            return
        found = {
            key: value
            for key, value in channels.items()
            if (key in written or key not in self._values or self._values[key] is not value)
            and self._is_shown(key)
        }
        if self._begun:
            gone = [key for key in self._values if key not in channels]
        else:
            # The client may hold keys that the graph does not have any more. None needs no removal.
            known = {*channels, *self.client_only(self._base)}
            gone = [
                key for key, value in self._base.items() if value is not None and key not in known
            ]
        self._take(found, gone, written)
        self._begun = True

    def settle(self) -> None:
        """Compare all values once more, and end all previews: a node may have changed an object in
        place.
        """
        self._ended_owners.update(owner for owner, _ in self._previews)
        values = self._values.items()
        self._take(
            {key: value for key, value in values if not same(self._base.get(key, NOTHING), value)},
            (),
            (),
        )

    def _take(
        self, found: Mapping[str, object], gone: Collection[str], written: Collection[str]
    ) -> None:
        steps = {key: self._step(key, value) for key, value in found.items()}
        # The run is not to blame for the state that it starts from.
        if self._contract is not None and self._begun:
            for key, step in steps.items():
                if step.operations:
                    self._contract.check(key, step.after)
        self._values.update(found)
        self._base.update((key, step.after) for key, step in steps.items())
        for key in gone:
            self._values.pop(key, None)
            self._base[key] = NOTHING
        self._previews = {
            (owner, key): value
            for (owner, key), value in self._previews.items()
            if key not in written
        }
        self._update(dict.fromkeys([*found, *gone, *self._release(self._ended_owners)]), steps)

    def _step(self, key: str, value: object) -> Step:
        before = self._base.get(key, NOTHING)
        # Most values that a client sends are the same, and need no conversion.
        form = self._form_of(key)
        if not self._begun and form is to_jsonable and same(before, value):
            return Step(before, [], before)
        return step_to_value(before, value, key, form)

    def _preview_subgraph(
        self, namespace: Namespace, channels: Mapping[str, object], subagent_run_id: str | None
    ) -> None:
        """Preview the channels that a declared subgraph shares with the root and has written or
        changed.
        """
        shared = self._contract.shared(namespace) if self._contract is not None else frozenset()
        if not shared:
            return
        # At first there are none: the subgraph has begun with the root's.
        before = self._inner_values.get(namespace)
        self._inner_values[namespace] = dict(channels)
        changed = self._written.pop(namespace, set())
        if before is not None:
            changed |= {key for key in channels if before.get(key, NOTHING) is not channels[key]}
        values = {key: channels[key] for key in channels if key in shared and key in changed}
        if values:
            self.preview(task_id(namespace[0]), values, subagent_run_id)

    # -- previews ---------------------------------------------------------------------------------

    def custom(self, data: object, subagent_run_id: str | None = None) -> bool:
        """Take a part of the custom stream; return whether it is about state."""
        if (predictions := predictions_in(data)) is not None:
            self.expect(predictions)
            return True
        emission = emission_in(data)
        if emission is None:
            return False
        owner = task_id(str(emission.get("namespace") or "").partition("|")[0])
        if (patch := emission.get("patch")) is not None:
            hidden = self._preview_patch(owner, patch, subagent_run_id)
        else:
            hidden = self.preview(owner, emission.get("values") or {}, subagent_run_id)
        if hidden - self._warned:
            names = quoted_list(sorted(hidden - self._warned))
            logger.warning("emit_state: clients do not see these keys: %s", names)
            count_dropped("hidden_state", len(hidden - self._warned))
            self._warned |= hidden
        return True

    def expect(self, predict: Iterable[PredictState]) -> None:
        """Predict these too, from now on."""
        for one in predict:
            known = self.expected.get(one.tool, ())
            if one not in known:
                self.expected[one.tool] = (*known, one)

    def resume_superstep(self, values: object) -> None:
        """A superstep resumes in which finished tasks have written `values`: clients see them until
        it is over.
        """
        if written := as_mapping(values):
            self.preview(_SUPERSTEP, written)

    def preview(
        self, owner: str, values: Mapping[str, object], subagent_run_id: str | None = None
    ) -> set[str]:
        """Show values until `owner`, a task of the root graph or a tool call, has ended.

        Returns:
            The keys that clients do not see; they are left out.
        """
        made = {
            key: step_to_value(self._target(key), value, key, self._form_of(key)).after
            for key, value in values.items()
        }
        return self._preview(owner, made, subagent_run_id)

    def _preview_patch(
        self, owner: str, operations: Sequence[Mapping[str, object]], subagent_run_id: str | None
    ) -> set[str]:
        """Preview a patch of the client's copy."""
        try:
            result = apply_patch(self.copy, operations)
            if not isinstance(result, dict):
                raise PatchError("the state would not be an object")
        except PatchError as error:
            logger.warning(
                "A patch of the state does not fit and was left out: %s", printable(str(error))
            )
            count_dropped("state_patch")
            return set()
        values: dict[str, Maybe] = {key: NOTHING for key in self.copy if key not in result}
        for key, value in result.items():
            if self.copy.get(key, NOTHING) is not value:
                form = self._form_of(key)
                values[key] = value if form is to_jsonable else form(value)
        return self._preview(owner, values, subagent_run_id)

    def _preview(
        self, owner: str, values: Mapping[str, Maybe], subagent_run_id: str | None
    ) -> set[str]:
        hidden = {key for key in values if not self._is_shown(key)}
        new: dict[str, Maybe] = {}
        for key, value in values.items():
            place = owner, key
            repeated = place in self._previews and same_for_clients(self._previews[place], value)
            if key not in hidden and not repeated:
                new[key] = value
        for key, value in new.items():
            self._previews.pop((owner, key), None)
            self._previews[owner, key] = value
        if self._contract is not None:
            shown = [key for key, value in new.items() if not isinstance(value, Nothing)]
            self._contract.note_previewed(shown)
        self._update(new, {}, subagent_run_id)
        return hidden

    def owner_starts(self, owner: str) -> None:
        """A task or call begins; its id may have been that of an earlier one."""
        self._ended_owners.discard(owner)

    def owner_ends(self, owner: str, *, failed: bool) -> None:
        """A task or call has ended. One that has failed has changed nothing: its previews end
        now.
        """
        self._ended_owners.add(owner)
        if failed:
            self.drop_previews({owner})

    def drop_previews(self, owners: Collection[str] | None = None) -> None:
        """End the previews of `owners` now; None means all."""
        if owners is None:
            owners = {owner for owner, _ in self._previews}
        self._update(self._release(owners), {})

    def _release(self, owners: Collection[str]) -> set[str]:
        """Forget the previews of `owners`; return their keys."""
        over = [place for place in self._previews if place[0] in owners]
        for place in over:
            del self._previews[place]
        return {key for _, key in over}

    # -- the client's copy ------------------------------------------------------------------------

    def visible(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the visible values of the state; all, if there is no contract."""
        contract = self._contract
        return {
            key: value
            for key, value in values.items()
            if contract is None or contract.shows(str(key))
        }

    def _form_of(self, key: str) -> Callable[[object], JsonValue]:
        return to_jsonable if self._contract is None else self._contract.form_of(key)

    def _is_shown(self, key: str) -> bool:
        return self._contract is not None and self._contract.shows(key)

    def _target(self, key: str) -> Maybe:
        """Return the value of a key for the client: the last preview, or else the value without
        previews.
        """
        previews = (value for (_, name), value in reversed(self._previews.items()) if name == key)
        return next(previews, self._base.get(key, NOTHING))

    def _update(
        self, keys: Collection[str], steps: Mapping[str, Step], subagent_run_id: str | None = None
    ) -> None:
        """Bring the client's copy of `keys` up to date; `steps` are differences that are known
        already.
        """
        if not keys:
            return
        change = StateChange(self.copy)
        for key in keys:
            change.set(key, self._target(key), steps.get(key))
        for event in change.events(
            patchable=self._patchable, deltas=self._deltas, subagent_run_id=subagent_run_id
        ):
            self._emit(event)
            self._patchable = True
        self.copy = change.after
