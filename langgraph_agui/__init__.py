"""LangChain and LangGraph on AG-UI 1.0.

Wrap a graph with `LangGraphAgent`, mount it with `agui_router`, or hand an `AGUICallbackHandler` to
any Runnable.
"""

from langgraph_agui import compat
from langgraph_agui.kernel.extras import lazy_names

__version__ = "0.3.0.dev0"

# Imported on first use: the parts that need no graph do not import LangGraph. The names that exist
# for migration alone can be imported from here, and are shown by `compat`.
__getattr__, __dir__ = lazy_names(__name__, __file__, hidden=dir(compat))
