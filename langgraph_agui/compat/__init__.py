"""The only room that knows other products: `ag-ui-langgraph`, CopilotKit, assistant-ui, and clients
of before AG-UI 1.0.

`clients.py` answers what a client gets. The public names are for graphs that were written for
`ag-ui-langgraph`; docs/migrating.md lists what such graphs and their pages may expect.
"""

from langgraph_agui.kernel.extras import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
