"""What an agent decides for all of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias, get_args

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.frontend import frontend_config
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.approval_tool import REQUEST_APPROVAL
from langgraph_agui.interrupts.approvals import OnApproval, log_approval
from langgraph_agui.interrupts.pending_reader import PendingInterruptReader
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.to_langchain import ProviderFilter
from langgraph_agui.state.client_state import ClientStateCaches
from langgraph_agui.state.contract import StateContract
from langgraph_agui.threads.planner import ThreadPolicy
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.state_view import StateView
from langgraph_agui.translate.subagents import Subagents
from langgraph_agui.translate.translation import Translation

OnDisconnect: TypeAlias = Literal["cancel", "continue"]
Approvals: TypeAlias = Literal["interrupt", "tool_call"]
InputWhilePaused: TypeAlias = Literal["refuse", "cancel_and_continue"]
ClientInstructions: TypeAlias = Literal["ignore", "accept"]
OnBusy: TypeAlias = Literal["refuse", "wait"]


def check_choice(name: str, value: object, choices: object) -> None:
    """Raise `ValueError` if the option `name` has a value that is none of `choices`, a `Literal`."""
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What an agent decides for all of its runs; see `LangGraphAgent`."""

    contract: StateContract
    messages_key: str = "messages"
    on_disconnect: OnDisconnect = "cancel"
    emit_raw: bool = False
    expose_errors: bool = False
    subagents: Subagents = "attributed"
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    providers: ProviderFilter = field(default_factory=ProviderFilter)
    threads: ThreadPolicy = field(default_factory=ThreadPolicy)
    approvals: Approvals = "interrupt"
    approval_timeout: timedelta | None = None
    on_approval: OnApproval = log_approval
    shown: ClientStateCaches = field(default_factory=ClientStateCaches)

    def client_config(self, run_input: RunAgentInput) -> RunnableConfig:
        """What the client brings to a run's nodes; a tool that only stands for approvals is no tool of the model's."""
        if self.approvals == "tool_call":
            tools = [tool for tool in run_input.tools or [] if tool.name != REQUEST_APPROVAL]
            run_input = run_input.model_copy(update={"tools": tools})
        return frontend_config(run_input)

    def translation(self, run_input: RunAgentInput, sink: Sink) -> Translation:
        """What tells `sink` of a run, and of the state that its client sees."""
        state = StateView(run_input.state, self.contract, sink.event, self.shown.get(run_input.thread_id))
        return Translation(
            run_input,
            sink,
            state,
            reasoning=self.reasoning,
            subagents=self.subagents,
            expose_errors=self.expose_errors,
        )

    def pauses(self, graph: GraphAdapter) -> PendingInterruptReader:
        """Reads what threads of `graph` wait for."""
        return PendingInterruptReader(graph, self.messages_key, self.contract.show, self.approval_timeout)
