"""An agent that has no tools and uses its clients':
`python -m examples.client.frontend_tools.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.client.results import results
from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.testing import Reply, ScriptedChatModel, call


def script(messages: list[BaseMessage]) -> Reply:
    if found := results(messages):
        return f"You are in {found[0]}."
    return call("get_user_location")


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

graph = create_agent(MODEL, middleware=[AGUIMiddleware()], checkpointer=InMemorySaver())
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph, name="guide"), "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8024)
