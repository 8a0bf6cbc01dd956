"""The wire format of every provider a model can be made for."""

from __future__ import annotations

from tests.providers.wires.anthropic import AnthropicWire
from tests.providers.wires.base import Request, Wire
from tests.providers.wires.bedrock import BedrockWire
from tests.providers.wires.chat import ChatWire, GroqWire, MistralWire, OpenRouterWire, XaiWire
from tests.providers.wires.google import GoogleWire
from tests.providers.wires.ollama import OllamaWire
from tests.providers.wires.openai_responses import OpenAIResponsesWire

WIRES: dict[str, Wire] = {
    "anthropic": AnthropicWire(),
    "anthropic-v1": AnthropicWire(),
    "openai": OpenAIResponsesWire(),
    "openai-v0": OpenAIResponsesWire(),
    "openai-v1": OpenAIResponsesWire(),
    "openai-chat": ChatWire(),
    "google": GoogleWire(),
    "google-v1": GoogleWire(),
    "mistral": MistralWire(),
    "ollama": OllamaWire(),
    "deepseek": ChatWire(),
    "openrouter": OpenRouterWire(),
    "groq": GroqWire(),
    "xai": XaiWire(),
    "bedrock": BedrockWire(),
}

__all__ = ["WIRES", "Request", "Wire"]
