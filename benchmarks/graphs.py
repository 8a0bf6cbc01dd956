"""The graphs of the workloads: a model goes in, a compiled graph with a checkpointer comes out."""

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from .model import ScriptedModel

Graph = CompiledStateGraph[Any, Any, Any, Any]
LARGE_CHANNELS = 8
ROW_BYTES = 480


def one_node(model: ScriptedModel) -> Graph:
    """One node that asks the model."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=InMemorySaver())


@tool
async def lookup(city: str, day: int) -> str:
    """The weather of a city."""
    return f"sunny {day}"


def tool_agent(model: ScriptedModel) -> Graph:
    """LangChain's own agent with one tool."""
    return create_agent(model, tools=[lookup], checkpointer=InMemorySaver())


class LargeState(TypedDict, total=False):
    """Eight large channels, and a small one that changes."""

    messages: Annotated[list[AnyMessage], add_messages]
    s0: dict[str, Any]
    s1: dict[str, Any]
    s2: dict[str, Any]
    s3: dict[str, Any]
    s4: dict[str, Any]
    s5: dict[str, Any]
    s6: dict[str, Any]
    s7: dict[str, Any]
    progress: dict[str, Any]


def stepping(model: ScriptedModel, steps: int) -> Graph:
    """A graph that changes the small channel in each of its steps, then asks the model."""

    async def work(state: LargeState) -> dict[str, Any]:
        return {"progress": progress(state["progress"]["step"] + 1, steps)}

    async def answer(state: LargeState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def follow(state: LargeState) -> str:
        return "work" if state["progress"]["step"] < steps else "answer"

    builder = StateGraph(LargeState)
    builder.add_node("work", work)
    builder.add_node("answer", answer)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", follow, ["work", "answer"])
    return builder.compile(checkpointer=InMemorySaver())


def large_channels(size: int) -> dict[str, dict[str, Any]]:
    """So many bytes in the large channels."""
    row = {"id": 0, "title": "a row", "tags": ["alpha", "beta"], "body": "x" * 412, "done": False}
    rows = max(1, size // LARGE_CHANNELS // ROW_BYTES)
    return {
        f"s{channel}": {f"row-{number}": {**row, "id": number} for number in range(rows)}
        for channel in range(LARGE_CHANNELS)
    }


def progress(step: int, steps: int) -> dict[str, Any]:
    """The value of the small channel after a step."""
    return {"step": step, "label": f"step {step} of {steps}"}
