"""What graphs and pages written for `ag-ui-langgraph` or CopilotKit expect of an adapter.

The agent makes one `GraphConventions` for its graph; runs use it through the protocol in `settings.py`, and only
the agent, the callback handler and the routes know this room. docs/migrating.md lists the conventions.
"""

from typing import Final

from langgraph_agui.conventions.inputs import GraphConventions as GraphConventions
from langgraph_agui.conventions.interrupts import interrupt_sink as interrupt_sink
from langgraph_agui.conventions.outputs import read_event, read_predictions, read_silence
from langgraph_agui.settings import NodeConventions

NODE_CONVENTIONS: Final = NodeConventions(read_silence, read_predictions, read_event)
