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
    from langgraph_agui.conventions.a2ui import A2UI_OPERATIONS_KEY as A2UI_OPERATIONS_KEY
    from langgraph_agui.conventions.a2ui import BASIC_CATALOG_ID as BASIC_CATALOG_ID
    from langgraph_agui.conventions.a2ui import A2UIGuidelines as A2UIGuidelines
    from langgraph_agui.conventions.a2ui import A2UIToolParams as A2UIToolParams
    from langgraph_agui.conventions.a2ui import get_a2ui_tools as get_a2ui_tools
    from langgraph_agui.conventions.outputs import CustomEventNames as CustomEventNames
    from langgraph_agui.conventions.streaming import StateItem as StateItem
    from langgraph_agui.conventions.streaming import StateStreamingMiddleware as StateStreamingMiddleware
    from langgraph_agui.conventions.switches import SUBAGENT_VISIBILITY_ATTRIBUTED as SUBAGENT_VISIBILITY_ATTRIBUTED
    from langgraph_agui.conventions.switches import SUBAGENT_VISIBILITY_HIDDEN as SUBAGENT_VISIBILITY_HIDDEN
    from langgraph_agui.conventions.switches import SUBAGENT_VISIBILITY_INLINE as SUBAGENT_VISIBILITY_INLINE
    from langgraph_agui.conventions.switches import make_json_safe as make_json_safe
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
    from langgraph_agui.protocol.limits import InputLimits as InputLimits
    from langgraph_agui.state.options import PredictState as PredictState
    from langgraph_agui.state.options import Private as Private
    from langgraph_agui.state.options import StateOptions as StateOptions
    from langgraph_agui.state.options import emit_state as emit_state
    from langgraph_agui.state.options import state_update as state_update

# The names of each module, as above.
_PUBLIC = {
    "agent": "LangGraphAgent",
    "callbacks": "AGUICallbackHandler astream_agui",
    "conventions.a2ui": "A2UI_OPERATIONS_KEY A2UIGuidelines A2UIToolParams BASIC_CATALOG_ID get_a2ui_tools",
    "conventions.outputs": "CustomEventNames",
    "conventions.streaming": "StateItem StateStreamingMiddleware",
    "conventions.switches": "make_json_safe SUBAGENT_VISIBILITY_ATTRIBUTED SUBAGENT_VISIBILITY_HIDDEN "
    "SUBAGENT_VISIBILITY_INLINE",
    "custom_events": "emit_activity emit_result",
    "errors": "ErrorCode",
    "fastapi": "add_langgraph_fastapi_endpoint agui_router",
    "frontend": "agui_context frontend_tools",
    "interrupts.decisions": "Approval",
    "messages.options": "ReasoningOptions ReasoningSeal ThinkTagSplitter",
    "messages.to_agui": "langchain_messages_to_agui",
    "messages.to_langchain": "agui_messages_to_langchain for_provider",
    "middleware": "AGUIMiddleware",
    "protocol.limits": "InputLimits",
    "state.options": "PredictState Private StateOptions emit_state state_update",
}

# Imported on first use: the parts that need no graph do not import LangGraph.
__all__, __getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    """Return the names in this module."""
    return sorted({*globals(), *__all__})
