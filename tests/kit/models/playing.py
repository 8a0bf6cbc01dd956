"""The classes that give reasoning back, pointed at a `ProviderServer`, and conversations played
with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import chat_models as models
from tests.kit.models.provider_models import KEY
from tests.kit.models.reading import stream_whole
from tests.kit.models.tools import get_weather

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from tests.kit.models.server import ProviderServer

# The provider whose package forgets reasoning: our class, what it is made with, and the field on
# the wire.
REPLAYING: dict[str, tuple[str, dict[str, Any], str]] = {
    "deepseek": ("ReasoningChatDeepSeek", {"model": "deepseek-v4-pro"}, "reasoning_content"),
    "openai-chat": ("ReasoningChatOpenAI", {"model": "qwen3.6"}, "reasoning_content"),
    "xai": ("ReasoningChatXAI", {"model": "grok-3-mini"}, "reasoning_content"),
    "groq": (
        "ReasoningChatGroq",
        {"model": "qwen/qwen3-32b", "reasoning_format": "parsed"},
        "reasoning",
    ),
}
_PATHS = {"groq": ""}


def make_replaying(provider: str, server: ProviderServer, **overrides: Any) -> BaseChatModel:
    name, options, _ = REPLAYING[provider]
    url = f"{server.url(provider)}{_PATHS.get(provider, '/v1')}"
    return getattr(models, name)(
        **{"base_url": url, "api_key": KEY, "max_retries": 0, **options, **overrides}
    )


async def ask(model: Any, history: list[BaseMessage], *, stream: bool) -> AIMessage:
    return await stream_whole(model, history) if stream else await model.ainvoke(history)


async def play(model: BaseChatModel, turns: int, *, stream: bool) -> list[AIMessage]:
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


def assistant_messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The assistant's messages in a request."""
    return [message for message in body["messages"] if message["role"] == "assistant"]
