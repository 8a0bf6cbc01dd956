"""The model of the example: a script that writes one recipe and understands two wishes. Runs
offline."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from langgraph_agui.testing import Reply, ScriptedChatModel, call

SOUP = {
    "title": "Tomato soup",
    "servings": 4,
    "minutes": 35,
    "ingredients": [
        {"name": "tomatoes", "amount": "1 kg"},
        {"name": "onions", "amount": "2"},
        {"name": "garlic", "amount": "2 cloves"},
        {"name": "vegetable stock", "amount": "500 ml"},
        {"name": "olive oil", "amount": "3 tablespoons"},
    ],
    "steps": [
        "Chop the onions and the garlic and soften them in the oil.",
        "Add the tomatoes in quarters and let them cook for ten minutes.",
        "Pour the stock in and simmer for another fifteen minutes.",
        "Blend until smooth and season with salt and pepper.",
    ],
}
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8}


class Cook(ScriptedChatModel):
    """Writes the recipe as structured output, makes changes by a tool, and sums the recipe up."""

    delay: float = 0.02

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        if "Recipe" in tools:
            return call("Recipe", **SOUP)
        if isinstance(messages[-1], HumanMessage) and (wishes := understood(messages[-1].text)):
            return call("change_recipe", **wishes)
        return summary(messages[0].text)


def understood(wish: str) -> dict[str, Any]:
    """What "make it for six and add basil" is about."""
    args: dict[str, Any] = {}
    if (number := re.search(rf"\bfor ({'|'.join(NUMBERS)})\b", wish)) is not None:
        args["servings"] = NUMBERS[number[1]]
    if (name := re.search(r"\badd (?:some )?(\w+)", wish)) is not None:
        args["add"] = [{"name": name[1], "amount": "a handful"}]
    return args


def summary(prompt: str) -> str:
    """What the recipe in the prompt is like."""
    recipe = json.loads(prompt[prompt.index("{") :])["recipe"]
    names = [ingredient["name"] for ingredient in recipe["ingredients"]]
    return (
        f"{recipe['title']} for {recipe['servings']}, in {recipe['minutes']} minutes and "
        f"{len(recipe['steps'])} steps. "
        f"You need {', '.join(names[:-1])} and {names[-1]}."
    )
