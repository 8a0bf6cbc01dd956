"""Graphs that keep their models' messages, and the results of tools, in other channels than
`messages`."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call


class Research(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    supervisor_messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


class Supervision(TypedDict, total=False):
    supervisor_messages: Annotated[list[AnyMessage], operator.add]
    notes: Annotated[list[str], operator.add]


class Researching(TypedDict, total=False):
    researcher_messages: Annotated[list[AnyMessage], operator.add]
    finding: str


class Filed(Chat, total=False):
    files: Annotated[list[AnyMessage], operator.add]


class Summed(Chat, total=False):
    summary: str


def is_answered(messages: list[Any]) -> bool:
    return any(message.type == "tool" for message in messages)


def supervise(messages: list[Any]) -> list[Any]:
    """Ask two researchers; end by a call that no tool answers."""
    topics = enumerate(("Rome", "Paris"))
    asks = [call("ConductResearch", f"s{at + 1}", at, topic=topic) for at, topic in topics]
    return [call("ResearchComplete", "s9")] if is_answered(messages) else [*asks]


def research(messages: list[Any]) -> list[Any]:
    """Search once; end by a call that no tool answers."""
    topic = messages[0].text
    ends = call("ResearchComplete", f"d-{topic}")
    return [ends if is_answered(messages) else call("search", f"q-{topic}", q=topic)]


def report(messages: list[Any]) -> list[Any]:
    """Say what the model was sent."""
    return ["I heard ", " / ".join(f"{message.type}:{message.text}" for message in messages)]


def reporting() -> Any:
    return talker(Scripted(script=report), "report")


async def search(state: Researching) -> dict[str, Any]:
    [called] = state["researcher_messages"][-1].tool_calls  # type: ignore[union-attr]
    found = ToolMessage(f"found {called['args']['q']}", tool_call_id=called["id"], name="search")
    return {"researcher_messages": [found]}


async def compress(state: Researching) -> dict[str, Any]:
    return {"finding": state["researcher_messages"][-2].text}


def thinking(state: Any, name: str, key: str, script: Any, goes_on: str, end: str) -> StateGraph:
    """A model that ends where it calls `ResearchComplete`; what goes on returns to it."""

    def route(state: Any) -> str:
        return end if state[key][-1].tool_calls[0]["name"] == "ResearchComplete" else goes_on

    builder = StateGraph(state).add_node(name, talker(Scripted(script=script), name, key=key))
    return builder.add_edge(goes_on, name).add_conditional_edges(name, route)


def researcher() -> Any:
    key = "researcher_messages"
    builder = thinking(Researching, "think", key, research, "search", "compress")
    builder.add_node("search", search).add_node("compress", compress)
    return builder.add_edge(START, "think").add_edge("compress", END).compile(name="researcher")


async def conduct(state: Any) -> dict[str, Any]:
    """Run a researcher for each call, as a node that is both router and tools does."""
    results = []
    for called in state["supervisor_messages"][-1].tool_calls:
        given = {"researcher_messages": [HumanMessage(called["args"]["topic"])]}
        found = (await researcher().ainvoke(given))["finding"]
        results.append(ToolMessage(found, tool_call_id=called["id"], name=called["name"]))
    return {"supervisor_messages": results, "notes": ["noted"]}


def supervising(state: Any, end: str) -> StateGraph:
    key = "supervisor_messages"
    builder = thinking(state, "supervisor", key, supervise, "conduct", end)
    return builder.add_node("conduct", conduct)


def flat(saver: Any = None) -> Any:
    """The supervisor is a node of the root graph, with a channel of its own."""

    async def begin(state: Any) -> Command[Any]:
        asked = [HumanMessage(state["messages"][-1].text)]
        return Command(goto="supervisor", update={"supervisor_messages": asked})

    builder = supervising(Research, "report").add_node("report", reporting())
    builder.add_node("begin", begin, destinations=("supervisor",)).add_edge(START, "begin")
    return builder.add_edge("report", END).compile(checkpointer=saver)


def nested(saver: Any = None) -> Any:
    """The supervisor is a graph of its own that is a node of the root graph."""

    async def begin(state: Any) -> dict[str, Any]:
        return {"supervisor_messages": [HumanMessage(state["messages"][-1].text)]}

    inner = supervising(Supervision, END).add_edge(START, "supervisor").compile(name="supervision")
    builder = StateGraph(Research).add_node("begin", begin).add_node("supervision", inner)
    builder.add_node("report", reporting()).add_edge(START, "begin").add_edge("report", END)
    builder.add_edge("begin", "supervision").add_edge("supervision", "report")
    return builder.compile(checkpointer=saver)


def work_until_done(messages: list[Any]) -> list[Any]:
    """Look once; end by a call that no tool answers."""
    asked = max(index for index, message in enumerate(messages) if message.type == "human")
    number, looked = len(messages), is_answered(messages[asked:])
    return [call("Done", f"d{number}") if looked else call("look", f"c{number}", q="x")]


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool("Done")
def done() -> None:
    """Say that the work is done."""


def until_done(saver: Any = None, model: Any = None) -> Any:
    """An agent whose last message calls `Done`."""
    tools = {one.name: one for one in (look, done)}

    def route(state: Any) -> str:
        return END if state["messages"][-1].tool_calls[0]["name"] == "Done" else "act"

    async def act(state: Chat) -> dict[str, Any]:
        [called] = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [await tools[called["name"]].ainvoke(called)]}

    model = talker(model or Scripted(script=work_until_done))
    builder = StateGraph(Chat).add_node("model", model).add_node("act", act)
    builder.add_edge(START, "model").add_edge("act", "model").add_conditional_edges("model", route)
    return builder.compile(checkpointer=saver, name="worker")


def node_until_done(saver: Any = None, model: Any = None) -> Any:
    """The same agent as a node of a graph that keeps its messages."""
    builder = StateGraph(Chat).add_node("worker", until_done(model=model)).add_edge(START, "worker")
    return builder.compile(checkpointer=saver)


def results_filed(saver: Any = None) -> Any:
    """The conversation has the calls, and another channel their results, which the author's node
    puts together."""

    def answer(messages: list[Any]) -> list[Any]:
        asks = [call("look", f"c{len(messages)}", q="x")]
        return report(messages) if messages[-1].type == "tool" else [*asks]

    model = Scripted(script=answer)

    async def think(state: Filed) -> dict[str, Any]:
        results = {one.tool_call_id: one for one in state.get("files", ())}  # type: ignore[union-attr]
        whole = []
        for message in state["messages"]:
            calls = getattr(message, "tool_calls", ())
            whole += [message, *(results[called["id"]] for called in calls)]
        return {"messages": [await model.ainvoke(whole)]}

    async def act(state: Filed) -> dict[str, Any]:
        [called] = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"files": [await look.ainvoke(called)]}

    def route(state: Any) -> str:
        return "act" if state["messages"][-1].tool_calls else END

    builder = StateGraph(Filed).add_node("think", think).add_node("act", act)
    builder.add_edge(START, "think").add_edge("act", "think").add_conditional_edges("think", route)
    return builder.compile(checkpointer=saver)


def text_only(saver: Any = None) -> Any:
    """A node keeps only the text of an answer with a call."""
    inner = Scripted([call("look", "c1", q="x"), "A summary"])

    async def summarize(state: Summed) -> dict[str, Any]:
        return {"summary": (await inner.ainvoke(state["messages"])).text}

    return chain_of(summarize, reporting(), state=Summed, checkpointer=saver)
