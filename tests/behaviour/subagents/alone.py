"""What a graph does without us: the conversation that ours is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

THREAD: Any = {"configurable": {"thread_id": "t"}}


def plain(messages: Iterable[BaseMessage]) -> list[tuple[Any, ...]]:
    """Messages as a provider would be sent them: all but ids and what was measured."""
    return [
        (
            one.type,
            one.content,
            [(call["id"], call["name"], call["args"]) for call in getattr(one, "tool_calls", ())],
            getattr(one, "tool_call_id", None),
            getattr(one, "status", None),
        )
        for one in messages
    ]


def plain_requests(model: Any) -> list[Any]:
    """All that a model was sent."""
    return [plain(messages) for messages in model.seen]


async def converse(graph: Any, *texts: str) -> None:
    """LangGraph alone runs the turns of a thread."""
    for text in texts:
        await graph.ainvoke({"messages": [HumanMessage(text)]}, THREAD)
