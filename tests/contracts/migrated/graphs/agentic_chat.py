"""A chat whose model is offered the page's tools from the state."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.types import Command

from tests.kit.models.scripted import Scripted, call

MODEL = Scripted(
    [call("change_background", "c1", background="red")], ["The page is red."], ["You said hello."]
)


class AgentState(MessagesState):
    tools: list[Any]


async def chat_node(state: AgentState, config: RunnableConfig) -> Command[str]:
    model = MODEL.bind_tools([*state["tools"]], parallel_tool_calls=False)
    system = SystemMessage("You are a helpful assistant.")
    response = await model.ainvoke([system, *state["messages"]], config)
    return Command(goto=END, update={"messages": response})


builder = StateGraph(AgentState)
builder.add_node("chat_node", chat_node)
builder.set_entry_point("chat_node")
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="agentic_chat", description="A chat.", graph=graph)
