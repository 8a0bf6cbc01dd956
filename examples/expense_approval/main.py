"""An expense assistant that asks a manager before it books or deletes.

    langgraph-agui serve examples.expense_approval.main:agent --port 8013   # in the browser
    python -m examples.expense_approval                                     # in the terminal

Runs offline: the model is a script. `on_answer` writes a line of an audit log for each decision.
"""

from __future__ import annotations

import json
from typing import Literal

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call

ledger: list[str] = []
"""What was really done."""


def book_expense(employee: str, amount: int) -> str:
    """Book an expense of an employee."""
    ledger.append(f"booked {amount} for {employee}")
    return ledger[-1]


def delete_records(year: int) -> str:
    """Delete the expense records of a year."""
    ledger.append(f"deleted {year}")
    return ledger[-1]


def clerk(messages: list[BaseMessage]) -> Reply:
    """Make three calls at once, and then tell what became of them."""
    if messages[-1].type == "tool":
        results = [message for message in messages if message.type == "tool"][-3:]
        lines = (f"- {result.text.splitlines()[-1]}" for result in results)
        return "\n".join(["Here is how it went:", *lines])
    return [
        "I will do all three at once.",
        call("book_expense", employee="Ada", amount=1500),
        call("book_expense", employee="Ben", amount=900),
        call("delete_records", year=2019),
    ]


def audit(approval: Approval) -> None:
    """One line for each decision, before it takes effect. If this raised, nothing would be done."""
    # Behind an endpoint of yours, `config_factory` finds out from the request who this is.
    who = approval.config["configurable"].get("user", "someone")
    args = approval.edited_args or approval.args
    print(f"  AUDIT {who}: {approval.decision} {approval.name} {json.dumps(args)}")


def make_agent(ask_by: Literal["auto", "tool_call"] = "auto") -> LangGraphAgent:
    """Return the agent. `ask_by="tool_call"` is for clients without interrupts."""
    guard = HumanInTheLoopMiddleware(
        {
            "book_expense": {"allowed_decisions": ["approve", "edit", "reject"]},
            "delete_records": {"allowed_decisions": ["approve", "reject"]},
        },
        description_prefix="May I do this?",
    )
    graph = create_agent(
        ScriptedChatModel(clerk),  # a real one: "anthropic:claude-sonnet-4-5"
        [book_expense, delete_records],
        middleware=[guard],
        checkpointer=InMemorySaver(),
    )
    return LangGraphAgent(
        graph, name="expenses", approvals=ApprovalOptions(ask_by=ask_by, on_answer=audit)
    )


agent = make_agent()
