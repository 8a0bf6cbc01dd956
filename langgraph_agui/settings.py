"""What an agent decides for all of its runs, and what they share. An agent's options enter, every run reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias, get_args, get_origin, get_type_hints

from ag_ui.core import RunAgentInput

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.decisions import OnApproval, log_approval
from langgraph_agui.interrupts.pending import PendingInterruptReader
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.to_langchain import HistoryConverter, ProviderFilter
from langgraph_agui.state.client_state import ClientStateCaches
from langgraph_agui.state.contract import StateContract

Approvals: TypeAlias = Literal["interrupt", "tool_call"]
ClientInstructions: TypeAlias = Literal["ignore", "accept"]
InputWhilePaused: TypeAlias = Literal["refuse", "cancel_and_continue"]
OnBusy: TypeAlias = Literal["refuse", "wait"]
OnDisconnect: TypeAlias = Literal["cancel", "continue"]
Subagents: TypeAlias = Literal["attributed", "inline", "hidden"]
SubagentsOption: TypeAlias = Literal["auto", Subagents]

# What becomes of the history that a client sends with a thread that the server does not know.
UnknownThreads: TypeAlias = Literal["import", "ignore"]

# Whether clients see the messages of models that tools call.
InnerModels: TypeAlias = Literal["live", "hidden"]

# Which form of the protocol clients get; "auto" is that of 1.0 for clients that send a `protocolVersion`.
ClientProtocol: TypeAlias = Literal["auto", "1.0", "0.x"]


def check_choice(name: str, value: object, choices: object) -> None:
    """Check that the option `name` has one of the values in `choices`, a `Literal`.

    Raises:
        ValueError: It has another value.
    """
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What an agent decides for all of its runs; see `LangGraphAgent`.

    Raises:
        ValueError: An option has an unknown value, or two options contradict each other.
    """

    messages_key: str = "messages"
    on_disconnect: OnDisconnect = "cancel"
    emit_raw: bool = False
    expose_errors: bool = False
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    subagents: SubagentsOption = "auto"
    client_protocol: ClientProtocol = "auto"
    inner_models: InnerModels = "live"
    unknown_threads: UnknownThreads = "import"
    approvals: Approvals = "interrupt"
    approval_timeout: timedelta | None = None
    on_approval: OnApproval = log_approval
    input_while_paused: InputWhilePaused = "refuse"
    client_instructions: ClientInstructions = "ignore"
    on_busy: OnBusy = "refuse"

    def __post_init__(self) -> None:
        for name, annotation in get_type_hints(type(self)).items():
            if get_origin(annotation) is Literal:
                check_choice(name, getattr(self, name), annotation)
        if self.emit_raw and self.reasoning.visibility != "full":
            raise ValueError("emit_raw sends all of the graph's state, which would show the reasoning that is hidden")

    def is_old_client(self, run_input: RunAgentInput) -> bool:
        """Return whether the client of an input is to be served as one of before AG-UI 1.0."""
        if self.client_protocol == "auto":
            return run_input.protocol_version is None
        return self.client_protocol == "0.x"

    def subagents_for(self, run_input: RunAgentInput) -> Subagents:
        """Return what the client of an input sees of subagents."""
        if self.subagents == "auto":
            return "inline" if self.is_old_client(run_input) else "attributed"
        return self.subagents


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What the runs of one agent share.

    Attributes:
        graph: The graph.
        settings: What the agent decides.
        contract: What clients see and may change of the state.
        providers: Keeps what other providers' models made from the graph's models. Learns from each run.
        client_states: What this process knows of the state that clients hold.
    """

    graph: GraphAdapter
    settings: RunSettings
    contract: StateContract
    providers: ProviderFilter
    client_states: ClientStateCaches = field(default_factory=ClientStateCaches)

    def interrupt_reader(self) -> PendingInterruptReader:
        """Return what reads the interrupts that threads of the graph wait for."""
        settings = self.settings
        return PendingInterruptReader(self.graph, settings.messages_key, self.contract.show, settings.approval_timeout)

    def converter(self, thread_id: str) -> HistoryConverter:
        """Return what converts the messages of a thread."""
        settings = self.settings
        return HistoryConverter(thread_id, settings.reasoning, settings.client_instructions, self.providers)
