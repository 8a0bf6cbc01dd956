"""Chat models: which a graph has, what they can do with reasoning, and classes that give it back.

The classes need the packages of their providers, which are imported when a class is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from langgraph_agui.models.find import find_models, provider_of
from langgraph_agui.models.reasoning_support import Finding, examine

if TYPE_CHECKING:
    from langgraph_agui.models.deepseek import ReasoningChatDeepSeek
    from langgraph_agui.models.groq import ReasoningChatGroq
    from langgraph_agui.models.mistral import ReasoningChatMistralAI
    from langgraph_agui.models.openai import ReasoningChatOpenAI
    from langgraph_agui.models.xai import ReasoningChatXAI

__all__ = [
    "Finding",
    "ReasoningChatDeepSeek",
    "ReasoningChatGroq",
    "ReasoningChatMistralAI",
    "ReasoningChatOpenAI",
    "ReasoningChatXAI",
    "examine",
    "find_models",
    "provider_of",
]

_LAZY: Final = {
    "ReasoningChatDeepSeek": ("deepseek", "langchain_deepseek"),
    "ReasoningChatGroq": ("groq", "langchain_groq"),
    "ReasoningChatMistralAI": ("mistral", "langchain_mistralai"),
    "ReasoningChatOpenAI": ("openai", "langchain_openai"),
    "ReasoningChatXAI": ("xai", "langchain_xai"),
}


def __getattr__(name: str) -> object:
    """Import the class `name` with its provider's package; `ImportError` says which package is missing."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package = _LAZY[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        needed = package.replace("_", "-")
        raise ImportError(f"{name} needs {needed}. Try: pip install {needed}", name=package) from error
