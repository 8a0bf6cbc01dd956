"""The client's tools and context where graphs written for `ag-ui-langgraph` or CopilotKit look for
them.

The input of a run enters; values for the graph's own state keys, and for its runtime context,
leave.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ag_ui.core import Context, RunAgentInput, Tool
from langgraph.graph import END
from langgraph.types import Overwrite
from typing_extensions import is_typeddict

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.state.schema import KeyType, types_of

logger = run_logger(__name__)

# The state keys. Graphs index them directly, so each one that a graph has gets a value in every
# run. All hold the client's tools, and all but the first its context. The runtime context has the
# last one too.
_TOOLS: Final = "tools"
_AGUI: Final = "ag-ui"
_COPILOTKIT: Final = "copilotkit"

_MIDDLEWARE: Final = "CopilotKitMiddleware"

# How `@ag-ui/a2ui-middleware` describes the item of the context that holds the components of a
# page.
_A2UI_SCHEMA: Final = (
    "A2UI Component Schema — available components for generating UI surfaces. "
    "Use these component names and properties when creating A2UI operations."
)


class FilledKeys:
    """The keys of a graph's state and of its runtime context that hold the client's tools and
    context.

    Runs of the graph fill them.

    Args:
        graph: The graph.

    Attributes:
        state_keys: The keys of the graph's state that the adapter fills in each run, and clients do
            not see.
    """

    def __init__(self, graph: GraphAdapter) -> None:
        self._graph = graph
        self.state_keys = _keys_to_fill(graph)
        self._has_context = _reads_runtime_context(graph)

    @property
    def takes_tools(self) -> bool:
        """Whether the graph declares a place for the client's tools. Nobody sees whether its nodes
        look there.
        """
        return self._has_context or bool(self._filled_keys)

    @property
    def _filled_keys(self) -> frozenset[str]:
        return self.state_keys.intersection(self._graph.input_names or ())

    def values(self, run_input: RunAgentInput, stored: Mapping[str, object]) -> dict[str, object]:
        """Return the values of these keys for a run, given the thread's state before it. They
        overwrite: nothing stays of what an earlier run has brought.
        """
        if not self._filled_keys:
            return {}
        tools = _sent_tools(run_input)
        values: dict[str, object] = {
            _AGUI: _agui_values(run_input, tools),
            _COPILOTKIT: _copilotkit_values(run_input, tools, stored.get(_COPILOTKIT)),
            _TOOLS: tools,
        }
        return {
            key: Overwrite(value) if self._graph.needs_overwrite(key, key in stored) else value
            for key, value in values.items()
            if key in self._filled_keys
        }

    def offered_tools(self, stored: Mapping[str, object]) -> set[str]:
        """Return the names of the client's tools, not the graph's, that a thread's state holds
        since its last run.
        """
        own = self._graph.contents.tools if self._graph.contents is not None else {}
        return _offered_tools(self._filled_keys, stored).difference(own)

    def runtime_context(self, context: object, run_input: RunAgentInput) -> object:
        """Return the runtime context of a run, with `copilotkit`, where `CopilotKitMiddleware`
        looks in subgraphs.
        """
        if not self._has_context or not (context is None or isinstance(context, Mapping)):
            return context
        given = dict(context or {})
        tools = _sent_tools(run_input)
        given[_COPILOTKIT] = _copilotkit_values(run_input, tools, given.get(_COPILOTKIT))
        return given


def _keys_to_fill(graph: GraphAdapter) -> frozenset[str]:
    """Return which of these keys of a graph's state are filled: not `tools`, if they are something
    else there.
    """
    keys = frozenset({_AGUI, _COPILOTKIT})
    if graph.contents is None:  # before its server is asked, nothing is known of a remote graph
        return keys
    declared = [types_of(schema) for schema in graph.schemas]
    if all(_may_hold_tools(kinds[_TOOLS]) for kinds in declared if _TOOLS in kinds):
        keys |= {_TOOLS}
    return keys.intersection(graph.channels)


def _may_hold_tools(kind: KeyType) -> bool:
    """Return whether a key takes a list of the client's tools as it is."""
    tool = Tool(name="", description="", parameters={})
    plain = tool.model_dump()
    loaded, problems = kind.load(_TOOLS, [plain])
    if problems or not isinstance(loaded, Iterable):
        return False
    return [*loaded] in ([plain], [tool])


def _offered_tools(names: Collection[str], stored: Mapping[str, object]) -> set[str]:
    """Return the names of the client's tools in these keys of a thread's state. No client can write
    them.
    """
    found: set[str] = set()
    for name in names:
        tools = stored.get(name)
        if isinstance(tools, Mapping):
            tools = tools.get("actions", tools.get("tools"))
        for tool in tools if isinstance(tools, Sequence) else ():
            if isinstance(tool, Mapping) and "name" in tool:
                found.add(str(tool["name"]))
    return found


def _reads_runtime_context(graph: GraphAdapter) -> bool:
    """Return whether a graph is written for CopilotKit, so that its nodes and subagents may look
    for the key `copilotkit` of the runtime context.

    Others do not get it: tools that are given their runtime would warn of a context that their
    graph does not declare.
    """
    schema, contents = graph.context_schema, graph.contents
    if schema is not None and not is_typeddict(schema):
        return False
    if _COPILOTKIT in graph.channels or _COPILOTKIT in getattr(schema, "__annotations__", ()):
        return True
    return contents is not None and _MIDDLEWARE in contents.middleware | contents.inner_middleware


def _copilotkit_values(
    run_input: RunAgentInput, tools: list[object], own: object
) -> dict[str, object]:
    """Return the value of `copilotkit`, with the values under that key already."""
    values = dict(own) if isinstance(own, Mapping) else {}
    values["actions"] = tools
    values["context"] = [item.model_dump() for item in run_input.context or ()]
    return values


def _sent_tools(run_input: RunAgentInput) -> list[object]:
    """Return the client's tools as dicts; of those with one name the first."""
    found: dict[str, object] = {}
    for tool in run_input.tools or ():
        found.setdefault(tool.name, tool.model_dump())
    return [*found.values()]


def _agui_values(run_input: RunAgentInput, tools: list[object]) -> dict[str, object]:
    """Return the value of `ag-ui`, with the context that `@ag-ui/a2ui-middleware` sends for pages
    that render surfaces.
    """
    context: list[Context] = []
    values: dict[str, object] = {"tools": tools, "context": context}
    for item in run_input.context or ():
        if item.description == _A2UI_SCHEMA:
            values["a2ui_schema"] = item.value
        else:
            context.append(item)
    props = run_input.forwarded_props
    if isinstance(props, Mapping) and "injectA2UITool" in props:
        values["inject_a2ui_tool"] = props["injectA2UITool"]
    return values


def warn_of_node(run_input: RunAgentInput) -> None:
    """Warn of a node at which a client of `ag-ui-langgraph` asks to go on, if it asks for one. Its
    `__end__` asks for none.
    """
    props = run_input.forwarded_props
    node = props.get("nodeName", props.get("node_name")) if isinstance(props, Mapping) else None
    if isinstance(node, str) and node != END:
        logger.warning(
            "The client asked to go on at the node %.80r (forwardedProps.nodeName), which is "
            "ignored: the edges of the graph decide. A node may read it by "
            "forwarded_props(config) and return Command(goto=...).",
            node,
        )
