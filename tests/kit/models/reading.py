"""Reading a LangChain message the way the cases describe it, and running a case on a plain
model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from tests.kit.models.provider_models import make_model
from tests.kit.models.tools import get_weather

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from tests.kit.models.cases import Case
    from tests.kit.models.server import ProviderServer


def read_blocks(message: AIMessage) -> tuple[tuple[Any, ...], ...]:
    """The message's standard blocks as `Seen.blocks` has them: nothing empty, nothing opaque."""
    found: list[tuple[Any, ...]] = []
    for block in message.content_blocks:
        if block["type"] == "reasoning" and block.get("reasoning"):
            found.append(("reasoning", block["reasoning"]))
        elif block["type"] == "text" and block["text"]:
            found.append(("text", block["text"]))
        elif block["type"] == "tool_call":
            found.append(("call", block["name"], block["args"]))
    return tuple(found)


def case_model(case: Case, server: ProviderServer, **overrides: Any) -> BaseChatModel:
    return make_model(case.provider, server, **{**case.overrides, **overrides})


async def stream_whole(model: Runnable[Any, Any], history: list[BaseMessage]) -> AIMessageChunk:
    """Stream an answer and add its chunks up."""
    whole: AIMessageChunk | None = None
    async for chunk in model.astream(history):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None, "nothing was streamed"
    return whole


async def run_case(
    case: Case, server: ProviderServer, *, stream: bool = True, **overrides: Any
) -> list[AIMessage]:
    """Play a case on the plain chat model, tool loop included, and return the model's messages."""
    server.script(case.provider, *case.turns)
    model: Runnable[Any, Any] = case_model(case, server, **overrides)
    if case.uses_tools:
        model = model.bind_tools([get_weather])  # type: ignore[attr-defined]
    history: list[BaseMessage] = [HumanMessage(case.prompt)]
    answers: list[AIMessage] = []
    for _ in case.turns:
        answer = await stream_whole(model, history) if stream else await model.ainvoke(history)
        answers.append(answer)
        history.append(answer)
        for call in answer.tool_calls:
            result = f"Sunny in {call['args'].get('city', 'nowhere')}"
            history.append(ToolMessage(result, tool_call_id=call["id"], name=call["name"]))
    return answers
