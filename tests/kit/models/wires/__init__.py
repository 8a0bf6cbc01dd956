"""The wire format of every provider a model can be made for."""

from __future__ import annotations

from tests.kit.models.wires.anthropic import AnthropicWire
from tests.kit.models.wires.base import Request, Wire
from tests.kit.models.wires.bedrock import BedrockWire
from tests.kit.models.wires.chat import (
    ChatWire,
    GeminiChatWire,
    GroqWire,
    LiteLLMWire,
    MistralWire,
    OpenRouterWire,
    XaiWire,
)
from tests.kit.models.wires.google import GoogleWire
from tests.kit.models.wires.ollama import OllamaWire
from tests.kit.models.wires.openai_responses import OpenAIResponsesWire

_WIRES: dict[str, Wire] = {
    "anthropic": AnthropicWire(),
    "bedrock": BedrockWire(),
    "deepseek": ChatWire(),
    "google": GoogleWire(),
    "gemini-chat": GeminiChatWire(),
    "groq": GroqWire(),
    "litellm": LiteLLMWire(),
    "mistral": MistralWire(),
    "ollama": OllamaWire(),
    "openai": OpenAIResponsesWire(),
    "openai-chat": ChatWire(),
    "openrouter": OpenRouterWire(),
    "xai": XaiWire(),
    "xai-responses": OpenAIResponsesWire(),
}


def wire_of(provider: str) -> Wire | None:
    """The format of a provider, whose name may have more behind it: `openai-v1-stored`."""
    while provider not in _WIRES and "-" in provider:
        provider = provider.rpartition("-")[0]
    return _WIRES.get(provider)


__all__ = ["Request", "Wire", "wire_of"]
