"""Names of model providers."""

from __future__ import annotations

from collections.abc import Mapping

_VENDORS = {
    "amazon_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
}


def vendor(name: str) -> str:
    """The lowercase vendor id that AG-UI 1.0 asks for in usage, for LangChain's name of a provider."""
    return _VENDORS.get(name, name)


def maker_of(metadata: Mapping[str, object]) -> str | None:
    """Who made a message, by the `response_metadata` that it has; None if it does not say.

    langchain-xai says of its Responses messages that OpenAI made them: the model's name tells them apart.
    """
    provider, model = metadata.get("model_provider"), metadata.get("model_name")
    if provider == "openai" and isinstance(model, str) and model.startswith("grok"):
        return "xai"
    return provider if isinstance(provider, str) else None


SUMMARISING = frozenset({"openai", "azure", "google_genai", "google_vertexai"})
"""Providers whose reasoning blocks are summaries: their APIs never give out what the model thought word for word.

OpenAI: "Reasoning summaries" (`summary` of a reasoning item); Gemini: "Thought summaries" (`include_thoughts`).
Claude is not among them: which of its models sum up their thinking is not said with the message.
"""
