"""The kinds of pause: graphs in which something happens only if it was approved.

What happens is a line in a file, whose path is the user's message. What the models say follows from
what they are given, so a graph goes on in another process too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, StrictBool

from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Piece, Scripted, call

Mode = Literal["batched", "per_call"]


def happened(file: Path | str) -> list[int]:
    """What has happened, in no order."""
    lines = Path(file).read_text().split() if Path(file).exists() else []
    return sorted(map(int, lines))


def happen(file: str, amount: int) -> None:
    with Path(file).open("a") as lines:
        lines.write(f"{amount}\n")


@tool
def spend(file: str, amount: int) -> str:
    """Spend money."""
    happen(file, amount)
    return f"spent {amount}"


def last_user_text(messages: list[BaseMessage]) -> str:
    """The last thing that a user said: the file."""
    return next(message.text for message in reversed(messages) if isinstance(message, HumanMessage))


def turn_of(messages: list[BaseMessage]) -> str:
    """What tells the calls of this turn from those of others: the file's suffix, else a count."""
    users = sum(isinstance(message, HumanMessage) for message in messages)
    return Path(last_user_text(messages)).suffix or str(users)


def spending(messages: list[BaseMessage]) -> list[Piece]:
    """Two calls, and a word when they have their results."""
    if isinstance(messages[-1], ToolMessage):
        return ["All ", "done."]
    turn, file = turn_of(messages), last_user_text(messages)
    return [call("spend", f"s{turn}-{n}", n - 1, file=file, amount=n) for n in (1, 2)]


def guard(mode: Mode, *decisions: str) -> Any:
    allowed: Any = {"allowed_decisions": list(decisions or ("approve", "edit", "reject"))}
    return HumanInTheLoopMiddleware({"spend": allowed}, interrupt_mode=mode)


def spender(mode: Mode, saver: Any = None, *decisions: str, model: Any = None) -> Any:
    model = model or Scripted(script=spending)
    return create_agent(model, [spend], middleware=[guard(mode, *decisions)], checkpointer=saver)


def as_tool(inner: Any, level: int, saver: Any = None) -> Any:
    """An agent that has another one as its tool."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        name, file = f"d{level}-{turn_of(messages)}", last_user_text(messages)
        delegated = isinstance(messages[-1], ToolMessage)
        return ["Delegated."] if delegated else [call("delegate", name, 0, file=file)]

    @tool
    async def delegate(file: str) -> str:
        """Let somebody else do it."""
        result = await inner.ainvoke({"messages": [HumanMessage(file)]})
        return str(result["messages"][-1].text)

    return create_agent(Scripted(script=script), [delegate], checkpointer=saver)


def around(inner: Any, saver: Any = None) -> Any:
    """A graph that has another one as its node."""
    builder = StateGraph(Chat).add_node("inner", inner).add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    approved: StrictBool
    amount: int | None = None


def asking(saver: Any = None) -> Any:
    """Two nodes that ask at once, each for leave to spend its amount."""
    builder = StateGraph(Chat)
    for amount in (1, 2):

        def node(state: Chat, amount: int = amount) -> None:
            asks = {"question": f"Spend {amount}?", "amount": amount}
            answer = Answer.model_validate(interrupt(asks, response_schema=Answer))
            if answer.approved:
                happen(last_user_text(state["messages"]), answer.amount or amount)

        builder.add_node(f"ask{amount}", node).add_edge(START, f"ask{amount}")
    return builder.compile(checkpointer=saver)


def stopping(saver: Any = None) -> Any:
    """A graph with a static breakpoint before the node that spends."""

    def first(state: Chat) -> None:
        pass

    def guarded(state: Chat) -> None:
        happen(last_user_text(state["messages"]), 1)

    return chain_of(first, guarded, checkpointer=saver, interrupt_before=["guarded"])


KINDS: dict[str, Callable[[Any], Any]] = {
    "interrupt": asking,
    "breakpoint": stopping,
    "batched": lambda saver: spender("batched", saver),
    "per_call": lambda saver: spender("per_call", saver),
    "tool_batched": lambda saver: as_tool(spender("batched"), 1, saver),
    "tool_per_call": lambda saver: as_tool(spender("per_call"), 1, saver),
    "tool_tool_batched": lambda saver: as_tool(as_tool(spender("batched"), 2), 1, saver),
    "subgraph_batched": lambda saver: around(spender("batched"), saver),
    "subgraph_per_call": lambda saver: around(spender("per_call"), saver),
    "subgraph_subgraph_per_call": lambda saver: around(around(spender("per_call")), saver),
}
"""Graphs by the kind of their pause; each takes a checkpointer."""


def all_of(kind: str) -> list[int]:
    """What happens if everything is approved."""
    return [1] if kind == "breakpoint" else [1, 2]
