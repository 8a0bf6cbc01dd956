"""A supervisor that sends researchers out in parallel, built like open_deep_research: a node
carries out the supervisor's `ConductResearch` calls, each with its own run of a graph.

The models are scripts, so it runs offline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import add
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from langgraph_agui.testing import Reply, ScriptedChatModel, call

TOPICS = ("the price of tea in China", "the price of coffee in Brazil")

# -- the models -----------------------------------------------------------------------------------


def supervise(messages: list[BaseMessage]) -> Reply:
    done = sum(message.type == "tool" for message in messages)
    if messages[-1].type == "tool":
        return call("ResearchComplete", f"complete-{done}")
    calls = [
        call("ConductResearch", f"research-{number}", research_topic=topic)
        for number, topic in enumerate(TOPICS, done)
    ]
    return ["I am sending out two researchers.", *calls]


def do_research(messages: list[BaseMessage]) -> Reply:
    if isinstance(messages[-1], ToolMessage):
        return messages[-1].text
    return call("search", "search", query=messages[0].text)


def write_up(messages: list[BaseMessage]) -> Reply:
    return f"# {messages[0].text}\n" + "\n".join(
        dict.fromkeys(message.text for message in messages[1:])
    )


# Real ones: init_chat_model("anthropic:claude-sonnet-4-5")
SUPERVISOR = ScriptedChatModel(supervise)
RESEARCHER = ScriptedChatModel(do_research)
WRITER = ScriptedChatModel(write_up)

# -- a researcher ---------------------------------------------------------------------------------


class ResearcherState(TypedDict, total=False):
    researcher_messages: Annotated[list[AnyMessage], add_messages]
    research_topic: str
    compressed_research: str


@tool
async def search(query: str) -> str:
    """Search the web."""
    return f"{query} has risen."


async def researcher(
    state: ResearcherState,
) -> Command[Literal["researcher_tools", "compress_research"]]:
    reply = await RESEARCHER.ainvoke(state["researcher_messages"])
    calls = isinstance(reply, AIMessage) and reply.tool_calls
    goto: Literal["researcher_tools", "compress_research"] = (
        "researcher_tools" if calls else "compress_research"
    )
    return Command(goto=goto, update={"researcher_messages": [reply]})


async def researcher_tools(state: ResearcherState) -> Command[Literal["researcher"]]:
    last = state["researcher_messages"][-1]
    assert isinstance(last, AIMessage)
    results = [await search.ainvoke(call) for call in last.tool_calls]
    return Command(goto="researcher", update={"researcher_messages": results})


def compress_research(state: ResearcherState) -> ResearcherState:
    return {"compressed_research": state["researcher_messages"][-1].text}


def build_researcher() -> Any:
    builder = StateGraph(ResearcherState)
    builder.add_node(researcher)
    builder.add_node(researcher_tools)
    builder.add_node(compress_research)
    builder.add_edge(START, "researcher")
    builder.add_edge("compress_research", END)
    return builder.compile()


researcher_subgraph = build_researcher()

# -- the supervisor -------------------------------------------------------------------------------


class SupervisorState(TypedDict, total=False):
    supervisor_messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], add]


async def supervisor(state: SupervisorState) -> Command[Literal["supervisor_tools"]]:
    reply = await SUPERVISOR.ainvoke(state["supervisor_messages"])
    return Command(goto="supervisor_tools", update={"supervisor_messages": [reply]})


async def supervisor_tools(state: SupervisorState) -> Command[Literal["supervisor", "__end__"]]:
    last = state["supervisor_messages"][-1]
    assert isinstance(last, AIMessage)
    calls = [call for call in last.tool_calls if call["name"] == "ConductResearch"]
    if not calls:
        return Command(goto=END)
    found = await asyncio.gather(*(research(call["args"]["research_topic"]) for call in calls))
    results = [
        ToolMessage(text, name=call["name"], tool_call_id=call["id"])
        for text, call in zip(found, calls, strict=True)
    ]
    return Command(goto="supervisor", update={"supervisor_messages": results, "notes": found})


async def research(topic: str) -> str:
    """Run one researcher. The topic is the argument of the call, so the call is known by it."""
    asked = {"researcher_messages": [HumanMessage(topic)], "research_topic": topic}
    return str((await researcher_subgraph.ainvoke(asked))["compressed_research"])


def build_supervisor() -> Any:
    builder = StateGraph(SupervisorState)
    builder.add_node(supervisor)
    builder.add_node(supervisor_tools)
    builder.add_edge(START, "supervisor")
    return builder.compile()


# -- the whole ------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    supervisor_messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], add]


def write_brief(state: State) -> State:
    return {"supervisor_messages": [HumanMessage(state["messages"][-1].text)]}


async def write_report(state: State) -> State:
    asked: Sequence[BaseMessage] = [state["messages"][-1], *map(HumanMessage, state["notes"])]
    return {"messages": [await WRITER.ainvoke(asked)]}


def build(checkpointer: Any = None) -> Any:
    """Return the graph."""
    builder = StateGraph(State)
    builder.add_node(write_brief)
    builder.add_node("research_supervisor", build_supervisor())
    builder.add_node(write_report)
    builder.add_edge(START, "write_brief")
    builder.add_edge("write_brief", "research_supervisor")
    builder.add_edge("research_supervisor", "write_report")
    return builder.compile(checkpointer=checkpointer)
