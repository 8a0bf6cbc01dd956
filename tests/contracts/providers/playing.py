"""Conversations played with plain chat models, and with the classes that give reasoning back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from langgraph_agui import chat_models as models
from tests.kit.models.cases import Case
from tests.kit.models.provider_models import KEY, make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather

HOW = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])

# The provider whose package forgets reasoning: our class, what it is made with, and the field on
# the wire.
REPLAYING: dict[str, tuple[str, dict[str, Any], str]] = {
    "deepseek": ("ReasoningChatDeepSeek", {"model": "deepseek-v4-pro"}, "reasoning_content"),
    "openai-chat": ("ReasoningChatOpenAI", {"model": "qwen3.6"}, "reasoning_content"),
    "xai": ("ReasoningChatXAI", {"model": "grok-3-mini"}, "reasoning_content"),
    "groq": (
        *("ReasoningChatGroq", {"model": "qwen/qwen3-32b", "reasoning_format": "parsed"}),
        "reasoning",
    ),
}


def make_replaying(provider: str, server: ProviderServer, **overrides: Any) -> BaseChatModel:
    name, options, _ = REPLAYING[provider]
    url = f"{server.url(provider)}{'' if provider == 'groq' else '/v1'}"
    own = {"base_url": url, "api_key": KEY, "max_retries": 0}
    return getattr(models, name)(**{**own, **options, **overrides})  # type: ignore[no-any-return]


async def ask(model: Any, history: Any, *, stream: bool) -> AIMessage:
    if not stream:
        return await model.ainvoke(history)  # type: ignore[no-any-return]
    first, *rest = [chunk async for chunk in model.astream(history)]
    whole: AIMessageChunk = sum(rest, first)
    return whole


async def play(model: Any, turns: int, *, stream: bool) -> list[AIMessage]:
    """Ask, answer every call, ask again, `turns` times; return what the model said."""
    bound = model.bind_tools([get_weather])
    history: list[BaseMessage] = [HumanMessage("What should I wear in Paris?")]
    answers = []
    for _ in range(turns):
        answer = await ask(bound, history, stream=stream)
        answers.append(answer)
        history.append(answer)
        history.extend(
            ToolMessage("Sunny", tool_call_id=call["id"], name=call["name"])
            for call in answer.tool_calls
        )
    return answers


async def run_case(case: Case, server: ProviderServer, *, stream: bool = True) -> list[AIMessage]:
    """Play a case on the plain chat model, and return the model's messages."""
    server.script(case.provider, *case.turns)
    return await play(make_model(case.provider, server), len(case.turns), stream=stream)


def assistant_messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The assistant's messages in a request."""
    return [message for message in body["messages"] if message["role"] == "assistant"]
