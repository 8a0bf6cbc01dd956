"""All that a run says of shared state: one place for values, tasks, emissions and predictions.

What the stream and the callbacks tell of state enters; it goes to the view of the state, which tells the client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from langgraph_agui.messages.extract import as_mapping
from langgraph_agui.namespaces import task_id
from langgraph_agui.state.emit import emission_in, predictions_in, predictions_of
from langgraph_agui.state.options import PredictState
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.predict import Predictor
from langgraph_agui.translate.state_view import StateView, Unshared

logger = logging.getLogger(__name__)

_SUPERSTEP: Final = "superstep"
"""Owner of what the finished tasks of a superstep have written that goes on."""

Namespace = tuple[str, ...]


class SharedState:
    """The state of one run.

    Args:
        view: The client's copy of the state.
        sink: Takes the events of messages.
        channels: The channels that a graph inside the root graph shares with it; none, unless it is declared as a node.
        predict: Which tool arguments are shown while they stream.
    """

    def __init__(
        self,
        view: StateView,
        sink: Sink,
        channels: Callable[[Namespace], Collection[str]],
        predict: Iterable[PredictState] = (),
    ) -> None:
        self.view = view
        self.sink = Predictor(sink, view, predict)
        self._channels = channels
        self._inner: dict[Namespace, Mapping[str, object]] = {}
        self._written: dict[Namespace, set[str]] = {}
        self._warned: set[str] = set()

    @classmethod
    def none(cls, sink: Sink) -> SharedState:
        """For runs whose state nobody is shown."""
        return cls(StateView({}, Unshared(), sink.event), sink, lambda _namespace: ())

    # -- the graph's values -------------------------------------------------------------------------------------

    def go_on(self, values: object) -> None:
        """A superstep goes on in which tasks have written `values` before: they are seen until it is over."""
        if written := as_mapping(values):
            self.view.preview(_SUPERSTEP, written)

    def task_start(self, namespace: Namespace) -> None:
        """A task of the graph at `namespace` begins."""
        if not namespace:
            self.view.next_superstep()

    def task_end(self, namespace: Namespace, task: str, result: object) -> None:
        """A task has ended; `result` is what it has written, by channel."""
        keys = [str(key) for key in result] if isinstance(result, Mapping) else []
        if namespace:
            self._written.setdefault(namespace, set()).update(keys)
        else:
            self.view.wrote(keys)
            self.view.end(task)
            self.view.end(_SUPERSTEP)

    def values(self, namespace: Namespace, values: object, tag: str | None = None) -> None:
        """The state of a graph after a superstep; that of a declared subgraph is a preview of the root's.

        Args:
            namespace: Of the graph.
            values: Its state.
            tag: Its `subagentRunId`, if it is a subagent.
        """
        if not namespace:
            self.view.update(values)
            self._inner.clear()
            self._written.clear()
            return
        shared = self._channels(namespace)
        channels = as_mapping(values)
        if not shared or channels is None:
            return
        before = self._inner.get(namespace)  # at first there is none: what it began with is the root's
        self._inner[namespace] = dict(channels)
        written = self._written.pop(namespace, set())
        made = {
            key: channels[key]
            for key in shared
            if key in channels
            and (key in written or (before is not None and before.get(key, channels) is not channels[key]))
        }
        if made:
            self.view.preview(task_id(namespace[0]), made, tag)

    # -- previews -------------------------------------------------------------------------------------------------

    def custom(self, data: object, tag: str | None = None) -> bool:
        """Take what a node (of a subagent) has written to the custom stream; return whether it is about state."""
        if (told := predictions_in(data)) is not None:
            self.sink.expect(told)
            return True
        emission = emission_in(data)
        if emission is None:
            return False
        owner = task_id(emission.namespace.partition("|")[0])
        hidden: set[str] = set()
        if emission.patch is not None:
            hidden = self.view.patch(owner, emission.patch, tag)
        elif emission.values is not None:
            hidden = self.view.preview(owner, emission.values, tag)
        if hidden - self._warned:
            logger.warning("emit_state: clients do not see these keys: %s", ", ".join(sorted(hidden - self._warned)))
            self._warned |= hidden
        return True

    def model_start(self, metadata: Mapping[str, object]) -> None:
        """A model call begins, whose metadata may ask for predictions."""
        self.sink.expect(predictions_of(metadata))
