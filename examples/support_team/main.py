"""Three agents that hand a conversation to each other: nodes of one graph, and handoff tools.

    langgraph-agui serve examples.support_team.main:agent --port 8015

Runs offline: the models are scripts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NotRequired

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call

# -- the tools ------------------------------------------------------------------------------------


def handoff(to: str, subject: str) -> BaseTool:
    """Return a tool that gives the conversation to another agent."""

    @tool(f"transfer_to_{to}", description=f"Hand over to {to}, who knows about {subject}.")
    def transfer(runtime: ToolRuntime) -> Command[Any]:
        result = ToolMessage(f"Handed over to {to}.", tool_call_id=runtime.tool_call_id)
        # The next agent reads the whole conversation, with this call and its result.
        messages = [*runtime.state["messages"], result]
        return Command(goto=to, graph=Command.PARENT, update={"messages": messages, "active": to})

    return transfer


def find_invoice(number: int) -> str:
    """Find an invoice."""
    return f"Invoice {number}: 40 euros, paid on 3 May."


def check_line(customer: str) -> str:
    """Check the line of a customer."""
    return f"{customer}'s line has been down since this morning."


TO_BILLING = handoff("billing", "invoices")
TO_TECHNICIAN = handoff("technician", "the internet connection")

# -- the models -----------------------------------------------------------------------------------

WORK: dict[str, ToolCall] = {
    "invoice": call("find_invoice", number=17),
    "internet": call("check_line", customer="Ada"),
}
HANDOFFS: dict[str, ToolCall] = {
    "invoice": call("transfer_to_billing"),
    "internet": call("transfer_to_technician"),
}


def script(own: str | None) -> Callable[[list[BaseMessage]], Reply]:
    """Return the script of an agent that knows about `own`, and hands over the rest."""

    def reply(messages: list[BaseMessage]) -> Reply:
        last = messages[-1]
        if last.type == "tool" and last.name in ("find_invoice", "check_line"):
            return f"I looked it up. {last.text}"
        asked = next(one.text.lower() for one in reversed(messages) if one.type == "human")
        subject = next((word for word in WORK if word in asked), None)
        if subject is None:
            return "Is it about an invoice, or about your internet?"
        if subject == own:
            return WORK[subject]
        return ["My colleague knows that.", HANDOFFS[subject]]

    return reply


# Real ones: "anthropic:claude-sonnet-4-5"
FRONT_DESK = ScriptedChatModel(script(None), delay=0.02)
BILLING = ScriptedChatModel(script("invoice"), delay=0.02)
TECHNICIAN = ScriptedChatModel(script("internet"), delay=0.02)

# -- the team -------------------------------------------------------------------------------------


class State(MessagesState):
    """`active` is the agent that the user talks to. The next turn begins with it."""

    active: NotRequired[str]


def begin(state: State) -> str:
    return state.get("active", "front_desk")


front_desk = create_agent(FRONT_DESK, [TO_BILLING, TO_TECHNICIAN], name="front_desk")
billing = create_agent(BILLING, [find_invoice, TO_TECHNICIAN], name="billing")
technician = create_agent(TECHNICIAN, [check_line, TO_BILLING], name="technician")

builder = StateGraph(State)
builder.add_node("front_desk", front_desk, destinations=("billing", "technician"))
builder.add_node("billing", billing, destinations=("technician",))
builder.add_node("technician", technician, destinations=("billing",))
builder.add_conditional_edges(START, begin, ["front_desk", "billing", "technician"])
agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), name="support-team")
