"""The form of a client's events: its input and the agent's options enter, the form leaves."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from ag_ui.core import RunAgentInput

from langgraph_agui.compat.interrupts import ask_by_events
from langgraph_agui.compat.old_clients import OldClient
from langgraph_agui.options import ApprovalOptions, ClientOptions, Subagents
from langgraph_agui.readers.subscription import Convert


@dataclass(frozen=True, slots=True)
class ClientForm:
    """In which form one client gets the events of a run.

    Attributes:
        is_old: Whether it is served as a client older than AG-UI 1.0.
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

    def converts(self, run_input: RunAgentInput) -> list[Convert]:
        """Return what makes the client's events of those of a run, one after the other."""
        converts: list[Convert] = []
        if self.ask_by != "outcome":
            converts.append(partial(ask_by_events, with_outcome=self.ask_by == "both"))
        if self.is_old:
            converts.append(OldClient(run_input, shows_subagents=self.takes_subagents).convert)
        return converts


def client_form(
    run_input: RunAgentInput, clients: ClientOptions, approvals: ApprovalOptions
) -> ClientForm:
    """Return the form for the client of an input. Clients older than AG-UI 1.0 send no
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
