"""The graphs of the workloads."""

from collections.abc import Callable
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
Stateful = Callable[[ScriptedModel, int, int], tuple[Graph, dict[str, Any]]]
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


class BigDocument(TypedDict, total=False):
    """The same data in one channel."""

    messages: Annotated[list[AnyMessage], add_messages]
    doc: dict[str, Any]


def _small_steps(steps: int) -> tuple[Any, Callable[[Any], str]]:
    """The node that changes one channel, and what says whether it runs again."""

    async def work(state: BigState) -> dict[str, Any]:
        return {"progress": _progress(state["progress"]["step"] + 1, steps)}

    def more(state: BigState) -> str:
        return "work" if state["progress"]["step"] < steps else "answer"

    return work, more


def given_state(
    model: ScriptedModel, steps: int, size: int
) -> tuple[Graph, dict[str, Any], dict[str, Any]]:
    """The client brings ``size`` bytes, ``steps`` supersteps change one key each, then the model
    answers.

    Also returns that state, and the state that a client must hold at the end, messages excluded.
    """
    given = {**_sections(size), "progress": _progress(0, steps)}
    return (
        _stepping(BigState, model, *_small_steps(steps)),
        given,
        {**given, "progress": _progress(steps, steps)},
    )


def big_state(model: ScriptedModel, steps: int, size: int) -> tuple[Graph, dict[str, Any]]:
    """As ``given_state``, but a node writes the state."""

    async def load(state: BigState) -> dict[str, Any]:
        return {**_sections(size), "progress": _progress(0, steps)}

    final = {**_sections(size), "progress": _progress(steps, steps)}
    return _stepping(BigState, model, *_small_steps(steps), load), final


def big_document(model: ScriptedModel, steps: int, size: int) -> tuple[Graph, dict[str, Any]]:
    """As ``big_state``, but all of it in one channel, of which each superstep writes a changed
    copy."""

    async def load(state: BigDocument) -> dict[str, Any]:
        return {"doc": {**_sections(size), "progress": _progress(0, steps)}}

    async def work(state: BigDocument) -> dict[str, Any]:
        doc = state["doc"]
        return {"doc": {**doc, "progress": _progress(doc["progress"]["step"] + 1, steps)}}

    def more(state: BigDocument) -> str:
        return "work" if state["doc"]["progress"]["step"] < steps else "answer"

    final = {"doc": {**_sections(size), "progress": _progress(steps, steps)}}
    return _stepping(BigDocument, model, work, more, load), final


def _sections(size: int) -> dict[str, dict[str, Any]]:
    row = {"id": 0, "title": "a row", "tags": ["alpha", "beta"], "body": "x" * 412, "done": False}
    rows = max(1, size // SECTIONS // 480)
    return {
        f"s{n}": {f"row-{i}": {**row, "id": n * rows + i} for i in range(rows)}
        for n in range(SECTIONS)
    }


def _progress(step: int, steps: int) -> dict[str, Any]:
    return {"step": step, "label": f"step {step} of {steps}"}


def _stepping(
    schema: Any, model: ScriptedModel, work: Any, more: Callable[[Any], str], load: Any = None
) -> Graph:
    """``load`` once, if there is one, ``work`` until ``more`` says "answer", then the model."""

    async def answer(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(schema)
    if load is not None:
        builder.add_node("load", load)
        builder.add_edge(START, "load")
    builder.add_node("work", work)
    builder.add_node("answer", answer)
    builder.add_edge("load" if load is not None else START, "work")
    builder.add_conditional_edges("work", more, ["work", "answer"])
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=InMemorySaver())
