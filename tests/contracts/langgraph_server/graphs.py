"""The graphs that the LangGraph server of these tests serves. Its own process imports this
module."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict

from langgraph_agui import emit_state
from langgraph_agui.nodes import frontend_tools
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking, used


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    file: str


def _graph(*nodes: Any, **options: Any) -> Any:
    return chain_of(*nodes, state=State, **options)


def _echo(messages: list[Any]) -> list[Any]:
    received = " / ".join(f"{message.type}:{message.text}" for message in messages)
    return ["I heard", f" {received}", used(3, 5)]


text = _graph(talker(Scripted(script=_echo)))


def _signed(messages: list[Any]) -> list[Any]:
    blocks = [
        block
        for message in messages
        if isinstance(message.content, list)
        for block in message.content
    ]
    seen = [block["signature"] for block in blocks if "signature" in block]
    return [
        thinking("Let me "),
        thinking("think."),
        thinking(signature="SIG-1"),
        text_chunk(f"Seen: {seen}."),
        used(7, 9),
    ]


reasoning = _graph(talker(Scripted(script=_signed)))


async def tools(state: State) -> dict[str, Any]:
    """Answer the calls of the last message; Oslo has no weather."""
    get_stream_writer()({"progress": "looking up"})
    await adispatch_custom_event("dispatched", {"n": 1})
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    results = [
        ToolMessage(
            f"sunny in {wanted['args']['city']}",
            tool_call_id=wanted["id"],
            name=wanted["name"],
            status="error" if wanted["args"]["city"] == "Oslo" else "success",
        )
        for wanted in last.tool_calls
    ]
    return {"messages": results, "notes": ["looked up"]}


_CALLS = [
    "Looking.",
    calling(part("weather", '{"city":', "c1", 0), part("weather", "", "c2", 1)),
    calling(part(None, ' "Rome"}', None, 0), part(None, '{"city": "Oslo"}', None, 1)),
    used(10, 4),
]

parallel_tools = _graph(
    talker(Scripted(_CALLS), "caller"), tools, talker(Scripted(["Both ", "found."]), "closer")
)


def _asking_the_client(messages: list[Any]) -> list[Any]:
    last = messages[-1]
    return [f"The client said {last.text}."] if last.type == "tool" else [call("pick", "p1", n=1)]


client_tool = _graph(talker(Scripted(script=_asking_the_client)))


def _many() -> Any:
    async def speaker(state: State) -> dict[str, Any]:
        model = Scripted([piece for word in ("one ", "two ", "three") for piece in (word, 0.02)])
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node("speaker", speaker)
    builder.add_conditional_edges(
        START, lambda state: [Send("speaker", state), Send("speaker", state)], ["speaker"]
    )
    return builder.compile()


many = _many()


async def pair(state: State) -> dict[str, Any]:
    """Call two models at once in one node."""
    models = [
        Scripted([piece for word in words for piece in (word, 0.02)])
        for words in (["a", "b"], ["x", "y"])
    ]
    return {
        "messages": list(
            await asyncio.gather(*(model.ainvoke(state["messages"]) for model in models))
        )
    }


async def quiet(state: State) -> dict[str, Any]:
    """Call a model that nobody is to hear."""
    hidden = await Scripted(["secret"]).with_config(tags=["nostream"]).ainvoke(state["messages"])
    return {"notes": [str(hidden.text)[:1]]}


def whole(state: State) -> dict[str, Any]:
    """Say something without a model."""
    return {"messages": [AIMessage("made by a node")]}


def copier(state: State) -> dict[str, Any]:
    """Stream a model, and store its words under an id of its own."""
    reply = Scripted(["copied ", "words"]).invoke(state["messages"])
    return {"messages": [AIMessage(reply.content)]}


flipping = talker(
    Scripted(
        [AIMessageChunk("flip", id="resp_1"), 0.5, AIMessageChunk(" flop"), AIMessageChunk("!")]
    ),
    "flipping",
)

mixed = _graph(quiet, whole, copier)
at_once = _graph(pair)
flips = _graph(flipping)


class Shown(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


def _narrow() -> Any:
    builder = StateGraph(State, output_schema=Shown)
    builder.add_node("node", lambda state: {"notes": ["n"], "file": "private"})
    builder.set_entry_point("node")
    return builder.compile()


narrow = _narrow()


class Board(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    cards: list[dict[str, Any]]
    note: str


async def board(state: Board) -> dict[str, Any]:
    """Show a card before it is written, then write it; the note is only shown."""
    cards = state.get("cards") or [{"id": n, "text": "x" * 60} for n in range(5)]
    emit_state({"note": "for now"})
    emit_state([{"op": "add", "path": "/draft", "value": 1}])
    await asyncio.sleep(0.2)
    return {"cards": [*cards, {"id": len(cards), "text": "new"}]}


def _jot(messages: list[Any]) -> list[Any]:
    return [
        calling(part("jot", '{"note": "wri', f"c{len(messages)}")),
        calling(part(None, 'tten"}')),
        used(1, 1),
    ]


boards = chain_of(
    talker(Scripted(script=_jot)),
    board,
    state=Board,
)


@dataclass
class Context:
    user: str


def _contextual() -> Any:
    def node(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> dict[str, Any]:
        tools = [tool["function"]["name"] for tool in frontend_tools(config)]
        return {"notes": [runtime.context.user, *tools]}

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("node", node)
    builder.set_entry_point("node")
    return builder.compile()


contextual = _contextual()


def ask(state: State) -> dict[str, Any]:
    """Wait for an answer, and say it."""
    answer = interrupt({"question": "Which one?"})
    return {"messages": [AIMessage(f"You said {answer}.")], "notes": ["asked"]}


asking = _graph(talker(Scripted(["Let me ask."]), "before"), ask)

stops = _graph(
    talker(Scripted(["First."]), "first"),
    talker(Scripted(["Second."]), "second"),
    interrupt_before=["second"],
)

inner = _graph(talker(Scripted(["From inside."]), "deep"), ask)
nested = _graph(inner, whole)


def fail(state: State) -> dict[str, Any]:
    """Raise what no client may read."""
    raise ValueError("the password is hunter2")


broken = _graph(talker(Scripted(["Before."]), "before"), fail)
broken_model = _graph(talker(Scripted(["Half a", ValueError("the password is hunter2")])))


async def slow(state: State) -> dict[str, Any]:
    """Write to a file for ten seconds."""
    path = Path(state["file"])
    try:
        for _ in range(200):
            path.write_text(path.read_text() + "." if path.exists() else ".")
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        path.write_text(path.read_text() + "cancelled")
        raise
    return {}


slowly = _graph(talker(Scripted(["Starting."]), "before"), slow)


async def guard(state: State) -> dict[str, Any]:
    """Remove a message with a pin before any model reads it."""
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(id=str(last.id))] if "pin" in last.text else []}


async def count(state: State) -> dict[str, Any]:
    """Say what is left."""
    last = state["messages"][-1:]
    is_asked = last and last[0].type == "human"
    return {"messages": [AIMessage(f"{len(state['messages'])} left")] if is_asked else []}


moderated = _graph(guard, count)


async def _tagged(state: State) -> dict[str, Any]:
    await Scripted(["secret"]).ainvoke("x", {"tags": ["skip_stream"]})
    return {"messages": [await Scripted(["shown"]).ainvoke("x")]}


tagged = _graph(_tagged)

GRAPHS = (
    "asking",
    "at_once",
    "boards",
    "broken",
    "broken_model",
    "client_tool",
    "contextual",
    "flips",
    "many",
    "mixed",
    "moderated",
    "narrow",
    "nested",
    "parallel_tools",
    "reasoning",
    "slowly",
    "stops",
    "tagged",
    "text",
)
