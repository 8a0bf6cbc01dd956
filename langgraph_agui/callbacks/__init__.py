"""AG-UI around any LangChain Runnable, without a graph adapter: a callback handler, and a stream of
events.
"""

from langgraph_agui.callbacks.handler import AGUICallbackHandler
from langgraph_agui.callbacks.root_run import astream_agui

__all__ = ["AGUICallbackHandler", "astream_agui"]
