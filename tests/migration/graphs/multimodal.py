"""A model that is shown the user's picture."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.adapter.models import Scripted


def describe(messages: list[Any]) -> list[str]:
    """Say what kinds of content the last message has."""
    content = messages[-1].content
    kinds = (
        [block["type"] for block in content if isinstance(block, dict)]
        if isinstance(content, list)
        else ["text"]
    )
    return [f"I see: {', '.join(sorted({kind.removesuffix('_url') for kind in kinds}))}"]


MODEL = Scripted(script=describe)


async def chat_node(state: MessagesState) -> dict[str, Any]:
    """Describe the picture."""
    return {"messages": [await MODEL.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("chat_node", chat_node)
builder.add_edge(START, "chat_node")
builder.add_edge("chat_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="multimodal", description="Sees.", graph=graph)
