"""What an agent decides for all of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from langgraph_agui.graphs import Graph
from langgraph_agui.interrupts.approvals import OnApproval, log_approval
from langgraph_agui.interrupts.pause import PauseReader
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.veil import visible
from langgraph_agui.models.known import Providers
from langgraph_agui.threads.start import ThreadPolicy


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What an agent decides for all of its runs; see `LangGraphAgent`."""

    messages_key: str = "messages"
    on_disconnect: Literal["cancel", "continue"] = "cancel"
    emit_raw: bool = False
    expose_errors: bool = False
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    providers: Providers = field(default_factory=Providers)
    threads: ThreadPolicy = field(default_factory=ThreadPolicy)
    approvals: Literal["interrupt", "tool_call"] = "interrupt"
    approval_timeout: timedelta | None = None
    on_approval: OnApproval = log_approval

    def show(self, value: object) -> object:
        """What a client may see of a value of the graph, as JSON data."""
        return visible(value, options=self.reasoning)

    def pauses(self, graph: Graph) -> PauseReader:
        """Reads what threads of `graph` wait for."""
        return PauseReader(graph, self.messages_key, self.show, self.approval_timeout)
