"""LangChain and LangGraph on AG-UI 1.0.

Wrap a graph with `LangGraphAgent`, mount it with `add_langgraph_fastapi_endpoint` or `agui_router`, or hand an
`AGUICallbackHandler` to any Runnable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_agui.lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_agui.agent import LangGraphAgent as LangGraphAgent
    from langgraph_agui.callbacks import AGUICallbackHandler as AGUICallbackHandler
    from langgraph_agui.callbacks import astream_agui as astream_agui
    from langgraph_agui.custom_events import emit_activity as emit_activity
    from langgraph_agui.custom_events import emit_result as emit_result
    from langgraph_agui.errors import ErrorCode as ErrorCode
    from langgraph_agui.fastapi import add_langgraph_fastapi_endpoint as add_langgraph_fastapi_endpoint
    from langgraph_agui.fastapi import agui_router as agui_router
    from langgraph_agui.frontend import agui_context as agui_context
    from langgraph_agui.frontend import frontend_tools as frontend_tools
    from langgraph_agui.interrupts.decisions import Approval as Approval
    from langgraph_agui.messages.options import ReasoningOptions as ReasoningOptions
    from langgraph_agui.messages.options import ReasoningSeal as ReasoningSeal
    from langgraph_agui.messages.options import ThinkTagSplitter as ThinkTagSplitter
    from langgraph_agui.messages.to_agui import langchain_messages_to_agui as langchain_messages_to_agui
    from langgraph_agui.messages.to_langchain import agui_messages_to_langchain as agui_messages_to_langchain
    from langgraph_agui.messages.to_langchain import for_provider as for_provider
    from langgraph_agui.middleware import AGUIMiddleware as AGUIMiddleware
    from langgraph_agui.state.options import PredictState as PredictState
    from langgraph_agui.state.options import Private as Private
    from langgraph_agui.state.options import StateOptions as StateOptions
    from langgraph_agui.state.options import emit_state as emit_state
    from langgraph_agui.state.options import state_update as state_update

# The names of each module, as above.
_PUBLIC = {
    "agent": "LangGraphAgent",
    "callbacks": "AGUICallbackHandler astream_agui",
    "custom_events": "emit_activity emit_result",
    "errors": "ErrorCode",
    "fastapi": "add_langgraph_fastapi_endpoint agui_router",
    "frontend": "agui_context frontend_tools",
    "interrupts.decisions": "Approval",
    "messages.options": "ReasoningOptions ReasoningSeal ThinkTagSplitter",
    "messages.to_agui": "langchain_messages_to_agui",
    "messages.to_langchain": "agui_messages_to_langchain for_provider",
    "middleware": "AGUIMiddleware",
    "state.options": "PredictState Private StateOptions emit_state state_update",
}

# Imported on first use: the parts that need no graph do not import LangGraph.
__all__, __getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    """Return the names in this module."""
    return sorted({*globals(), *__all__})
