"""The changes of a client to a thread's state.

`RunAgentInput.state` and the thread's checkpoints enter, the values to write to the graph's
channels leave. A client sends its whole state with every input, and a value that differs from the
thread's is a change by the client, with these exceptions:

- A client has not seen the last run to its end if it lacks the thread's last message, by id and
  by words, or if that run was stopped, as the checkpoint shows. Then a value that the thread had in
  one of its last checkpoints is no change, and a key that runs preview is not written.
- After a run that has failed, and where somebody else has written into the thread, the values
  before those writes are no change.

Nothing is remembered of a client.
"""

from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Overwrite, PregelTask, StateSnapshot

from langgraph_agui.graphs import GraphAdapter, Thread
from langgraph_agui.kernel.aio import Caller, run_here
from langgraph_agui.kernel.configs import as_mapping
from langgraph_agui.kernel.errors import RunStopped
from langgraph_agui.state.contract import StateContract

# Key in the metadata of checkpoints: the run that wrote them.
RUN: Final = "agui_run"

# How many of a thread's checkpoints are compared with the state of a client that may be behind.
_MAX_CHECKPOINTS: Final = 50

# The errors of tasks that were stopped, as checkpoints keep them.
_STOPPED: Final = (repr(CancelledError()), repr(RunStopped()))


@dataclass(frozen=True, slots=True)
class ClientState:
    """The state that a client sent, and its changes.

    Attributes:
        graph: The graph.
        run_input: The client's input.
        config: The run's configuration, with the thread.
        messages_key: The channel of the messages.
        contract: The keys that the client may change.
        lacks: Returns whether the client lacks any of some messages, now or earlier of a thread.
        call: Calls functions that may take long because of the input.
    """

    graph: GraphAdapter
    run_input: RunAgentInput
    config: RunnableConfig
    messages_key: str
    contract: StateContract
    lacks: Callable[[Sequence[BaseMessage], Thread], bool]
    call: Caller = run_here

    def initial_values(self) -> dict[str, object]:
        """Return the client's state as input for a graph without a checkpointer: all of it is
        input.
        """
        return self.contract.changed(self.run_input.state, None) if self._takes_state() else {}

    async def changes(
        self,
        thread: Thread,
        base: StateSnapshot | None = None,
        superstep: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """Return the client's changes, by channel. Values overwrite: reducers do not run
        again.

        Args:
            thread: The thread as it stands.
            base: The checkpoint that the run begins at, if that is an earlier one.
            superstep: The values that the finished tasks of the paused superstep have written; None
                if the thread is not paused.

        Raises:
            RunInputError: The client may not change that, or not to such a value.
        """
        paused = superstep is not None or bool(thread.state.interrupts)
        unfinished = not paused and bool(thread.state.next or thread.state.tasks)
        stopped = unfinished and not any(map(_has_failed, thread.state.tasks))
        if not self._takes_state() or (superstep is not None and self.graph.is_function):
            return {}  # a paused function resumes with its old input
        # A client that runs again from an earlier message lacks the later ones on purpose.
        behind = base is None and self.lacks(thread.messages[-1:], thread)
        stored = as_mapping(thread.state.values) or {}
        sent: object = self.run_input.state
        if (behind or stopped) and isinstance(sent, Mapping):
            sent = self.contract.without_previewed(sent, stored)
        # A run that has failed did not emit the writes of the finished tasks of its last superstep.
        written_by_others = thread.state.created_at is not None and thread.metadata(RUN) is None
        older: list[Mapping[str, object]] = []
        if behind or unfinished or written_by_others:
            older = await self._older_states(thread, behind=behind, stopped=stopped)
        changed = await self.call(self.contract.changed, sent, stored, *older)
        if superstep is not None:
            changed = self._without_superstep(changed, thread.state, superstep)
        present = stored if base is None else as_mapping(base.values) or {}
        return {
            key: Overwrite(value) if self.graph.needs_overwrite(key, key in present) else value
            for key, value in changed.items()
        }

    def input_at(self, base: StateSnapshot) -> dict[str, object]:
        """Return the values that the input at checkpoint `base` wrote beside messages: a run from
        there writes it again.
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

    def _without_superstep(
        self, changed: Mapping[str, object], stored: StateSnapshot, superstep: Mapping[str, object]
    ) -> dict[str, object]:
        """Return changes without those that the paused superstep would overwrite; they are refused.

        Its finished tasks have written some keys already. A paused subgraph will write all keys
        that it shares with the graphs around it.
        """
        overwritten = set(superstep)
        for task in stored.tasks:
            if task.state is not None:
                overwritten |= self.contract.shared((f"{task.name}:{task.id}",))
        self.contract.refuse(changed.keys() & overwritten)
        return {key: value for key, value in changed.items() if key not in overwritten}

    async def _older_states(
        self, thread: Thread, *, behind: bool, stopped: bool
    ) -> list[Mapping[str, object]]:
        """Return the thread's channels at its last checkpoints, the newest first.

        For a client that is behind, the search ends before the input of the first run that the
        client has not seen to its end. After a run that was stopped, it ends behind the input of
        that run, which the client has sent. For any other client, it ends where a run of ours has
        ended.
        """
        older: list[Mapping[str, object]] = []
        passed_input = False
        async for earlier in self.graph.load_history(self.config):
            metadata = earlier.metadata or {}
            is_input = metadata.get("source") == "input"
            if stopped and is_input and not behind:
                break
            older.append(as_mapping(earlier.values) or {})
            if behind:
                messages = self.graph.thread_messages(earlier, self.messages_key)
                is_last = passed_input and not self.lacks(messages, thread)
            else:
                is_last = not stopped and RUN in metadata
            if is_last or len(older) == _MAX_CHECKPOINTS:
                break
            passed_input = passed_input or is_input
        return older


def _has_failed(task: PregelTask) -> bool:
    """Return whether a task has failed; one that was stopped has not."""
    return task.error is not None and str(task.error) not in _STOPPED
