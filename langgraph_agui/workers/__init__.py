"""Stores by which workers find each other's live runs, for `LangGraphAgent(run_store=...)`.

The events of a run enter in one worker, and leave in the workers whose clients follow it. Without
a store, an agent knows the runs of its own process.
"""

from langgraph_agui.kernel.extras import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
