"""The graph's input, in the form that the graph takes: messages and the client's state enter, values leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ag_ui.core import AssistantMessage, RunAgentInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Overwrite, StateSnapshot

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.messages.extract import as_mapping
from langgraph_agui.messages.to_agui import agui_role
from langgraph_agui.state.client_state_cache import ClientStateCache
from langgraph_agui.state.contract import StateContract
from langgraph_agui.state.predicted import begins, predicted
from langgraph_agui.threads.thread import Thread

_FAR: Final = 50
"""Checkpoints to look at, at the most, for what a client knew that has missed something."""


def graph_input(
    graph: GraphAdapter, messages: Sequence[BaseMessage], messages_key: str, writes: Mapping[str, object]
) -> object:
    """The graph's input: `messages`, and beside them what is to be written to other channels, where it takes any."""
    form = graph.input_form
    if form == "messages":
        return messages
    if form == "text":
        return next((str(message.text) for message in reversed(messages) if message.type == "human"), "")
    names = graph.input_names
    given = messages and (names is None or messages_key in names)
    return {**writes, messages_key: messages} if given else dict(writes)


@dataclass(frozen=True, slots=True)
class ClientState:
    """What a client's state means to its thread.

    Attributes:
        graph: The graph.
        run_input: What the client sent.
        config: The run's configuration, with the thread.
        messages_key: The channel of the messages.
        contract: What the client may change.
        shown: What the thread's clients were shown before.
    """

    graph: GraphAdapter
    run_input: RunAgentInput
    config: RunnableConfig
    messages_key: str
    contract: StateContract
    shown: ClientStateCache

    def given(self) -> dict[str, object]:
        """The client's state where no thread is kept: all of it is input."""
        return self.contract.changed(self.run_input.state, None) if self._counts() else {}

    async def writes(self, thread: Thread, base: StateSnapshot | None = None) -> dict[str, object]:
        """What the client has changed, to be written over what the channels hold: reducers do not run again.

        Args:
            thread: The thread.
            base: The checkpoint that the run begins at, if that is an earlier one.

        Raises:
            RunInputError: It may not change that, or to such a value.
        """
        if not self._counts():
            return {}
        older = await self._older(thread, again=base is not None, stopped=bool(thread.state.next))
        return self._over(self._changed(thread, older), base or thread.state)

    async def writes_beside(self, thread: Thread, superstep: Mapping[str, object]) -> dict[str, object]:
        """`writes`, for a thread that is paused in the middle of a superstep, which has made `superstep` so far.

        What that has written comes after all that can be written now, and a paused subgraph goes on with what it holds
        and writes all of it: there the client can change nothing.
        """
        if not self._counts() or self.graph.is_function:  # that goes on with the input that it has
            return {}
        changed = self._changed(thread, await self._older(thread, again=False, stopped=False))
        taken = changed.keys() & (superstep.keys() | self._inside(thread.state))
        self.contract.refuse(taken)
        return self._over({key: value for key, value in changed.items() if key not in taken}, thread.state)

    def written_with(self, base: StateSnapshot) -> dict[str, object]:
        """What came in beside the messages when the thread stood at `base`: it comes again where that is run again."""
        given = [as_mapping(task.result) or {} for task in base.tasks if task.name == START]
        return {key: value for values in given for key, value in values.items() if key != self.messages_key}

    def _inside(self, stored: StateSnapshot) -> set[str]:
        """The channels that paused subgraphs share with the graph."""
        paused = (f"{task.name}:{task.id}" for task in stored.tasks if task.state is not None)
        return {key for place in paused for key in self.contract.shared((place,))}

    def _counts(self) -> bool:
        return bool(self.run_input.state) and self.graph.input_form == "keys"

    def _changed(self, thread: Thread, older: Iterable[Mapping[str, object]]) -> dict[str, object]:
        sent = self.run_input.state
        if isinstance(sent, Mapping):
            guesses = self._guesses(thread) if self.shown.version is None else {}
            sent = {
                key: value
                for key, value in sent.items()
                if not self.shown.holds(key, value) and not any(begins(value, one) for one in guesses.get(key, ()))
            }
        return self.contract.changed(sent, as_mapping(thread.state.values) or {}, *older)

    def _over(self, changed: Mapping[str, object], base: StateSnapshot) -> dict[str, object]:
        present = as_mapping(base.values) or {}
        return {
            key: Overwrite(value) if self.graph.needs_overwrite(key, key in present) else value
            for key, value in changed.items()
        }

    # -- clients that have missed something -----------------------------------------------------------------------

    def _guesses(self, thread: Thread) -> dict[str, list[object]]:
        """What may have been predicted when the client left its last run, in whatever process that was.

        A message that the client was left with, and that the thread does not have, says what there was to predict.
        """
        guesses: dict[str, list[object]] = {}
        known = {message.id for message in thread.messages}
        for message in reversed(self.run_input.messages):
            if message.id in known:
                break
            for call in (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ():
                predict = [one for one in self.contract.predict if one.tool == call.function.name]
                for key, value in predicted(predict, call.function.arguments).items():
                    guesses.setdefault(key, []).append(value)
        return guesses

    async def _older(self, thread: Thread, *, again: bool, stopped: bool) -> list[Mapping[str, object]]:
        """What the thread's channels held when the client may have been told last; nothing, if it knows their values.

        It does not if it has left the thread's last run and had not taken all that there was, if somebody else has
        changed the thread since it heard one, if (as far as this process knows no better) a run was `stopped` in the
        middle, or if there are messages that it lacks; unless it lacks them because it wants to run `again` from an
        earlier one. Then all is looked through, back to what it has heard, or to the input before which it had missed
        nothing.
        """
        lacks = self._lacks if not again else lambda _messages: False
        told, version = self.shown.version, thread.version
        stale = stopped if told is None else told != version or not self.shown.heard
        if not stale and not lacks(thread.messages[-1:]):
            return []
        older: list[Mapping[str, object]] = []
        begun = False
        async for earlier in self.graph.load_history(self.config):
            messages = self.graph.thread_messages(earlier, self.messages_key)
            older.append(as_mapping(earlier.values) or {})
            heard = self.shown.heard and Thread(earlier, messages).version == told
            if heard or (begun and not lacks(messages)) or len(older) == _FAR:
                break
            begun = begun or (earlier.metadata or {}).get("source") == "input"
        return older

    def _lacks(self, messages: Iterable[BaseMessage]) -> bool:
        """Whether the client lacks any of these, though it sends what it holds: some send only what is new."""
        held = {message.id for message in self.run_input.messages}
        return len(held) > 1 and any(message.id not in held for message in messages if agui_role(message) is not None)


def written_beside(stored: StateSnapshot) -> dict[str, object]:
    """What a superstep that is not over has made of the channels that its finished tasks have written."""
    values = as_mapping(stored.values) or {}
    results = [as_mapping(task.result) or {} for task in stored.tasks]
    return {key: values[key] for result in results for key in result if key in values}
