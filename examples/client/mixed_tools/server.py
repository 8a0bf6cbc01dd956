"""An agent that uses its own tool and its clients': `python -m
examples.client.mixed_tools.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.client.scripted import Reply, Scripted, call, results, write
from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint


def find_restaurants(city: str) -> str:
    """Find restaurants in a city."""
    return f"Tasca do Rio and Casa Azul, both in {city}"


def script(messages: list[BaseMessage]) -> Reply:
    match results(messages):
        case []:
            yield from call("get_user_location")
        case [city]:
            yield from call("find_restaurants", city=city)
        case [_, restaurants]:
            yield from write(f"I have found {restaurants}.")


MODEL = Scripted(script=script)  # a real one: MODEL = "anthropic:claude-sonnet-4-5"

graph = create_agent(
    MODEL, [find_restaurants], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver()
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph, name="guide"), "/agent")

if __name__ == "__main__":
    uvicorn.run(app)
