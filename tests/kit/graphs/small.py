"""Small graphs that tests share."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.models.scripted import Scripted


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def chain_of(*nodes: Any, state: Any = Chat, **compile_options: Any) -> Any:
    """A graph that runs `nodes` one after the other; a node is named after its function."""
    builder = StateGraph(state)
    names = [
        node.__name__ if hasattr(node, "__name__") else f"node{number}"
        for number, node in enumerate(nodes)
    ]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(before, after)
    return builder.compile(**compile_options)


def talker(model: Any, name: str = "model", key: str = "messages") -> Any:
    """An async node that calls `model` and returns its message."""

    async def node(state: Any) -> dict[str, list[BaseMessage]]:
        return {key: [await model.ainvoke(state[key])]}

    node.__name__ = name
    return node


def sync_talker(model: Any, name: str = "model") -> Any:
    """A sync node: LangGraph runs it in a worker thread."""

    def node(state: Any) -> dict[str, list[BaseMessage]]:
        return {"messages": [model.invoke(state["messages"])]}

    node.__name__ = name
    return node


def agent_of(
    *nodes: Any, state: Any = Chat, checkpointer: Any = None, **options: Any
) -> LangGraphAgent:
    """An agent over `chain_of(*nodes)`."""
    return LangGraphAgent(graph=chain_of(*nodes, state=state, checkpointer=checkpointer), **options)


def scripted_agent(
    *turns: Any, sync: bool = False, checkpointer: Any = None, **fields: Any
) -> LangGraphAgent:
    """An agent over one node that calls a `Scripted` model."""
    model = Scripted(*turns, **fields)
    return agent_of(sync_talker(model) if sync else talker(model), checkpointer=checkpointer)
