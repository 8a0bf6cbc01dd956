"""What a client holds of a thread's state, and what of it the client has changed.

`RunAgentInput.state`, the thread's checkpoint and what this process remembers of the thread's
clients enter. The values to write to the graph's channels leave. A client sends its whole state
with every input, so a value that differs from the thread's is either a change or a leftover: a
preview of a run whose stream the client left, or an older value.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final, TypeAlias

from ag_ui.core import AssistantMessage, RunAgentInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Overwrite, StateSnapshot

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.kernel.aio import Caller, run_here
from langgraph_agui.kernel.configs import as_mapping
from langgraph_agui.messages.template import canonical_json
from langgraph_agui.messages.to_agui import agui_role
from langgraph_agui.nodes import predicted_values
from langgraph_agui.state.contract import StateContract

# Key in the metadata of checkpoints: the run that wrote them.
RUN: Final = "agui_run"

# How many threads a process remembers.
_MAX_THREADS: Final = 2_000

# How many previews of a key are remembered: a client may be that many behind.
_MAX_PREVIEWS: Final = 50

# How many checkpoints are searched for what a client held that has missed something.
_MAX_HISTORY: Final = 50


def state_version(stored: StateSnapshot) -> object:
    """Return what names a state of a thread: the run that wrote it, or its checkpoint if no run of
    ours did.
    """
    return (stored.metadata or {}).get(RUN) or stored.config.get("configurable", {}).get(
        "checkpoint_id"
    )


# -- what this process remembers of clients ------------------------------------------------------


# The last previews of one run, by key: JSON data that nobody changes.
PreviewHistory: TypeAlias = "defaultdict[str, deque[object]]"


def preview_history() -> PreviewHistory:
    """Return a history without previews."""
    return defaultdict(lambda: deque(maxlen=_MAX_PREVIEWS))


class ClientStateCache:
    """What this process knows of the state that a thread's clients hold.

    Attributes:
        version: The state of the thread that was sent last, see `state_version`; None if none was.
        complete: Whether it is known what the client received of that state.
    """

    def __init__(self) -> None:
        self.version: object = None
        self.complete = False
        self._leftovers: defaultdict[str, set[bytes]] = defaultdict(set)

    def record_left(
        self, version: object, previews: PreviewHistory, state: Mapping[str, object] | None
    ) -> None:
        """Record that a client left a stream before its end.

        Args:
            version: The state that was being sent.
            previews: What was previewed in the stream.
            state: The client's state at that point; None if the client did not take all that was
                sent.
        """
        self.version, self.complete = version, state is not None
        # Digests, because a state may be large.
        for key, values in previews.items():
            self._leftovers[key].update(map(_digest, values))
        for key, value in (state or {}).items():
            self._leftovers[key].add(_digest(value))

    def record_received(self, version: object) -> None:
        """Record that a client received a stream to its end: it holds no leftovers any more."""
        self.version, self.complete = version, True
        self._leftovers.clear()

    def is_leftover(self, key: str, value: object) -> bool:
        """Return whether a client holds this value because it left a stream, not because it changed
        the key.
        """
        return key in self._leftovers and _digest(value) in self._leftovers[key]


class ClientStateCaches:
    """One `ClientStateCache` per thread, for the threads that ran last."""

    def __init__(self) -> None:
        self._of_thread = lru_cache(_MAX_THREADS)(lambda thread_id: ClientStateCache())

    def get(self, thread_id: str) -> ClientStateCache:
        """Return what is known of a thread, to read and to record more."""
        return self._of_thread(thread_id)


def _digest(value: object) -> bytes:
    """Return a digest of JSON data; numbers count as JavaScript has them, which sends 10.0 back as
    10.
    """
    return blake2b(canonical_json(json.dumps(value)).encode(), digest_size=16).digest()


# -- what a client has changed -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClientState:
    """The state that a client sent, and what of it is a change.

    Attributes:
        graph: The graph.
        run_input: What the client sent.
        config: The run's configuration, with the thread.
        messages_key: The channel of the messages.
        contract: What the client may change.
        cache: What this process knows of the thread's clients.
        call: Calls what may take long because of the input.
    """

    graph: GraphAdapter
    run_input: RunAgentInput
    config: RunnableConfig
    messages_key: str
    contract: StateContract
    cache: ClientStateCache
    call: Caller = run_here

    def initial_values(self) -> dict[str, object]:
        """Return the client's state as input for a graph without a checkpointer: all of it is
        input.
        """
        return self.contract.changed(self.run_input.state, None) if self._takes_state() else {}

    async def changes(
        self,
        stored: StateSnapshot,
        messages: Sequence[BaseMessage],
        base: StateSnapshot | None = None,
        superstep: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """Return what the client has changed, by channel. Values overwrite: reducers do not run
        again.

        Args:
            stored: The thread as it stands.
            messages: Its messages.
            base: The checkpoint that the run begins at, if that is an earlier one.
            superstep: What the finished tasks of a superstep have written, if the thread is paused
                in the middle of one. The client cannot change these keys, because that is applied
                after the client's values. Nor what a paused subgraph shares, which writes all of it
                when it resumes.

        Raises:
            RunInputError: The client may not change that, or not to such a value.
        """
        paused = superstep is not None
        if not self._takes_state() or (
            paused and self.graph.is_function
        ):  # a function resumes with its old input
            return {}
        stopped = bool(stored.next) and not paused
        older = await self._older_states(stored, messages, rerun=base is not None, stopped=stopped)
        changed = await self.call(self._changed, stored, messages, older)
        if superstep is not None:
            places = (f"{task.name}:{task.id}" for task in stored.tasks if task.state is not None)
            taken = changed.keys() & {
                *superstep,
                *(key for place in places for key in self.contract.shared((place,))),
            }
            self.contract.refuse(taken)
            changed = {key: value for key, value in changed.items() if key not in taken}
        present = as_mapping((base or stored).values) or {}
        return {
            key: Overwrite(value) if self.graph.needs_overwrite(key, key in present) else value
            for key, value in changed.items()
        }

    def input_at(self, base: StateSnapshot) -> dict[str, object]:
        """Return what the input at checkpoint `base` wrote beside messages: a run from there writes
        it again.
        """
        written = [as_mapping(task.result) or {} for task in base.tasks if task.name == START]
        return {
            key: value
            for values in written
            for key, value in values.items()
            if key != self.messages_key
        }

    def _takes_state(self) -> bool:
        return bool(self.run_input.state) and self.graph.input_form == "keys"

    def _changed(
        self,
        stored: StateSnapshot,
        messages: Sequence[BaseMessage],
        older: Iterable[Mapping[str, object]],
    ) -> dict[str, object]:
        sent = self.run_input.state
        if isinstance(sent, Mapping):
            predicted = self._predicted(messages) if self.cache.version is None else {}
            sent = {
                key: value
                for key, value in sent.items()
                if not self.cache.is_leftover(key, value)
                and not (
                    value and any(_is_beginning(value, whole) for whole in predicted.get(key, ()))
                )
            }
        return self.contract.changed(sent, as_mapping(stored.values) or {}, *older)

    # -- clients that have missed something -------------------------------------------------------

    def _predicted(self, messages: Sequence[BaseMessage]) -> Mapping[str, list[object]]:
        """Return what may have been predicted, by key, when the client left its last run in another
        process.

        The client's messages that the thread does not have come from that run; their tool calls
        hold the predictions.
        """
        found: defaultdict[str, list[object]] = defaultdict(list)
        known = {message.id for message in messages}
        for message in reversed(self.run_input.messages):
            if message.id in known:
                break
            for call in (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ():
                predict = [one for one in self.contract.predict if one.tool == call.function.name]
                for key, value in predicted_values(predict, call.function.arguments).items():
                    found[key].append(value)
        return found

    async def _older_states(
        self, stored: StateSnapshot, messages: Sequence[BaseMessage], *, rerun: bool, stopped: bool
    ) -> list[Mapping[str, object]]:
        """Return the thread's channels at earlier times, if the client may still hold values from
        then.

        It may if it left the last run's stream too early to know what it received, if the thread
        has changed since, if a run was `stopped` (what tasks of its last superstep wrote is stored,
        and was not sent), or if it lacks messages. A client that wants to `rerun` from an earlier
        message lacks the later ones on purpose. The search ends at the state that the client
        received, or before the input when it had missed nothing yet.
        """
        sent, complete = self.cache.version, self.cache.complete
        stale = stopped or (sent is not None and (sent != state_version(stored) or not complete))
        if not stale and (rerun or not self._lacks(messages[-1:])):
            return []
        older: list[Mapping[str, object]] = []
        begun = False
        async for earlier in self.graph.load_history(self.config):
            older.append(as_mapping(earlier.values) or {})
            lacks = not rerun and self._lacks(
                self.graph.thread_messages(earlier, self.messages_key)
            )
            received = complete and state_version(earlier) == sent
            if received or (begun and not lacks) or len(older) == _MAX_HISTORY:
                break
            begun = begun or (earlier.metadata or {}).get("source") == "input"
        return older

    def _lacks(self, messages: Iterable[BaseMessage]) -> bool:
        """Return whether the client lacks any of these; one that sends a single message may send
        only what is new.
        """
        sent = {message.id for message in self.run_input.messages}
        return len(sent) > 1 and any(
            message.id not in sent for message in messages if agui_role(message) is not None
        )


def _is_beginning(value: object, whole: object) -> bool:
    """Return whether `value` may be what a client saw of `whole` while a model was still writing
    it.
    """
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(
            key in whole and _is_beginning(inner, whole[key]) for key, inner in value.items()
        )
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(_is_beginning, value, whole))
    return type(value) is type(whole) and value == whole
