"""Tools for developers: the command line, the demo, the doctor and the playground. They use public
names only.
"""

from langgraph_agui.kernel.extras import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
