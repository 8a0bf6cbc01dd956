"""Graphs that raise questions in known forms. Each agent's tool returns the answer that it got, as
JSON text."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from tests.kit.graphs.pauses import around, as_tool
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Piece, Scripted, call

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt, HumanInterruptConfig

EVERYTHING = ("accept", "edit", "respond", "ignore")


def human_interrupt(
    args: dict[str, Any], *allowed: str, description: str | None = "Send it?"
) -> HumanInterrupt:
    kinds: Any = {f"allow_{kind}": kind in (allowed or EVERYTHING) for kind in EVERYTHING}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HumanInterrupt(
            action_request=ActionRequest(action="send_email", args=args),
            config=HumanInterruptConfig(**kinds),
            description=description,
        )


@tool
def send_email(to: str) -> str:
    """Send an e-mail."""
    return json.dumps(interrupt([human_interrupt({"to": to})]))


SCHEMA = {
    "type": "object",
    "properties": {"date": {"type": "string", "minLength": 3}},
    "required": ["date"],
}
FORM = {"key": "date", "message": "When?", "mode": "form", "requested_schema": SCHEMA}
URL = {"key": "login", "message": "Please log in.", "mode": "url", "url": "https://example.com/in"}


def elicitation(*requests: dict[str, Any]) -> dict[str, Any]:
    """The value that `langchain.mcp` raises, as test_elicitation.py has it from the package."""
    return {"type": "mcp_elicitation", "tool_name": "book", "requests": list(requests)}


@tool
def book(to: str) -> str:
    """Book a table."""
    return json.dumps(interrupt(elicitation(FORM)))


def calling(name: str, *receivers: str) -> Callable[[list[BaseMessage]], list[Piece]]:
    """A call for each receiver, and a word when they have their results."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        calls = [call(name, f"c-{to}", number, to=to) for number, to in enumerate(receivers)]
        return ["Done."] if isinstance(messages[-1], ToolMessage) else [*calls]

    return script


def agent_of(made: Any, *receivers: str, saver: Any = None) -> Any:
    """An agent that calls a tool once for each receiver."""
    script = calling(made.name, *(receivers or ("Ada",)))
    return create_agent(Scripted(script=script), [made], checkpointer=saver)


def node_asking(value: Any, saver: Any = None) -> Any:
    """A graph whose node asks, and says the answer."""

    def ask(state: Chat) -> Any:
        return {"messages": [("ai", json.dumps(interrupt(value)))]}

    return chain_of(ask, checkpointer=saver)


FORMS: dict[str, Callable[[Any], Any]] = {
    "human": lambda saver: agent_of(send_email, saver=saver),
    "human_subgraph": lambda saver: around(agent_of(send_email), saver),
    "human_tool": lambda saver: as_tool(agent_of(send_email), 1, saver),
    "human_parallel": lambda saver: agent_of(send_email, "Ada", "Bob", saver=saver),
    "mcp": lambda saver: agent_of(book, saver=saver),
    "mcp_subgraph": lambda saver: around(agent_of(book), saver),
    "mcp_tool": lambda saver: as_tool(agent_of(book), 1, saver),
}
"""Graphs by the form of their question and its place; each takes a checkpointer."""
