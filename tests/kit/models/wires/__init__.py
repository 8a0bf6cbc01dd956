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
    "openai-stored": OpenAIResponsesWire(),
    "openai-v0-stored": OpenAIResponsesWire(),
    "openai-v1-stored": OpenAIResponsesWire(),
    "openai-chained": OpenAIResponsesWire(),
    "openai-chat-v1": ChatWire(),
    "mistral-v1": MistralWire(),
    "ollama-v1": OllamaWire(),
    "deepseek-v1": ChatWire(),
    "openrouter-v1": OpenRouterWire(),
    "groq-v1": GroqWire(),
    "xai-v1": XaiWire(),
    "xai-responses": OpenAIResponsesWire(),
    "bedrock-v1": BedrockWire(),
    "bedrock-oss": BedrockWire(),
    "gemini-chat": GeminiChatWire(),
    "litellm": LiteLLMWire(),
}

__all__ = ["WIRES", "Request", "Wire"]
