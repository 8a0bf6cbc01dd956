"""Whether the tools that clients bring reach the models of a graph."""

from collections.abc import Iterable
from typing import Final, Literal

from ag_ui.core import Tool

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.kernel.quoting import quoted_list
from langgraph_agui.kernel.telemetry import run_logger

logger = run_logger(__name__)

# The class of the middleware that binds the client's tools to the model of its own graph.
_MIDDLEWARE: Final = "AGUIMiddleware"

UNASKED: Final = (
    "No node has asked for the client's tools in a run that brought some. If a model is to call "
    "them, add AGUIMiddleware() to create_agent, or bind frontend_tools(config) in its node."
)


class ClientTools:
    """Knows whether the tools of clients reach a graph's models. Learns from each run.

    Args:
        graph: The graph.
        by_convention: Whether the graph gets the tools where graphs for other adapters look for
            them.

    Attributes:
        provided: True if the graph takes them; None if that is not known.
        unasked: Whether a run brought some and nobody has asked for them so far.
    """

    def __init__(self, graph: GraphAdapter, by_convention: bool) -> None:
        self._own = graph.tool_names
        binds = graph.contents is not None and _MIDDLEWARE in graph.contents.middleware
        self.provided: Literal[True] | None = True if binds or by_convention else None
        self.unasked = False

    def report_asked(self) -> None:
        """Learn that a node has asked for the client's tools."""
        self.provided = True
        self.unasked = False

    def report_unasked(self, sent: Iterable[Tool]) -> None:
        """Learn that no node has asked for the tools that a client sent. Warn once.

        To be called when the run has ended.
        """
        # The graph may have a tool of the same name for its models.
        names = [tool.name for tool in sent if tool.name not in self._own]
        if names and not self.provided and not self.unasked:
            self.unasked = True
            logger.warning("%s The client sent %s.", UNASKED, quoted_list(names))
