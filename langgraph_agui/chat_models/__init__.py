"""The chat models of a graph, their reasoning, and classes that send it back.

The classes need the packages of their providers. Each is imported when its class is first used.
"""

from langgraph_agui.kernel.extras import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
