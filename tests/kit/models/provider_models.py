"""The real LangChain chat models, pointed at a `ProviderServer`.

Reasoning is on, retries are off, and keys are made up; nothing but 127.0.0.1 is ever contacted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

if TYPE_CHECKING:
    from tests.kit.models.server import ProviderServer

KEY = "test-key"
THINKING = {"type": "enabled", "budget_tokens": 2048}

_Made = tuple[str, str, dict[str, Any]]
# For each provider the class, what is behind the server's address, and the options.
_MODELS: dict[str, _Made] = {
    "anthropic": (
        *("langchain_anthropic.ChatAnthropic", ""),
        {"model": "claude-sonnet-4-5", "max_tokens": 4096, "thinking": THINKING},
    ),
    "openai": (
        *("langchain_openai.ChatOpenAI", "/v1"),
        {
            "model": "gpt-5.1",
            "reasoning": {"effort": "medium", "summary": "auto"},
            "use_responses_api": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        },
    ),
    "openai-chat": (
        *("langchain_openai.ChatOpenAI", "/v1"),
        {
            "model": "gpt-5.1",
            "reasoning_effort": "medium",
            "use_responses_api": False,
            "stream_usage": True,
        },
    ),
    "google": (
        *("langchain_google_genai.ChatGoogleGenerativeAI", ""),
        {
            "model": "gemini-3-pro-preview",
            "vertexai": False,
            "max_retries": 1,
            "include_thoughts": True,
            "thinking_level": "high",
        },
    ),
    "mistral": (
        *("langchain_mistralai.ChatMistralAI", "/v1"),
        {"model": "magistral-medium-latest", "max_retries": 1},
    ),
    "ollama": ("langchain_ollama.ChatOllama", "", {"model": "qwen3", "reasoning": True}),
    "deepseek": (
        *("langchain_deepseek.ChatDeepSeek", "/v1"),
        {"model": "deepseek-reasoner", "stream_usage": True},
    ),
    "openrouter": (
        *("langchain_openrouter.ChatOpenRouter", "/api/v1"),
        {"model": "anthropic/claude-sonnet-4.5", "reasoning": {"effort": "medium"}},
    ),
    "groq": (
        *("langchain_groq.ChatGroq", ""),
        {"model": "qwen/qwen3-32b", "reasoning_format": "parsed"},
    ),
    "xai": ("langchain_xai.ChatXAI", "/v1", {"model": "grok-3-mini", "stream_usage": True}),
    "bedrock": (
        *("langchain_aws.ChatBedrockConverse", ""),
        {
            "model": "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "region_name": "us-east-1",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": KEY,
            "max_tokens": 4096,
            "additional_model_request_fields": {"thinking": THINKING},
        },
    ),
}


def _like(provider: str, **options: Any) -> _Made:
    path, suffix, base = _MODELS[provider]
    return path, suffix, {**base, **options}


for _name, _version in (
    *(("anthropic", "v1"), ("openai", "v0"), ("openai", "v1"), ("google", "v1")),
):
    _MODELS[f"{_name}-{_version}"] = _like(_name, output_version=_version)

PROVIDERS = tuple(_MODELS)
"""Every client."""

_STORED: dict[str, Any] = {"store": None, "include": None}
_RESPONSES = {"use_responses_api": True, "include": ["reasoning.encrypted_content"], "store": False}
_GPT_OSS = {"model": "openai.gpt-oss-120b-1:0", "additional_model_request_fields": None}
_OTHERS = ("openai-chat", "mistral", "ollama", "deepseek", "openrouter", "groq", "xai", "bedrock")
_VARIANTS = {
    **{f"{name}-stored": _like(name, **_STORED) for name in ("openai", "openai-v0", "openai-v1")},
    "openai-chained": _like("openai", use_previous_response_id=True, **_STORED),
    **{f"{name}-v1": _like(name, output_version="v1") for name in _OTHERS},
    "xai-responses": _like("xai", **_RESPONSES),
    "bedrock-oss": _like("bedrock", **_GPT_OSS),
}
VARIANTS = tuple(_VARIANTS)
"""The same clients with settings that change what a message looks like or what of it is sent
back."""

_MODELS |= _VARIANTS


def make_model(provider: str, server: ProviderServer, **overrides: Any) -> BaseChatModel:
    """The chat model of a provider. `overrides` go to its constructor."""
    path, suffix, options = _MODELS[provider]
    module, _, name = path.rpartition(".")
    address = f"{server.url(provider)}{suffix}"
    if provider.startswith("bedrock"):
        from botocore.config import Config  # type: ignore[import-untyped]

        retries = Config(retries={"max_attempts": 1, "mode": "standard"})
        where = {"endpoint_url": address, "config": retries}
    elif provider.startswith("ollama"):
        where = {"base_url": address}
    else:
        where = {"base_url": address, "api_key": KEY, "max_retries": 0}
    made: BaseChatModel = getattr(import_module(module), name)(**{**where, **options, **overrides})
    return made
