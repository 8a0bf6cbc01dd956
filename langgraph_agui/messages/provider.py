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
