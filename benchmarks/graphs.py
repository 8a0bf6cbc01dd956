"""The graphs of the workloads."""

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from .model import ScriptedModel

Graph = CompiledStateGraph[Any, Any, Any, Any]
SECTIONS = 8


def one_node(model: ScriptedModel) -> Graph:
    """One node that asks the model and adds its reply."""

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


class BigState(TypedDict, total=False):
    """Eight large channels that are written once, and a small one."""

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


def big_state(model: ScriptedModel, steps: int, size: int) -> tuple[Graph, dict[str, Any]]:
    """A node writes ``size`` bytes, ``steps`` supersteps change one key each, then the model answers.

    Also returns the state that a client must hold at the end, messages excluded.
    """
    row = {"id": 0, "title": "a row", "tags": ["alpha", "beta"], "body": "x" * 412, "done": False}
    rows = max(1, size // SECTIONS // 480)

    def section(number: int) -> dict[str, Any]:
        return {f"row-{i}": {**row, "id": number * rows + i} for i in range(rows)}

    async def load(state: BigState) -> dict[str, Any]:
        return {**{f"s{n}": section(n) for n in range(SECTIONS)}, "progress": {"step": 0, "label": "loaded"}}

    async def work(state: BigState) -> dict[str, Any]:
        step = state["progress"]["step"] + 1
        return {"progress": {"step": step, "label": f"step {step} of {steps}"}}

    async def answer(state: BigState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def more(state: BigState) -> str:
        return "work" if state["progress"]["step"] < steps else "answer"

    builder = StateGraph(BigState)
    builder.add_node("load", load)
    builder.add_node("work", work)
    builder.add_node("answer", answer)
    builder.add_edge(START, "load")
    builder.add_edge("load", "work")
    builder.add_conditional_edges("work", more, ["work", "answer"])
    builder.add_edge("answer", END)
    final = {f"s{n}": section(n) for n in range(SECTIONS)}
    final["progress"] = {"step": steps, "label": f"step {steps} of {steps}"}
    return builder.compile(checkpointer=InMemorySaver()), final
