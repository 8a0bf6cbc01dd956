"""The model of the example: a script that writes one recipe and understands two wishes. Runs
offline."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

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


class Cook(BaseChatModel):
    """Streams structured output, tool calls and text in small pieces; `delay` is the pause before
    each, in seconds."""

    delay: float = 0.02

    @property
    def _llm_type(self) -> str:
        return "cook"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool)["function"]["name"] for tool in tools])

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(*args, **kwargs))

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks(messages, kwargs.get("tools", ())):
            time.sleep(self.delay)
            yield ChatGenerationChunk(message=chunk)


def chunks(messages: list[BaseMessage], tools: Sequence[str]) -> Iterator[AIMessageChunk]:
    if "Recipe" in tools:
        yield from call("Recipe", SOUP)
    elif isinstance(messages[-1], HumanMessage) and (wishes := understood(messages[-1].text)):
        yield from call("change_recipe", wishes)
    else:
        for word in re.findall(r"\S+\s*", summary(messages[0].text)):
            yield AIMessageChunk(content=word)


def call(name: str, args: dict[str, Any]) -> Iterator[AIMessageChunk]:
    written = json.dumps(args)
    yield AIMessageChunk(
        content="",
        tool_call_chunks=[tool_call_chunk(name=name, args="", id=f"call_{uuid4()}", index=0)],
    )
    for at in range(0, len(written), 12):
        yield AIMessageChunk(
            content="", tool_call_chunks=[tool_call_chunk(args=written[at : at + 12], index=0)]
        )


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
