"""Names of model providers."""

from __future__ import annotations

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


SUMMARISING = frozenset({"openai", "azure", "google_genai", "google_vertexai"})
"""Providers whose reasoning blocks are summaries: their APIs never give out what the model thought word for word.

OpenAI: "Reasoning summaries" (`summary` of a reasoning item); Gemini: "Thought summaries" (`include_thoughts`).
Claude is not among them: which of its models sum up their thinking is not said with the message.
"""
