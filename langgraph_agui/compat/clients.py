"""The form of a client's events: its input and the agent's options enter, the form leaves."""

from dataclasses import dataclass
from typing import Literal

from ag_ui.core import RunAgentInput

from langgraph_agui.compat.interrupts import LegacyInterruptSink
from langgraph_agui.compat.old_clients import OldClientSink
from langgraph_agui.options import ApprovalOptions, ClientOptions, Subagents
from langgraph_agui.readers.sinks import Sink


@dataclass(frozen=True, slots=True)
class ClientForm:
    """In which form one client gets the events of a run.

    Attributes:
        is_old: Whether it is served as a client of before AG-UI 1.0.
        subagents: How it sees subagents.
        takes_subagents: Whether it is known to take `SUBAGENT_*` events and `subagentRunId`.
        approvals_as_calls: Whether it is asked for approvals by calls of `request_approval`.
        ask_by: How it is asked otherwise.
    """

    is_old: bool
    subagents: Subagents
    takes_subagents: bool
    approvals_as_calls: bool
    ask_by: Literal["outcome", "events", "both"]

    @property
    def asks_by_events(self) -> bool:
        """Whether the client is asked for approvals by `CUSTOM on_interrupt`."""
        return not self.approvals_as_calls and self.ask_by != "outcome"

    def sink(self, sink: Sink, run_input: RunAgentInput) -> Sink:
        """Return a sink that takes the events of a run, and gives them to `sink` in the client's
        form.
        """
        if self.is_old:
            sink = OldClientSink(sink, run_input, shows_subagents=self.takes_subagents)
        if self.ask_by != "outcome":
            sink = LegacyInterruptSink(sink, with_outcome=self.ask_by == "both")
        return sink


def client_form(
    run_input: RunAgentInput, clients: ClientOptions, approvals: ApprovalOptions
) -> ClientForm:
    """Return the form for the client of an input. Clients of before AG-UI 1.0 send no
    `protocolVersion`.
    """
    is_old = (
        run_input.protocol_version is None
        if clients.protocol == "auto"
        else clients.protocol == "0.x"
    )
    ask_by = approvals.ask_by
    if ask_by == "auto" or ask_by == "tool_call":
        ask_by = "events" if is_old else "outcome"
    subagents = clients.subagents
    if subagents == "auto":
        subagents = "inline" if is_old else "attributed"
    return ClientForm(
        is_old=is_old,
        subagents=subagents,
        takes_subagents=clients.subagents == "attributed" or not is_old,
        approvals_as_calls=approvals.ask_by == "tool_call",
        ask_by=ask_by,
    )
