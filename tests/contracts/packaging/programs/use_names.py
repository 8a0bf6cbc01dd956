"""With any extra or none: the version is that of the distribution, and a star import brings what
can be imported."""

from importlib.metadata import version

import langgraph_agui

found: dict[str, object] = {}
exec("from langgraph_agui import *", found)
assert {"LangGraphAgent", "ReasoningOptions", "agui_messages_to_langchain"} <= set(found), sorted(
    found
)
assert langgraph_agui.__version__ == version("langgraph-agui"), langgraph_agui.__version__
