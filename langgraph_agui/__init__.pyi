# The public names, and where each is: type checkers read this, and the package imports a name on its first use.

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
from langgraph_agui.frontend import forwarded_props as forwarded_props
from langgraph_agui.frontend import frontend_tools as frontend_tools
from langgraph_agui.frontend import is_frontend_call as is_frontend_call
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

__version__: str
