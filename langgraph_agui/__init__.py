"""LangChain and LangGraph on AG-UI 1.0.

Wrap a graph with `LangGraphAgent`, mount it with `add_langgraph_fastapi_endpoint` or `agui_router`, or hand an
`AGUICallbackHandler` to any Runnable.
"""

from langgraph_agui.lazy import lazy_names

__version__ = "0.2.0"

# Imported on first use: the parts that need no graph do not import LangGraph.
__dir__, __getattr__ = lazy_names(__name__, __file__)
