"""The real LangChain chat models, pointed at a `ProviderServer`.

Reasoning is on, retries are off, and keys are made up; nothing but 127.0.0.1 is ever contacted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

if TYPE_CHECKING:
    from tests.kit.models.server import ProviderServer

KEY = "test-key"


def make_model(
    provider: str, server: ProviderServer, *, channel: str = "", **overrides: Any
) -> BaseChatModel:
    """The chat model of a provider. `overrides` go to its constructor."""
    return _ALL[provider](server.url(provider, channel), overrides)


def _anthropic(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    options: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "base_url": url,
        "api_key": KEY,
        "max_tokens": 4096,
        "max_retries": 0,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    }
    return ChatAnthropic(**{**options, **overrides})


def _openai(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    options: dict[str, Any] = {
        "model": "gpt-5.1",
        "base_url": f"{url}/v1",
        "api_key": KEY,
        "max_retries": 0,
        "use_responses_api": True,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }
    return ChatOpenAI(**{**options, **overrides})


def _openai_chat(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    options: dict[str, Any] = {
        "model": "gpt-5.1",
        "base_url": f"{url}/v1",
        "api_key": KEY,
        "max_retries": 0,
        "use_responses_api": False,
        "reasoning_effort": "medium",
        "stream_usage": True,
    }
    return ChatOpenAI(**{**options, **overrides})


def _google(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_google_genai import ChatGoogleGenerativeAI

    options: dict[str, Any] = {
        "model": "gemini-3-pro-preview",
        "base_url": url,
        "api_key": KEY,
        "vertexai": False,
        "max_retries": 1,
        "include_thoughts": True,
        "thinking_level": "high",
    }
    return ChatGoogleGenerativeAI(**{**options, **overrides})


def _mistral(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_mistralai import ChatMistralAI

    options: dict[str, Any] = {
        "model": "magistral-medium-latest",
        "base_url": f"{url}/v1",
        "api_key": KEY,
        "max_retries": 1,
    }
    return ChatMistralAI(**{**options, **overrides})


def _ollama(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    options: dict[str, Any] = {"model": "qwen3", "base_url": url, "reasoning": True}
    return ChatOllama(**{**options, **overrides})


def _deepseek(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_deepseek import ChatDeepSeek

    options: dict[str, Any] = {
        "model": "deepseek-reasoner",
        "base_url": f"{url}/v1",
        "api_key": KEY,
        "max_retries": 0,
        "stream_usage": True,
    }
    return ChatDeepSeek(**{**options, **overrides})


def _openrouter(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_openrouter import ChatOpenRouter

    options: dict[str, Any] = {
        "model": "anthropic/claude-sonnet-4.5",
        "base_url": f"{url}/api/v1",
        "api_key": KEY,
        "max_retries": 0,
        "reasoning": {"effort": "medium"},
    }
    return ChatOpenRouter(**{**options, **overrides})


def _groq(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_groq import ChatGroq

    options: dict[str, Any] = {
        "model": "qwen/qwen3-32b",
        "base_url": url,
        "api_key": KEY,
        "max_retries": 0,
        "reasoning_format": "parsed",
    }
    return ChatGroq(**{**options, **overrides})


def _xai(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from langchain_xai import ChatXAI

    options: dict[str, Any] = {
        "model": "grok-3-mini",
        "base_url": f"{url}/v1",
        "api_key": KEY,
        "max_retries": 0,
        "stream_usage": True,
    }
    return ChatXAI(**{**options, **overrides})


def _bedrock(url: str, overrides: dict[str, Any]) -> BaseChatModel:
    from botocore.config import Config  # type: ignore[import-untyped]
    from langchain_aws import ChatBedrockConverse

    options: dict[str, Any] = {
        "model": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "endpoint_url": url,
        "region_name": "us-east-1",
        "aws_access_key_id": KEY,
        "aws_secret_access_key": KEY,
        "config": Config(retries={"max_attempts": 1, "mode": "standard"}),
        "max_tokens": 4096,
        "additional_model_request_fields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    }
    return ChatBedrockConverse(**{**options, **overrides})


_Maker = Callable[[str, dict[str, Any]], BaseChatModel]


def _with(maker: _Maker, **options: Any) -> _Maker:
    return lambda url, overrides: maker(url, {**options, **overrides})


_MAKERS: dict[str, _Maker] = {
    "anthropic": _anthropic,
    "anthropic-v1": _with(_anthropic, output_version="v1"),
    "openai": _openai,
    "openai-v0": _with(_openai, output_version="v0"),
    "openai-v1": _with(_openai, output_version="v1"),
    "openai-chat": _openai_chat,
    "google": _google,
    "google-v1": _with(_google, output_version="v1"),
    "mistral": _mistral,
    "ollama": _ollama,
    "deepseek": _deepseek,
    "openrouter": _openrouter,
    "groq": _groq,
    "xai": _xai,
    "bedrock": _bedrock,
}

_STORED: dict[str, Any] = {"store": None, "include": None}

# The same clients as above with settings that change what a message looks like or what of it is
# sent back.
_VARIANTS: dict[str, _Maker] = {
    "openai-stored": _with(_openai, **_STORED),
    "openai-v0-stored": _with(_openai, output_version="v0", **_STORED),
    "openai-v1-stored": _with(_openai, output_version="v1", **_STORED),
    "openai-chained": _with(_openai, use_previous_response_id=True, **_STORED),
    "openai-chat-v1": _with(_openai_chat, output_version="v1"),
    "mistral-v1": _with(_mistral, output_version="v1"),
    "ollama-v1": _with(_ollama, output_version="v1"),
    "deepseek-v1": _with(_deepseek, output_version="v1"),
    "openrouter-v1": _with(_openrouter, output_version="v1"),
    "groq-v1": _with(_groq, output_version="v1"),
    "xai-v1": _with(_xai, output_version="v1"),
    "xai-responses": _with(
        _xai, use_responses_api=True, include=["reasoning.encrypted_content"], store=False
    ),
    "bedrock-v1": _with(_bedrock, output_version="v1"),
    "bedrock-oss": _with(
        _bedrock, model="openai.gpt-oss-120b-1:0", additional_model_request_fields=None
    ),
}

_ALL = {**_MAKERS, **_VARIANTS}

PROVIDERS = tuple(_MAKERS)
"""Every client."""
VARIANTS = tuple(_VARIANTS)
"""The same clients with other settings; they have cases, but the transport is tested with
`PROVIDERS`."""
