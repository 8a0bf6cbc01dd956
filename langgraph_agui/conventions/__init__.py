"""What graphs and pages written for `ag-ui-langgraph` or CopilotKit expect of an adapter.

The agent makes one `GraphConventions` for its graph; runs use it through the protocol in `settings.py`, and only
the agent, the callback handler and the routes know this room. docs/migrating.md lists the conventions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage

from langgraph_agui.conventions.inputs import (
    COPILOTKIT,
    FIELDS,
    TOOLS,
    keys_to_fill,
    offered_tools,
    reads_runtime_context,
    runtime_context,
    state_values,
)
from langgraph_agui.conventions.interrupts import command_answers, question
from langgraph_agui.conventions.interrupts import interrupt_sink as interrupt_sink
from langgraph_agui.conventions.outputs import (
    emitted_message,
    emitted_state,
    is_exit,
    read_predictions,
    read_silence,
)
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.pending import PendingInterrupts
from langgraph_agui.interrupts.resume import CommandAnswers
from langgraph_agui.messages.silence import Silence
from langgraph_agui.state.options import PredictState


class NodeEvents:
    """What nodes say of their model calls, and ask for by custom events."""

    def silence_of(self, metadata: Mapping[str, object]) -> Silence:
        """Return what clients do not see of a model call with this metadata."""
        return read_silence(metadata)

    def predictions_of(self, metadata: Mapping[str, object]) -> Sequence[PredictState]:
        """Return what a model call with this metadata predicts of the state."""
        return read_predictions(metadata)

    def read_event(self, name: str, value: object) -> tuple[str, object, BaseMessage | Mapping[str, object] | None]:
        """Return name and value of a custom event as clients get it, and the message or state that it asks to show."""
        if is_exit(name):
            return "Exit", True, None
        return name, value, emitted_message(name, value) or emitted_state(name, value)


NODE_CONVENTIONS: Final = NodeEvents()


class GraphConventions:
    """The conventions that concern one graph.

    Args:
        graph: The graph.

    Attributes:
        state_keys: The keys of the graph's state that the adapter fills in each run, and clients do not see.
    """

    def __init__(self, graph: GraphAdapter) -> None:
        self._graph = graph
        self.state_keys = keys_to_fill(graph)
        self._has_context = reads_runtime_context(graph)

    def fields_read(self) -> set[str]:
        """Return which fields of the client's input the graph may read by these conventions: tools, context."""
        names = {*self._filled_keys, *([COPILOTKIT] if self._has_context else ())}
        return {field for name in names for field in FIELDS[name]}

    @property
    def _filled_keys(self) -> set[str]:
        return set(self.state_keys.intersection(self._graph.input_names or ()))

    def state_values(self, run_input: RunAgentInput, stored: Mapping[str, object]) -> dict[str, object]:
        """Return what the adapter fills in for a run, given the thread's state before it."""
        values = state_values(self._filled_keys, run_input, stored)
        if TOOLS in values and self._graph.needs_overwrite(TOOLS, present=True):  # a reducer adds them to the thread's
            known = offered_tools({TOOLS}, stored)
            values[TOOLS] = [tool.model_dump() for tool in run_input.tools or () if tool.name not in known]
        return values

    def offered_tools(self, stored: Mapping[str, object]) -> set[str]:
        """Return the names of the client's tools, not the graph's, that a thread's state holds since its last run."""
        own = self._graph.contents.tools if self._graph.contents is not None else {}
        return offered_tools(self._filled_keys, stored).difference(own)

    def runtime_context(self, context: object, run_input: RunAgentInput) -> object:
        """Return the runtime context of a run."""
        if self._has_context and (context is None or isinstance(context, Mapping)):
            return runtime_context(context, run_input)
        return context

    def question(self, value: object) -> str | None:
        """Return the question in the value of an interrupt of another form than ours; None if there is none."""
        return question(value)

    def command_answers(self, run_input: RunAgentInput, pending: PendingInterrupts) -> CommandAnswers | None:
        """Return the answers that a client sends by a command instead of `resume`; None if it sends no command."""
        return command_answers(run_input, pending)
