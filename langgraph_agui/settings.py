"""What an agent decides for all of its runs: frozen data, checked once. The options enter, every run reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias, get_args

from langgraph_agui.interrupts.approvals import OnApproval, log_approval
from langgraph_agui.messages.options import ReasoningOptions

Approvals: TypeAlias = Literal["interrupt", "tool_call"]
ClientInstructions: TypeAlias = Literal["ignore", "accept"]
InputWhilePaused: TypeAlias = Literal["refuse", "cancel_and_continue"]
OnBusy: TypeAlias = Literal["refuse", "wait"]
OnDisconnect: TypeAlias = Literal["cancel", "continue"]
Subagents: TypeAlias = Literal["attributed", "inline", "hidden"]


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
    subagents: Subagents = "attributed"
    approvals: Approvals = "interrupt"
    approval_timeout: timedelta | None = None
    on_approval: OnApproval = log_approval
    input_while_paused: InputWhilePaused = "refuse"
    client_instructions: ClientInstructions = "ignore"
    on_busy: OnBusy = "refuse"

    def __post_init__(self) -> None:
        check_choice("on_disconnect", self.on_disconnect, OnDisconnect)
        check_choice("approvals", self.approvals, Approvals)
        check_choice("input_while_paused", self.input_while_paused, InputWhilePaused)
        check_choice("client_instructions", self.client_instructions, ClientInstructions)
        check_choice("on_busy", self.on_busy, OnBusy)
        check_choice("subagents", self.subagents, Subagents)
        if self.emit_raw and self.reasoning.visibility != "full":
            raise ValueError("emit_raw sends all of the graph's state, which would show the reasoning that is hidden")
