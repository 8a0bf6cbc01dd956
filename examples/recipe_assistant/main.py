"""A recipe that a user and an assistant write together: shared state, as structured output, patches
and snapshots.

    python -m examples.recipe_assistant                                     # in the terminal
    langgraph-agui serve examples.recipe_assistant.main:agent --port 8012   # in the browser

Runs offline: the model is a script. `main:snapshots` sends each change as a snapshot.

`write` has the model write a `Recipe` as structured output, which the client sees grow; `answer`
sums it up, or calls `change_recipe`, whose result is a patch of what has changed. The user's edits
are in the state when the next run begins.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition
from langgraph.types import Command
from pydantic import BaseModel, Field

from examples.recipe_assistant.cook import Cook
from langgraph_agui import LangGraphAgent, PredictState, StateOptions, state_update


class Ingredient(BaseModel):
    name: str
    amount: str


class Recipe(BaseModel):
    """A recipe, complete with ingredients and steps."""

    title: str
    servings: int = Field(ge=1)
    minutes: int = Field(ge=1)
    ingredients: list[Ingredient]
    steps: list[str]


class Shared(BaseModel):
    """The state as clients see it. Before anything runs, their values are checked against it."""

    recipe: Recipe | None = None


class State(MessagesState):
    """The state as the graph has it: plain data, which every checkpointer can store."""

    recipe: NotRequired[dict[str, Any] | None]


@tool
def change_recipe(
    runtime: ToolRuntime,
    servings: int | None = None,
    minutes: int | None = None,
    add: list[Ingredient] | None = None,
) -> Command[Any]:
    """Change the recipe: give what is to change, and the ingredients to add. Make all changes in
    one call."""
    # One tool for all changes, because two calls in one step may not write the same key, unless it
    # has a reducer.
    recipe = Recipe.model_validate(runtime.state["recipe"])
    recipe.servings = servings or recipe.servings
    recipe.minutes = minutes or recipe.minutes
    recipe.ingredients += add or []
    return state_update(runtime, "The recipe is changed.", {"recipe": recipe.model_dump()})


def make_agent(
    send: Literal["patches", "snapshots"] = "patches", model: BaseChatModel | None = None
) -> LangGraphAgent:
    """The assistant.

    Args:
        send: Whether changes of the state go out as patches, or always as the whole state.
        model: Any chat model that calls tools; by default a script.
    """
    model = model or Cook()
    author = model.with_structured_output(Recipe, method="function_calling", include_raw=True)
    assistant = model.bind_tools([change_recipe])

    async def write(state: State) -> dict[str, Any]:
        prompt = SystemMessage("Write the recipe that the user asks for.")
        made: Any = await author.ainvoke([prompt, *state["messages"]])
        if made["parsing_error"]:
            raise made["parsing_error"]
        # The structured output is a tool call: it belongs in the history with an answer, as any
        # other.
        calls = made["raw"].tool_calls
        results = [ToolMessage("The recipe is written.", tool_call_id=call["id"]) for call in calls]
        return {"recipe": made["parsed"].model_dump(), "messages": [made["raw"], *results]}

    async def answer(state: State) -> dict[str, Any]:
        prompt = (
            "You and the user write a recipe together. They see it beside the conversation and "
            "may edit it. Change it "
            "only when they ask for it. Then sum it up in a sentence or two.\nThe recipe as it is "
            "now: "
        )
        now = SystemMessage(prompt + Shared.model_validate(state).model_dump_json())
        return {"messages": [await assistant.ainvoke([now, *state["messages"]])]}

    def begin(state: State) -> str:
        return "answer" if state.get("recipe") else "write"

    graph = StateGraph(State)
    graph.add_node(write)
    graph.add_node(answer)
    graph.add_node(ToolNode([change_recipe]))
    graph.add_conditional_edges(START, begin, ["write", "answer"])
    graph.add_edge("write", "answer")
    graph.add_conditional_edges("answer", tools_condition)
    graph.add_edge("tools", "answer")
    return LangGraphAgent(
        graph.compile(checkpointer=InMemorySaver()),
        name="recipes",
        state=StateOptions(
            send=send, predict=[PredictState("Recipe", state_key="recipe")], schema=Shared
        ),
    )


agent = make_agent()
snapshots = make_agent("snapshots")
