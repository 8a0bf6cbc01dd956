"""Chat models: which a graph has, what they can do with reasoning, and classes that send it back.

The classes need the packages of their providers. Each is imported when its class is first used.
"""

from langgraph_agui.lazy import lazy_names

__dir__, __getattr__ = lazy_names(__name__, __file__)
