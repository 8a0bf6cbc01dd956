"""A model that is shown the user's picture."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.kit.models.scripted import Scripted


def describe(messages: list[Any]) -> list[str]:
    seen = []
    for block in messages[-1].content:
        if block["type"] == "text":
            seen.append("text")
        else:
            head, _, data = block["image_url"]["url"].partition(";base64,")
            seen.append(f"{len(b64decode(data))} bytes of {head.removeprefix('data:')}")
    return [f"I see: {', '.join(seen)}"]


MODEL = Scripted(script=describe)


async def chat_node(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await MODEL.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("chat_node", chat_node)
builder.add_edge(START, "chat_node")
builder.add_edge("chat_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="multimodal", description="Sees.", graph=graph)
