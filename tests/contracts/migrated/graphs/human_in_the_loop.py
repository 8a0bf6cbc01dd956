"""A plan whose steps the user picks, asked by `interrupt()`."""

from __future__ import annotations

import json
from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.kit.models.scripted import Scripted

MODEL = Scripted(["I have a plan."])


class AgentState(MessagesState):
    steps: list[dict[str, Any]]


async def plan_node(state: AgentState) -> dict[str, Any]:
    response = await MODEL.ainvoke(state["messages"])
    steps = [{"description": text, "status": "enabled"} for text in ("Buy paint", "Paint")]
    return {"messages": [response], "steps": steps}


async def process_steps_node(state: AgentState) -> dict[str, Any]:
    chosen = interrupt({"steps": state["steps"]})
    if isinstance(chosen, str):
        chosen = json.loads(chosen)
    wanted = [step["description"] for step in chosen["steps"] if step["status"] == "enabled"]
    return {"messages": [AIMessage(f"Doing: {', '.join(wanted)}")], "steps": chosen["steps"]}


builder = StateGraph(AgentState)
builder.add_node("plan_node", plan_node)
builder.add_node("process_steps_node", process_steps_node)
builder.add_edge(START, "plan_node")
builder.add_edge("plan_node", "process_steps_node")
builder.add_edge("process_steps_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="human_in_the_loop", description="Plans with the user.", graph=graph)
