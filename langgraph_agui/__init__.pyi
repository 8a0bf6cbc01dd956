# The public names, and where each is: type checkers read this,
# and the package imports a name on its first use.

from .agent import LangGraphAgent as LangGraphAgent
from .callbacks import AGUICallbackHandler as AGUICallbackHandler
from .callbacks import astream_agui as astream_agui
from .compat import A2UI_OPERATIONS_KEY as A2UI_OPERATIONS_KEY
from .compat import BASIC_CATALOG_ID as BASIC_CATALOG_ID
from .compat import SUBAGENT_VISIBILITY_ATTRIBUTED as SUBAGENT_VISIBILITY_ATTRIBUTED
from .compat import SUBAGENT_VISIBILITY_HIDDEN as SUBAGENT_VISIBILITY_HIDDEN
from .compat import SUBAGENT_VISIBILITY_INLINE as SUBAGENT_VISIBILITY_INLINE
from .compat import A2UIGuidelines as A2UIGuidelines
from .compat import A2UIToolParams as A2UIToolParams
from .compat import CustomEventNames as CustomEventNames
from .compat import StateItem as StateItem
from .compat import StateStreamingMiddleware as StateStreamingMiddleware
from .compat import ThinkTagSplitter as ThinkTagSplitter
from .compat import get_a2ui_tools as get_a2ui_tools
from .compat import make_json_safe as make_json_safe
from .fastapi import add_langgraph_fastapi_endpoint as add_langgraph_fastapi_endpoint
from .fastapi import agui_router as agui_router
from .kernel.errors import ErrorCode as ErrorCode
from .kernel.seal import ReasoningSeal as ReasoningSeal
from .kernel.telemetry import add_run_fields as add_run_fields
from .messages.to_agui import langchain_messages_to_agui as langchain_messages_to_agui
from .messages.to_langchain import agui_messages_to_langchain as agui_messages_to_langchain
from .messages.to_langchain import for_provider as for_provider
from .middleware import AGUIMiddleware as AGUIMiddleware
from .nodes import PredictState as PredictState
from .nodes import Private as Private
from .nodes import agui_context as agui_context
from .nodes import emit_activity as emit_activity
from .nodes import emit_result as emit_result
from .nodes import emit_state as emit_state
from .nodes import forwarded_props as forwarded_props
from .nodes import frontend_tools as frontend_tools
from .nodes import is_frontend_call as is_frontend_call
from .nodes import state_update as state_update
from .options import Approval as Approval
from .options import ApprovalOptions as ApprovalOptions
from .options import ClientOptions as ClientOptions
from .options import Question as Question
from .options import ReasoningOptions as ReasoningOptions
from .options import RunLimits as RunLimits
from .options import StateOptions as StateOptions
from .options import ThinkTags as ThinkTags
from .options import TrustOptions as TrustOptions
from .protocol.limits import InputLimits as InputLimits

__version__: str
