"""Graphs with model calls that no node keeps: those of `tests.rooms.translate.test_unkept_messages`, for a
LangGraph server."""

from __future__ import annotations

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import RetryPolicy
from typing_extensions import TypedDict

from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.rooms.translate.test_unkept_messages import Route, Structured


class Notes(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    summary: str
    draft: Any


def _heard(messages: list[Any]) -> list[Any]:
    """Say what was heard, so that a test sees what the model was sent."""
    received = [
        f"{message.type}:{message.text}" for message in messages if message.type != "system"
    ]
    return ["I heard ", " / ".join(received)]


def _looking(messages: list[Any]) -> list[Any]:
    return (
        _heard(messages)
        if messages[-1].type == "tool"
        else [call("look", f"c{len(messages)}", q="x")]
    )


_inner = Scripted(
    [thinking("inner hm", 0), thinking(index=0, signature="S"), text_chunk("Inner words", 1)]
)


@tool
async def look(q: str) -> str:
    """Look."""
    return f"{len((await _inner.ainvoke(q)).text)} letters"


in_a_tool = create_agent(Scripted(script=_looking), [look])


async def route(state: Notes) -> dict[str, Any]:
    """Ask a model where to go, and keep the answer alone."""
    router = Structured([call("Route", "r1", to="model")]).with_structured_output(Route)
    return {"summary": (await router.ainvoke(state["messages"]))["to"]}


in_a_router = chain_of(route, talker(Scripted(script=_heard)), state=Notes)


async def summarize(state: Notes) -> dict[str, Any]:
    """Keep the text of a model's answer, which had a call too."""
    return {
        "summary": (
            await Scripted([call("look", "c1", q="x"), "A summary"]).ainvoke(state["messages"])
        ).text
    }


kept_as_text = chain_of(summarize, talker(Scripted(script=_heard)), state=Notes)


async def rewrite(state: Notes) -> dict[str, Any]:
    """Keep other words than the model's, under another id."""
    return {
        "messages": [
            AIMessage((await Scripted(script=_heard).ainvoke(state["messages"])).text.upper())
        ]
    }


rewritten = chain_of(rewrite, state=Notes)

_broken = Scripted(["Hel", ConnectionError("down")])
replaced = chain_of(talker(_broken.with_fallbacks([Scripted(script=_heard)])), state=Notes)


async def draft(state: Notes) -> dict[str, Any]:
    """Keep the answer for the next node."""
    return {"draft": await Scripted(script=_heard).ainvoke(state["messages"])}


async def publish(state: Notes) -> dict[str, Any]:
    """Return what another node has asked for."""
    return {"messages": [state["draft"]]}


kept_later = chain_of(draft, publish, state=Notes)


def _fails_at_first() -> Any:
    begun: set[str | None] = set()

    async def node(state: Notes) -> dict[str, Any]:
        answer = await Scripted(script=_heard).ainvoke(state["messages"])
        if (asked := state["messages"][-1].id) not in begun:
            begun.add(asked)
            raise ConnectionError
        return {"messages": [answer]}

    return _with_retry(node)


def _with_retry(node: Any) -> Any:
    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    return (
        StateGraph(Notes)
        .add_node("model", node, retry_policy=policy)
        .add_edge(START, "model")
        .compile()
    )


retried_after_its_model = _fails_at_first()


def _half_at_first() -> Any:
    begun: set[str | None] = set()

    def script(messages: list[Any]) -> list[Any]:
        if messages[-1].id in begun:
            return _heard(messages)
        begun.add(messages[-1].id)
        return [
            thinking("hm", 0),
            text_chunk("Hel", 1),
            calling(part("look", '{"q', "c1", 2)),
            ConnectionError("down"),
        ]

    return _with_retry(talker(Scripted(script=script)))


retried = _half_at_first()

GRAPHS = (
    "in_a_router",
    "in_a_tool",
    "kept_as_text",
    "kept_later",
    "replaced",
    "retried",
    "retried_after_its_model",
    "rewritten",
)
