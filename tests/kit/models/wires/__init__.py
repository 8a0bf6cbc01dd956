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


def speaks_responses(provider: str) -> bool:
    """Whether a provider has OpenAI's Responses API."""
    return isinstance(wire_of(provider), OpenAIResponsesWire)


def signs_reasoning(provider: str) -> bool:
    """Whether a provider's models sign reasoning, and may redact it."""
    package = provider.partition("-")[0]
    return package in ("anthropic", "bedrock", "openrouter") and provider != "bedrock-oss"


__all__ = ["Request", "Wire", "signs_reasoning", "speaks_responses", "wire_of"]
