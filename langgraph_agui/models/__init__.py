"""Chat models: which a graph has, what they can do with reasoning, and classes that send it back.

The classes need the packages of their providers. Each is imported when its class is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from langgraph_agui.models.find import find_models, provider_of
from langgraph_agui.models.reasoning_support import Finding, examine

if TYPE_CHECKING:
    from langgraph_agui.models.deepseek import ReasoningChatDeepSeek as ReasoningChatDeepSeek
    from langgraph_agui.models.groq import ReasoningChatGroq as ReasoningChatGroq
    from langgraph_agui.models.mistral import ReasoningChatMistralAI as ReasoningChatMistralAI
    from langgraph_agui.models.openai import ReasoningChatOpenAI as ReasoningChatOpenAI
    from langgraph_agui.models.xai import ReasoningChatXAI as ReasoningChatXAI

_MODULES: Final = {
    "ReasoningChatDeepSeek": "deepseek",
    "ReasoningChatGroq": "groq",
    "ReasoningChatMistralAI": "mistral",
    "ReasoningChatOpenAI": "openai",
    "ReasoningChatXAI": "xai",
}

__all__ = ["Finding", *_MODULES, "examine", "find_models", "provider_of"]


def __getattr__(name: str) -> object:
    """Import the class `name` with its provider's package; `ImportError` says which package is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("langchain_"):
            raise
        needed = error.name.replace("_", "-")
        raise ImportError(f"{name} needs {needed}. Try: pip install {needed}", name=error.name) from error
