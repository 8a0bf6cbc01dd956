"""The scenario behind Microsoft's Agent Framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

import scenario
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint, state_update
from fastapi import FastAPI

_numbers = count()

NOT_THE_USER = "Application state supplied by the AG-UI client"
"""How the message begins that this framework adds to the user's, with the shared state."""


def seen(messages: Sequence[Message]) -> scenario.Seen:
    users: list[str] = []
    thoughts: list[str] = []
    recorded: list[str] = []
    results: list[str] = []
    for message in messages:
        if message.role == "user" and not message.text.startswith(NOT_THE_USER):
            users.append(message.text)
            results.clear()
        for content in message.contents:
            if content.type == "function_result":
                recorded.append(str(content.result))
                results.append(str(content.result))
            elif content.type == "text_reasoning" and content.protected_data == scenario.SIGNATURE:
                thoughts.append(content.text or "")
    return scenario.Seen(users, thoughts, recorded, results)


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        if not stream:
            raise NotImplementedError("this model only streams")
        return self._build_response_stream(self._say(messages))

    async def _say(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        turn = scenario.answer(seen(messages))
        message_id = f"answer-{next(_numbers)}"

        def update_of(content: Content) -> ChatResponseUpdate:
            return ChatResponseUpdate(contents=[content], role="assistant", message_id=message_id)

        for thought in turn.thoughts:
            yield update_of(Content.from_text_reasoning(id=f"{message_id}-thoughts", text=thought))
        if turn.thoughts:
            signature = scenario.SIGNATURE
            yield update_of(
                Content.from_text_reasoning(
                    id=f"{message_id}-thoughts", text="", protected_data=signature
                )
            )
        async for text in scenario.words(turn):
            yield update_of(Content.from_text(text))
        if turn.call:
            call_id = f"call-{next(_numbers)}"
            for piece in turn.call.pieces():
                yield update_of(
                    Content.from_function_call(call_id, turn.call.name, arguments=piece)
                )
        yield update_of(
            Content.from_usage(
                {"input_token_count": 5, "output_token_count": 3, "total_token_count": 8}
            )
        )
        if turn.failure:
            raise RuntimeError(turn.failure)


@tool
def write_recipe(title: str, servings: int) -> Content:
    """Write the recipe."""
    return state_update("written", state={"recipe": {"title": title, "servings": servings}})


agent = Agent(
    Scripted(),
    name="scenario",
    tools=[
        tool(scenario.get_weather),
        tool(scenario.transfer, approval_mode="always_require"),
        write_recipe,
    ],
)
app = FastAPI()
add_agent_framework_fastapi_endpoint(
    app,
    agent,
    "/agent",
    state_schema={"recipe": {"type": "object"}},
    single_user=True,
)

scenario.serve(app, "/agent")
