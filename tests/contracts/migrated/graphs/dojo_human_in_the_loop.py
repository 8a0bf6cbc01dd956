"""The questions of the AG-UI Dojo's page `human_in_the_loop`: steps that a model's call predicts,
and an answer in words."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.kit.models.scripted import Scripted, calling, part

PLAN = [
    calling(part("plan_execution_steps", '{"steps": [{"description": "Boil water"}', "c1", 0)),
    calling(part(None, ', {"description": "Add salt"}, {"description": "Cook pasta"}]}', None, 0)),
]


def speak(messages: list[BaseMessage]) -> list[Any]:
    said = messages[-1].text
    return [f"Done. {said}"] if said.startswith("The user selected") else PLAN


MODEL = Scripted(script=speak)


class AgentState(MessagesState):
    steps: list[dict[str, str]]
    tools: list[Any]


async def start_node(state: dict[str, Any], config: RunnableConfig) -> Command[str]:
    update = {"messages": state["messages"], "steps": state.get("steps", [])}
    return Command(goto="chat_node", update=update)


async def chat_node(state: AgentState, config: RunnableConfig) -> Command[str]:
    config["metadata"]["predict_state"] = [
        {"state_key": "steps", "tool": "plan_execution_steps", "tool_argument": "steps"}
    ]
    model = MODEL.bind_tools([*state["tools"]], parallel_tool_calls=False)
    response = await model.ainvoke([SystemMessage("Plan."), *state["messages"]], config)
    [planned] = response.tool_calls
    steps = [{**step, "status": "enabled"} for step in planned["args"]["steps"]]
    result = ToolMessage("Task steps generated.", tool_call_id=planned["id"])
    messages = [*state["messages"], response, result]
    return Command(goto="process_steps_node", update={"messages": messages, "steps": steps})


async def process_steps_node(state: dict[str, Any], config: RunnableConfig) -> Command[str]:
    answer = interrupt({"steps": state["steps"]})
    said = [SystemMessage("Perform."), {"role": "user", "content": answer}]
    response = await MODEL.ainvoke(said, config)
    update = {"messages": [*state["messages"], response], "steps": state["steps"]}
    return Command(goto=END, update=update)


builder = StateGraph(AgentState)
builder.add_node("start_node", start_node)
builder.add_node("chat_node", chat_node)
builder.add_node("process_steps_node", process_steps_node)
builder.add_edge(START, "start_node")
builder.add_edge("process_steps_node", END)
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="dojo_human_in_the_loop", description="Plans.", graph=graph)
