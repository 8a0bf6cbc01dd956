"""The scenario behind Agno's AG-UI interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import scenario
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.tools import tool
from agno.tools.reasoning import ReasoningTools
from fastapi import FastAPI

_numbers = count()


def seen(messages: Sequence[Message]) -> scenario.Seen:
    last = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    return scenario.Seen(
        [message.get_content_string() for message in messages if message.role == "user"],
        [thought for message in messages for thought in thoughts(message)],
        [message.get_content_string() for message in messages if message.role == "tool"],
        [message.get_content_string() for message in messages[last:] if message.role == "tool"],
    )


def thoughts(message: Message) -> list[str]:
    functions = [
        call["function"] for call in message.tool_calls or () if call["function"]["name"] == "think"
    ]
    return [json.loads(function["arguments"])["thought"] for function in functions]


def call(name: str, arguments: str) -> ModelResponse:
    function = {"name": name, "arguments": arguments}
    made = {"id": f"call-{next(_numbers)}", "type": "function", "function": function}
    return ModelResponse(role="assistant", tool_calls=[made])


@dataclass
class Scripted(Model):
    id: str = "scenario-1"
    name: str = "Scripted"
    provider: str = "scenario"

    async def ainvoke_stream(
        self, messages: list[Message], **kwargs: Any
    ) -> AsyncIterator[ModelResponse]:
        shown = seen(messages)
        turn = scenario.answer(shown)
        if turn.thoughts and not shown.results:
            # The interface does not tell what a model reasons by itself, but what it thinks with
            # Agno's own tool.
            yield call(
                "think", json.dumps({"title": "Thinking", "thought": "".join(turn.thoughts)})
            )
            return
        async for text in scenario.words(turn):
            yield ModelResponse(role="assistant", content=text)
        if turn.call:
            yield call(turn.call.name, "".join(turn.call.pieces()))
        if turn.failure:
            raise RuntimeError(turn.failure)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError("this model is only used by coroutines")

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError("this model only streams")

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError("this model only streams")

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError("there is no provider")

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError("there is no provider")


def write_recipe(run_context: RunContext, title: str, servings: int) -> dict[str, Any]:
    """Write the recipe."""
    recipe = {"title": title, "servings": servings}
    if run_context.session_state is not None:
        run_context.session_state["recipe"] = recipe
    return recipe


agent = Agent(
    name="scenario",
    model=Scripted(),
    db=InMemoryDb(),
    tools=[
        scenario.get_weather,
        write_recipe,
        tool(requires_confirmation=True)(scenario.transfer),
        ReasoningTools(enable_analyze=False),
    ],
    add_history_to_context=True,
    telemetry=False,
)
app = FastAPI()
app.include_router(AGUI(agent=agent).get_router())

scenario.serve(app, "/agui")
