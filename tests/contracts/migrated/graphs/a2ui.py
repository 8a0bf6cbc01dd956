"""A surface that a tool makes, by a model of its own."""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent, get_a2ui_tools
from langchain.agents import create_agent
from langgraph.checkpoint.memory import MemorySaver

from tests.kit.models.scripted import Scripted, call

COMPONENTS: list[dict[str, Any]] = [{"id": "root", "component": "Text", "text": "Hello"}]
DESIGNER = Scripted([call("render_a2ui", "r1", surfaceId="s1", components=COMPONENTS)])
MODEL = Scripted([call("generate_a2ui", "c1", intent="create")], ["Here it is."])

graph = create_agent(MODEL, [get_a2ui_tools({"model": DESIGNER})], checkpointer=MemorySaver())
agent = LangGraphAgent(name="a2ui", description="Draws.", graph=graph)
