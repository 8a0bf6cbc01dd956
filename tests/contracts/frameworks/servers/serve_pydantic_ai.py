"""The scenario behind pydantic-ai's AG-UI adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import scenario
from ag_ui.core import EventType, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, ToolReturn
from pydantic_ai.messages import (
    ModelMessage,
    RetryPromptPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Said = str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]

_numbers = count()


def seen(messages: list[ModelMessage]) -> scenario.Seen:
    users: list[str] = []
    thoughts: list[str] = []
    recorded: list[str] = []
    results: list[str] = []
    for message in messages:
        for part in message.parts:
            match part:
                case UserPromptPart():
                    users.append(str(part.content))
                    results.clear()
                case ToolReturnPart():
                    recorded.append(part.model_response_str())
                    results.append(part.model_response_str())
                case RetryPromptPart():
                    results.append(part.model_response())
                case ThinkingPart() if part.signature == scenario.SIGNATURE:
                    thoughts.append(part.content)
    return scenario.Seen(users, thoughts, recorded, results)


async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Said]:
    turn = scenario.answer(seen(messages))
    for thought in turn.thoughts:
        yield {0: DeltaThinkingPart(content=thought)}
    if turn.thoughts:
        yield {0: DeltaThinkingPart(signature=scenario.SIGNATURE)}
    async for text in scenario.words(turn):
        yield text
    if turn.call:
        call_id = f"call-{next(_numbers)}"
        yield {1: DeltaToolCall(name=turn.call.name, json_args="", tool_call_id=call_id)}
        for piece in turn.call.pieces():
            yield {1: DeltaToolCall(json_args=piece)}
    if turn.failure:
        raise RuntimeError(turn.failure)


class Shared(BaseModel):
    recipe: dict[str, object] | None = None


agent = Agent(
    FunctionModel(stream_function=model),
    deps_type=StateDeps[Shared],
    output_type=[str, DeferredToolRequests],
    tools=[],
)
agent.tool_plain(scenario.get_weather)
agent.tool_plain(requires_approval=True)(scenario.transfer)


@agent.tool
def write_recipe(ctx: RunContext[StateDeps[Shared]], title: str, servings: int) -> ToolReturn:
    """Write the recipe."""
    ctx.deps.state.recipe = {"title": title, "servings": servings}
    snapshot = StateSnapshotEvent(
        type=EventType.STATE_SNAPSHOT, snapshot=ctx.deps.state.model_dump()
    )
    return ToolReturn(return_value=ctx.deps.state.recipe, metadata=[snapshot])


async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(
        request, agent=agent, deps=StateDeps(Shared()), include_usage=True
    )


app = Starlette(routes=[Route("/agent", run, methods=["POST"])])

scenario.serve(app, "/agent")
