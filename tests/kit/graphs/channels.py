"""Graphs that keep their models' messages, and the results of tools, in other channels than
`messages`."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from tests.kit.graphs.small import Chat, talker
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


def is_answered(messages: list[Any]) -> bool:
    return any(message.type == "tool" for message in messages)


def supervise(messages: list[Any]) -> list[Any]:
    """Ask two researchers; end by a call that no tool answers."""
    if is_answered(messages):
        return [call("ResearchComplete", "s9")]
    return [
        call("ConductResearch", "s1", 0, topic="Rome"),
        call("ConductResearch", "s2", 1, topic="Paris"),
    ]


def research(messages: list[Any]) -> list[Any]:
    """Search once; end by a call that no tool answers."""
    topic = messages[0].text
    return [
        call("ResearchComplete", f"d-{topic}")
        if is_answered(messages)
        else call("search", f"q-{topic}", q=topic)
    ]


def report(messages: list[Any]) -> list[Any]:
    """Say what the model was sent."""
    return ["I heard ", " / ".join(f"{message.type}:{message.text}" for message in messages)]


async def search(state: Researching) -> dict[str, Any]:
    [called] = state["researcher_messages"][-1].tool_calls  # type: ignore[union-attr]
    found = ToolMessage(f"found {called['args']['q']}", tool_call_id=called["id"], name="search")
    return {"researcher_messages": [found]}


async def compress(state: Researching) -> dict[str, Any]:
    return {"finding": state["researcher_messages"][-2].text}


def ends_by_a_call(key: str, goes_on: str, end: str) -> Any:
    """A router that ends where the last message calls `ResearchComplete`."""

    def route(state: Any) -> str:
        [*_, last] = state[key]
        return end if last.tool_calls[0]["name"] == "ResearchComplete" else goes_on

    return route


def researcher() -> Any:
    builder = StateGraph(Researching)
    builder.add_node("think", talker(Scripted(script=research), "think", key="researcher_messages"))
    builder.add_node("search", search).add_node("compress", compress)
    builder.add_edge(START, "think").add_edge("search", "think").add_edge("compress", END)
    builder.add_conditional_edges(
        "think", ends_by_a_call("researcher_messages", "search", "compress")
    )
    return builder.compile(name="researcher")


async def conduct(state: Any) -> dict[str, Any]:
    """Run a researcher for each call, as a node that is both router and tools does."""
    results = []
    for called in state["supervisor_messages"][-1].tool_calls:
        given = {"researcher_messages": [HumanMessage(called["args"]["topic"])]}
        found = (await researcher().ainvoke(given))["finding"]
        results.append(ToolMessage(found, tool_call_id=called["id"], name=called["name"]))
    return {"supervisor_messages": results, "notes": ["noted"]}


async def begin(state: Any) -> Command[Literal["supervisor"]]:
    """Hand the question to the supervisor, as a command."""
    return Command(
        goto="supervisor",
        update={"supervisor_messages": [HumanMessage(state["messages"][-1].text)]},
    )


def flat(saver: Any = None) -> Any:
    """The supervisor is a node of the root graph, with a channel of its own."""
    builder = StateGraph(Research)
    builder.add_node("begin", begin)
    builder.add_node(
        "supervisor", talker(Scripted(script=supervise), "supervisor", key="supervisor_messages")
    )
    builder.add_node("conduct", conduct).add_node(
        "report", talker(Scripted(script=report), "report")
    )
    builder.add_edge(START, "begin").add_edge("conduct", "supervisor").add_edge("report", END)
    builder.add_conditional_edges(
        "supervisor", ends_by_a_call("supervisor_messages", "conduct", "report")
    )
    return builder.compile(checkpointer=saver)


def nested(saver: Any = None) -> Any:
    """The supervisor is a graph of its own that is a node of the root graph."""
    inner = StateGraph(Supervision)
    inner.add_node(
        "supervisor", talker(Scripted(script=supervise), "supervisor", key="supervisor_messages")
    )
    inner.add_node("conduct", conduct)
    inner.add_edge(START, "supervisor").add_edge("conduct", "supervisor")
    inner.add_conditional_edges("supervisor", ends_by_a_call("supervisor_messages", "conduct", END))
    builder = StateGraph(Research)
    builder.add_node("begin", ask_supervisor)
    builder.add_node("supervision", inner.compile(name="supervision"))
    builder.add_node("report", talker(Scripted(script=report), "report"))
    builder.add_edge(START, "begin").add_edge("begin", "supervision").add_edge(
        "supervision", "report"
    )
    return builder.add_edge("report", END).compile(checkpointer=saver)


async def ask_supervisor(state: Any) -> dict[str, Any]:
    return {"supervisor_messages": [HumanMessage(state["messages"][-1].text)]}


def work_until_done(messages: list[Any]) -> list[Any]:
    """Look once; end by a call that no tool answers."""
    last_turn = messages[
        max(index for index, message in enumerate(messages) if message.type == "human") :
    ]
    number = len(messages)
    return [
        call("Done", f"d{number}") if is_answered(last_turn) else call("look", f"c{number}", q="x")
    ]


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

    builder = StateGraph(Chat)
    builder.add_node("model", talker(model or Scripted(script=work_until_done))).add_node(
        "act", act
    )
    builder.add_edge(START, "model").add_edge("act", "model").add_conditional_edges("model", route)
    return builder.compile(checkpointer=saver, name="worker")


def node_until_done(saver: Any = None, model: Any = None) -> Any:
    """The same agent as a node of a graph that keeps its messages."""
    builder = StateGraph(Chat).add_node("worker", until_done(model=model)).add_edge(START, "worker")
    return builder.compile(checkpointer=saver)


class Filed(Chat, total=False):
    files: Annotated[list[AnyMessage], operator.add]


def results_filed(saver: Any = None) -> Any:
    """The conversation has the calls, and another channel their results, which the author's node
    puts together."""

    def answer(messages: list[Any]) -> list[Any]:
        return (
            report(messages)
            if messages[-1].type == "tool"
            else [call("look", f"c{len(messages)}", q="x")]
        )

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

    builder = StateGraph(Summed).add_node("summarize", summarize)
    builder.add_node("report", talker(Scripted(script=report), "report"))
    return (
        builder.add_edge(START, "summarize")
        .add_edge("summarize", "report")
        .compile(checkpointer=saver)
    )


class Summed(Chat, total=False):
    summary: str
