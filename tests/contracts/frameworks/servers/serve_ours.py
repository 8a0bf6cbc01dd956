"""The scenario behind `langgraph_agui`."""

from __future__ import annotations

from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_model import TOOLS, Model, State
from langgraph.checkpoint.memory import InMemorySaver
from listen import serve

from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint

graph = create_agent(
    Model(),
    TOOLS,
    state_schema=State,
    middleware=[HumanInTheLoopMiddleware({"transfer": True}), AGUIMiddleware()],
    checkpointer=InMemorySaver(),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(
    app, LangGraphAgent(graph, name="scenario", on_busy="wait"), "/agent"
)

if __name__ == "__main__":
    serve(app, "/agent")
