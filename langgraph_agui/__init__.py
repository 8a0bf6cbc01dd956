"""LangChain and LangGraph on AG-UI 1.0.

Wrap a graph with `LangGraphAgent`, mount it with `add_langgraph_fastapi_endpoint` or `agui_router`, or hand an
`AGUICallbackHandler` to any Runnable.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_agui.agent import LangGraphAgent
    from langgraph_agui.callbacks import AGUICallbackHandler, astream_agui
    from langgraph_agui.errors import ErrorCode
    from langgraph_agui.fastapi import add_langgraph_fastapi_endpoint, agui_router
    from langgraph_agui.frontend import agui_context, frontend_tools
    from langgraph_agui.interrupts.approvals import Approval
    from langgraph_agui.messages.options import ReasoningOptions, ReasoningSeal, ThinkTagSplitter
    from langgraph_agui.messages.to_agui import langchain_messages_to_agui
    from langgraph_agui.messages.to_langchain import agui_messages_to_langchain, for_provider
    from langgraph_agui.middleware import AGUIMiddleware
    from langgraph_agui.state.options import PredictState, Private, StateOptions, emit_state, state_update

__all__ = [
    "AGUICallbackHandler",
    "AGUIMiddleware",
    "Approval",
    "ErrorCode",
    "LangGraphAgent",
    "PredictState",
    "Private",
    "ReasoningOptions",
    "ReasoningSeal",
    "StateOptions",
    "ThinkTagSplitter",
    "add_langgraph_fastapi_endpoint",
    "agui_context",
    "agui_messages_to_langchain",
    "agui_router",
    "astream_agui",
    "emit_state",
    "for_provider",
    "frontend_tools",
    "langchain_messages_to_agui",
    "state_update",
]

_PUBLIC = {
    "agent": "LangGraphAgent",
    "callbacks": "AGUICallbackHandler astream_agui",
    "errors": "ErrorCode",
    "fastapi": "add_langgraph_fastapi_endpoint agui_router",
    "frontend": "agui_context frontend_tools",
    "interrupts.approvals": "Approval",
    "messages.options": "ReasoningOptions ReasoningSeal ThinkTagSplitter",
    "messages.to_agui": "langchain_messages_to_agui",
    "messages.to_langchain": "agui_messages_to_langchain for_provider",
    "middleware": "AGUIMiddleware",
    "state.options": "PredictState Private StateOptions emit_state state_update",
}
"""The names of each module."""

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name on its first use: the parts that need no graph do not import LangGraph."""
    if name in _MODULES:
        return getattr(import_module(f"langgraph_agui.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names in this module."""
    return sorted({*globals(), *__all__})
