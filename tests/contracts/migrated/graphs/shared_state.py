"""A recipe that the user and the agent edit together."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.types import Command

from tests.kit.models.scripted import Scripted, call

MODEL = Scripted(
    [call("generate_recipe", "c1", title="Soup")],
    ["A soup."],
    [call("generate_recipe", "c2", title="Hot soup")],
    ["Hotter."],
)


class AgentState(MessagesState):
    recipe: dict[str, Any] | None
    tools: list[Any]


async def chat_node(state: AgentState, config: RunnableConfig) -> Command[str]:
    response = await MODEL.bind_tools([*state["tools"]]).ainvoke(state["messages"], config)
    messages = [*state["messages"], response]
    if not response.tool_calls:
        return Command(goto=END, update={"messages": messages})
    call_ = response.tool_calls[0]
    messages.append(ToolMessage("Recipe generated.", tool_call_id=call_["id"]))
    recipe = {**(state.get("recipe") or {}), "title": call_["args"]["title"]}
    return Command(goto="chat_node", update={"messages": messages, "recipe": recipe})


builder = StateGraph(AgentState)
builder.add_node("chat_node", chat_node)
builder.set_entry_point("chat_node")
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="shared_state", description="Cooks.", graph=graph)
