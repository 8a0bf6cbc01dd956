"""A haiku that the page renders from the arguments of its own tool."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.types import Command

from tests.kit.models.scripted import Scripted, call

MODEL = Scripted(
    [call("generate_haiku", "c1", japanese=["a", "b"], english=["A", "B"])], ["Here is a haiku."]
)


class AgentState(MessagesState):
    tools: list[Any]


async def chat_node(state: AgentState, config: RunnableConfig) -> Command[str]:
    response = await MODEL.bind_tools([*state.get("tools", [])]).ainvoke(state["messages"], config)
    return Command(goto=END, update={"messages": [*state["messages"], response]})


builder = StateGraph(AgentState)
builder.add_node("chat_node", chat_node)
builder.set_entry_point("chat_node")
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="haiku", description="Writes haikus.", graph=graph)
