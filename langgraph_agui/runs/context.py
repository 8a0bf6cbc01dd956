"""The context that all runs of an agent share: its graph, its options, and parts made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from langgraph_agui.compat.clients import ClientForm, client_form
from langgraph_agui.compat.inputs import FilledKeys
from langgraph_agui.compat.interrupts import show_to_pages
from langgraph_agui.graphs import GraphAdapter, Thread
from langgraph_agui.interrupts.pauses import PendingInterruptReader, PendingInterrupts
from langgraph_agui.messages.to_langchain import HistoryConverter, ProviderFilter
from langgraph_agui.options import (
    ApprovalOptions,
    ClientOptions,
    OnDisconnect,
    ReasoningOptions,
    RunLimits,
    TrustOptions,
)
from langgraph_agui.runs.client_tools import ClientTools
from langgraph_agui.state.contract import StateContract

# Key in the metadata of checkpoints: a JSON list of the graph's tools that the client of the run
# offered to run.
OFFERED: Final = "agui_offered"

_NO_MESSAGES: Final = (
    "The graph's input has no key for messages: what a user types reaches no node and is not kept. "
    "The graph gets the client's state, and runs with each input."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """The context that all runs of an agent share.

    Attributes:
        name: The agent's name.
        graph: The graph.
        messages_key: The state channel with the conversation.
        reasoning: An option of the agent, as are the next five.
        approvals: How clients are asked.
        clients: The form of the events.
        limits: How much a run may take.
        trust: Which parts of a client's input are believed.
        on_disconnect: Whether a run stops when its client leaves.
        expose_errors: Whether clients get the texts of exceptions.
        emit_raw: Whether the parts of the graph's stream are sent too.
        contract: Which keys of the state clients see and may change.
        filled: The keys of the state that are filled with the client's tools and context.
        providers: Keeps messages of other providers from the graph's models. Learns from each run.
        client_tools: Knows whether the client's tools reach the graph's models. Learns from each
            run.
    """

    name: str
    graph: GraphAdapter
    messages_key: str
    reasoning: ReasoningOptions
    approvals: ApprovalOptions
    clients: ClientOptions
    limits: RunLimits
    trust: TrustOptions
    on_disconnect: OnDisconnect
    expose_errors: bool
    emit_raw: bool
    contract: StateContract
    filled: FilledKeys
    providers: ProviderFilter
    client_tools: ClientTools

    @property
    def no_messages(self) -> str | None:
        """The warning that the input of the graph has keys, and none of them is `messages_key`;
        None if one is.
        """
        graph = self.graph
        if graph.input_names is None or graph.takes_messages(self.messages_key):
            return None
        others = self.contract.message_keys
        if not others:
            return _NO_MESSAGES
        written = f"LangGraphAgent(graph, messages_key={others[0]!r})"
        return f"{_NO_MESSAGES} If they belong in {others[0]!r}, write {written}."

    def client_form(self, run_input: RunAgentInput) -> ClientForm:
        """Return the form of the events for the client of an input."""
        return client_form(run_input, self.clients, self.approvals)

    async def pending_interrupts(
        self, stored: StateSnapshot, config: RunnableConfig
    ) -> PendingInterrupts:
        """Return the interrupts that a thread waits for, by its checkpoint."""
        reader = PendingInterruptReader(
            self.graph,
            self.messages_key,
            self.contract.show,
            self.approvals.timeout,
            self.approvals.forms,
        )
        pending = await reader.read(stored, config)
        show_to_pages(pending.requests)
        return pending

    def own_tools(self, run_input: RunAgentInput, thread: Thread | None = None) -> frozenset[str]:
        """Return the graph's tools that no client runs.

        A client may run a tool that a model of the graph is bound to. It offers that tool with its
        run, and may not offer it when it only looks at the thread.

        Args:
            run_input: The client's input.
            thread: The thread, whose last run may have offered tools too.
        """
        offered = self.offered_tools(run_input)
        stored = thread.metadata(OFFERED) if thread is not None else None
        earlier = json.loads(stored) if isinstance(stored, str) else ()
        return self.graph.tool_names.difference(offered, earlier)

    def offered_tools(self, run_input: RunAgentInput) -> frozenset[str]:
        """Return the graph's tools that a client offers to run."""
        return self.graph.tool_names.intersection(tool.name for tool in run_input.tools or ())

    def converter(self, thread_id: str) -> HistoryConverter:
        """Return a converter for the messages of a thread."""
        return HistoryConverter(thread_id, self.reasoning, self.trust.instructions, self.providers)
