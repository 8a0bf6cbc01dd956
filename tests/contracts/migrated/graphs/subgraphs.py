"""A supervisor with two subgraphs, of which one asks the user."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.kit.models.scripted import Scripted

MODEL = Scripted(["Have a good trip."])


class TravelState(MessagesState):
    flight: str
    planning_step: str


async def flights_node(state: TravelState) -> dict[str, Any]:
    chosen = interrupt(
        {"message": "Which flight?", "options": ["KLM", "United"], "agent": "flights"}
    )
    return {"flight": chosen, "messages": [AIMessage(f"Flight booked: {chosen}")]}


async def experiences_node(state: TravelState) -> dict[str, Any]:
    return {"messages": [await MODEL.ainvoke(state["messages"])], "planning_step": "done"}


def subgraph(name: str, node: Any) -> Any:
    builder = StateGraph(TravelState)
    builder.add_node(name, node)
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return builder.compile()


builder = StateGraph(TravelState)
builder.add_node("flights_agent", subgraph("flights", flights_node))
builder.add_node("experiences_agent", subgraph("experiences", experiences_node))
builder.add_edge(START, "flights_agent")
builder.add_edge("flights_agent", "experiences_agent")
builder.add_edge("experiences_agent", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="subgraphs", description="Plans trips.", graph=graph)
