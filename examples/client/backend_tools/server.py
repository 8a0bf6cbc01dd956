"""An agent with a tool of its own: `python -m examples.client.backend_tools.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.client.results import results
from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.testing import Reply, ScriptedChatModel, call


def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    return {"Rome": "24 degrees and sunny", "Oslo": "7 degrees and rain"}[city]


def script(messages: list[BaseMessage]) -> Reply:
    if weather := results(messages):
        return f"Rome has {weather[0]}, Oslo has {weather[1]}."
    return [call("get_weather", city="Rome"), call("get_weather", city="Oslo")]


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

agent = LangGraphAgent(
    graph=create_agent(MODEL, [get_weather], checkpointer=InMemorySaver()), name="weather"
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, agent, "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8022)
