"""One agent for three front ends, and their pages: `python -m examples.frontends.server`.

The model is scripted: it needs no key, and knows the words in `answer` and in the README. The pages
answer questions by `resume`, so the agent asks by the outcome of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, HumanMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from examples.client.results import results
from langgraph_agui import (
    AGUIMiddleware,
    ApprovalOptions,
    LangGraphAgent,
    add_langgraph_fastapi_endpoint,
    state_update,
)
from langgraph_agui.testing import Reply, ScriptedChatModel, call, reasoning

HERE = Path(__file__).parent


class State(AgentState):
    """The notes are shared: the page shows them, and its user edits them."""

    notes: list[str]


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"Sunny in {city}"


def transfer(to: str, amount: int) -> str:
    """Transfer money. A person has to approve it."""
    return f"Sent {amount} to {to}"


def book_seat(train: str) -> str:
    """Book a seat. Asks the user which one."""
    return f"Booked for {train}: {interrupt('Window or aisle?')}"


def add_note(note: str, runtime: ToolRuntime[None, State]) -> Command[None]:
    """Add to the notes."""
    return state_update(runtime, "Noted.", {"notes": [*runtime.state.get("notes", []), note]})


def read_notes(runtime: ToolRuntime[None, State]) -> str:
    """Read the notes."""
    return ", ".join(runtime.state.get("notes", []))


async def research(topic: str) -> str:
    """Ask a subagent."""
    found = await researcher.ainvoke({"messages": [HumanMessage(topic)]})
    return str(found["messages"][-1].text)


def look_up(messages: list[BaseMessage]) -> Reply:
    """The script of the subagent."""
    return f"Much is known about {messages[-1].text}."


CALLS: dict[str, Callable[[str], ToolCall]] = {
    "weather": lambda city: call("get_weather", city=city),
    "send": lambda amount: call("transfer", to="Ada", amount=int(amount)),
    "book": lambda train: call("book_seat", train=train),
    "note": lambda note: call("add_note", note=note),
    "notes": lambda _: call("read_notes"),
    "paint": lambda color: call("set_background", color=color),  # a tool of the page
    "research": lambda topic: call("research", topic=topic),
}


def answer(messages: list[BaseMessage]) -> Reply:
    """The script of the agent."""
    if done := results(messages):
        return f"Done: {done[-1]}"
    asked = next(message.text for message in reversed(messages) if message.type == "human")
    word, _, rest = asked.partition(" ")
    thought = reasoning(f"They ask about {asked}.")
    if word in CALLS:
        return [thought, CALLS[word](rest)]
    if word == "crash":
        return [thought, "Let me see …", RuntimeError("The model has crashed.")]
    return [thought, "Let me see …", f"You said: {asked}"]


MODEL = ScriptedChatModel(answer, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

researcher = create_agent(ScriptedChatModel(look_up, delay=0.02), name="researcher")
graph = create_agent(
    MODEL,
    [get_weather, transfer, book_seat, add_note, read_notes, research],
    middleware=[HumanInTheLoopMiddleware({"transfer": True}), AGUIMiddleware()],
    state_schema=State,
    checkpointer=InMemorySaver(),
)
agent = LangGraphAgent(graph=graph, name="assistant", approvals=ApprovalOptions(ask_by="outcome"))


def build_app(agent: LangGraphAgent) -> FastAPI:
    """Return an application that serves the agent and the pages that are built."""
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    for page in ("plain", "assistant-ui"):
        app.mount(
            f"/{page}", StaticFiles(directory=HERE / page / "dist", html=True, check_dir=False)
        )
    return app


if __name__ == "__main__":
    uvicorn.run(build_app(agent), port=8017, timeout_graceful_shutdown=2)
