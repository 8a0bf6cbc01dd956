"""Steps that the user sees as they are done, emitted by hand."""

from __future__ import annotations

import asyncio
from typing import Any

from ag_ui_langgraph import CustomEventNames, LangGraphAgent
from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.kit.models.scripted import Scripted

MODEL = Scripted(["All done."])


class AgentState(MessagesState):
    steps: list[dict[str, Any]]


async def start_node(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
    steps = [{"description": text, "status": "pending"} for text in ("Dig", "Plant")]
    for step in steps:
        await asyncio.sleep(0)
        step["status"] = "completed"
        await adispatch_custom_event(
            CustomEventNames.ManuallyEmitState.value, {**state, "steps": steps}, config=config
        )
    response = await MODEL.ainvoke(state["messages"], config)
    return {"messages": [response], "steps": steps}


builder = StateGraph(AgentState)
builder.add_node("start_node", start_node)
builder.add_edge(START, "start_node")
builder.add_edge("start_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="agentic_generative_ui", description="Does steps.", graph=graph)
