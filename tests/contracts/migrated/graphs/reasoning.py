"""A model that thinks."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.kit.models.scripted import Scripted, text_chunk, thinking

MODEL = Scripted(
    [
        thinking("Let me", 0),
        thinking(" think.", 0),
        thinking(index=0, signature="S"),
        text_chunk("42", 1),
    ]
)


async def chat_node(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await MODEL.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("chat_node", chat_node)
builder.add_edge(START, "chat_node")
builder.add_edge("chat_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="reasoning", description="Thinks.", graph=graph)
