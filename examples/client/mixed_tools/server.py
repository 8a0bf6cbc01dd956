"""An agent that uses its own tool and its clients': `python -m
examples.client.mixed_tools.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.client.results import results
from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.testing import Reply, ScriptedChatModel, call


def find_restaurants(city: str) -> str:
    """Find restaurants in a city."""
    return f"Tasca do Rio and Casa Azul, both in {city}"


def script(messages: list[BaseMessage]) -> Reply:
    found = results(messages)
    if not found:
        return call("get_user_location")
    if len(found) == 1:
        return call("find_restaurants", city=found[0])
    return f"I have found {found[1]}."


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

graph = create_agent(
    MODEL, [find_restaurants], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver()
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph, name="guide"), "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8025)
