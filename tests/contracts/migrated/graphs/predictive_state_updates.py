"""A document that grows while the model writes it, and that the page confirms."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.types import Command

from tests.kit.models.scripted import Scripted, call, calling, part

WRITE = [
    calling(part("write_document_local", '{"document": "Once', "c1", 0)),
    calling(part(None, ' upon a time."}', None, 0)),
]
MODEL = Scripted(WRITE, [call("confirm_changes", "c2")], ["It is saved."])


class AgentState(MessagesState):
    document: str | None
    tools: list[Any]


async def chat_node(state: AgentState, config: RunnableConfig) -> Command[str]:
    config["metadata"]["predict_state"] = [
        {"state_key": "document", "tool": "write_document_local", "tool_argument": "document"}
    ]
    model = MODEL.bind_tools([*state["tools"]], parallel_tool_calls=False)
    response = await model.ainvoke(state["messages"], config)
    messages = [*state["messages"], response]
    if response.tool_calls and response.tool_calls[0]["name"] == "write_document_local":
        call_ = response.tool_calls[0]
        messages.append(ToolMessage("Document written.", tool_call_id=call_["id"]))
        return Command(
            goto="chat_node", update={"messages": messages, "document": call_["args"]["document"]}
        )
    return Command(goto=END, update={"messages": messages})


builder = StateGraph(AgentState)
builder.add_node("chat_node", chat_node)
builder.set_entry_point("chat_node")
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(
    name="predictive_state_updates", description="Writes documents.", graph=graph
)
