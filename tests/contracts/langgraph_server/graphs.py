"""The graphs that the LangGraph server of these tests serves. Its own process imports this
module."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import RetryPolicy, Send, interrupt
from typing_extensions import TypedDict

from langgraph_agui import emit_state
from langgraph_agui.nodes import frontend_tools
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking, used


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    file: str
    summary: str
    draft: Any


def _graph(*nodes: Any, **options: Any) -> Any:
    return chain_of(*nodes, state=State, **options)


def _says(*turn: Any, name: str = "model") -> Any:
    return talker(Scripted([*turn]), name)


def _heard(messages: list[Any]) -> list[Any]:
    """Say what was heard, so that a test sees what the model was sent."""
    received = [f"{one.type}:{one.text}" for one in messages if one.type != "system"]
    return ["I heard", f" {' / '.join(received)}", used(3, 5)]


_hearing = Scripted(script=_heard)
text = _graph(talker(_hearing))


def _signed(messages: list[Any]) -> list[Any]:
    blocks = [
        one for message in messages if isinstance(message.content, list) for one in message.content
    ]
    seen = [block["signature"] for block in blocks if "signature" in block]
    signed = thinking(signature="SIG-1")
    return [thinking("Let me "), thinking("think."), signed, text_chunk(f"Seen: {seen}.")]


reasoning = _graph(talker(Scripted(script=_signed)))


async def tools(state: State) -> dict[str, Any]:
    """Answer the calls of the last message; Oslo has no weather."""
    get_stream_writer()({"progress": "looking up"})
    await adispatch_custom_event("dispatched", {"n": 1})
    results = []
    for wanted in state["messages"][-1].tool_calls:
        city = wanted["args"]["city"]
        status = "error" if city == "Oslo" else "success"
        results.append(ToolMessage(f"sunny in {city}", tool_call_id=wanted["id"], status=status))
    return {"messages": results, "notes": ["looked up"]}


parallel_tools = _graph(
    _says(
        "Looking.",
        calling(part("weather", '{"city":', "c1", 0), part("weather", "", "c2", 1)),
        calling(part(None, ' "Rome"}', None, 0), part(None, '{"city": "Oslo"}', None, 1)),
        name="caller",
    ),
    tools,
    _says("Both ", "found.", name="closer"),
)


def _asking_the_client(messages: list[Any]) -> list[Any]:
    last = messages[-1]
    return [f"The client said {last.text}."] if last.type == "tool" else [call("pick", "p1", n=1)]


client_tool = _graph(talker(Scripted(script=_asking_the_client)))


def _many() -> Any:
    builder = StateGraph(State)
    builder.add_node("speaker", _says("one ", 0.02, "two ", 0.02, "three"))
    builder.add_conditional_edges(START, lambda state: [Send("speaker", state)] * 2, ["speaker"])
    return builder.compile()


many = _many()


async def pair(state: State) -> dict[str, Any]:
    """Call two models at once in one node."""
    models = [Scripted([a, 0.02, b]) for a, b in ("ab", "xy")]
    return {"messages": await asyncio.gather(*(one.ainvoke("x") for one in models))}


async def quiet(state: State) -> dict[str, Any]:
    """Call a model that nobody is to hear."""
    hidden = await Scripted(["secret"]).with_config(tags=["nostream"]).ainvoke(state["messages"])
    return {"notes": [str(hidden.text)[:1]]}


def whole(state: State) -> dict[str, Any]:
    """Say something without a model."""
    return {"messages": [AIMessage("made by a node")]}


def copier(state: State) -> dict[str, Any]:
    """Stream a model, and store its words under an id of its own."""
    return {"messages": [AIMessage(Scripted(["copied ", "words"]).invoke("x").content)]}


mixed = _graph(quiet, whole, copier)
at_once = _graph(pair)
flips = _graph(_says(AIMessageChunk("flip", id="resp_1"), 0.5, AIMessageChunk(" flop"), "!"))


class Shown(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


@dataclass
class Context:
    user: str


def _note(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> dict[str, Any]:
    tools = [tool["function"]["name"] for tool in frontend_tools(config)]
    return {"notes": [getattr(runtime.context, "user", "n"), *tools], "file": "private"}


def _noting(**schemas: Any) -> Any:
    builder = StateGraph(State, output_schema=Shown, **schemas)
    builder.add_node("node", _note)
    builder.set_entry_point("node")
    return builder.compile()


narrow = _noting()
contextual = _noting(context_schema=Context)


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
    begun = part("jot", '{"note": "wri', f"c{len(messages)}")
    return [calling(begun), calling(part(None, 'tten"}'))]


boards = chain_of(talker(Scripted(script=_jot)), board, state=Board)


def ask(state: State) -> dict[str, Any]:
    """Wait for an answer, and say it."""
    answer = interrupt({"question": "Which one?"})
    return {"messages": [AIMessage(f"You said {answer}.")], "notes": ["asked"]}


def fail(state: State) -> dict[str, Any]:
    """Raise what no client may read."""
    raise ValueError("the password is hunter2")


asking = _graph(_says("Let me ask.", name="before"), ask)
nested = _graph(_graph(_says("From inside.", name="deep"), ask), whole)
_two = _says("First.", name="first"), _says("Second.", name="second")
stops = _graph(*_two, interrupt_before=["second"])
broken = _graph(_says("Before.", name="before"), fail)
broken_model = _graph(_says("Half a", ValueError("the password is hunter2")))


async def slow(state: State) -> dict[str, Any]:
    """Write to a file for ten seconds."""
    with Path(state["file"]).open("a") as file:
        try:
            for _ in range(200):
                print(".", end="", file=file, flush=True)
                await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            print("cancelled", end="", file=file)
            raise
    return {}


slowly = _graph(_says("Starting.", name="before"), slow)


async def guard(state: State) -> dict[str, Any]:
    """Remove a message with a pin before any model reads it."""
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(id=str(last.id))] if "pin" in last.text else []}


async def count(state: State) -> dict[str, Any]:
    """Say what is left."""
    asked = [one.type for one in state["messages"][-1:]] == ["human"]
    return {"messages": [AIMessage(f"{len(state['messages'])} left")] if asked else []}


moderated = _graph(guard, count)


async def _tagged(state: State) -> dict[str, Any]:
    await Scripted(["secret"]).ainvoke("x", {"tags": ["skip_stream"]})
    return {"messages": [await Scripted(["shown"]).ainvoke("x")]}


tagged = _graph(_tagged)

# Model calls that no node keeps, as those of tests/rooms/translate/test_unkept_messages.py.


def _looking(messages: list[Any]) -> list[Any]:
    looks = call("look", f"c{len(messages)}", q="x")
    return _heard(messages) if messages[-1].type == "tool" else [looks]


@tool
async def look(q: str) -> str:
    """Look."""
    signed = thinking(index=0, signature="S")
    inner = Scripted([thinking("inner hm", 0), signed, text_chunk("Inner words", 1)])
    return f"{len((await inner.ainvoke(q)).text)} letters"


in_a_tool = create_agent(Scripted(script=_looking), [look])


async def summarize(state: State) -> dict[str, Any]:
    """Keep the text of a model's answer, which had a call too."""
    model = Scripted([call("look", "c1", q="x"), "A summary"])
    return {"summary": (await model.ainvoke(state["messages"])).text}


async def rewrite(state: State) -> dict[str, Any]:
    """Keep other words than the model's, under another id."""
    return {"messages": [AIMessage((await _hearing.ainvoke(state["messages"])).text.upper())]}


async def draft(state: State) -> dict[str, Any]:
    """Keep the answer for the next node."""
    return {"draft": await _hearing.ainvoke(state["messages"])}


async def publish(state: State) -> dict[str, Any]:
    """Return what another node has asked for."""
    return {"messages": [state["draft"]]}


kept_as_text = _graph(summarize, talker(_hearing))
rewritten = _graph(rewrite)
kept_later = _graph(draft, publish)
_broken = Scripted(["Hel", ConnectionError("down")])
replaced = _graph(talker(_broken.with_fallbacks([_hearing])))


def _failing_at_first(*, half: bool) -> Any:
    """The node fails in its first attempt: while its model speaks, or after that."""
    begun: set[str | None] = set()
    said = [thinking("hm", 0), text_chunk("Hel", 1), calling(part("look", '{"q', "c1", 2))]

    async def node(state: State) -> dict[str, Any]:
        first = (asked := state["messages"][-1].id) not in begun
        begun.add(asked)
        model = Scripted([*said, ConnectionError("down")]) if first and half else _hearing
        answer = await model.ainvoke(state["messages"])
        if first:
            raise ConnectionError
        return {"messages": [answer]}

    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    builder = StateGraph(State).add_node("model", node, retry_policy=policy)
    return builder.add_edge(START, "model").compile()


retried = _failing_at_first(half=True)
retried_after_its_model = _failing_at_first(half=False)

GRAPHS = [name for name, one in globals().items() if isinstance(one, CompiledStateGraph)]
