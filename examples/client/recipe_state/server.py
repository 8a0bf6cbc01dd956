"""An agent that shares a recipe with its user: `python -m examples.client.recipe_state.server`."""

from __future__ import annotations

import json
from typing import Any, NotRequired

import uvicorn
from fastapi import FastAPI
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from examples.client.results import results
from langgraph_agui import (
    LangGraphAgent,
    PredictState,
    StateOptions,
    add_langgraph_fastapi_endpoint,
    state_update,
)
from langgraph_agui.testing import Reply, ScriptedChatModel, call


class RecipeState(AgentState[Any]):
    title: NotRequired[str]
    servings: NotRequired[int]
    ingredients: NotRequired[list[str]]


@tool
def write_recipe(
    title: str, servings: int, ingredients: list[str], runtime: ToolRuntime
) -> Command[Any]:
    """Write the recipe, all of it."""
    recipe = {"title": title, "servings": servings, "ingredients": ingredients}
    return state_update(runtime, "The recipe is written.", recipe)


@dynamic_prompt
def prompt(request: ModelRequest) -> str:
    """The model sees the recipe as it is now, the user's changes included."""
    recipe = {key: request.state.get(key) for key in ("title", "servings", "ingredients")}
    return f"You write a recipe with the user. It is now: {json.dumps(recipe)}"


def script(messages: list[BaseMessage]) -> Reply:
    recipe, asked = json.loads(messages[0].text.partition(": ")[2]), messages[-1].text
    if recipe["title"] is None:
        return call(
            "write_recipe",
            title="Tomato soup",
            servings=4,
            ingredients=["tomatoes", "onions", "garlic"],
        )
    if "nobody" in asked:
        return call("write_recipe", **{**recipe, "servings": 0})
    if results(messages):
        return "Done."
    return f"{recipe['title']} for {recipe['servings']}: {', '.join(recipe['ingredients'])}."


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

graph = create_agent(
    MODEL,
    [write_recipe],
    middleware=[prompt],
    state_schema=RecipeState,
    checkpointer=InMemorySaver(),
)
agent = LangGraphAgent(
    graph=graph,
    name="recipes",
    # The client sees this argument as state while the model is still writing it.
    state=StateOptions(predict=[PredictState("write_recipe", "ingredients")]),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, agent, "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8026)
