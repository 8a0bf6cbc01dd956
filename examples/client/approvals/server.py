"""An agent that asks before it acts: `python -m examples.client.approvals.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.client.results import results
from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.testing import Reply, ScriptedChatModel, call


def book_expense(employee: str, amount: int) -> str:
    """Book an expense of an employee."""
    return f"booked {amount} for {employee}"


def delete_records(year: int) -> str:
    """Delete the expense records of a year."""
    return f"deleted {year}"


def script(messages: list[BaseMessage]) -> Reply:
    if done := results(messages):
        return "\n".join(
            ["This is what came of it:", *(f"- {one.splitlines()[-1]}" for one in done)]
        )
    return [
        call("book_expense", employee="Ada", amount=1500),
        call("book_expense", employee="Ben", amount=900),
        call("delete_records", year=2019),
    ]


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

graph = create_agent(
    MODEL,
    [book_expense, delete_records],
    middleware=[HumanInTheLoopMiddleware({"book_expense": True, "delete_records": True})],
    checkpointer=InMemorySaver(),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph, name="expenses"), "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8021)
